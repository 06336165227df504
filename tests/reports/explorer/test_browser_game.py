"""A game in a real browser: moves at once, looking back, clock, two people, the result, a planned move.

Skipped where something is missing, as the other tests in a browser.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.browsing import asked, drag, held, move, opened, square, until

pytestmark = pytest.mark.browser

TURN = "document.getElementById('turn').textContent"
WON = "/play?variant=ashton-5-4v0&moves=c3-b3&side=white&player=random&level=0&seed=1"


def start(page: Any, side: str = "white", player: str = "random", control: str = "", path: str = "/play") -> None:
    opened(page, path)
    page.select_option("#variant", "brandubh")
    page.select_option("#player", player)
    if player != " two":
        page.select_option("#side", side)
    page.select_option("#control", control)
    page.click("#start")
    until(page, "!document.getElementById('fold').open")


def plies(page: Any, number: int) -> None:
    until(page, f"document.querySelectorAll('.made').length === {number}")
    until(page, "!document.querySelector('#asking .busy')")


def sliding(page: Any) -> int:
    return int(page.evaluate("document.getAnimations().filter((one) => one.effect.target.closest('.men')).length"))


def men(page: Any) -> list[str]:
    """Return the squares with men, as the board shows them."""
    return list(page.evaluate("[...document.querySelectorAll('#board .man')].map((man) => man.dataset.at).sort()"))


def move_anything(page: Any) -> None:
    page.locator("#board button.movable").first.click()
    page.locator("#board button.reachable").first.click()


def test_a_man_moves_at_once_and_slides(page: Any) -> None:
    page.emulate_media(reduced_motion="no-preference")
    start(page, player=" two")
    routes = held(page, "**/api/position")
    move(page, "d2-e2")
    assert sliding(page) == 1
    asked(page, routes)
    # The server has not answered yet. No second move can be made, and the move cannot be looked back from.
    assert page.locator('#board .man[data-at="11"]').count() == 1
    assert page.locator('#board .man[data-at="10"]').count() == 0
    assert page.locator("#board button.movable").count() == 0
    page.keyboard.press("ArrowLeft")
    assert page.locator('#board .man[data-at="11"]').count() == 1
    page.unroute("**/api/position")
    plies(page, 1)
    page.emulate_media(reduced_motion="reduce")
    move_anything(page)
    assert sliding(page) == 0
    plies(page, 2)


def test_a_move_that_the_server_refuses_is_taken_back(page: Any) -> None:
    start(page, player=" two")
    before = men(page)
    refusals = ["once"]

    def refuse(route: Any) -> None:
        if refusals:
            refusals.pop()
            route.fulfill(status=422, json={"error": "not today"})
        else:
            route.continue_()

    page.route("**/api/position", refuse)
    move_anything(page)
    page.wait_for_selector("#message:has-text('not today')")
    until(page, "document.querySelectorAll('#board button.movable').length > 0")
    assert men(page) == before
    page.unroute("**/api/position")
    move_anything(page)
    plies(page, 1)


def test_earlier_positions_are_looked_at_while_the_game_goes_on(page: Any) -> None:
    opened(page, "/play?variant=brandubh&side=black&player=random&level=0&seed=5")
    plies(page, 0)
    first = men(page)
    for number in (2, 4):
        move_anything(page)
        plies(page, number)
    now = men(page)
    address = page.url
    page.keyboard.press("ArrowUp")
    assert men(page) == first
    assert page.is_disabled("#back")
    square(page, "d2").click()
    page.wait_for_selector("#message:has-text('earlier position')")
    page.click("#forth")
    page.click(".made >> nth=2")
    page.keyboard.press("ArrowLeft")
    assert page.locator(".made.later").count() == 2
    page.keyboard.press("ArrowDown")
    assert men(page) == now
    assert page.url == address
    # The opponent's answer does not take away what is looked at.
    routes = held(page, "**/api/bestmove")
    move_anything(page)
    asked(page, routes)
    page.keyboard.press("Home")
    assert men(page) == first
    page.unroute("**/api/bestmove")
    plies(page, 6)
    assert men(page) == first
    page.keyboard.press("End")
    assert men(page) != first
    move_anything(page)
    plies(page, 8)


def test_the_result_is_told_to_the_player(page: Any) -> None:
    opened(page, WON)
    plies(page, 2)
    move(page, "b3-b5")
    page.wait_for_selector("#turn:has-text('You won: the king escaped')")
    assert "You won" in page.inner_text("#turn")
    box = page.locator("#rematch").bounding_box()
    assert 0 <= box["y"] < page.viewport_size["height"]
    assert page.is_disabled("#resign")
    page.click("#analyse")
    page.wait_for_selector("#game:not([hidden]) .made")
    assert page.locator(".made").count() == 3
    page.go_back()
    page.wait_for_selector("#turn:has-text('You won')")
    page.click("#rematch")
    page.wait_for_selector("#opponent:has-text('You are black')")
    assert page.is_hidden("#after") or page.locator(".made").count() < 2
    page.click("#resign")
    page.click("#resign")
    page.wait_for_selector("#turn:has-text('You lost: you resigned')")


def test_two_people_play_with_a_clock(page: Any) -> None:
    page.clock.install()
    start(page, player=" two", control="3+2")
    assert page.is_hidden("#level-line")
    assert page.inner_text("#clocks").split() == ["white:", "3:00", "black:", "3:00"]
    for number in (1, 2, 3):
        move_anything(page)
        plies(page, number)
    page.click("#undo")
    plies(page, 2)
    assert page.locator(".clock.runs").count() == 1
    page.clock.run_for(61_000)
    assert sorted(text.split(":", 1)[1].strip() for text in page.inner_text("#clocks").split("\n") if text)
    until(page, "/1:5[0-9]|2:0/.test(document.getElementById('clocks').textContent)")
    page.reload()
    plies(page, 2)
    until(page, "/1:5[0-9]|2:0/.test(document.getElementById('clocks').textContent)")
    page.clock.run_for(130_000)
    page.wait_for_selector("#turn:has-text('has won: the time is up')")
    assert page.locator("#board button.movable").count() == 0
    address = page.url
    assert "timeout=" in address
    page.reload()
    page.wait_for_selector("#turn:has-text('has won: the time is up')")


def test_a_planned_move_is_made_when_its_turn_comes(page: Any) -> None:
    opened(page, "/play?variant=brandubh&side=black&player=random&level=0&seed=5")
    routes = held(page, "**/api/bestmove")
    move(page, "d2-e2")
    asked(page, routes)
    move(page, "d1-b1")
    assert page.locator("#board .planned").count() == 2
    square(page, "g7").click()  # drops it
    assert page.locator("#board .planned").count() == 0
    drag(page, "d1", "b1")
    assert page.locator("#board .planned").count() == 2
    page.unroute("**/api/bestmove")
    plies(page, 4)
    assert page.locator(".made").nth(2).inner_text().split() == ["3", "d1-b1"]
    # One that is not legal then is forgotten.
    routes = held(page, "**/api/bestmove")
    move_anything(page)
    asked(page, routes)
    move(page, "b1-b7")
    move(page, "a4-g4")
    page.unroute("**/api/bestmove")
    plies(page, 6)
    assert page.locator("#board .planned").count() == 0


def test_sound_is_off_until_it_is_turned_on(page: Any) -> None:
    opened(page, "/play")
    assert page.get_attribute("#sound", "aria-pressed") == "false"
    page.click("#sound")
    page.reload()
    assert page.get_attribute("#sound", "aria-pressed") == "true"


def test_pages_and_rules_have_the_names_that_players_look_for(page: Any) -> None:
    page.goto("/")
    links = page.locator(".top nav a")
    assert links.first.inner_text() == "Play"
    assert "API" not in links.all_inner_texts()
    assert len({link.bounding_box()["y"] for link in links.all()}) == 1  # one row
    first = page.locator(".actions a").first
    assert first.inner_text() == "Play"
    assert first.bounding_box()["y"] < page.viewport_size["height"]
    assert page.locator(".foot a[href='/docs']").count() == 1
    first.click()
    page.wait_for_selector("#turn span")
    names = page.locator("#variant option").all_inner_texts()
    assert names[0] == "Tablut (Linnaeus, after Ashton) 9×9 · ashton"
    assert "Copenhagen Hnefatafl 11×11 · copenhagen" in names
    assert "Brandubh, small board, 4 against 1 7×7 · brandubh-7-4v1" in names
    assert page.locator("#player option").first.inner_text() == "Engine (alphabeta)"
