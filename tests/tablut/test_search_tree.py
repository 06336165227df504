"""Search against minimax in plain Python, and against the complete solution of the smallest boards."""

from dataclasses import replace
from functools import cache
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pytest

from retrograde.proofs import solve
from retrograde.proofs.win_search import reachable_values
from tablut.board import Board
from tablut.engine import engine_for
from tablut.engine.jit import advance, kernel, pointer
from tablut.engine.kernel_records import flat
from tablut.engine.layout import side_of
from tablut.play.search import ordering
from tablut.play.search import state as at
from tablut.play.search.limits import MATE, PROVEN, SearchLimits, mate_in
from tablut.play.search.searcher import Root, Searcher
from tablut.play.search.weights import TERMS
from tablut.position import Move, Position
from tablut.rules import NaiveGame
from tablut.variants import load_variant
from tests.support.effort import slow_but
from tests.support.games import OLDER_NAMES, recurrence
from tests.support.placements import letters
from tests.support.strategies import placement
from tests.twins.search import NaiveSearch

SOLVED = slow_but(["ashton-5-4v0"], ["brandubh-5-4v0"])
SOME_WEIGHTS = {term: Random(3).uniform(-30, 30) for term in TERMS}


@cache
def searcher(name, flags):
    variant = load_variant(name)
    return Searcher(variant, hash_mib=1, weights=SOME_WEIGHTS, flags=flags)


def played(variant, random, plies):
    """A board after random moves, not over."""
    while True:
        board = Board(variant)
        for _ in range(plies):
            if board.outcome() is not None:
                break
            board.push(random.choice(list(board.legal_moves)))
        if board.outcome() is None:
            return board


def naive_value(twin, board, depth):
    walk, past = board.copy(), []
    while walk.ply:
        walk.pop()
        past.append(twin.game.read(str(walk.position)))
    return twin.value(twin.game.read(str(board.position)), depth, past[::-1], board.ply)


@pytest.mark.parametrize(
    ("name", "depth", "cases"),
    slow_but(
        [("ashton-5-4v0", 3, 3), ("ashton-5-4v4", 2, 4), ("berkeley", 1, 2)],
        [
            ("ashton-5-4v0", 4, 1),
            ("brandubh-5-4v0", 3, 2),
            ("brandubh-5-4v0", 4, 1),
            ("ashton-7-4v1", 2, 2),
            ("leiden", 1, 2),
            ("mcgill", 1, 2),
        ],
    ),
)
def test_plain_alpha_beta_is_minimax(name, depth, cases):
    twin, random = NaiveSearch(load_variant(name), SOME_WEIGHTS), Random(f"{name}{depth}")
    for number in range(cases):
        board = played(twin.variant, random, 2 + 3 * number)
        expected = naive_value(twin, board, depth)
        assert searcher(name, 0).value(board, depth) == expected, board.position
        if depth < 4:  # from there on a position of the table may have another history
            remembering = searcher(name, at.TRANSPOSITIONS)
            remembering.forget()
            assert remembering.value(board, depth) == expected, board.position


def shuffled(variant, random, plies):
    """A board on which both sides like to go back to where they came from, not over."""
    while True:
        board = Board(variant)
        while board.ply < plies and board.outcome() is None:
            moves = list(board.legal_moves)
            back = [move for move in moves if board.ply > 1 and move == reverse(board.move_stack[-2])]
            board.push(back[0] if back and random.random() < 0.6 else random.choice(moves))
        if board.outcome() is None:
            return board


def reverse(move):
    return type(move)(move.target, move.start, move.size)


def test_the_game_before_the_root_counts():
    """Repetition and the move limit, by value at a fixed depth: as minimax, and different from rule to rule."""
    original = load_variant("brandubh-5-4v4")  # nobody is kept from going back there
    rules = [
        {"repetition": recurrence(rule)} for rule in ("draw", "mover_loses", "none", "mover_wins", "illegal_for_white")
    ] + [
        {"repetition": recurrence("none"), "move_limit": 6},
        {"repetition": recurrence("none"), "move_limit": 8, "no_moves": "either_after_ply"},
    ]
    lawless = replace(original, rules=original.rules.model_copy(update={"repetition": recurrence("none")}))
    random = Random(11)
    games = [shuffled(lawless, random, 3 + number % 4).move_stack for number in range(8)]
    values = []
    for changed in rules:
        variant = replace(original, rules=original.rules.model_copy(update=changed))
        plain = Searcher(variant, hash_mib=1, weights=SOME_WEIGHTS, flags=0)
        twin = NaiveSearch(variant, SOME_WEIGHTS)
        found = []
        for number, moves in enumerate(games):
            game = Board(variant)
            for move in moves:
                if game.outcome() is None and move in game.legal_moves:
                    game.push(move)
            if game.outcome() is None:
                depth = 2 if number % 8 == 0 else 1
                expected = naive_value(twin, game, depth)
                assert plain.value(game, depth) == expected, (changed, moves)
                found.append(expected)
        values.append(found)
    # A mover that would lose by it avoids a repetition, so that one pair of rules may agree.
    assert len({str(found) for found in values}) >= len(rules) - 2
    assert values[0] != values[2]
    assert values[0] != values[3]


@pytest.mark.parametrize("name", ["mcgill", "leiden"])
def test_nobody_goes_to_and_fro_unless_it_stands_worse(name):
    """Where no rule minds repetition, a move that repeats is chosen for the worth of that alone, which is below 0."""
    variant, random, chances = load_variant(name), Random(5), 0
    searcher = Searcher(variant, hash_mib=1)
    for number in range(24):
        board = shuffled(variant, random, 6 + number % 5)
        again = set()
        for move in list(board.legal_moves):
            board.push(move)
            if board.is_repetition():
                again.add(move)
            board.pop()
        searcher.forget()
        found = searcher.search(board, SearchLimits(nodes=600))
        assert found.move not in again or found.score <= -50
        chances += bool(again)
    assert chances > 8


# -- the smallest boards, solved -------------------------------------------------------


class Solution(NamedTuple):
    """Every position that can be reached, with its value: n > 0 won in n plies, n < 0 lost in -n - 1, 0 neither."""

    engine: Any
    words: Any
    boards: Any
    values: Any


@cache
def solution(name):
    engine = engine_for(load_variant(name))
    found = reachable_values(engine.variant, engine.words(engine.start()), 250_000)
    return Solution(engine, found.words, engine.boards(found.words), found.values)


@pytest.mark.parametrize("name", SOLVED)
@pytest.mark.parametrize("nodes", [30, 400, 6000])
def test_what_search_calls_proven_is_true(name, nodes):
    solved = solution(name)
    engine, chooser = solved.engine, Searcher(solved.engine.variant, hash_mib=1)
    proven = 0
    rows = np.random.default_rng(nodes).choice(len(solved.words), 600 if nodes < 1000 else 120, replace=False)
    for row in rows.tolist():
        board, value = solved.boards[row], int(solved.values[row])
        moves = engine.legal_moves(board).tolist()
        if not moves:
            continue
        # The table lasts from one position to the next, as in a game.
        thought = chooser.think(Root(board, moves, [], 0), SearchLimits(nodes=nodes))
        mate = mate_in(thought.score)
        if mate is None:
            continue
        proven += 1
        text = engine.cells(board)
        assert value != 0, text
        assert (mate > 0) == (value > 0), text
        assert abs(mate) >= (value if value > 0 else -value - 1), text
        assert thought.move.code in moves
    assert proven > len(rows) // 2


@pytest.mark.parametrize("name", SOLVED)
def test_full_width_search_finds_the_exact_distance(name):
    solved = solution(name)
    chooser = Searcher(solved.engine.variant, hash_mib=4, flags=at.TRANSPOSITIONS | at.QUIESCENCE)
    random = np.random.default_rng(7)
    distances = np.where(solved.values > 0, solved.values, -solved.values - 1)
    for distance in range(1, 7):
        rows = np.flatnonzero((distances == distance) & (solved.values != 0))
        for row in random.choice(rows, min(len(rows), 12), replace=False).tolist() if len(rows) else []:
            cells, side = solved.engine.cells(solved.boards[row])
            score = chooser.value(Board(solved.engine.variant, Position(cells, side)), distance)
            assert mate_in(score) == (distance if solved.values[row] > 0 else -distance), (cells, side)


def test_a_line_that_is_proven_is_shown_to_its_end():
    board = Board("brandubh-5-4v0")
    found = Searcher(board.variant, hash_mib=1).search(board, SearchLimits(depth=8))
    assert (found.mate, len(found.pv)) == (-6, 6)
    for move in found.pv:
        assert board.outcome() is None
        board.push(move)
    assert board.outcome().winner == "white"
    assert found.score == 6 - MATE
    assert abs(found.score) >= PROVEN


def test_a_win_that_repeats_is_none():
    """A win whose way leads over a position of the game before is not claimed, nor played as if it were."""
    solved = solution("ashton-5-4v0")
    variant = solved.engine.variant
    chooser = Searcher(variant, hash_mib=1)
    engine = solved.engine
    random, refused = Random(5), 0
    won = np.flatnonzero(solved.values == 3)
    for row in random.sample(won.tolist(), 60):
        board = solved.boards[row]
        moves = engine.legal_moves(board).tolist()
        free = chooser.think(Root(board, moves, [], 0), SearchLimits(depth=4))
        assert mate_in(free.score) == 3
        # As if all that the winning move leads to had been there before.
        after = board.copy()
        engine.make(after, free.move.code)
        again = chooser.think(Root(board, moves, [engine.key(after), 0, 0, 0], 8), SearchLimits(depth=4))
        refused += again.move != free.move
        assert again.move != free.move or mate_in(again.score) is None
    assert refused > 5


def test_a_side_that_wins_if_it_may_pass_is_not_proven_to_win():
    """A zugzwang: the position is a draw, but White, to move again after Black has passed, would be lost."""
    board = Board("brandubh-5-4v0", "5/2b2/b1Kb1/2b2/5 w")
    assert solve(board.variant, board).wdl == "draw"
    chooser = Searcher(board.variant, hash_mib=1)
    root = chooser.root(board)
    # In a window of width one, null moves are tried already after the first ply.
    for alpha in (-100, 0, 100):
        chooser.forget()
        chooser._begin(chooser._prepare(root), chooser._first, root)
        for depth in range(1, 9):
            assert mate_in(chooser._first.iterate(depth, alpha, alpha + 1)) is None, (alpha, depth)


def test_a_proof_of_an_earlier_search_is_not_trusted_in_another_game():
    game = Board("brandubh-5-4v0", "2b2/2K2/1b1b1/2b2/5 w")
    first = game.position
    for move in ("c4-a4", "b3-b1", "a4-c4", "c2-c1", "c4-c3"):
        game.push(move)
    chooser, alone = Searcher(game.variant, hash_mib=1), Board(game.variant, game.position)
    # The win of the position alone is none in this game: after c3-c4 it leads over the game's first position.
    assert chooser.search(alone, SearchLimits(depth=10)).mate == 5
    assert [chooser.search(game, SearchLimits(depth=depth)).mate for depth in (5, 6, 7)] == [None] * 3
    for move in ("b1-b3", "c3-c4", "c1-c2"):
        assert game.outcome() is None
        game.push(move)
    assert game.position == first
    assert game.outcome().termination == "repetition"


def test_a_walled_in_king_runs_out_of_moves():
    board = Board("ashton", "1bb6/1bK5b/1bww3b1/3b5/9/7b1/wb5b1/2b3b2/9 w")
    assert Searcher(board.variant).search(board, SearchLimits(nodes=3_000_000)).score <= -PROVEN


# -- the moves that are tried first ----------------------------------------------------------


@kernel
def captures_first(tables, board_array, threats, moves):
    """Write the moves of the capture stage; return their number, and how many of the king follow them."""
    t, board = flat(tables), pointer(board_array)
    count = 0
    if ordering.mark_targets(t, board, side_of(t, board), pointer(threats)) != 0:
        count = ordering.capturing_moves(t, board, pointer(threats), pointer(moves))
    return count, ordering.king_moves(t, board, advance(pointer(moves), count))


@pytest.mark.parametrize("name", slow_but(["ashton", "leiden", "brandubh"], OLDER_NAMES))
def test_the_capture_stage_has_every_capture_once_and_legal_moves_alone(name):
    variant, random, seen = load_variant(name), Random(name), 0
    game, engine = NaiveGame(variant), engine_for(variant)
    threats, moves = np.zeros(4 * variant.size, np.uint32), np.zeros(8 * variant.size**2, np.int32)
    for _ in range(60 if variant.size > 5 else 600):  # captures are rare on the smallest boards
        position = placement(variant, random)
        ways = game.legal_moves(position)
        legal = {Move.parse(game.move_name(way), variant.size).code: way for way in ways}
        board = engine.board(letters(variant.size, position), position.side)
        count, of_king = captures_first(engine.tables, board, threats, moves)
        found = moves[:count].tolist()
        assert len(set(found)) == count
        assert set(found) <= set(legal)
        assert {move for move, ends in legal.items() if game.apply(position, ends).captured} <= set(found)
        if position.side == "w":
            mine = {move for move, (start, _) in legal.items() if start == position.king()}
            assert sorted(moves[count : count + of_king].tolist()) == sorted(mine)
        seen += count
    assert seen > 20
