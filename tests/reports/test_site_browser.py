"""The site in a real browser, from the file system: a puzzle solved, a board walked, no error, nothing from outside.

Skipped where something is missing: `pip install -e '.[browser]'`, a chromium on the PATH.
"""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from reports.site import site_files

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.browser

PAGES = ("index", "bounds", "solutions", "puzzles", "puzzles/brandubh-02", "walks/brandubh-5-4v0", "endings", "players")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.fixture(scope="module")
def site(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> str:  # without a browser nothing is rendered
    folder: Path = tmp_path_factory.mktemp("site")
    for artefact in site_files():
        target = folder / artefact.path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(artefact.render())
    return folder.as_uri()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="needs the package playwright")
    pytest.importorskip("axe_playwright_python", reason="needs the package axe_playwright_python")
    if CHROMIUM is None:
        pytest.skip("needs a chromium on the PATH")
    # A container's root cannot set up chromium's own sandbox.
    arguments = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    with playwright.sync_playwright() as started:
        found = started.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield found
        found.close()


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    found = browser.new_page()
    wrong: list[str] = []
    found.on("console", lambda message: wrong.append(message.text) if message.type in ("error", "warning") else None)
    found.on("pageerror", lambda error: wrong.append(str(error)))
    found.on("request", lambda sent: None if sent.url.startswith(("file:", "data:")) else wrong.append(sent.url))
    yield found
    found.close()
    assert wrong == []


def test_a_puzzle_is_refuted_hinted_and_solved_with_the_mouse_and_by_keys(site: str, page: Any) -> None:
    page.goto(f"{site}/puzzles/brandubh-02.html")
    assert page.inner_text("#say") == "White to move, and wins in 3 plies."
    page.fill("input[name=move]", "d4-d5")
    page.keyboard.press("Enter")
    assert "d4-d5 is wrong: after" in page.inner_text("#say")
    page.wait_for_timeout(2200)
    page.click("[data-do=hint]")
    assert page.inner_text("#say") == "Look at the piece on d4."
    page.click("[data-square=d4]")
    assert page.locator(".target").count() > 3
    page.click("[data-square=d7]")
    assert "Right. Black answers" in page.inner_text("#say")
    page.focus("[data-square=d7]")
    for key in ("Enter", "ArrowRight", "ArrowRight", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    assert page.inner_text("#say") == "Solved: white has won."
    page.goto(f"{site}/puzzles.html")
    assert page.locator(".gallery li.done").count() == 1
    page.select_option("[name=rules]", "mcgill")
    assert page.locator(".gallery li:visible").count() < 60


def test_a_board_is_walked_and_the_address_remembers(site: str, page: Any) -> None:
    page.goto(f"{site}/walks/brandubh-5-4v0.html")
    assert page.inner_text("#say") == "Black to move, and loses in 6 plies."
    for _ in range(6):
        page.click("[data-do=best]")
    assert page.inner_text("#say") == "White has won."
    address = page.url
    page.goto(f"{site}/index.html")
    page.goto(address)
    assert page.inner_text("#say") == "White has won."
    page.click("[data-do=back]")
    assert page.inner_text("#say") == "White to move, and wins in 1 ply."


@pytest.mark.parametrize("width", [390, 1200])
def test_pages_fit_the_screen(site: str, page: Any, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    for name in PAGES:
        page.goto(f"{site}/{name}.html")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(site: str, browser: Any, scheme: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    # Axe itself tries to read style sheets, which a browser denies to files: no console is watched here.
    page = browser.new_page(color_scheme=scheme)
    for name in PAGES:
        page.goto(f"{site}/{name}.html")
        found = Axe().run(page)
        assert found.violations_count == 0, f"{name}: {found.generate_report()}"
    page.close()
