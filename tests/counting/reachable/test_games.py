"""Proof games and backward trees, against the plain rules and against everything that small boards reach."""

import ast
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings

from counting.reachable.certificate_checker import LEMMAS, Checker, PlainReach
from counting.reachable.drawing import drawer_for
from counting.reachable.lemmas import lemmas_for
from counting.reachable.proof_games import (
    EFFORTS,
    LARGE_EFFORTS,
    Effort,
    backward_tree,
    finder_for,
    game_by_predecessor,
    naive_position,
)
from tablut.engine import engine_for
from tablut.engine.engine import position_keys, words_of_keys
from tablut.variants import Variant, load_variant
from tests.support.effort import slow_but
from tests.support.strategies import small_variants

relaxed = settings(deadline=None, suppress_health_check=list(HealthCheck))


def reached_by_play(variant: Variant) -> np.ndarray:
    """Return all undecided positions that the start reaches, ply by ply."""
    engine = engine_for(variant)
    known = position_keys(engine.words(engine.start()))
    front = known
    while len(front):
        children = engine.expand(words_of_keys(front))
        found = np.unique(position_keys(children.words[children.outcomes == 0]))
        front = found[~np.isin(found, known)]
        known = np.union1d(known, front)
    return known


@cache
def sorted_out_by_name(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return sorted_out(load_variant(name))


def sorted_out(variant: Variant) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return all counted positions, whether the start reaches each, and its lemma."""
    drawer, engine = drawer_for(variant), engine_for(variant)
    words = drawer.positions(list(range(drawer.size)))
    reached = np.isin(position_keys(words), reached_by_play(variant))
    return words, reached, lemmas_for(variant).of_boards(engine.boards(words))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "reached", "excluded", "unexplained"),
    [
        ("ashton-5-4v0", 139_097, {"locked": 10, "last_move": 14_139}, 47_086),
        ("brandubh-5-4v0", 199_512, {"locked": 1_242, "last_move": 10_720}, 2_316),
    ],
)
def test_every_position_of_a_board_is_explained(
    name: str, reached: int, excluded: dict[str, int], unexplained: int
) -> None:
    """No reached position satisfies a lemma; all others satisfy one or come from others alone."""
    variant = load_variant(name)
    words, is_reached, codes = sorted_out_by_name(name)
    assert int(is_reached.sum()) == reached
    assert not codes[is_reached].any()
    left = codes[~is_reached]
    assert {LEMMAS[code - 1]: int((left == code).sum()) for code in np.unique(left) if code} == excluded
    rest = words[~is_reached & (codes == 0)]
    assert len(rest) == unexplained
    # Closed under predecessors, and without the start: exhausted backward trees, all at once.
    tree = backward_tree(variant, rest, most=len(rest))
    assert tree is not None
    assert len(tree) == len(rest)


CORNERED = Variant(
    "cornered",
    "",
    "",
    ("AAA.", ".AAA", "....", ".T.A"),
    ("....", "....", "....", "..Kb"),
    load_variant("brandubh").rules,
)
"""Black begins, and its one attacker can only ever leave its camp."""


def assert_decided_rightly(variant: Variant) -> None:
    words, is_reached, codes = sorted_out(variant)
    assert not codes[is_reached].any()
    rest = words[~is_reached & (codes == 0)]
    assert not len(rest) or backward_tree(variant, rest, most=len(rest)) is not None
    passed = np.flatnonzero(codes == 0)[:: max(1, int((codes == 0).sum()) // 60)]
    checker = Checker(variant)
    for place, found in zip(passed, finder_for(variant).find(engine_for(variant).boards(words[passed])), strict=True):
        if found.status == "game":
            assert is_reached[place]
            assert checker.game(checker.position(int(place)), list(found.moves)) is None
        else:
            assert not is_reached[place], found


@settings(relaxed, max_examples=5)
@example(CORNERED)
@given(small_variants(4, 2, 1))
def test_every_position_of_a_random_board_is_decided_rightly(variant: Variant) -> None:
    assert_decided_rightly(variant)


@pytest.mark.slow
def test_every_position_of_a_wide_board_is_decided_rightly() -> None:
    """A king and an attacker on 13×13, under the rules of Alea Evangelii."""
    corners, edge, middle = ("XX.........XX",) * 2, ("." * 13,) * 4, "......T......"
    empty, king, black = "." * 13, "......K......", "......b......"
    terrain = (*corners, *edge, middle, *edge, *corners)
    start = (black, *[empty] * 5, king, *[empty] * 6)
    assert_decided_rightly(replace(load_variant("alea-evangelii"), name="wide", terrain=terrain, start=start))


@pytest.mark.parametrize("name", slow_but(["mcgill", "brandubh"], ["ashton", "bologna", "leiden", "berkeley"]))
def test_games_are_found_and_hold(name: str) -> None:
    variant = load_variant(name)
    engine, drawer, checker = engine_for(variant), drawer_for(variant), Checker(variant)
    words, numbers = drawer.draw(17, 0, 30)
    boards = engine.boards(words)
    passed = np.flatnonzero(lemmas_for(variant).of_boards(boards) == 0)[:8]
    assert len(passed)
    for place, found in zip(passed, finder_for(variant).find(boards[passed]), strict=True):
        assert found.status == "game"
        assert checker.game(checker.position(numbers[place]), list(found.moves)) is None


def test_games_by_way_of_a_predecessor_hold() -> None:
    variant = load_variant("brandubh")
    engine, checker, drawer = engine_for(variant), Checker(variant), drawer_for(variant)
    # A game to a predecessor of a position that one ply reaches may pass through this position.
    after_a_ply = engine.expand(engine.words(engine.start())).words[:3]
    words = np.concatenate([after_a_ply, drawer.draw(17, 0, 8)[0]])
    boards = engine.boards(words)
    for board in boards[lemmas_for(variant).of_boards(boards) == 0]:
        found = game_by_predecessor(variant, board, seed=1)
        assert found.status == "game"
        assert checker.game(naive_position(variant, board), list(found.moves)) is None


@pytest.mark.slow
@pytest.mark.parametrize("index", [4469, 19_441])
def test_games_to_samples_that_resisted_every_search(index: int) -> None:
    variant = load_variant("copenhagen")
    words, (number,) = drawer_for(variant).draw(2, index, 1)
    found, checker = game_by_predecessor(variant, engine_for(variant).boards(words)[0], seed=1), Checker(variant)
    assert found.status == "game"
    assert checker.game(checker.position(number), list(found.moves)) is None


@pytest.mark.slow
def test_attackers_leave_homes_where_they_block_other_pieces() -> None:
    """In sample 310, defenders on k5 and k7 enclose an attacker on k6, which can only come from j6, another home."""
    variant = load_variant("copenhagen")
    words, numbers = drawer_for(variant).draw(1, 310, 21)
    boards, checker = engine_for(variant).boards(words)[[0, 20]], Checker(variant)
    few = EFFORTS[:8], LARGE_EFFORTS[:16]
    strict, loose = (finder_for(variant).find(boards, efforts=efforts) for efforts in few)
    assert [found.status for found in strict] == ["unknown", "unknown"]
    for number, found in zip((numbers[0], numbers[20]), loose, strict=True):
        assert found.status == "game"
        assert checker.game(checker.position(number), list(found.moves)) is None


def test_a_search_without_room_gives_up() -> None:
    variant = load_variant("ashton")
    words, _ = drawer_for(variant).draw(17, 0, 10)
    boards = engine_for(variant).boards(words)
    passed = boards[lemmas_for(variant).of_boards(boards) == 0]
    assert {found.status for found in finder_for(variant).find(passed, efforts=(Effort(1, 5),))} == {"unknown"}


def test_the_start_is_reached_by_no_move() -> None:
    variant = load_variant("ashton")
    (found,) = finder_for(variant).find(engine_for(variant).start()[None])
    assert (found.status, found.moves) == ("game", ())


def test_backward_trees_agree_with_their_twin() -> None:
    variant = load_variant("ashton-5-4v0")
    words, is_reached, codes = sorted_out_by_name("ashton-5-4v0")
    reach = PlainReach(variant)
    sizes = set()
    for place in np.flatnonzero(~is_reached & (codes == 0))[::2741]:
        tree = backward_tree(variant, words[place : place + 1], most=60)
        naive = reach.backward_tree(Checker(variant).position(int(place)), 60)
        assert (tree is None) == (naive is None)
        if tree is not None and naive is not None:
            assert len(tree) == len(naive)
            sizes.add(len(tree))
    assert len(sizes) > 1
    reached = words[np.flatnonzero(is_reached)[:1]]
    assert backward_tree(variant, reached) is None


def test_the_checker_shares_the_plain_rules_alone() -> None:
    """What a check imports of `counting`, directly or through another module, is plain."""
    root = Path(__file__).parents[3]
    seen, pending = set(), ["counting.reachable.certificate_checker"]
    while pending:
        seen.add(module := pending.pop())
        for node in ast.walk(ast.parse((root / f"{module.replace('.', '/')}.py").read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                if node.module.startswith("counting.") and node.module not in seen:
                    pending.append(node.module)
                if node.module == "tablut.indexing":  # docs/reachable.md says that these ranks are shared
                    assert {name.name for name in node.names} <= {"EndingIndex", "Ending"}
                    continue
                assert not node.module.startswith(("tablut.engine", "tablut.indexing", "numba"))
    assert seen == {
        "counting.exclusions.sets",
        "counting.reachable.certificates",
        "counting.reachable.certificate_checker",
    }
