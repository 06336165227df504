"""Openings in a real browser: the built-in games beside the board and on the page on games, at both sizes.

Skipped where something is missing, as the other tests in a browser.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from explorers import running

from reports.explorer.guard import Settings
from tablut.play.collection import write_collection
from tablut.variants import load_variant
from tablut.work.progress import Observer
from tests.support.browsing import opened, page_of, until
from tests.support.waiting import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reports.explorer.work import Workers

pytestmark = pytest.mark.browser

SIZES = ((1280, 800), (390, 844))


@pytest.fixture(scope="module")
def address(workers: Workers) -> Iterator[str]:
    with running(Settings(searches=1, margin=PATIENCE), workers, warmed=True) as found:
        yield found


@pytest.fixture(params=SIZES, ids=str)
def page(browser: Any, address: str, request: pytest.FixtureRequest) -> Iterator[Any]:
    width, height = request.param
    with page_of(browser, address, width, height) as found:
        yield found
        assert found.evaluate("document.documentElement.scrollWidth") <= width


def test_the_built_in_games_are_shown_without_any_option(page: Any) -> None:
    from axe_playwright_python.sync_playwright import Axe

    opened(page, "/board?variant=brandubh")
    until(page, "document.querySelectorAll('#played tbody tr').length > 3")
    assert "Points for black" in page.inner_text("#played thead")
    # Counts can be read without a pointer, and the parts of a bar differ by more than lightness.
    first = page.locator("#played tbody tr").first
    first.scroll_into_view_if_needed()
    assert all(name in first.locator(".counts").inner_text() for name in ("white ", "drawn ", "black "))
    assert first.locator(".counts").is_visible()
    grounds = [
        page.evaluate(f"getComputedStyle(document.querySelector('.shares .{name}')).backgroundImage")
        for name in ("white", "drawn", "black")
    ]
    assert ["gradient" in one for one in grounds] == [False, True, False]
    found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    assert found == []
    first.locator("button").click()
    until(page, "document.querySelectorAll('.made').length === 1")
    until(page, "document.querySelector('#played thead')?.textContent.includes('Points for white')")
    assert page.locator("#played tbody tr:visible").count() <= 8
    page.click("#played summary:has-text('Games')")
    page.click("#played .references a >> nth=0")
    page.wait_for_load_state("networkidle")
    until(page, "document.querySelectorAll('.made.later').length > 2")


def test_the_name_of_an_opening_has_its_source(page: Any) -> None:
    opened(page, "/board?variant=copenhagen&moves=d1-d3")
    page.click("#played summary:has-text('more moves')")
    assert page.locator("#played tbody tr:visible").count() > 8
    opened(page, "/board?variant=copenhagen&moves=d1-d3,e5-e2")  # the mirror image of the source's moves
    page.wait_for_selector("#played .opening strong:has-text('Millar Gambit')")
    assert page.get_attribute("#played .opening a", "href").startswith("http://aagenielsen.dk/")
    page.click("#undo")
    page.wait_for_selector("#played .opening", state="detached")


def test_a_collection_is_opened_on_the_page_of_games(page: Any, tmp_path: Path) -> None:
    archive, games = tmp_path / "games.csv", tmp_path / "my.games"
    archive.write_text("d2-e2 c4-c5,0,0,White\na4-a5,0,0,Black\n", encoding="utf-8")
    assert write_collection(games, [archive], load_variant("brandubh"), Observer()) == []
    opened(page, "/games")
    page.set_input_files("#file", games)
    page.click("#load button.main")
    page.wait_for_selector("#game:not([hidden]) .made")
    assert page.locator("#games option").all_inner_texts() == ["1. 1 ply, black", "2. 2 plies, white"]
    page.select_option("#games", "2")
    until(page, "document.querySelectorAll('.made').length === 2")
    page.reload()  # the tab keeps the collection
    until(page, "document.querySelectorAll('.made').length === 2")
    assert page.input_value("#games") == "2"


def test_the_built_in_games_are_opened_on_the_page_of_games(page: Any) -> None:
    opened(page, "/games")
    page.select_option("#variant", "copenhagen")
    page.click("#shipped")
    page.wait_for_selector("#game:not([hidden]) .made")
    assert page.locator("#games option").count() == 500
    page.select_option("#games", "77")
    until(page, "document.getElementById('games').value === '77' && document.querySelectorAll('.made').length > 2")
    assert "copenhagen" in page.inner_text("#who")
    assert "alphabeta@nodes=3000" in page.inner_text("#who")


def test_the_lines_of_the_engine_are_in_order(page: Any) -> None:
    opened(page, "/board?variant=brandubh")
    lines = [{"score": score} for score in (-20, 30, 10)] + [{"score": 0, "mate": mate} for mate in (3, 9, -4, -8)]
    order = f"inOrder({json.dumps(lines)}, DONE).map((line) => line.mate ?? line.score)"
    order = f"import('/static/js/engine.js').then(({{ inOrder }}) => {order})"
    assert page.evaluate(order.replace("DONE", "false")) == [3, 9, 30, 10, -20, -8, -4]
    assert page.evaluate(order.replace("DONE", "true")) == [-20, 3, 9, 30, 10, -8, -4]
    page.select_option("#movetime", "2")
    page.click("#think")
    # White's share rises from line to line, because black moves. Dots after the nodes show that the search goes on.
    shares = "[...document.querySelectorAll('#engine li strong')].map((one) => parseInt(one.textContent.slice(6)))"
    running = "document.querySelector('#engine .score')?.textContent.endsWith('…')"
    seen = set()
    while page.get_attribute("#think", "aria-pressed") == "true":
        found = page.evaluate(f"{running} ? {shares} : []")
        seen.add(tuple(found))
        assert found == sorted(found)
        page.wait_for_timeout(20)
    assert any(len(found) == 3 for found in seen)
