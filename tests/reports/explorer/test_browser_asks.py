"""What pages ask in a real browser: answers belong to the position shown, long requests stop, lost connections mend.

Skipped where something is missing, as the other tests in a browser.
"""

from __future__ import annotations

from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

import httpx
import pytest
from explorers import running

from reports.explorer.guard import Settings
from tests.support.browsing import SIZES, asked, drag, held, move, opened, page_of, square, until
from tests.support.waiting import PATIENCE, eventually

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from reports.explorer.work import Workers

pytestmark = pytest.mark.browser

WON = "1b5/1b1b3/b6/3K2b/6b/7/3b3 w"
WON_BOARD = f"/board?variant=brandubh&position={quote(WON)}"
START = "3bbb3/4b4/4w4/b3w3b/bbwwKwwbb/b3w3b/4w4/4b4/3bbb3 w"
RECORD = '[Variant "ashton-5-4v0"] 1. c3-b3 c1-b1 2. b3-b2'


@pytest.fixture
def page(browser: Any, shown: str) -> Iterator[Any]:
    with page_of(browser, shown) as found:
        yield found


def release(routes: list[Any], answer: dict[str, Any]) -> None:
    """Answer what is held, also if the page does not wait for it any more."""
    from playwright.sync_api import Error

    with suppress(Error):  # the page has aborted the request
        routes[0].fulfill(json=answer)


def start_game(page: Any, side: str = "white", player: str = "random") -> None:
    opened(page, "/play")
    page.select_option("#variant", "brandubh")
    page.select_option("#side", side)
    page.select_option("#player", player)
    page.click("#new button.main")
    page.wait_for_selector(f"#opponent:has-text('You are {side}')")


def mine(page: Any, plies: int) -> None:
    """Wait until it is white's turn after some plies."""
    until(page, f"document.querySelectorAll('.made').length === {plies}")
    until(page, "/White to move/.test(document.getElementById('turn').textContent)")


def move_anything(page: Any) -> None:
    page.locator("#board button.movable").first.click()
    page.locator("#board button.reachable").first.click()


# -- the position that an answer is about -----------------------------------------------------------


def test_a_proof_is_not_shown_under_the_position_that_came_after_it(page: Any, shown: str) -> None:
    proof = httpx.post(f"{shown}/api/solve", json={"variant": "brandubh", "position": WON}, timeout=PATIENCE).json()
    assert (proof["position"], proof["dtm"], proof["winning_moves"]) == (WON, 9, ["d4-e4"])
    opened(page, WON_BOARD)
    routes = held(page, "**/api/solve")
    page.click("#prove")
    asked(page, routes)
    move(page, "d4-d3")
    until(page, "document.getElementById('turn').textContent.includes('Black')")
    release(routes, proof)
    page.wait_for_timeout(300)
    assert page.inner_text("#proof") == ""
    page.unroute("**/api/solve")
    # The button is there for the position that is shown.
    assert page.inner_text("#prove") == "Prove it"
    page.click("#undo")
    until(page, "document.getElementById('turn').textContent.includes('White')")
    page.click("#prove")
    page.wait_for_selector("#proof:has-text('white to move, win in 9 plies')")


def test_a_hint_is_not_shown_in_the_position_that_was_taken_back_to(page: Any, shown: str) -> None:
    start_game(page)
    mine(page, 1)
    move_anything(page)
    mine(page, 3)
    made = [text.split("x")[0].split()[-1] for text in page.locator(".made").all_inner_texts()]
    body = {"variant": "brandubh", "moves": made, "nodes": 1000}
    hint = httpx.post(f"{shown}/api/bestmove", json=body, timeout=PATIENCE).json()
    routes = held(page, "**/api/bestmove")
    page.click("#hint")
    asked(page, routes)
    page.click("#undo")
    mine(page, 1)
    release(routes, hint)
    page.wait_for_timeout(300)
    assert page.locator("#board .mark").count() == 0
    assert page.inner_text("#hint") == "Hint"
    page.unroute("**/api/bestmove")
    page.click("#hint")
    page.wait_for_selector("#hint:has-text('Which move?')")


def test_an_answer_about_another_position_is_dropped(page: Any, shown: str) -> None:
    proof = httpx.post(f"{shown}/api/solve", json={"variant": "brandubh", "position": WON}, timeout=PATIENCE).json()
    start = httpx.get(f"{shown}/api/moves", params={"variant": "brandubh"}).json()["position"]
    opened(page, "/board?variant=brandubh")
    answers: list[dict[str, Any]] = []
    page.route("**/api/solve", lambda route: route.fulfill(json=answers.pop()))
    for position in (WON, start):
        answers.append(proof | {"position": position})
        with page.expect_response("**/api/solve"):
            page.click("#prove")
        page.wait_for_selector("#prove:has-text('Prove it')")
        assert ("Proved" in page.inner_text("#proof")) == (position == start)
    opened(page, "/puzzles?puzzle=brandubh-01")
    page.route("**/hint", lambda route: route.fulfill(json={"square": "a4", "position": WON}))
    with page.expect_response("**/hint"):
        page.click("#hint")
    page.wait_for_selector("#hint:has-text('Hint')")
    assert page.locator("#board .mark").count() == 0


def test_a_move_in_a_puzzle_takes_the_place_of_a_hint(page: Any) -> None:
    opened(page, "/puzzles?puzzle=brandubh-01")
    routes = held(page, "**/hint")
    page.click("#hint")
    asked(page, routes)
    move(page, "d4-g4")
    page.wait_for_selector(".answer.right")
    release(routes, {"square": "d4"})
    page.wait_for_timeout(300)
    assert page.locator("#board .mark").count() == 0
    assert page.inner_text("#answer").startswith("Right.")


def test_the_opponent_answers_the_position_that_is_shown(page: Any) -> None:
    start_game(page)
    mine(page, 1)
    routes = held(page, "**/api/bestmove")
    move_anything(page)
    asked(page, routes)
    page.click("#undo")
    mine(page, 1)
    release(routes, {"move": "a4-a5", "position": "nowhere"})
    page.wait_for_timeout(300)
    assert page.locator(".made").count() == 1


# -- long requests ------------------------------------------------------------------------------------


def opening(path: str) -> Callable[[Any], None]:
    return lambda page: opened(page, path) and None


def analysed_game(page: Any) -> None:
    opened(page, "/games")
    page.fill("#record", RECORD)
    page.click("#load button.main")
    page.wait_for_selector("#game:not([hidden]) .made")


def own_turn(page: Any) -> None:
    start_game(page)
    mine(page, 1)


class Long(NamedTuple):
    """A request that may take long: how it is asked, where the page tells of it, and what is said at its end."""

    prepare: Callable[[Any], None]
    ask: Callable[[Any], object]
    address: str
    line: str
    words: str
    stop: str
    ends: str


def pressing(button: str) -> Callable[[Any], object]:
    return lambda page: page.click(button)


REQUESTS = {
    "think": Long(
        opening("/board?variant=brandubh"),
        pressing("#think"),
        "think",
        "#engine",
        "Thinking",
        "#think",
        "#engine .score",
    ),
    "prove": Long(
        opening("/board?variant=ashton-5-4v0"),
        pressing("#prove"),
        "solve",
        "#proof",
        "Proving",
        "#prove",
        "#proof .chip",
    ),
    "hint": Long(
        own_turn, pressing("#hint"), "bestmove", "#asking", "a hint", "#hint", "#hint:has-text('Which move?')"
    ),
    "opponent": Long(own_turn, move_anything, "bestmove", "#asking", "is thinking", "#asking button", ".made >> nth=2"),
    "try": Long(
        opening("/puzzles?puzzle=brandubh-01"),
        lambda page: move(page, "d4-g4"),
        "puzzles/brandubh-01/try",
        "#answer",
        "a proof",
        "#answer button",
        ".answer.right",
    ),
    "puzzle hint": Long(
        opening("/puzzles?puzzle=brandubh-01"),
        pressing("#hint"),
        "puzzles/brandubh-01/hint",
        "#answer",
        "a proof",
        "#hint",
        "#answer:has-text('moves.')",
    ),
    "solution": Long(
        opening("/puzzles?puzzle=brandubh-01"),
        pressing("#reveal"),
        "puzzles/brandubh-01/reveal",
        "#answer",
        "a proof",
        "#reveal",
        "#answer:has-text('The line')",
    ),
    "rules": Long(
        opening("/puzzles?puzzle=brandubh-10"),
        pressing("#decide"),
        "puzzles/brandubh-10/rules",
        "#deciding-said",
        "under other rules",
        "#decide",
        "#deciding li",
    ),
    "analysis": Long(
        analysed_game, pressing("#analyse"), "analyse", "#analysis-state", "Looking", "#analyse", "#graph svg"
    ),
    "endings": Long(
        opening("/endings"),
        lambda page: page.select_option("#kind", "draw"),
        "endings/*",
        "#found",
        "Looking",
        "#found button",
        "#positions li",
    ),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_a_long_request_says_that_it_works_and_can_be_stopped_and_asked_again(
    browser: Any, shown: str, name: str
) -> None:
    for width, height in SIZES:
        with page_of(browser, shown, width, height) as page:
            stop_and_ask_again(page, name, REQUESTS[name])
            assert page.evaluate("document.documentElement.scrollWidth") <= width


def stop_and_ask_again(page: Any, name: str, long: Long) -> None:
    long.prepare(page)
    aborted: list[str] = []
    page.on("requestfailed", lambda request: aborted.append(request.url))
    routes = held(page, f"**/api/{long.address}")
    label = None if long.stop.endswith(" button") else page.inner_text(long.stop)
    long.ask(page)
    asked(page, routes)
    assert long.words in page.inner_text(long.line)
    assert page.inner_text(long.stop) == "Stop"
    page.locator(long.line).scroll_into_view_if_needed()
    until(page, f"/[1-9] s/.test(document.querySelector('{long.line}').textContent)")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.click(long.stop)
    eventually(lambda: page.wait_for_timeout(25) or aborted == [routes[0].request.url])
    release(routes, {})
    if name != "think":
        assert page.inner_text(long.line).startswith("Stopped.")
    page.unroute(f"**/api/{long.address}")
    if name in ("opponent", "endings"):
        assert page.inner_text(long.stop) == "Go on"
        page.click(long.stop)
    else:
        assert label is None or page.inner_text(long.stop) == label
        long.ask(page)
    page.wait_for_selector(long.ends)


def test_opening_a_puzzle_can_be_stopped(page: Any) -> None:
    opened(page, "/puzzles")
    routes = held(page, "**/api/puzzles/brandubh-10")
    page.goto("/puzzles?puzzle=brandubh-10", wait_until="commit")
    asked(page, routes)
    page.click("#progress button")
    page.wait_for_selector("#list li")


def searches(page: Any) -> list[dict[str, Any]]:
    """Return the searches of the person at a page."""
    return list(page.request.get("/api/searches").json()["searches"])


def test_stop_ends_the_work_of_the_server_which_tells_how_far_it_is(page: Any) -> None:
    opened(page, "/board")
    page.click("#prove")
    page.wait_for_selector("#proof:has-text('nodes so far')")
    assert [search["name"] for search in searches(page)] != [""]
    page.click("#prove")
    eventually(lambda: searches(page) == [])
    opened(page, "/puzzles?puzzle=ashton-06")
    page.click("#decide")
    until(page, "/change [0-9]+ of/.test(document.getElementById('deciding-said').textContent)")
    page.click("#decide")
    eventually(lambda: searches(page) == [])
    assert page.inner_text("#decide") == "Which rules decide it?"


def test_work_for_a_position_ends_when_another_one_is_shown(page: Any) -> None:
    opened(page, "/board")
    page.click("#prove")
    page.wait_for_selector("#proof:has-text('nodes so far')")
    move(page, "e4-f4")
    until(page, "document.getElementById('turn').textContent.includes('Black')")
    eventually(lambda: searches(page) == [])
    assert page.inner_text("#proof") == ""


def test_a_second_click_of_a_double_click_stops_nothing(page: Any) -> None:
    opened(page, "/board?variant=ashton-5-4v0")
    routes = held(page, "**/api/solve")
    page.dblclick("#prove")
    asked(page, routes)
    page.wait_for_timeout(200)
    assert "Proving" in page.inner_text("#proof")
    assert len(routes) == 1


# -- a lost connection --------------------------------------------------------------------------------


def step_on(page: Any) -> None:
    page.click("#redo")


AWAY = {
    "board": (opening("/board?variant=ashton-5-4v0"), lambda page: move(page, "c3-b3"), ".made"),
    "play": (own_turn, move_anything, ".made >> nth=2"),
    "puzzle": (REQUESTS["puzzle hint"].prepare, pressing("#hint"), "#answer:has-text('moves.')"),
    "list": (
        opening("/puzzles?rules=ashton"),
        lambda page: page.select_option("#rules", "mcgill"),
        "#list a:has-text('mcgill')",
    ),
    "games": (analysed_game, step_on, "#turn:has-text('Black')"),
    "analysis": (analysed_game, pressing("#analyse"), "#graph svg"),
    "endings": (opening("/endings"), lambda page: page.select_option("#kind", "draw"), "#positions .chip.draw"),
    "rules": (opening("/board?variant=leiden"), pressing("#rules-open"), "#rulebook .man"),
}


@pytest.mark.parametrize("name", AWAY)
def test_a_lost_connection_is_told_and_mends_by_itself(browser: Any, workers: Workers, name: str) -> None:
    prepare, act, done = AWAY[name]
    with ExitStack() as stack:
        with running(Settings(), workers) as address:
            page = stack.enter_context(page_of(browser, address))
            prepare(page)
        act(page)
        page.wait_for_selector("#message:has-text('does not answer')")
        assert page.locator(done).count() == 0
        stack.enter_context(running(Settings(), workers, port=int(address.rpartition(":")[2])))
        page.wait_for_selector(done)
        page.wait_for_selector("#message", state="hidden")
        # The page goes on as before.
        if name == "puzzle":
            page.click("#reveal")
            page.wait_for_selector("#answer:has-text('The line')")
        page.goto("about:blank")  # before the server ends


# -- the keys ← and → -----------------------------------------------------------------------------------


def test_arrows_step_through_a_game_wherever_the_focus_is(page: Any) -> None:
    opened(page, "/board?variant=ashton-5-4v0")

    def back_and_forth() -> None:
        page.keyboard.press("ArrowLeft")
        until(page, "document.querySelectorAll('.made.later').length === 1")
        page.keyboard.press("ArrowRight")
        until(page, "document.querySelectorAll('.made:not(.later)').length === 1")

    move(page, "c3-b3")
    until(page, "document.querySelectorAll('.made').length === 1")
    assert page.evaluate("document.activeElement.dataset.square") == "b3"
    back_and_forth()
    page.click("#undo")
    until(page, "document.querySelectorAll('.made.later').length === 1")
    drag(page, "c3", "b3")
    until(page, "document.querySelectorAll('.made:not(.later)').length === 1")
    back_and_forth()
    # A square that was only pressed, buttons, lists and choices.
    square(page, "a1").click()
    back_and_forth()
    for name in ("#flip", "#legal button >> nth=0", ".made", "#movetime", "#variant", "summary >> nth=0"):
        page.focus(name)
        back_and_forth()
    assert page.input_value("#movetime") == "5"
    # Text fields keep their keys.
    page.fill("#move", "c1-b1")
    page.keyboard.press("ArrowLeft")
    page.wait_for_timeout(200)
    assert page.locator(".made.later").count() == 0


def test_arrows_move_the_focus_on_the_board_for_who_uses_keys_alone(page: Any) -> None:
    opened(page, "/board?variant=ashton-5-4v0")
    move(page, "c3-b3")
    until(page, "document.querySelectorAll('.made').length === 1")
    # Another key of the board turns to keys: from then on, the arrows are those of the board.
    page.keyboard.press("Escape")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.dataset.square") == "c4"
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.dataset.square") == "e4"
    assert page.locator(".made.later").count() == 0
    page.keyboard.press("f")
    assert page.evaluate("document.activeElement.dataset.square") == "e4"


def test_arrows_step_through_a_loaded_game_after_a_press_on_its_board(page: Any) -> None:
    analysed_game(page)
    square(page, "a1").click()
    page.keyboard.press("ArrowRight")
    page.wait_for_selector(".made.here")
    page.keyboard.press("End")
    until(page, "document.querySelectorAll('.made.later').length === 0")


# -- the editor -------------------------------------------------------------------------------------------


def position(page: Any) -> str:
    return str(page.input_value("#position"))


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_a_man_is_dragged_in_the_editor(browser: Any, shown: str, width: int, height: int) -> None:
    with page_of(browser, shown, width, height) as page:
        opened(page, "/board?variant=ashton-5-4v0")
        page.click("#edit")
        page.locator("#board").scroll_into_view_if_needed()
        start = position(page)
        assert start == "2b2/5/b1K1b/5/2b2 w"
        drag(page, "a3", "a5")
        assert position(page) == "b1b2/5/2K1b/5/2b2 w"
        # Onto another man, which it replaces; off the board; and nowhere.
        drag(page, "a5", "c5")
        assert position(page) == "2b2/5/2K1b/5/2b2 w"
        drag(page, "c3", None)
        assert position(page) == "2b2/5/4b/5/2b2 w"
        page.wait_for_selector("#why:has-text('no king')")
        drag(page, "a1", "b2")
        assert position(page) == "2b2/5/4b/5/2b2 w"
        # All of it can be undone, with keys and buttons, and done again.
        for text in ("2b2/5/2K1b/5/2b2 w", "b1b2/5/2K1b/5/2b2 w"):
            page.keyboard.press("ArrowLeft")
            assert position(page) == text
        page.click("#undo")
        assert position(page) == start
        assert page.is_disabled("#undo")
        page.click("#redo")
        page.click("#edit-clear")
        assert position(page) == "5/5/5/5/5 w"
        page.click("#undo")
        page.click("#edit-done")
        until(page, "document.querySelectorAll('#legal button').length > 0")
        assert position(page) == "b1b2/5/2K1b/5/2b2 w"
        assert page.is_hidden("#editor")
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_finger_drags_a_man_in_the_editor(browser: Any, shown: str) -> None:
    with page_of(browser, shown, 390, 844, has_touch=True, is_mobile=True) as page:
        opened(page, "/board?variant=ashton-5-4v0")
        page.tap("#edit")
        page.locator("#board").scroll_into_view_if_needed()
        square(page, "b2").tap()
        until(page, "document.getElementById('position').value === '2b2/5/b1K1b/1b3/2b2 w'")
        boxes = [square(page, name).bounding_box() for name in ("a3", "a5")]
        at = [{"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2} for box in boxes]
        session = page.context.new_cdp_session(page)
        for kind, points in (("touchStart", at[:1]), ("touchMove", at[1:]), ("touchEnd", [])):
            session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
        until(page, "document.getElementById('position').value === 'b1b2/5/2K1b/1b3/2b2 w'")


def test_what_else_is_shown_ends_the_editing(page: Any) -> None:
    opened(page, "/board?variant=ashton-5-4v0")
    for name in ("#start", "#edit"):
        page.click("#edit")
        drag(page, "a3", "a5")
        page.click(name)
        until(page, "document.querySelectorAll('#legal button').length > 0")
        assert page.is_hidden("#editor")
        assert position(page) == "2b2/5/b1K1b/5/2b2 w"


# -- what ends a game ----------------------------------------------------------------------------------------


def test_a_running_game_ends_only_at_the_second_press(page: Any) -> None:
    button = "#start"
    own_turn(page)
    seed = page.url.partition("seed=")[2]
    page.click("#fold summary")
    page.click(button)  # nothing is lost yet
    until(page, f"!location.href.endsWith('{seed}')")
    mine(page, 1)
    assert page.is_visible("#rematch")
    move_anything(page)
    mine(page, 3)
    assert page.is_hidden("#rematch")
    seed = page.url.partition("seed=")[2]
    page.click("#fold summary")
    label = page.inner_text(button)
    page.click(button)
    assert page.inner_text(button) == f"{label}: sure?"
    page.click("#flip")
    assert page.inner_text(button) == label
    page.dblclick(button)
    assert page.locator(".made").count() == 3
    assert page.url.endswith(seed)
    page.click(button)
    until(page, "document.querySelectorAll('.made').length < 3")
    assert not page.url.endswith(seed)


def test_deleted_games_can_be_restored(page: Any) -> None:
    analysed_game(page)
    page.click("#forget")
    assert page.locator("#kept li").count() == 0
    page.click("#forget:has-text('Restore')")
    assert page.locator("#kept li").count() == 1
    page.click("#forget:has-text('Delete')")
    page.reload()
    assert page.locator("#kept li").count() == 0
