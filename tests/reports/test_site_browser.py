"""The site in a real browser, from the file system: a puzzle solved, a board walked, no error, nothing from outside.

Skipped where something is missing: `pip install -e '.[browser]'`, a chromium on the PATH.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.browser

PAGES = ("play/index", "play/brandubh-02", "walks/brandubh-5-4v0")


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
    page.goto(f"{site}/play/brandubh-02.html")
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
    page.goto(f"{site}/play/index.html")
    assert page.locator(".gallery li.done").count() == 1
    page.select_option("[name=rules]", "mcgill")
    assert page.locator(".gallery li:visible").count() < 60


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (390, 844)])
def test_men_are_dragged_and_a_board_is_embedded(
    site: str, browser: Any, tmp_path: Path, width: int, height: int
) -> None:
    page = browser.new_page(viewport={"width": width, "height": height})
    page.goto(f"{site}/play/brandubh-02.html")

    def drag(start: str, target: str) -> None:
        page.locator("#board").scroll_into_view_if_needed()
        boxes = [page.locator(f"[data-square={name}]").bounding_box() for name in (start, target)]
        points = [(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2) for box in boxes]
        page.mouse.move(*points[0])
        page.mouse.down()
        page.mouse.move(*points[1], steps=4)
        page.mouse.up()

    before = page.inner_text("#say")
    drag("d4", "a1")  # not legal: nothing moves
    assert page.inner_text("#say") == before
    drag("d4", "d7")
    assert "Right. Black answers" in page.inner_text("#say")
    page.click("#embed summary")
    frame = page.input_value("#embed textarea")
    other = tmp_path / "page.html"
    other.write_text(f"<!doctype html><title>A page</title>{frame}", encoding="utf-8")
    page.goto(other.as_uri())
    inner = page.frames[1]
    inner.wait_for_selector("[data-square=d4]")
    assert not inner.locator("footer, .sidebar-drawer").first.is_visible()
    assert inner.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.close()


def test_the_search_works_from_a_file_and_the_boards_are_in_the_navigation(site: str, page: Any) -> None:
    page.goto(f"{site}/search.html?q=brandubh")
    page.wait_for_selector("#search-results li a")
    page.goto(f"{site}/index.html")
    first = page.locator(".sidebar-tree a").first
    assert first.inner_text() == "Play on this site"
    first.click()
    page.click("a:has-text('Puzzles') >> nth=-1")
    page.wait_for_selector(".gallery li")


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


@pytest.mark.parametrize("name", PAGES)
def test_a_page_fits_screens_and_paper_and_axe_finds_nothing(site: str, browser: Any, name: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    # Axe itself tries to read style sheets, which a browser denies to files: no console is watched here.
    page = browser.new_page(viewport={"width": 1200, "height": 900})
    page.goto(f"{site}/{name}.html")
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        found = Axe().run(page, context=".play")
        assert found.violations_count == 0, f"{scheme}: {found.generate_report()}"
    for width in (1200, 390):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), width
    page.close()
