"""The analysis board in a real browser: a tree of moves, records with variations, lines of the engine, files of games.

Skipped where something is missing, as the other tests in a browser.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from tablut.board import Board
from tablut.records import read_record
from tests.support.browsing import move, opened, until

pytestmark = pytest.mark.browser

RECORD = r"""[Variant "brandubh"]
[White "Anna <b>"]

{before} 1. a4-a5 (1. d2-e2 {a \} and \{ here} c4-c5 (1... d3-e3 2. a4-a3 $6)) 1... d3-e3 {<img src=x onerror=alert(1)>}
2. a5-c5?! c4-c2 (2... d4-c4 3. a4-a4) *
"""


def made(page: Any, number: int) -> None:
    until(page, f"document.querySelectorAll('.made').length === {number}")


def here(page: Any, text: str) -> None:
    until(page, f"document.querySelector('.made.here')?.textContent.includes({json.dumps(text)})")


def saved(page: Any, button: str) -> str:
    with page.expect_download() as found:
        page.click(f"#save button:has-text('{button}')")
    return Path(found.value.path()).read_text(encoding="utf-8")


def test_another_move_makes_a_variation(page: Any) -> None:
    opened(page, "/board?variant=brandubh")
    for text in ("d2-e2", "c4-c5"):
        move(page, text)
        here(page, text)
    page.keyboard.press("ArrowLeft")
    here(page, "d2-e2")
    move(page, "d3-e3")
    here(page, "d3-e3")
    made(page, 3)
    assert page.locator(".variation .made").count() == 1
    # Both are there; the arrows go from one to the other, wherever the focus is.
    for place in ("#flip", "#movetime", "#made button >> nth=0"):
        page.focus(place)
        if place != "#movetime":  # a list of choices has its own keys ↑ and ↓
            page.keyboard.press("ArrowUp")
            here(page, "c4-c5")
            page.keyboard.press("ArrowDown")
            here(page, "d3-e3")
        page.keyboard.press("ArrowLeft")
        here(page, "d2-e2")
        page.keyboard.press("ArrowRight")
        here(page, "d3-e3")
    page.click("#promote")
    until(page, "document.querySelector('.variation .made').textContent.includes('c4-c5')")
    assert page.is_disabled("#promote")
    page.click("summary:has-text('Comment and mark')")
    page.fill("#comment", "better {really} <b>")
    page.select_option("#mark", "!?")
    until(page, "document.querySelector('.made.here').textContent.includes('!?')")
    # It survives a reload, and is written with everything.
    page.reload()
    here(page, "d3-e3")
    made(page, 3)
    assert page.locator("#made b").count() == 0
    record = read_record(saved(page, "PGN"))
    assert [str(one) for one in record.moves] == ["d2-e2", "d3-e3"]
    assert record.comments == {2: "better {really} <b>"}
    assert record.marks == {2: "!?"}
    assert record.variations == ((2, "1... c4-c5"),)
    page.click("#delete")
    here(page, "d2-e2")
    made(page, 2)
    page.click("#first")
    page.click("#delete", force=True)
    made(page, 2)


def test_a_record_with_variations_is_read_and_written_without_loss(page: Any) -> None:
    opened(page, "/board")
    texts = [RECORD]
    for button in ("Download it", "PGN"):
        page.fill("#position", texts[-1])
        page.click("#read button")
        made(page, 10)
        assert page.locator(".variation").count() == 3
        assert page.locator("#made img, #made b").count() == 0
        texts.append(saved(page, button))
        record = read_record(texts[-1])
        assert (record.comments, record.marks) == (
            {0: "before", 2: "<img src=x onerror=alert(1)>"},
            {3: "?!"},
        )
        first, second = record.variations
        assert first[0] == 1
        written = r"1. d2-e2 {a \u007d and \u007b here} 1... c4-c5 (1... d3-e3 2. a4-a3 $6)"
        assert " ".join(first[1].split()) == written
        assert (second[0], second[1].split()) == (4, ["2...", "d4-c4", "3.", "a4-a4"])
        assert record.tags["White"] == "Anna <b>"
    # A move of a variation that is not legal is refused, and the board stays.
    page.click(".variation .made:has-text('a4-a4')")
    page.wait_for_selector("#message.wrong")
    assert "d4-c4" in page.inner_text("#made")


def test_a_large_tree_is_bounded(page: Any) -> None:
    opened(page, "/board?variant=brandubh")
    line = " ".join(["d2-e2 c4-c5 e2-d2 c5-c4"] * 10)
    hostile = "(" * 150 + "d2-e2" + ")" * 150
    others = " ".join(f"(1. {'abcdefg'[number % 7]}{number // 7}-d2 {line})" for number in range(300))
    text = f'[Variant "brandubh"] 1. d2-e2 {hostile} {others} *'
    page.fill("#position", text)
    page.click("#read button")
    page.wait_for_selector("#message:has-text('not read whole')")
    assert "10,000" in page.inner_text("#message")
    assert "nested" in page.inner_text("#message")
    until(page, "document.querySelectorAll('.made').length > 9")
    assert page.locator(".made").count() < 1500
    page.click("#redo")
    here(page, "d2-e2")


def test_a_line_of_the_engine_is_previewed_and_played(page: Any) -> None:
    opened(page, "/board?variant=brandubh")
    page.select_option("#movetime", "2")
    page.click("#think")
    page.wait_for_selector("#engine li:first-child .pv >> nth=2")
    page.click("#think")
    cells = "[...document.querySelectorAll('#board .man')].map((man) => man.dataset.at).sort().join()"
    before = page.evaluate(cells)
    third = page.locator("#engine li:first-child .pv").nth(2)
    third.scroll_into_view_if_needed()
    third.hover()
    until(page, f"{cells} !== '{before}'")
    page.mouse.move(1, 1)
    until(page, f"{cells} === '{before}'")
    made(page, 0)
    words = [page.locator("#engine li:first-child .pv").nth(number).inner_text() for number in range(3)]
    third.click()
    made(page, 3)
    here(page, words[2])


def test_a_message_does_not_move_the_board(page: Any) -> None:
    opened(page, "/board?variant=brandubh")
    before = page.locator("#board").bounding_box()
    move(page, "d2-d3")
    page.wait_for_selector("#message:not([hidden])")
    assert page.locator("#board").bounding_box() == before
    box = page.locator("#message").bounding_box()
    assert 0 <= box["y"] < box["y"] + box["height"] <= page.viewport_size["height"]
    page.click("#message")
    assert page.is_hidden("#message")


def test_a_game_of_60_plies_is_made_annotated_saved_and_loaded_again(page: Any) -> None:
    choice, moves = random.Random(5), list[str]()
    board = Board("ashton")
    while board.ply < 60:
        board.push(choice.choice(list(board.legal_moves)))
        moves.append(str(board.peek()))
        if board.outcome() is not None:  # another game
            board, moves = Board("ashton"), []
    opened(page, "/board?variant=ashton")
    for number, text in enumerate(moves, 1):
        move(page, text)
        until(page, f"document.querySelectorAll('.made').length === {number} && !document.querySelector('.made.later')")
        until(page, "document.querySelectorAll('#board button.movable').length > 0")
    page.click("summary:has-text('Comment and mark')")
    page.fill("#comment", "the last one")
    page.select_option("#mark", "!!")
    text = saved(page, "PGN")
    opened(page, "/games")
    page.fill("#record", text)
    page.click("#load button.main")
    page.wait_for_selector("#game:not([hidden]) .made")
    made(page, 60)
    page.keyboard.press("End")
    page.wait_for_selector("#comment-said:has-text('the last one')")
    assert read_record(text).marks == {60: "!!"}


def test_the_engine_and_the_game_are_above_the_moves(page: Any) -> None:
    opened(page, "/board?variant=brandubh")
    tops = [page.locator(one).bounding_box()["y"] for one in ("#board", "#think", "#made", "#legal-fold")]
    assert tops == sorted(tops) or page.viewport_size["width"] > 900
    assert tops[1:] == sorted(tops[1:])
    assert tops[1] < page.viewport_size["height"]
    assert not page.locator("#legal").is_visible()
    page.click("#legal-fold summary")
    page.click("#legal button >> nth=0")
    made(page, 1)
    assert page.locator("#legal").is_visible()
    # Known values are shown.
    opened(page, "/board?variant=ashton-5-4v0")
    assert page.locator("#legal").is_visible()


def test_a_game_is_chosen_from_a_file_and_goes_to_the_board_with_its_variations(page: Any) -> None:
    opened(page, "/games")
    page.fill("#record", RECORD + '\n[Variant "brandubh"]\n[White "Bo"]\n\n1. d2-e2 c4-c5 black\n')
    page.click("#load button.main")
    page.wait_for_selector("#games-line:not([hidden])")
    until(page, "document.getElementById('who').textContent.includes('4 plies')")
    assert page.locator("#games option").count() == 2
    page.select_option("#games", "2")
    until(page, "document.getElementById('who').textContent.includes('2 plies')")
    page.select_option("#games", "1")
    until(page, "document.getElementById('who').textContent.includes('4 plies')")
    page.keyboard.press("ArrowDown")
    until(page, "document.querySelectorAll('.made.later').length === 0")
    page.click("#analyse-here")
    page.wait_for_selector("#engine-panel")
    made(page, 10)


def test_the_graph_follows_the_analysis(page: Any, shown: str) -> None:
    opened(page, "/games")
    page.fill(
        "#record", '[Variant "brandubh"] 1. a4-a5 d3-e3 2. a5-c5 c4-c2 3. d2-e2 d4-d3 4. c5-a5 d3-a3 5. d6-a6 a3-a1'
    )
    page.click("#load button.main")
    page.wait_for_selector("#game:not([hidden]) .made")
    page.click("#analyse")
    page.wait_for_selector("#graph svg")
    assert page.inner_text("#analyse") == "Stop"
    page.wait_for_selector("#analyse:has-text('Analyse')")
    until(page, "document.querySelectorAll('#reports p').length === 2")
