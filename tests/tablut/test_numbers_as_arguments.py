"""Numbers as arguments of public functions: what is no number of the right kind is refused, and the parameter named."""

import math
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from counting.census import Resources, census
from counting.exclusions import count_exclusions
from counting.reachable import estimate
from retrograde import build_tablebase, open_tablebase, solve_game
from retrograde.proofs import ProofLimits, Solver, solve
from retrograde.verification import verify as verify_store
from tablut import Board, Move, Position
from tablut.automorphisms import verify
from tablut.env import Batch
from tablut.errors import InputError, numbers, numbers_of, real_number, whole_number
from tablut.indexing import EndingIndex, PlacementIndex, unrank_combination
from tablut.play.arena import Contestant, MatchPlan, Openings, Sprt, contestant, play_match, play_tournament
from tablut.play.competition import ClientSettings, RefereeSettings
from tablut.play.players import PlayerOptions, make_player
from tablut.play.search import Searcher, SearchLimits
from tablut.play.search.limits import Clock
from tablut.rules import NaiveGame
from tablut.variants import load_variant

STORE = Path(__file__).parents[2] / "retrograde" / "data" / "ashton-5-4v0"
SMALL = load_variant("ashton-5-4v0")
START = Board(SMALL)
RANDOM = contestant("random", SearchLimits(nodes=1))
PLAN = MatchPlan(SMALL, RANDOM, RANDOM, games=1, openings=Openings(0), most_plies=2)

searcher = cache(partial(Searcher, SMALL, hash_mib=1))
index = cache(partial(PlacementIndex, SMALL))
batch = cache(partial(Batch, SMALL, 4))
tables = cache(partial(open_tablebase, STORE))


def search(**limits: Any) -> Any:
    return searcher().search(START, SearchLimits(**{"depth": 1, **limits})).move


def choose(player: str, **limits: Any) -> Any:
    return made(player).choose(START, SearchLimits(**limits)).move in START.legal_moves


@cache
def made(player: str) -> Any:
    return make_player(player, SMALL, PlayerOptions(hash_mib=1))


def clock(**times: Any) -> Any:
    return SearchLimits(depth=1).on_clock(Clock(**{"left": 1.0, **times})).movetime


def optioned(player: str, **options: Any) -> Any:
    return make_player(player, SMALL, PlayerOptions(**{"hash_mib": 1, **options})) is not None


def matched(**parts: Any) -> Any:
    return play_match(PLAN._replace(**parts)).summary.games


def proved(**limits: Any) -> Any:
    return solve(
        SMALL, START, limits=ProofLimits(**{"nodes": 10, "memory_bytes": 1 << 20, "positions": 0, **limits})
    ).wdl


# The parameter that the error names, and a function of its value; a third word says what else is allowed.
WHOLE: list[tuple[str, Callable[[Any], Any], str]] = [
    ("square", lambda x: START.piece_at(x), "text"),
    ("depth", lambda x: START.perft(x), ""),
    ("depth", lambda x: NaiveGame(SMALL).perft(NaiveGame(SMALL).start(), x), ""),
    ("size", lambda x: Move.parse("a1-a2", x), ""),
    ("size", lambda x: Move.from_code(7, x), ""),
    ("code", lambda x: Move.from_code(x, 5), ""),
    ("samples", lambda x: len(verify(SMALL, samples=x, most=3)), ""),
    ("seed", lambda x: len(verify(SMALL, samples=3, seed=x, most=3)), ""),
    ("most", lambda x: len(verify(SMALL, samples=3, most=x)), ""),
    ("games", lambda x: len(Batch(SMALL, x)), ""),
    ("seed", lambda x: Batch(SMALL, 2, seed=x).sample().tolist(), ""),
    ("action", lambda x: batch().move(x), ""),
    ("game", lambda x: batch().position(x), ""),
    ("final rank", lambda x: EndingIndex(SMALL).unrank(x), ""),
    ("rank", lambda x: index().unrank(x, "w"), ""),
    ("rank", lambda x: index().unrank_in_tier(2, 0, x, "w"), ""),
    ("attackers", lambda x: index().unrank_in_tier(x, 0, 0, "w"), ""),
    ("rank", lambda x: unrank_combination(x, 2), "huge"),
    ("length", lambda x: unrank_combination(5, x), ""),
    ("games", lambda x: matched(games=x), ""),
    ("seed", lambda x: matched(seed=x), "signed"),
    ("most_plies", lambda x: matched(most_plies=x), ""),
    ("plies", lambda x: matched(openings=Openings(x, 1)), ""),
    ("candidates", lambda x: matched(openings=Openings(1, x)), ""),
    ("seed", lambda x: matched(openings=Openings(1, 1, x)), "signed"),
    ("number", lambda x: PLAN.pairing(x), ""),
    ("number", lambda x: Openings(1, 1).of_pair(SMALL, x), ""),
    ("threads", lambda x: play_match(PLAN, threads=x).summary.games, ""),
    ("threads", lambda x: play_tournament([RANDOM, RANDOM], PLAN, threads=x).summary.table[0].games, ""),
    ("port", lambda x: ClientSettings("host", "w", 1, port=x).checked().port, ""),
    ("port_white", lambda x: RefereeSettings(port_white=x).checked().port_white, ""),
    ("port_black", lambda x: RefereeSettings(port_black=x).checked().port_black, ""),
    ("repeats", lambda x: RefereeSettings(repeats=x).checked().repeats, ""),
    ("errors", lambda x: RefereeSettings(errors=x).checked().errors, ""),
    ("seed", lambda x: choose_seeded(x), "signed"),
    ("hash_mib", lambda x: optioned("alphabeta", hash_mib=x), ""),
    ("hash_mib", lambda x: optioned("mcts", hash_mib=x), ""),
    ("table_mib", lambda x: optioned("alphabeta", table_mib=x), ""),
    ("threads", lambda x: optioned("alphabeta", threads=x), ""),
    ("nodes", lambda x: search(nodes=x), ""),
    ("depth", lambda x: search(depth=x), ""),
    ("nodes", lambda x: choose("random", nodes=x), ""),
    ("nodes", lambda x: choose("payoff", nodes=x), ""),
    ("playouts", lambda x: choose("mcts", playouts=x), ""),
    ("moves", lambda x: clock(moves=x), ""),
    ("hash_mib", lambda x: Searcher(SMALL, hash_mib=x) is not None, ""),
    ("table_mib", lambda x: Searcher(SMALL, hash_mib=1, table_mib=x) is not None, ""),
    ("threads", lambda x: Searcher(SMALL, hash_mib=1, threads=x) is not None, ""),
    ("lines", lambda x: searcher().search(START, SearchLimits(depth=1), lines=x).move, ""),
    ("depth", lambda x: searcher().value(START, x), ""),
    ("plies", lambda x: census(SMALL, plies=x).total, ""),
    ("memory", lambda x: census(SMALL, plies=1, resources=Resources(memory=x)), "more"),
    ("disk", lambda x: census(SMALL, plies=1, resources=Resources(disk=x)), "more"),
    ("passes", lambda x: census(SMALL, plies=1, resources=Resources(passes=x)).total, ""),
    ("threads", lambda x: census(SMALL, plies=1, resources=Resources(threads=x)).total, ""),
    ("pieces", lambda x: count_exclusions(SMALL, x).pieces, ""),
    ("samples", lambda x: estimate(SMALL, x, 1).n, "more"),
    ("seed", lambda x: estimate(SMALL, 2, x).n, ""),
    ("lemma_samples", lambda x: estimate(SMALL, 2, 1, lemma_samples=x).n, "more"),
    ("threads", lambda x: estimate(SMALL, 2, 1, threads=x).n, "more"),
    ("checks", lambda x: estimate(SMALL, 2, 1, checks=x).n, "more"),
    ("attackers", lambda x: tables().covers(x, 0), ""),
    ("defenders", lambda x: tables().covers(1, x), ""),
    ("cache_bytes", lambda x: open_tablebase(STORE, x).max_men, ""),
    ("men", lambda x: build_tablebase("no/such/folder", SMALL, x), "more"),
    ("threads", lambda x: build_tablebase("no/such/folder", SMALL, 2, threads=x), "more"),
    ("memory", lambda x: build_tablebase("no/such/folder", SMALL, 2, memory=x), "more"),
    ("threads", lambda x: solve_game(SMALL, threads=x).value, "more"),
    ("nodes", lambda x: proved(nodes=x), ""),
    ("memory_bytes", lambda x: proved(memory_bytes=x), ""),
    ("positions", lambda x: proved(positions=x), ""),
    ("plies_left", lambda x: solve(SMALL, START, limits=ProofLimits(nodes=10), plies_left=x).status, ""),
    ("plies_left", lambda x: Solver(SMALL, ProofLimits(nodes=10)).solve(START, plies_left=x).status, ""),
    ("sample", lambda x: verify_store(STORE, quick=True, sample=x), "more"),
    ("seed", lambda x: verify_store(STORE, quick=True, seed=x), "more"),
    ("threads", lambda x: verify_store(STORE, quick=True, threads=x), "more"),
    ("memory", lambda x: verify_store(STORE, quick=True, memory=x), "more"),
]
REAL: list[tuple[str, Callable[[Any], Any], str]] = [
    ("movetime", lambda x: search(movetime=x), ""),
    ("movetime", lambda x: choose("payoff", movetime=x, depth=1), ""),
    ("left", lambda x: clock(left=x), ""),
    ("increment", lambda x: clock(increment=x), ""),
    ("grace", lambda x: matched(grace=x), ""),
    ("timeout", lambda x: ClientSettings("host", "w", x).checked().timeout, ""),
    ("wait", lambda x: ClientSettings("host", "w", 1, wait=x).checked().wait, ""),
    ("timeout", lambda x: RefereeSettings(timeout=x).checked().timeout, ""),
    ("wait", lambda x: RefereeSettings(wait=x).checked().wait, ""),
    ("elo0", lambda x: Sprt(x, 50).checked().elo0, "signed"),
    (
        "alpha",
        lambda x: Sprt(0, 50, alpha=x / 10 if isinstance(x, np.number | int) and abs(x) == 3 else x).checked(),
        "",
    ),
    ("seconds", lambda x: proved(seconds=x), ""),
]


def choose_seeded(seed: Any) -> Any:
    return make_player("random", SMALL, PlayerOptions(seed=seed)).choose(START, SearchLimits(nodes=1)).move


def named(rows: list[tuple[str, Callable[[Any], Any], str]]) -> list[Any]:
    return [pytest.param(*row, id=f"{number}-{row[0]}") for number, row in enumerate(rows)]


def refused(parameter: str, function: Callable[[Any], Any], value: Any) -> None:
    with pytest.raises(InputError) as caught:
        function(value)
    assert caught.value.parameter == parameter
    assert str(caught.value).startswith(f"{parameter} ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("parameter", "function", "allowed"), named(WHOLE))
def test_a_whole_number_is_one_of_any_library(parameter: str, function: Callable[[Any], Any], allowed: str) -> None:
    for value in (True, np.True_, math.nan, math.inf, b"1", 1.0, 1.5, np.float64(2), 1e300, [1], 1j):
        refused(parameter, function, value)
    if allowed != "text":
        refused(parameter, function, "1")
    if allowed != "huge":
        refused(parameter, function, 10**30)
    if allowed != "signed":
        refused(parameter, function, -1)
    if allowed != "more":
        assert function(np.int64(3)) == function(3)
        assert function(np.uint8(3)) == function(3)


@pytest.mark.parametrize(("parameter", "function", "allowed"), named(REAL))
def test_a_real_number_is_one_of_any_library(parameter: str, function: Callable[[Any], Any], allowed: str) -> None:
    for value in (True, np.True_, math.nan, "1", "", [1.0], 1j):
        refused(parameter, function, value)
    if parameter != "grace":
        for value in (10**30, 1e300, math.inf):
            refused(parameter, function, value)
    if allowed != "signed":
        refused(parameter, function, -1)
    assert function(np.float32(0.25)) == function(np.float64(0.25)) == function(0.25)
    if allowed != "half":
        assert function(np.int64(3)) == function(3)


@pytest.mark.parametrize("place", ["first", "second"])
def test_a_plan_takes_contestants_and_not_players(place: str) -> None:
    for value in (made("random"), "random", None, RANDOM.player):
        refused(place, lambda value: play_match(PLAN._replace(**{place: value})), value)


def test_limits_are_checked_before_a_game_of_a_plan() -> None:
    wrong = Contestant("mine", "random", SearchLimits(nodes=10**30), PlayerOptions())
    assert play_match(PLAN._replace(first=wrong)).summary.lost_by_fault == (1, 0)


def test_numbers_are_converted_and_none_stays() -> None:
    @numbers(count=whole_number, seconds=real_number)
    def function(count: int, *rest: int, seconds: float | None = None) -> tuple[Any, ...]:
        return count, rest, seconds

    assert function(np.int8(5), 6, 7) == (5, (6, 7), None)
    assert type(function(np.int8(5))[0]) is int
    assert function(1, seconds=np.float32(0.5)) == (1, (), 0.5)
    with pytest.raises(TypeError):
        function()  # type: ignore[call-arg]
    limits = numbers_of(SearchLimits(nodes=np.int64(4)), nodes=whole_number)  # type: ignore[arg-type]
    assert (type(limits.nodes), limits) == (int, SearchLimits(nodes=4))


def test_the_position_of_a_number_is_text() -> None:
    for value in (True, math.nan, "5", 1.0):
        with pytest.raises(InputError):
            Position.parse("5/5/2K2/5/b3b w", value)  # type: ignore[arg-type]
