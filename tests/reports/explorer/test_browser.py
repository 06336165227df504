"""The explorer in a real browser: chromium from the system, driven by Playwright, judged by axe.

The group is skipped where something is missing, and says what: `pip install -e '.[browser]'`, a chromium on the PATH.
"""

from __future__ import annotations

import json
import re
import tomllib
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

import httpx
import pytest
from explorers import running

from reports.explorer.guard import Settings
from tablut.play.collection import write_collection
from tablut.variants import load_variant
from tablut.work.progress import Observer
from tests.support.browsing import drag, move, opened, page_of, square, until
from tests.support.waiting import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reports.explorer.work import Workers

pytestmark = pytest.mark.browser

ROOT = Path(__file__).resolve().parents[3]
RECORD = ROOT / "tests" / "data" / "records" / "bologna-italian_gameLog.txt"
ENDING = "9/9/9/3b5/4K4/9/6b2/9/9 w"
SMALL_RULES = (ROOT / "tablut" / "variants" / "data" / "ashton-5-4v0.toml").read_text(encoding="utf-8")
PAGES = {
    "home": "/",
    "board": "/board",
    "ending": f"/board?variant=ashton&position={ENDING.replace(' ', '%20')}",
    "large": "/board?variant=alea-evangelii",
    "play": "/play",
    "puzzles": "/puzzles?rules=brandubh",
    "puzzle": "/puzzles?puzzle=brandubh-01",
    "endings": "/endings",
    "openings": "/openings",
    "games": "/games",
    "api": "/docs",
    "help": "/help",
    "nothing": "/nothing",
}


@pytest.fixture
def page(browser: Any, shown: str) -> Iterator[Any]:
    """Yield a page at whose end the console must have been silent."""
    with page_of(browser, shown, height=900) as found:
        yield found


def take_rules(page: Any, text: str) -> None:
    """Play by rules of one's own."""
    page.select_option("#variant", " own")
    page.fill("#own-text", text)
    page.click("#own-take")


# -- the board -----------------------------------------------------------------------------------


def test_moves_by_click_drag_text_and_list(page: Any) -> None:
    opened(page, "/board?variant=ashton-5-4v0")
    move(page, "c3-c1")
    page.wait_for_selector("#message:has-text('an attacker stands on c1')")
    move(page, "c3-b3")
    until(page, "document.getElementById('turn').textContent.includes('Black')")
    drag(page, "c1", "b1")
    until(page, "document.getElementById('turn').textContent.includes('White')")
    page.fill("#move", "b3b4")
    page.press("#move", "Enter")
    until(page, "document.getElementById('turn').textContent.includes('Black')")
    assert page.evaluate("location.href").endswith("?variant=ashton-5-4v0&moves=c3-b3%2Cc1-b1%2Cb3-b4")
    page.click("#undo")
    until(page, "document.querySelectorAll('.made.later').length === 1")
    page.click("#redo")
    until(page, "document.querySelectorAll('.made.later').length === 0")
    page.reload()
    until(page, "document.querySelectorAll('.made').length === 3")
    page.keyboard.press("Home")
    until(page, "document.getElementById('turn').textContent.includes('White')")
    page.click("#legal button >> nth=0")
    until(page, "document.getElementById('turn').textContent.includes('Black')")


def test_flip_and_rotate_keep_every_square_where_its_name_is(page: Any) -> None:
    opened(page, "/board?variant=brandubh")
    places = []
    for button in (None, "#rotate", "#rotate", "#rotate", "#rotate", "#flip", "#flip"):
        if button:
            page.click(button)
        box = square(page, "a1").bounding_box()
        board = page.locator("#board").bounding_box()
        places.append((box["x"] < board["x"] + board["width"] / 2, box["y"] < board["y"] + board["height"] / 2))
        # The label of a square is that of the piece drawn on it.
        assert "attacker" in square(page, "d1").get_attribute("aria-label")
    assert places == [
        (True, False),
        (True, True),
        (False, True),
        (False, False),
        (True, False),
        (False, True),
        (True, False),
    ]


def test_an_ending_is_walked_to_its_end_by_best_moves(page: Any) -> None:
    opened(page, "/endings")
    page.click('#tables button[data-table="ashton-5"]')
    page.select_option("#material", "2v0")
    page.wait_for_selector("#positions a:has-text('W 7')")
    page.click("#positions a:has-text('W 7') >> nth=0")
    page.wait_for_selector("#legal .chip")
    distance = 7
    assert f"win in {distance} plies" in page.inner_text("#table")
    while "has won" not in page.inner_text("#turn"):
        assert distance > 0
        before = page.inner_text("#turn")
        page.click("#legal button >> nth=0")
        until(page, f"document.getElementById('turn').textContent !== {json.dumps(before)}")
        distance -= 1
    assert distance == 0


def test_a_position_is_edited(page: Any) -> None:
    opened(page, "/board?variant=ashton-5-4v0")
    page.click("#edit")
    square(page, "c3").click()
    square(page, "c3").click()
    page.check("input[name=tool][value=K]")
    page.wait_for_selector("#why:not([hidden])")
    # The draft is told of, not the board before it.
    assert page.locator("#legal button").count() == 0
    assert page.is_disabled("#think")
    page.check("input[name=side][value=b]")
    page.check("input[name=side][value=w]")
    square(page, "c3").click()
    square(page, "c3").click()
    square(page, "b2").click()
    page.click("#edit-done")
    until(page, "document.querySelectorAll('#legal button').length > 0")
    assert page.input_value("#position") == "2b2/5/b3b/1K3/2b2 w"
    page.click("#edit")
    page.check("input[name=side][value=b]")
    until(page, "document.getElementById('turn').textContent === 'Black to move'")


def test_rules_of_ones_own_stay_in_the_address(page: Any) -> None:
    opened(page, "/board")
    take_rules(page, "first = 'white'")
    until(page, "document.getElementById('own-wrong').textContent.includes('missing')")
    take_rules(page, SMALL_RULES.replace("ashton-5-4v0", "mine"))
    until(page, "document.querySelectorAll('#board button').length === 25")
    assert "#rules=" in page.evaluate("location.href")
    move(page, "c3-b3")
    until(page, "document.getElementById('turn').textContent.includes('Black')")
    page.reload()
    until(page, "document.querySelectorAll('#board button').length === 25")
    assert page.locator(".made").count() == 1


def test_the_engine_tells_its_line_and_stops(page: Any) -> None:
    opened(page, "/board?variant=brandubh")
    page.click("#think")
    page.wait_for_selector("#engine .score")
    assert re.search(r"White (is expected|wins)|Black wins", page.inner_text("#engine"))
    # The three best moves have arrows, with the best move's arrow on top, and are listed with their lines.
    until(page, "document.querySelectorAll('#board .arrow').length === 3")
    arrows = [page.locator("#board .arrow").nth(number).get_attribute("class").split()[1:] for number in range(3)]
    assert arrows == [["third"], ["second"], []]
    listed = page.locator("#engine .lines .line").all_inner_texts()
    assert len({line.split()[0][:5] for line in listed}) == 3
    page.click("#think")
    # What was found stays, until there is another position.
    assert page.is_visible("#engine .score")
    move(page, page.locator("#legal button").first.get_attribute("data-move"))
    until(page, "document.querySelectorAll('.made').length === 1")
    assert page.inner_text("#engine") == ""
    opened(page, "/board?variant=ashton-5-4v0")
    page.click("#prove")
    page.wait_for_selector("#proof .chip")
    assert "win in 3 plies" in page.inner_text("#proof")


# -- play, puzzles, games ------------------------------------------------------------------------


def test_a_game_is_played_to_its_end(page: Any, shown: str) -> None:
    opened(page, "/play")
    page.select_option("#variant", "ashton-5-4v0")
    page.select_option("#side", "white")
    page.select_option("#player", "random")
    page.click("#new button")
    for _ in range(12):
        until(page, "/White to move|You |draw/.test(document.getElementById('turn').textContent)")
        if "to move" not in page.inner_text("#turn"):
            break
        made = [text.split("x")[0].split()[-1] for text in page.locator(".made").all_inner_texts()]
        asked = {"variant": "ashton-5-4v0", "moves": made, "nodes": 5000}
        best = httpx.post(f"{shown}/api/bestmove", json=asked, timeout=PATIENCE).json()["move"]
        move(page, best)
        until(page, f"document.querySelectorAll('.made').length > {len(made)}")
    assert "You won" in page.inner_text("#turn")


def test_a_puzzle_is_solved_and_a_wrong_move_refuted(page: Any, shown: str) -> None:
    opened(page, "/puzzles?rules=brandubh&grade=1")
    page.click('[data-puzzle="brandubh-01"]')
    page.wait_for_selector("#turn span:has-text('White to move')")
    legal = httpx.get(f"{shown}/api/puzzles/brandubh-01").json()["puzzle"]
    moves = httpx.post(f"{shown}/api/moves", json={"variant": "brandubh", "position": legal["position"]}).json()[
        "moves"
    ]
    wrong = next(one["move"] for one in moves if one["move"] != "d4-g4")
    move(page, wrong)
    page.wait_for_selector(".answer.wrong")
    assert "provably" in page.inner_text("#answer")
    page.click("#again")
    page.wait_for_selector("text=Find the first move.")
    move(page, "d4-g4")
    page.wait_for_selector(".answer.right")
    page.wait_for_selector("#turn span:has-text('White to move')")
    move(page, "g4-g1")
    page.wait_for_selector("text=Solved!")
    assert page.is_disabled("#hint")
    assert page.is_disabled("#make")
    assert page.evaluate("JSON.parse(localStorage.getItem('puzzles'))['brandubh-01']") == "solved"
    page.click("#next")
    page.wait_for_selector("#heading:has-text('brandubh-02')")
    page.click("#hint")
    page.wait_for_selector("#answer:has-text('moves.')")
    page.click("#reveal")
    page.wait_for_selector("#answer:has-text('The line')")


def test_a_game_is_loaded_stepped_and_analysed(page: Any) -> None:
    opened(page, "/games")
    page.fill("#record", '[Variant "ashton-5-4v0"] 1. c3-b3 c1-b1 2. b3-b2')
    page.click("#load button.main")
    page.wait_for_selector("#game:not([hidden]) .made")
    page.click("#analyse")
    page.wait_for_selector("#graph svg")
    page.click("#last")
    until(page, "document.getElementById('turn').textContent.includes('Black')")
    assert "gave away" in page.inner_text("#ply-said")
    page.click("#example")
    until(page, "document.getElementById('who').textContent.includes('heuristic')")
    page.click("#kept button >> nth=0")
    until(page, "document.getElementById('who').textContent.includes('ashton-5-4v0')")
    page.click("#forget")
    assert page.locator("#kept li").count() == 0
    page.fill("#record", "")
    page.set_input_files("#file", str(RECORD))
    page.click("#load button.main")
    until(page, "document.getElementById('who').textContent.startsWith('bologna, 3 plies')")
    page.keyboard.press("ArrowRight")
    page.wait_for_selector(".made.here")


def test_after_a_record_that_is_refused_there_is_no_game(page: Any) -> None:
    opened(page, "/games")
    page.click("#example")
    page.wait_for_selector("#game:not([hidden]) .made")
    page.fill("#record", '[Variant "nosuch"] 1. e4-f4')
    page.click("#load button.main")
    page.wait_for_selector("#message.wrong")
    assert page.is_hidden("#game")
    page.keyboard.press("ArrowRight")
    page.click("#example")
    page.wait_for_selector("#game:not([hidden]) .made")


# -- everybody -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing_and_nothing_is_wider_than_a_phone(browser: Any, shown: str, name: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    context = browser.new_context(base_url=shown, viewport={"width": 1280, "height": 900}, color_scheme="light")
    page = context.new_page()
    for scheme in ("light", "dark"):
        # Loaded anew: colours that are still changing from one scheme to the other are nobody's.
        page.emulate_media(color_scheme=scheme)
        page.goto(PAGES[name])
        page.wait_for_load_state("networkidle")
        for summary in page.locator("summary:visible").all()[:3]:
            summary.click()
        found = Axe().run(page)
        told = [(one["id"], [node["html"][:120] for node in one["nodes"][:3]]) for one in found.response["violations"]]
        assert told == [], scheme
    page.set_viewport_size({"width": 360, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    context.close()


def test_a_phone_moves_by_touch(browser: Any, shown: str) -> None:
    context = browser.new_context(
        base_url=shown, viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True
    )
    page = opened(context.new_page(), "/board?variant=ashton-5-4v0")
    square(page, "c3").tap()
    square(page, "b3").tap()
    until(page, "document.getElementById('turn').textContent.includes('Black')")
    # What is to be done comes before a board that does nothing yet, and it says so where it is seen.
    opened(page, "/play")
    tops = [page.locator(one).bounding_box()["y"] for one in ("#new", "#board")]
    assert tops == sorted(tops)
    square(page, "d1").tap()
    page.wait_for_selector("#message:has-text('Start')")
    assert page.locator("#message").bounding_box()["y"] >= 0
    # A large board is scrolled, and a finger that scrolls moves nothing.
    opened(page, "/board?variant=alea-evangelii")
    assert square(page, "a19").bounding_box()["width"] >= 28
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    square(page, "d12").tap()
    name = "#board button[data-square='d13']"
    page.locator(name).dispatch_event("pointerdown", {"pointerType": "touch", "button": 0, "bubbles": True})
    assert page.locator("#board .selected").count() == 1
    square(page, "d13").tap()
    until(page, "document.querySelectorAll('.made').length === 1")
    context.close()


def test_moves_that_were_played_are_shown_and_made(browser: Any, workers: Workers, tmp_path: Path) -> None:
    archive, games = tmp_path / "games.csv", tmp_path / "my.games"
    archive.write_text("d2-e2 c4-c5,0,0,White\nd2-e2,0,0,Black\na4-a5,0,0,Draw\n", encoding="utf-8")
    write_collection(games, [archive], load_variant("brandubh"), Observer())
    with running(Settings(games=games), workers) as address:
        for width in (1280, 360):
            context = browser.new_context(base_url=address, viewport={"width": width, "height": 740})
            page = opened(context.new_page(), "/board?variant=brandubh")
            until(page, "document.querySelectorAll('#played tbody tr').length === 2")
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            page.click("#played tbody button")
            until(page, "document.getElementById('played').textContent.includes('2 games, 1 ended here')")
            page.click("#played details summary")
            page.click("#played details a:has-text('game 1')")
            page.wait_for_load_state("networkidle")
            until(page, "document.querySelectorAll('.made').length === 2")
            assert page.locator(".made.later").count() == 1
            context.close()


def test_keys_alone_are_enough(page: Any) -> None:
    opened(page, "/board?variant=ashton-5-4v0")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    for _ in range(30):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.dataset.square || ''"):
            break
    assert page.evaluate("document.activeElement.dataset.square") == "c3"
    page.keyboard.press("Enter")
    assert "chosen" in square(page, "c3").get_attribute("aria-label")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Space")
    until(page, "document.getElementById('turn').textContent.includes('Black')")
    assert "c3-b3" in page.inner_text("#live")
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowLeft")
    until(page, "document.getElementById('turn').textContent.includes('White')")


# -- a game from board to board --------------------------------------------------------------------


def start_of(page: Any, variant: str, side: str = "white", player: str = "greedy") -> None:
    opened(page, "/play")
    page.select_option("#variant", variant)
    page.select_option("#side", side)
    page.select_option("#player", player)
    page.click("#new button.main")


def legal(page: Any, shown: str) -> list[str]:
    """Return the legal moves of the game in the page's address."""
    said = dict(parse_qsl(urlsplit(page.url).query))
    asked = {"variant": said["variant"], "moves": said["moves"].split(",") if "moves" in said else []}
    return [one["move"] for one in httpx.post(f"{shown}/api/moves", json=asked).json()["moves"]]


def mine_again(page: Any, plies: int) -> None:
    until(page, f"document.querySelectorAll('.made').length === {plies}")
    until(page, "/White to move/.test(document.getElementById('turn').textContent)")


def test_a_game_survives_reload_and_another_tab(page: Any, shown: str) -> None:
    start_of(page, "brandubh", player="random")
    mine_again(page, 1)
    move(page, legal(page, shown)[0])
    mine_again(page, 3)
    made = page.locator(".made").all_inner_texts()
    page.reload()
    mine_again(page, 3)
    assert page.locator(".made").all_inner_texts() == made
    assert "against Random" in page.inner_text("#opponent")
    # Without an address, in another tab.
    another = page.context.new_page()
    opened(another, "/play")
    mine_again(another, 3)
    assert another.url == page.url
    another.close()
    page.click("#undo")
    mine_again(page, 1)


def test_resign_hint_rematch_and_analyse(page: Any, shown: str) -> None:
    start_of(page, "brandubh", player="random")
    mine_again(page, 1)
    page.click("#hint")
    page.wait_for_selector("#hint:has-text('Which move?')")
    page.click("#hint")
    until(page, "document.getElementById('live').textContent.startsWith('The engine would play')")
    move(page, legal(page, shown)[0])
    mine_again(page, 3)
    page.click("#resign")
    page.click("#flip")
    page.click("#resign")
    assert "White to move" in page.inner_text("#turn")
    page.click("#resign")
    until(page, "document.getElementById('turn').textContent.includes('You lost')")
    with page.expect_download() as found:
        page.click("#save button:has-text('Download')")
    text = Path(found.value.path()).read_text(encoding="utf-8")
    assert '[White "you"]' in text
    assert text.rstrip().endswith("black")
    page.reload()
    until(page, "document.getElementById('turn').textContent.includes('You lost')")
    page.click("#analyse")
    page.wait_for_selector("#game:not([hidden]) .made")
    assert page.locator(".made").count() == 3
    assert "result black" in page.inner_text("#who")
    page.reload()
    page.wait_for_selector("#game:not([hidden]) .made")
    assert "result black" in page.inner_text("#who")
    opened(page, "/games")
    page.click("#kept a:has-text('brandubh, 3 plies')")
    page.wait_for_selector("#game:not([hidden]) .made")
    page.keyboard.press("ArrowRight")
    page.wait_for_selector(".made.here")
    page.click("#play-here")
    page.wait_for_selector("#turn span")
    assert page.is_visible("#from-here-line")
    assert page.locator(".made").count() == 1
    page.select_option("#side", "white")
    page.select_option("#player", "random")
    page.click("#new button.main")
    until(page, "document.getElementById('opponent').textContent.includes('You are white')")
    page.click("#rematch")
    until(page, "document.getElementById('opponent').textContent.includes('You are black')")
    until(page, "document.querySelectorAll('.made').length === 0")


def test_two_searches_of_one_person_wait_for_each_other(page: Any) -> None:
    opened(page, "/board?variant=ashton-5-4v0")
    page.select_option("#movetime", "2")
    page.click("#think")
    page.click("#prove")
    page.wait_for_selector("#proof:has-text('Proved')")
    page.wait_for_selector("#engine .score")
    page.wait_for_selector("#think:has-text('Think')")
    assert page.get_attribute("#think", "aria-pressed") == "false"
    assert page.is_visible("#engine .score")


# -- the rules -------------------------------------------------------------------------------------


def text_of_rule(point: str, value: str) -> str:
    content = tomllib.loads((resources.files("reports") / "rulebook.toml").read_text(encoding="utf-8"))
    found = next(one for one in content["points"] if one["name"] == point)
    return str(found["texts"][found["values"].index(value)])


def test_rules_are_drawn_ones_own_too_and_a_puzzle_names_those_that_decide_it(page: Any) -> None:
    opened(page, "/board?variant=ashton-5-4v0")
    take_rules(page, SMALL_RULES.replace('pass = "nobody"', 'pass = "everyone"').replace("ashton-5-4v0", "mine"))
    until(page, "location.hash.startsWith('#rules=')")
    page.click("#rules-open")
    told = page.locator("[data-point='castle.pass']")
    assert told.inner_text().splitlines()[0] == text_of_rule("castle.pass", "everyone")
    assert told.locator(".man").count() == 4
    assert not page.is_visible("#rule-fields")
    page.click("#rulebook summary")
    assert page.is_visible("#rule-fields code:has-text('castle.pass')")
    for path in ("/play?variant=leiden", "/puzzles?puzzle=brandubh-10"):
        opened(page, path)
        page.click("#rules-open")
        page.wait_for_selector("#rulebook .man")
    page.click("#rulebook-close")
    page.click("#decide")
    page.wait_for_selector("#deciding li")
    page.click("#rules-open")
    page.wait_for_selector("#rulebook .decides")
    assert page.locator("#rulebook .decides").count() == page.locator("#deciding li").count()
