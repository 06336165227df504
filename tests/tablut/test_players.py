"""Players by name, and the command that asks one of them for a move."""

from __future__ import annotations

import re
from collections import Counter
from itertools import product
from pathlib import Path
from random import Random

import pytest

from tablut.board import Board
from tablut.engine import engine_for
from tablut.errors import InputError
from tablut.play.arena.plan import contestant
from tablut.play.players import PLAYERS, PlayerOptions, make_player, player_names
from tablut.play.players.minimax import MinimaxPlayer, PayoffPlayer
from tablut.play.players.montecarlo import SETTINGS as MONTE_CARLO_SETTINGS
from tablut.play.players.montecarlo import FilteredPlayer, MonteCarloPlayer
from tablut.play.players.simple import FIRST, MoveScores, path_tables
from tablut.play.search import SearchLimits
from tablut.position import Move
from tablut.variants import load_variant, shipped_variants, variant_names
from tests.support.commands import answer
from tests.twins.kernels import find_path

Captured = pytest.CaptureFixture[str]


@pytest.mark.parametrize("name", player_names())
def test_every_player_plays_every_variant(name):
    for variant in shipped_variants():
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
    with pytest.raises(InputError, match="the game is over"):
        make_player(name, over.variant, PlayerOptions(hash_mib=1)).choose(over, ONE)


def test_the_command_follows_the_game(capsys: Captured):
    first = answer(capsys, "bestmove", "-v", "brandubh", "--player", "random", "--seed", "4")
    assert (first["score"], first["mate"], first["depth"], first["nodes"]) == (None, None, 0, 0)
    second = answer(capsys, "bestmove", "-v", "brandubh", "--nodes", "2000", "--hash", "1", "-m", first["move"])
    assert second["position"].endswith(" w")
    assert isinstance(second["score"], int)
    deep = answer(capsys, "bestmove", "-v", "brandubh", "--depth", "3", "--hash", "1")
    assert deep["depth"] == 3


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


def test_greedy_captures_when_it_can() -> None:
    random, captures = Random(2), 0
    for variant, seed in product(shipped_variants(), range(2)):
        board = Board(variant)
        player = make_player("greedy", variant, PlayerOptions(seed=seed))
        while board.outcome() is None and board.ply < 30:
            if board.ply % 2 == 0:
                board.push(random.choice(list(board.legal_moves)))
                continue
            could = False
            for move in list(board.legal_moves):
                board.push(move)
                could = could or bool(board.captured()) or board.captured_king() is not None
                board.pop()
            board.push(player.choose(board, ONE).move)
            assert not could or board.captured() or board.captured_king() is not None
            captures += could
    assert captures > 20


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


def play(name: str, variant, seed: int, plies: int, limits: SearchLimits) -> Board:
    """Return a game of a player against random moves; every move is checked by the board."""
    random, board = Random(seed), Board(variant)
    player = make_player(name, variant, PlayerOptions(seed=seed, hash_mib=1))
    while board.outcome() is None and board.ply < plies:
        if board.ply % 2 == seed % 2:
            board.push(player.choose(board, limits).move)
        else:
            board.push(random.choice(list(board.legal_moves)))
    return board


@pytest.mark.slow
def test_a_thousand_games_without_an_illegal_move() -> None:
    ended = Counter()
    for number, (name, variant) in enumerate(product(SOURCES, variant_names())):
        for seed in range(10):
            board = play(name, variant, number + seed, 120, SearchLimits(nodes=200))
            ended[name] += board.outcome() is not None
    assert len(SOURCES) * len(variant_names()) * 10 >= 1000
    assert all(ended[name] > 50 for name in SOURCES), ended


def test_a_match_names_their_budgets_and_options() -> None:
    one = contestant("mcts@playouts=100,option.depth=5", ONE)
    assert (one.limits, one.options.settings) == (SearchLimits(playouts=100), (("depth", "5"),))
    assert one.make(load_variant("brandubh"), 1).settings["depth"] == 5
    with pytest.raises(InputError, match="option 'deep': unknown to player mcts"):
        contestant("mcts@option.deep=5", ONE).make(load_variant("brandubh"), 1)
    with pytest.raises(InputError, match=r"expected key=value with one of .*playouts.*option\.NAME"):
        contestant("mcts@rollouts=5", ONE)


# -- the page -------------------------------------------------------------------------------


def test_the_players_page_names_every_player_with_its_options() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "players.md").read_text(encoding="utf-8")
    rows: dict[str, str] = {}
    for name, told in re.findall(r"^\| `([\w-]+)` \|(.*)\|$", page, re.MULTILINE):
        rows.setdefault(name, told)  # the first table describes them; a later one has results
    assert set(PLAYERS) <= set(rows)
    for name, declared in (
        ("mcts", MONTE_CARLO_SETTINGS),
        ("payoff", PayoffPlayer.declared),
        ("minimax3", MinimaxPlayer.declared),
    ):
        told = dict(re.findall(r"`([a-z]+)=([^`]*)`", rows[name]))
        assert set(told) == set(declared)
        for option, default in told.items():
            assert str(declared[option].default).startswith(default.rstrip("…")), (name, option)


# -- players of others ---------------------------------------------------------------------
