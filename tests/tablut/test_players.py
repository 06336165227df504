"""Players by name, what their sources say of them as cases, and their kernels against twins in plain Python."""

from __future__ import annotations

import gc
import math
import time
import weakref
from collections import Counter
from dataclasses import replace
from itertools import product
from random import Random
from typing import Any

import numpy as np
import pytest

from tablut.board import Board
from tablut.engine import engine_for
from tablut.engine.attacks import NO_MOVE
from tablut.engine.jit import kernel, pointer
from tablut.errors import InputError, UseError
from tablut.play.arena.plan import contestant
from tablut.play.players import PlayerOptions, base, make_player, player_names
from tablut.play.players import minimax as at
from tablut.play.players.minimax import PayoffPlayer
from tablut.play.players.montecarlo import FilteredPlayer, MonteCarloPlayer
from tablut.play.players.simple import FIRST, MoveScores, new_scheme, path_tables, score_moves
from tablut.play.search import SearchLimits
from tablut.play.search.limits import MATE, PROVEN, RECURRENCES
from tablut.play.search.searcher import Root, Searcher
from tablut.position import Move
from tablut.variants import Variant, load_variant
from tests.support.effort import OLDER_CASES, slow_but
from tests.support.games import OLDER, OLDER_NAMES, recurrence
from tests.support.placements import letters
from tests.support.strategies import placement, random_play
from tests.twins.kernels import find_path, values_of
from tests.twins.players import NaiveMinimax, NaiveMonteCarlo, NaivePaths


@pytest.mark.parametrize("name", player_names())
def test_every_player_plays_every_variant(name):
    for variant in OLDER:
        player, board = make_player(name, variant, PlayerOptions(hash_mib=1)), Board(variant)
        while board.outcome() is None and board.ply < 4:
            before = board.copy()
            choice = player.choose(board, SearchLimits(nodes=300))
            assert (board, board.move_stack) == (before, before.move_stack)
            assert choice.nodes <= 300 + 8
            assert choice.pv[0] == choice.move
            for move in choice.pv:
                before.push(move)  # a line of legal moves
            board.push(choice.move)
    over = Board("ashton-5-4v0")
    for move in ("c3-b3", "c5-d5", "b3-b5"):
        over.push(move)
    with pytest.raises(InputError):
        make_player(name, over.variant, PlayerOptions(hash_mib=1)).choose(over, ONE)


# -- the players of the sources: what the documents say of them, as cases ----------------


MONTE_CARLO = ("mcts", "mcts-expanded", "mcts-improved", "mcts-heuristic")
SOURCES = ("greedy", "heuristic", *MONTE_CARLO, "payoff", "minimax3")
ONE = SearchLimits(nodes=1)


def chosen(name: str, position: str, seeds: int = 12, limits: SearchLimits = ONE, **settings: str) -> set[str]:
    """Return what a player chooses under mcgill with different seeds."""
    board = Board("mcgill", position)
    options = [PlayerOptions(seed, hash_mib=1, settings=tuple(settings.items())) for seed in range(seeds)]
    return {str(make_player(name, "mcgill", option).choose(board, limits).move) for option in options}


def move_of(board: Board, text: str) -> Move:
    return Move.parse(text, board.size)


# -- greedy, section II --------------------------------------------------------------------


CAPTURE_OR_WIN = "3b5/9/9/9/9/9/9/2wb1w3/7K1 w"


def test_greedy_captures_rather_than_win() -> None:
    """'Prioritizing a piece capture to moving directly to a corner if presented with an open path.'"""
    assert Board("mcgill", CAPTURE_OR_WIN).is_legal("h1-i1")
    assert chosen("greedy", CAPTURE_OR_WIN) == {"f2-e2"}


def test_greedy_runs_for_the_nearest_corner() -> None:
    assert chosen("greedy", "9/9/9/9/9/9/2K6/9/6b2 w") == {"c3-a3", "c3-c1", "c3-c9", "c3-i3"}
    # Black has no king: without a capture, anything goes.
    assert len(chosen("greedy", "9/9/9/9/9/9/2K6/9/6b2 b")) > 3
    # A king that cannot come nearer leaves it to chance.
    assert len(chosen("greedy", "9/4b4/9/9/b8/9/K8/w8/9 w", seeds=20)) > 3


# -- victory paths, section III-A ----------------------------------------------------------


def on_path(position: str) -> bool:
    variant = load_variant("mcgill")
    engine = engine_for(variant)
    board = Board(variant, position)
    return bool(find_path(engine.tables, path_tables(variant), engine.board(board.position.cells, "b"))[1])


CLEAR_EDGE = "9/9/9/9/b7b/9/9/9/4K4 b"
SAFE_EDGE = "9/6w2/8K/b7b/9/9/9/9/4b4 b"
FIGURE_7 = "9/b8/9/8K/8b/9/9/9/4b4 b"


@pytest.mark.parametrize(
    ("position", "expected"),
    [
        (CLEAR_EDGE, True),  # figure 5
        ("9/9/9/9/b5b2/9/9/9/2b1K4 b", False),  # not clear, and soldiers can come between
        (SAFE_EDGE, True),  # figure 6: no soldier of black on the second row
        ("9/w4b3/8K/b7b/9/9/9/9/4b4 b", False),  # one on the last row before the corner, and no room to take it
        (FIGURE_7, True),
        ("9/9/b8/8K/8b/9/9/9/4b4 b", False),  # one, but on another row
        ("9/9/9/9/b7b/9/9/2b6/1K7 b", False),  # beside a hostile corner, where one soldier takes the king
    ],
)
def test_figures_5_to_7(position: str, expected: bool) -> None:
    assert on_path(position) is expected


# -- scores, section III-B -----------------------------------------------------------------


def score(position: str, move: str, *, win_first: bool = False) -> int:
    board = Board("mcgill", position)
    return MoveScores(board.variant, win_first=win_first).of(board, [move_of(board, move)])[0]


OPEN = "4b4/9/9/9/4K4/9/9/9/9"
BETWEEN = "2w6/3b5/9/9/4K4/1b7/9/9/9 w"


@pytest.mark.parametrize(
    ("position", "move", "points"),
    [
        (f"{OPEN} w", "e5-e4", 5 + 1),  # an open path, a central square
        (f"{OPEN} w", "e5-e2", 5),
        (CAPTURE_OR_WIN, "f2-e2", 10 + 5),
        (CAPTURE_OR_WIN, "c2-c5", 5),
        (CAPTURE_OR_WIN, "h1-i1", 5),  # the corner is no more than a path
        (BETWEEN, "c9-c4", 5 - 5),
        (BETWEEN, "c9-c3", 5),
        ("9/9/9/7b1/9/9/5bK2/w8/9 w", "a2-a4", 5 - 1000),
        ("9/9/9/9/9/9/3bK4/5b3/9 b", "f2-f3", 1000 + 1000),
        ("3bbb3/4b4/4w4/b3w3b/bbwwKwwbb/b3w3b/4w4/4b4/3bbb3 b", "d1-d2", 1000),
        (f"{OPEN} b", "e9-d9", 0),
        ("9/3w5/9/9/9/1w7/9/9/2b1K4 b", "c1-c4", -5),
    ],
)
def test_the_table(position: str, move: str, points: int) -> None:
    assert score(position, move) == points


def test_winning_goes_before_the_table() -> None:
    assert score(CAPTURE_OR_WIN, "h1-i1", win_first=True) == 5 + 2 * FIRST
    assert chosen("heuristic", CAPTURE_OR_WIN) == {"h1-i1", "h1-a1"}
    assert chosen("heuristic", CAPTURE_OR_WIN, win="table") == {"f2-e2"}


# -- Monte Carlo, sections IV and V --------------------------------------------------------


def test_expanded_definitions_make_black_forget_to_capture() -> None:
    """Table IV: 'determining that being able to kill the king is a winning state, before actually killing the king'."""
    position = "9/8w/9/7b1/9/6w2/5bK2/b5w2/9 b"
    many = SearchLimits(playouts=2000)
    assert len(chosen("mcts-expanded", position, limits=many)) > 3
    assert chosen("mcts-expanded", position, limits=many, turn="aware") == {"h6-h3"}
    assert chosen("mcts-improved", position, limits=many) == {"h6-h3"}


def test_the_filter_lets_only_the_best_moves_through() -> None:
    board = Board("mcgill")
    player = FilteredPlayer(board.variant, PlayerOptions(seed=1, hash_mib=1))
    for _ in range(8):
        best = MoveScores(board.variant, win_first=True).best(board, list(board.legal_moves))
        choice = player.choose(board, SearchLimits(playouts=200))
        assert choice.move in best
        assert choice.playouts == (200 if len(best) > 1 else 0)
        board.push(choice.move)


def test_a_full_memory_is_no_end() -> None:
    """One mebibyte has 32,768 places; playouts go on without them, and the next move starts anew."""
    board = Board("mcgill")
    player = MonteCarloPlayer(board.variant, PlayerOptions(1, 1, settings=(("keep", "yes"),)))
    found = player.statistics(board, list(board.legal_moves), SearchLimits(playouts=40_000))
    assert sum(row.visits for row in found) >= 40_000
    again = player.statistics(board, list(board.legal_moves), SearchLimits(playouts=100))
    assert 100 <= sum(row.visits for row in again) < 120


# -- minimax -------------------------------------------------------------------------------


def test_payoff_prefers_a_win_to_everything() -> None:
    """Here a capture as well: 'if there is a winning state on one level, it is sure to be chosen'."""
    board = Board("mcgill", CAPTURE_OR_WIN)
    choice = PayoffPlayer(board.variant, PlayerOptions()).choose(board, SearchLimits(depth=4))
    assert (choice.mate, choice.depth) == (1, 1)
    board.push(choice.move)
    assert board.outcome().winner == "white"


# -- all of them ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["random", *SOURCES])
def test_a_seed_and_a_budget_make_a_game(name: str) -> None:
    kinds = [SearchLimits(nodes=600)] + ([SearchLimits(playouts=60)] if name in MONTE_CARLO else [])
    for limits in kinds:
        games = []
        for seed in (1, 1, 2):
            board = Board("brandubh")
            player = make_player(name, "brandubh", PlayerOptions(seed=seed, hash_mib=1))
            while board.outcome() is None and board.ply < 16:
                board.push(player.choose(board, limits).move)
            games.append(board.move_stack)
        assert games[0] == games[1]
        assert (games[0] == games[2]) == (name in ("payoff", "minimax3"))


def test_a_match_names_their_budgets_and_options() -> None:
    one = contestant("mcts@playouts=100,option.depth=5", ONE)
    assert (one.limits, one.options.settings) == (SearchLimits(playouts=100), (("depth", "5"),))
    assert one.make(load_variant("brandubh"), 1).settings["depth"] == 5
    with pytest.raises(InputError, match="deep"):
        contestant("mcts@option.deep=5", ONE).make(load_variant("brandubh"), 1)
    with pytest.raises(InputError):
        contestant("mcts@rollouts=5", ONE)


# -- the page -------------------------------------------------------------------------------


# -- players of others ---------------------------------------------------------------------


# -- the players' kernels against their twins in plain Python, on random placements and games under all rule sets


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


@pytest.mark.parametrize("name", OLDER_CASES)
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


@pytest.mark.parametrize("name", OLDER_CASES)
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


@pytest.mark.parametrize("name", OLDER_CASES)
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


@pytest.mark.parametrize("variant", [*map(load_variant, OLDER_NAMES), BARE], ids=lambda variant: variant.name)
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
    state.counters[at.REPETITION_RULE] = RECURRENCES[variant.rules.repetition.result]
    state.counters[at.BASE] = len(history)
    evaluation = at.new_evaluation(variant, KINDS[kind], WEIGHTS[kind])
    before = state.board.copy()
    at.search_to_depth(engine.tables, evaluation, state, depth)
    assert (state.board == before).all()
    assert state.counters[at.ROOT_DONE] == len(moves)
    return int(state.counters[at.ROOT_SCORE]), int(state.counters[at.ROOT_MOVE])


@pytest.mark.parametrize("name", OLDER_CASES)
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


@pytest.mark.parametrize("result", RECURRENCES)
def test_what_a_repetition_is_worth(result: str) -> None:
    """Every move at the root may repeat an earlier position of the game."""
    original = load_variant("brandubh-5-4v4")
    variant = replace(original, rules=original.rules.model_copy(update={"repetition": recurrence(result)}))
    kind, random = "payoff", Random(3)
    naive = NaiveMinimax(variant, kind, WEIGHTS[kind])
    for number in range(6):
        position = placement(variant, random, soldiers=4)
        results = [naive.game.apply(position, move) for move in naive.game.legal_moves(position)]
        for history in [[], *([earlier.position] for earlier in results if earlier.outcome is None)][:4]:
            if results:
                value, _ = searched(variant, kind, position, 1 + number % 2, history)
                assert value == naive.value(position, 1 + number % 2, position.side, history)


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


CLOSE = {
    "11/6b4/11/bb5w3/b10/11/11/4b6/7ww2/5w3w1/5w1K1w1 b": "copenhagen",
    "11/4w6/7b3/11/10b/11/11/11/b2w2b4/2w1w6/2wKw6 b": "copenhagen",
    "11/2bbb6/1b3b5/b1wKw1b4/5b5/2bbb6/11/1b9/11/11/11 w": "copenhagen",
    "11/2bbb6/1b3b5/1b1K1b5/1b3b5/2bbb6/11/6b4/11/4bb5/3bww5 w": "copenhagen",
    "7/3b3/2b1b2/2wK1b1/2b1b2/3b3/1b5 w": "brandubh-federation",
    "7/3b3/2b1b2/1b1Kw2/2b1bb1/3b3/7 w": "brandubh-federation",
}
"""A fort (black to move) or a ring (white to move) is one ply away, one of them by a shieldwall, and few moves keep it
from coming."""


def winning(board: Board) -> set[Move]:
    """The moves that end the game for the side that makes them."""
    found = set()
    for move in list(board.legal_moves):
        before = board.turn
        board.push(move)
        outcome = board.outcome()
        if outcome is not None and outcome.winner == before:
            assert outcome.termination in ("exit_fort", "encirclement")
            found.add(move)
        board.pop()
    return found


@pytest.mark.parametrize("name", slow_but(["payoff", "minimax3"], ["alphabeta", "mcts", "heuristic"]))
def test_a_fort_or_a_ring_one_ply_away_is_taken_and_not_walked_into(name: str) -> None:
    few = [SearchLimits(playouts=20_000) if name == "mcts" else SearchLimits(depth=2)]
    few += [SearchLimits(nodes=20_000)] * (name == "alphabeta")
    for (text, game), limits in product(CLOSE.items(), few):
        player = make_player(name, game, PlayerOptions(seed=1, hash_mib=8))
        board = Board(game, text[:-1] + {"w": "b", "b": "w"}[text[-1]])
        assert player.choose(board, limits).move in winning(board), text
        # Monte Carlo needs more playouts than there are pairs of plies; the scoring scheme looks at captures alone.
        if name == "heuristic" or (name == "mcts" and game == "copenhagen"):
            continue
        board = Board(game, text)
        board.push(player.choose(board, limits).move)
        assert not winning(board), text


class _Asking(Board):
    """A board whose moves cannot be listed without calling a player."""

    def __init__(self, player: Any) -> None:
        super().__init__("ashton-5-4v0")
        self.player = player

    @property
    def legal_moves(self) -> Any:
        self.player.choose(Board(self.variant), SearchLimits(nodes=1, playouts=1))
        return super().legal_moves


@pytest.mark.parametrize("name", ["alphabeta", "heuristic", "mcts", "mcts-heuristic"])
def test_a_player_with_a_memory_serves_one_caller_at_a_time(name: str) -> None:
    player = make_player(name, load_variant("ashton-5-4v0"), PlayerOptions(hash_mib=1))
    with pytest.raises(UseError):
        player.choose(_Asking(player), SearchLimits(nodes=1, playouts=1))
    assert player.choose(Board(player.variant), SearchLimits(nodes=1, playouts=1)).move


# -- the budget that compiled players spend --------------------------------------------------


@kernel
def spend(budget_array: Any) -> int:
    """Make moves until the budget is spent; return their number."""
    purse = pointer(budget_array)
    while not base.is_spent(purse):
        purse[base.NODES] += 1
    return purse[base.NODES]


@pytest.mark.parametrize("name", player_names())
def test_a_player_that_is_no_longer_used_gives_its_memory_back_at_once(name: str) -> None:
    """The memory is free before the next garbage collection, which may be many games later."""
    board = Board("brandubh")
    gc.collect()
    gc.disable()
    try:
        for options in (PlayerOptions(), PlayerOptions(threads=2)) if name == "alphabeta" else (PlayerOptions(),):
            player = make_player(name, board.variant, options)
            player.choose(board, SearchLimits(movetime=0.05))
            if isinstance(player, Searcher):
                player.search(board, SearchLimits(nodes=200), lines=3)
            watched = weakref.ref(player)
            del player
            assert watched() is None
    finally:
        gc.enable()


def test_a_budget_ends_by_its_moves_or_by_its_time() -> None:
    mine, now = base.new_budget(), time.perf_counter()
    for limits, began, spent in (
        (SearchLimits(nodes=7), now, 7),
        (SearchLimits(nodes=7, movetime=1000), now, 7),
        (SearchLimits(nodes=10**12, movetime=0.2), now - 60, None),
        (SearchLimits(movetime=0.2), now, None),
    ):
        with base.spending(mine, limits, began):
            made = spend(mine)
        assert mine[base.STOPPED]
        assert made == spent if spent is not None else made < 10**12
