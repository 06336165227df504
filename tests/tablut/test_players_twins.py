"""The players' kernels against their twins in plain Python, on random placements and games under all rule sets."""

import math
from collections import Counter
from dataclasses import replace
from random import Random

import numpy as np
import pytest

from tablut.board import Board
from tablut.engine import engine_for
from tablut.engine.attacks import NO_MOVE
from tablut.engine.jit import kernel, pointer
from tablut.engine.tables import split_mix
from tablut.play.players import PlayerOptions
from tablut.play.players import minimax as at
from tablut.play.players.montecarlo import MonteCarloPlayer, next_random, random_below
from tablut.play.players.simple import FIRST, new_scheme, path_tables, score_moves
from tablut.play.search import SearchLimits
from tablut.play.search.limits import MATE, PROVEN
from tablut.play.search.searcher import Root, Searcher
from tablut.testing import placement, random_play
from tablut.variants import Variant, load_variant, variant_names
from tests.support.placements import letters
from tests.twins.kernels import find_path, values_of
from tests.twins.players import NaiveMinimax, NaiveMonteCarlo, NaivePaths

WEIGHTS = {"payoff": (60, 30, 50, 50_000), "minimax3": (3, 2, 5, 1 << 40)}
# No escape, and a castle at the edge.
BARE = replace(
    load_variant("ashton-5-4v2"),
    name="bare",
    terrain=("..T..", *(".....",) * 4),
    start=("..K..", "bw.wb", ".....", "b...b", "....."),
)
KINDS = {"payoff": at.PAYOFF, "minimax3": at.BERKELEY}


def array_of(variant, position):
    return engine_for(variant).board(letters(variant.size, position), position.side)


def code(move, size: int) -> int:
    (file, rank), (to_file, to_rank) = move
    return rank * size + file | (to_rank * size + to_file) << 7


def positions(variant, seed: int, count: int):
    """Yield random placements, sparse ones among them, and positions of random games."""
    random = Random(seed)
    for number in range(count):
        if number % 3 == 2:
            yield random_play(variant, random, random.randrange(30))[-1]
        else:
            yield placement(variant, random, soldiers=random.randrange(1, 9) if number % 3 else None)


@pytest.mark.parametrize("name", variant_names())
def test_victory_paths(name: str) -> None:
    variant = load_variant(name)
    engine, tables, naive = engine_for(variant), path_tables(variant), NaivePaths(variant)
    seen = [0, 0]
    for position in positions(variant, 1, 150 if variant.size < 9 else 60):
        array = array_of(variant, position)
        before = array.copy()
        move, stands = find_path(engine.tables, tables, array)
        assert (array == before).all()
        expected = {code(path, variant.size) for path in naive.path_moves(position)}
        assert (move in expected) if expected else move == NO_MOVE, naive.game.write(position)
        assert stands == naive.stands_on_path(position), naive.game.write(position)
        seen[0] += bool(expected)
        seen[1] += stands
    assert min(seen) > 2


@pytest.mark.parametrize("name", variant_names())
def test_a_victory_path_is_a_forced_win(name: str) -> None:
    """Two plies, or four where a soldier has to be taken; the paper sees five with the king's first move."""
    variant = load_variant(name)
    engine, tables = engine_for(variant), path_tables(variant)
    searcher = Searcher(variant, hash_mib=1)
    found: Counter[int] = Counter()
    random = Random(7)
    for _ in range(900):
        position = placement(variant, random, soldiers=random.randrange(1, 9))._replace(side="b")
        array = array_of(variant, position)
        moves = engine.legal_moves(array).tolist()
        if (
            not moves
            or int(array[-4]) not in variant.regions.king_cells
            or not find_path(engine.tables, tables, array)[1]
        ):
            continue
        score = searcher.think(Root(array, moves, [], 0), SearchLimits(depth=6)).score
        assert score <= -PROVEN, NaivePaths(variant).game.write(position)
        found[MATE + score] += 1
    assert set(found) <= {2, 4}, found
    assert sum(found.values()) > 10


@pytest.mark.parametrize("name", variant_names())
@pytest.mark.parametrize("first", [0, FIRST])
def test_scores(name: str, first: int) -> None:
    variant = load_variant(name)
    engine, scheme, naive = engine_for(variant), new_scheme(variant, first), NaivePaths(variant)
    random = Random(3)
    for position in positions(variant, 2, 12):
        array = array_of(variant, position)
        moves = random.sample(every := naive.game.legal_moves(position), min(5, len(every)))
        scores = np.zeros(len(moves), dtype=np.int64)
        codes = np.array([code(move, variant.size) for move in moves], dtype=np.int32)
        before = array.copy()
        score_moves(engine.tables, scheme, array, codes, scores)
        assert (array == before).all()
        assert scores.tolist() == [naive.score(position, move, first) for move in moves], naive.game.write(position)


@pytest.mark.parametrize("variant", [*map(load_variant, variant_names()), BARE], ids=lambda variant: variant.name)
@pytest.mark.parametrize("kind", KINDS)
def test_evaluations(variant: Variant, kind: str) -> None:
    naive = NaiveMinimax(variant, kind, WEIGHTS[kind])
    evaluation = at.new_evaluation(variant, KINDS[kind], WEIGHTS[kind])
    samples = list(positions(variant, 4, 60))
    boards = np.array([array_of(variant, position) for position in samples])
    winners = np.array([number % 3 - 1 for number in range(len(samples))])
    names = {-1: None, 0: "white", 1: "black"}
    for chooser, side in enumerate("wb"):
        values = np.zeros(len(samples), dtype=np.int64)
        values_of(engine_for(variant).tables, evaluation, boards, winners, chooser, values)
        expected = [
            naive.worth(position, side, names[int(winner)]) for position, winner in zip(samples, winners, strict=True)
        ]
        assert values.tolist() == expected


def searched(variant, kind: str, position, depth: int, history=()) -> tuple[int, int]:
    """Return value and move of a compiled search."""
    engine = engine_for(variant)
    state = at.new_minimax(variant.size, len(history))
    state.board[:] = array_of(variant, position)
    moves = engine.legal_moves(state.board)
    state.root_moves[: len(moves)] = moves
    state.keys[: len(history)] = [engine.key(array_of(variant, earlier)) for earlier in history]
    state.counters[at.ROOT_MOVES] = len(moves)
    state.counters[at.LIMIT_PLY] = 1 << 62
    state.counters[at.REPETITION_RULE] = {"none": 0, "draw": 1, "mover_loses": 2}[variant.rules.repetition]
    state.counters[at.BASE] = len(history)
    evaluation = at.new_evaluation(variant, KINDS[kind], WEIGHTS[kind])
    before = state.board.copy()
    at.search_to_depth(engine.tables, evaluation, state, depth)
    assert (state.board == before).all()
    assert state.counters[at.ROOT_DONE] == len(moves)
    return int(state.counters[at.ROOT_SCORE]), int(state.counters[at.ROOT_MOVE])


@pytest.mark.parametrize("name", variant_names())
@pytest.mark.parametrize("kind", KINDS)
def test_pruning_changes_no_value(name: str, kind: str) -> None:
    variant = load_variant(name)
    naive = NaiveMinimax(variant, kind, WEIGHTS[kind])
    random = Random(11)
    for depth in (1, 2, 3) if variant.size == 5 else (1, 2):
        for _ in range(3):
            position = placement(variant, random, soldiers=4)
            if not naive.game.legal_moves(position):
                continue
            value, move = searched(variant, kind, position, depth)
            assert value == naive.value(position, depth, position.side), naive.game.write(position)
            # The move is one of that value.
            moves = {code(move, variant.size): move for move in naive.game.legal_moves(position)}
            result = naive.game.apply(position, moves[move])
            if result.outcome is not None:
                assert value == naive.worth(result.position, position.side, result.outcome.winner)
            else:
                assert value == naive.value(result.position, depth - 1, position.side, [position])


@kernel
def draw(state, counts, outputs, below):
    s = pointer(state)
    for index in range(len(outputs)):
        outputs[index] = next_random(s)
        below[index] = random_below(s, counts[index])


def test_random_numbers_are_those_of_the_zobrist_keys() -> None:
    stream, random = split_mix(12345), Random(1)
    counts = np.array([random.randrange(1, 1000) for _ in range(200)])
    outputs, below = np.zeros(200, dtype=np.uint64), np.zeros(200, dtype=np.int64)
    draw(np.array([12345], dtype=np.uint64), counts, outputs, below)
    for index in range(200):
        assert int(outputs[index]) == next(stream)
        assert below[index] == (next(stream) >> 32) * int(counts[index]) >> 32


@pytest.mark.parametrize("name", ["mcgill", "brandubh-5-4v0", "ashton-5-4v4", "berkeley", "brandubh"])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"objective": "net", "uct": "next", "from": "leaf", "depth": "5", "c": "0.7"},
        {"expanded": "both", "turn": "aware"},
        {"expanded": "both", "turn": "blind", "from": "leaf"},
    ],
    ids=lambda settings: "-".join(settings.values()) or "traditional",
)
def test_every_playout(name: str, settings: dict[str, str]) -> None:
    """The twin, with the same random numbers, has the same visits, wins and losses of every move."""
    variant = load_variant(name)
    random = Random(5)
    player = MonteCarloPlayer(variant, PlayerOptions(seed=9, hash_mib=1, settings=tuple(settings.items())))
    naive = NaiveMonteCarlo(variant, player.settings, seed=9)
    soldiers = 4
    position = placement(variant, random, soldiers=soldiers)
    while not Board(variant, naive.game.write(position)).legal_moves:
        position = placement(variant, random, soldiers=soldiers)
    board = Board(variant, naive.game.write(position))
    # More than there are moves, so that UCT chooses.
    count = 40 if settings.get("expanded") else 80
    found = player.statistics(board, list(board.legal_moves), SearchLimits(playouts=count))
    expected = {code(move, variant.size): row for move, row in naive.run(position, count).items()}
    assert {row.move.code: (row.visits, row.wins, row.losses) for row in found} == expected
    assert sum(row.visits for row in found) >= count
    assert math.isclose(player.settings["c"], float(settings.get("c", math.sqrt(2))))
