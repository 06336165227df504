"""Puzzles in a real browser: right moves at once, solutions played through, the day's puzzle, the rating, mistakes.

Skipped where something is missing, as the other tests in a browser.
"""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from tests.support.browsing import asked, held, move, opened, until

pytestmark = pytest.mark.browser

MEN = "[...document.querySelectorAll('#board .man')].map((man) => man.dataset.at).sort().join()"
STANDING = "JSON.parse(localStorage.getItem('puzzle-record') || '{}')"


def glicko(rating: float, deviation: float, volatility: float, other: float, spread: float) -> tuple[float, float]:
    """Return a rating and its deviation after a win, by Glickman's formulas without a change of the volatility."""
    scale = 173.7178
    phi = deviation / scale
    weight = 1 / math.sqrt(1 + 3 * (spread / scale) ** 2 / math.pi**2)
    expected = 1 / (1 + math.exp(-weight * (rating - other) / scale))
    precision = weight**2 * expected * (1 - expected)
    after = 1 / math.sqrt(1 / (phi**2 + volatility**2) + precision)
    return rating + scale * after**2 * weight * (1 - expected), scale * after


def test_a_right_first_move_is_told_before_the_proof_and_a_stopped_one_is_taken_back(page: Any) -> None:
    opened(page, "/puzzles?puzzle=brandubh-01")
    before = page.evaluate(MEN)
    routes = held(page, "**/try")
    move(page, "d4-g4")
    asked(page, routes)
    assert page.evaluate(MEN) != before
    assert page.inner_text("#answer").startswith("Right!")
    page.click("#answer button")
    until(page, f"{MEN} === '{before}'")
    assert page.inner_text("#answer") == "Stopped."
    page.unroute("**/try")
    # A wrong one is taken back after its refutation.
    page.locator("#board button.movable").first.click()
    targets = page.locator("#board button.reachable")
    names = [one.get_attribute("data-square") for one in targets.all()]
    targets.first.click()
    page.wait_for_selector(".answer.wrong, .answer.right")
    assert names
    page.click("#again")
    until(page, f"{MEN} === '{before}'")
    move(page, "d4-g4")
    page.wait_for_selector(".answer.right")


def test_the_solution_is_played_through_on_the_board(page: Any) -> None:
    opened(page, "/puzzles?puzzle=brandubh-01")
    before = page.evaluate(MEN)
    page.click("#reveal")
    page.wait_for_selector("#answer:has-text('The line')")
    until(
        page, "document.querySelectorAll('.made').length > 2 && document.querySelectorAll('.made.later').length === 0"
    )
    after = page.evaluate(MEN)
    page.keyboard.press("ArrowUp")
    until(page, f"{MEN} === '{before}'")
    page.keyboard.press("ArrowRight")
    until(page, "document.querySelectorAll('.made:not(.later)').length === 1")
    page.click("#last")
    until(page, f"{MEN} === '{after}'")
    page.click("#again")
    page.wait_for_selector("text=Find the first move.")
    assert page.is_hidden("#replay")
    until(page, f"{MEN} === '{before}'")


def test_the_rating_counts_the_first_attempt(page: Any) -> None:
    opened(page, "/puzzles?puzzle=brandubh-01")
    move(page, "d4-g4")
    page.wait_for_selector(".answer.right")
    page.wait_for_selector("#turn span:has-text('White to move')")
    move(page, "g4-g1")
    page.wait_for_selector("text=Solved!")
    page.wait_for_selector("#rated:has-text('Your rating')")
    first = page.evaluate(STANDING)
    assert first["count"] == first["streak"] == 1
    puzzle = page.request.get("/api/puzzles/brandubh-01").json()["puzzle"]
    worth = 900 + 90 * math.log2(1 + puzzle["nodes"] / 50) + 40 * (puzzle["plies"] // 2)
    assert (first["rating"], first["deviation"]) == pytest.approx(glicko(1500, 350, 0.06, worth, 120), abs=0.5)
    page.click("#again")
    page.wait_for_selector("text=Find the first move.")
    page.click("#reveal")
    page.wait_for_selector("#answer:has-text('The line')")
    assert page.evaluate(STANDING) == first
    opened(page, "/puzzles?puzzle=brandubh-02")
    page.click("#reveal")
    page.wait_for_selector("#answer:has-text('The line')")
    now = page.evaluate(STANDING)
    assert (now["count"], now["streak"]) == (2, 0)
    assert now["rating"] < first["rating"]
    opened(page, "/puzzles")
    assert page.inner_text("#standing-line").startswith("Your rating: ")
    # What else is stored there does no harm.
    page.evaluate("localStorage.setItem('puzzle-record', '{\"rating\": \"<b>\"}')")
    opened(page, "/puzzles")
    assert page.locator("#list li").count() > 0


def test_the_puzzle_of_the_day_depends_on_the_date_alone(page: Any) -> None:
    found = []
    for day in ("2026-11-29", "2026-11-29", "2026-11-30"):
        page.clock.set_fixed_time(f"{day}T12:00:00Z")
        opened(page, "/puzzles?daily")
        page.wait_for_selector("#heading:has-text('Puzzle of the day')")
        found.append(page.inner_text("#about").split(",")[0])
    assert found[0] == found[1] != found[2]
    page.goto("/")
    page.click("a:has-text('Puzzle of the day')")
    page.wait_for_selector("#heading:has-text('November 30, 2026')")


def test_puzzles_are_made_of_ones_own_mistakes(page: Any) -> None:
    opened(page, "/games")
    page.fill("#record", '[Variant "ashton-5-4v0"] 1. c3-b3 c1-b1 2. b3-b2')
    page.click("#load button.main")
    page.wait_for_selector("#game:not([hidden]) .made")
    page.click("#analyse")
    page.wait_for_selector("#learn:not([hidden])")
    kept = page.evaluate("JSON.parse(localStorage.getItem('mistakes'))")
    assert [one["played"] for one in kept] == ["b3-b2"]
    page.click("#learn")
    page.wait_for_selector("#claim:has-text('White played b3-b2')")
    page.wait_for_selector("#turn span:has-text('White to move')")
    before = page.evaluate(MEN)
    move(page, "b3-b2")
    page.wait_for_selector(".answer.wrong:has-text('was played')")
    until(page, f"{MEN} === '{before}'")
    move(page, kept[0]["best"][0])
    page.wait_for_selector(".answer.right")
    page.evaluate("localStorage.setItem('mistakes', " + json.dumps('{"no": "list"}') + ")")
    opened(page, "/puzzles")
    assert page.is_hidden("#own-mistakes")
    page.goto("/puzzles?mistake=7")
    page.wait_for_selector("#message.wrong")
