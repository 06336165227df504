"""Matches: fair, repeatable, resumed without loss, not misled by players or files; and what they say, tested."""

import json
import math
import re
import shutil
import statistics
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.stats import binomtest, fisher_exact

from tablut import Board
from tablut.cli.people import PeopleConsole
from tablut.cli.shell import run
from tablut.errors import InputError
from tablut.play.arena import MatchPlan, Openings, Sprt, contestant, measure, play_match
from tablut.play.arena.cli import show_match
from tablut.play.arena.statistics import (
    Tally,
    elo_of,
    interval_of_share,
    same_chances,
    score_of,
    superiority,
    wilson,
)
from tablut.play.arena.tournament import _estimated, ratings
from tablut.play.bridges import factory
from tablut.play.players import Choice
from tablut.play.search.limits import SearchLimits
from tablut.position import Move
from tablut.rules.naive import NaiveGame
from tablut.variants import load_variant
from tests.support.simulation import assert_covered
from tests.support.waiting import Clock

RULES = load_variant("brandubh")
ONE = SearchLimits(nodes=1)
RANDOM = contestant("random", ONE)


def plan(games: int = 6, **changes: Any) -> MatchPlan:
    searching = contestant("alphabeta@nodes=150,hash=1", ONE)
    return MatchPlan(RULES, searching, RANDOM, games, openings=Openings(4, 1, 1))._replace(**changes)


def moves(report) -> list[list[str]]:
    return [[str(move) for move in one.game.moves] for one in report.played]


def test_the_same_seed_gives_the_same_games_on_any_number_of_threads() -> None:
    for openings in (Openings(4, 1, 1), Openings(4, 4, 1)):
        scored = plan(4, openings=openings)
        alone, together = play_match(scored), play_match(scored, threads=3)
        assert moves(alone) == moves(together)
        assert alone.tally == together.tally
    assert moves(play_match(plan(4, seed=2, openings=Openings(4, 1, 2)))) != moves(play_match(plan(4)))


def test_pairs_share_their_opening_and_change_colours() -> None:
    report = play_match(plan(10))
    openings = [tuple(line[:4]) for line in moves(report)]
    assert openings[0::2] == openings[1::2]
    assert len(set(openings)) > 3
    assert [one.first_is_white for one in report.played] == [True, False] * 5
    assert sum(report.tally.pairs) == 5


def test_an_opening_that_no_game_has_is_refused() -> None:
    # White takes the last attacker, whatever it does next.
    with pytest.raises(InputError, match="ended the game"):
        Openings(60, 1, 1).of_pair(load_variant("ashton-5-4v0"), 0)


# -- players that misbehave ------------------------------------------------------------------


class Crashing:
    def choose(self, board: Board, limits: SearchLimits) -> Choice:
        raise RuntimeError("out of ideas\nand of lines")


class Cheating:
    def choose(self, board: Board, limits: SearchLimits) -> Choice:
        board.push(next(iter(board.legal_moves)))
        return Choice(Move.parse("a1-a2", 7), None, None, 0, 0, ())


CLOCK = Clock()
"""Of the matches below, where time passes while these players think."""


class Dreaming:
    def choose(self, board: Board, limits: SearchLimits) -> Choice:
        CLOCK.now += 0.15
        return Choice(next(iter(board.legal_moves)), None, None, 0, 0, ())


@pytest.mark.parametrize(
    ("player", "termination", "fault"),
    [
        (Crashing(), "crash", "RuntimeError: out of ideas and of lines"),
        (Cheating(), "illegal", "a1-a2"),
        (Dreaming(), "time", "s for a move of 0.01 s"),
    ],
)
def test_a_player_at_fault_loses_its_game_and_not_the_match(
    player: Any,
    termination: str,
    fault: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    real = factory.make_player
    monkeypatch.setattr(factory, "make_player", lambda name, *rest: player if name == "bad" else real(name, *rest))
    monkeypatch.setattr("tablut.play.arena.game.time", CLOCK)
    bad = contestant("bad@movetime=0.01", ONE)
    whole = MatchPlan(RULES, RANDOM, bad, 2, openings=Openings(2, 1, 1), grace=0.05)
    report = play_match(whole, folder=tmp_path)
    assert report.summary.a_wins == 2
    assert report.summary.termination == {termination: 2}
    assert all(fault in line and "\n" not in line for line in report.summary.faults)
    assert len(report.summary.faults) == 2
    assert report.summary.lost_by_fault == (0, 2)
    show_match(PeopleConsole(), report.summary)
    elo = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("Elo"))
    assert re.search(r"bad\S* 2$", elo)
    # A fault is read back as one.
    assert play_match(whole, folder=tmp_path).played == report.played


def test_moves_over_time_within_the_grace_are_counted_and_shown(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    real, dreaming = factory.make_player, Dreaming()
    monkeypatch.setattr(factory, "make_player", lambda name, *rest: dreaming if name == "slow" else real(name, *rest))
    monkeypatch.setattr("tablut.play.arena.game.time", CLOCK)
    for slow in (contestant("slow@movetime=0.01", ONE), contestant("slow@tc=0.4", ONE)):
        # No position can occur for the third time in six plies.
        rules = load_variant("copenhagen")
        whole = MatchPlan(rules, RANDOM, slow, 2, openings=Openings(0, 1, 1), grace=1, most_plies=6)
        folder = tmp_path / slow.text
        summary = play_match(whole, folder=folder).summary
        assert summary.termination == {"ply_cap": 2}
        # On a clock, the first two of its three moves in each game are in time.
        moves, worst = (6, 0.14) if slow.control is None else (2, 0.05)
        assert (summary.moves_over_time, summary.worst_excess) == ([0, moves], [0, worst])
        assert play_match(whole, folder=folder).summary == summary
        show_match(PeopleConsole(), summary)
        (line,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("over time"))
        assert slow.text in line
        assert f"{moves} moves" in line
        assert "random" not in line
    record = next(folder.glob("game-*.txt"))
    record.write_text(record.read_text().replace('[MovesOverTime "1 0"]\n', "").replace('[MovesOverTime "0 1"]\n', ""))
    with pytest.raises(InputError, match="changed"):
        play_match(whole, folder=folder)


# -- what is kept ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    folder = tmp_path_factory.mktemp("match")
    return folder, play_match(plan(6), folder=folder)


def copy_of(kept: tuple[Path, Any], tmp_path: Path) -> Path:
    return Path(shutil.copytree(kept[0], tmp_path / "match"))


def test_a_match_goes_on_where_it_ended(
    kept: tuple[Path, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = copy_of(kept, tmp_path)
    for number in (1, 4):
        (folder / f"game-{number:06d}.txt").unlink()
    (folder / ".game-000001.txt.x.tmp").write_text("half")
    made: list[int] = []
    real = factory.make_player
    monkeypatch.setattr(factory, "make_player", lambda *rest: made.append(1) or real(*rest))
    again = play_match(plan(6), folder=folder)
    assert moves(again) == moves(kept[1])
    assert again.tally == kept[1].tally
    assert len(made) == 4, "two games are play the game again, the others are read"
    assert not list(folder.glob(".*.tmp"))
    longer = play_match(plan(8), folder=folder)
    assert moves(longer)[:6] == moves(again)


EDITS = {
    "a tag": lambda text: text.replace('[Nodes "', '[Nodes "1'),
    "the result": lambda text: re.sub(
        r"(white|black)\n$", lambda found: {"white": "black\n"}.get(found[1], "white\n"), text
    ),
    "a game of another number": lambda text: text.replace('[Game "2"]', '[Game "4"]'),
    "no moves": lambda text: text[: text.rindex("]") + 1] + "\n\nwhite\n",
    "nothing": lambda text: "",
    "no text": lambda text: "\x00\x01",
}


@pytest.mark.parametrize("edit", EDITS)
def test_a_changed_record_is_named_and_not_counted(edit: str, kept: tuple[Path, Any], tmp_path: Path) -> None:
    folder = copy_of(kept, tmp_path)
    record = folder / "game-000002.txt"
    before = record.read_text()
    record.write_text(EDITS[edit](before))
    assert record.read_text() != before
    with pytest.raises(InputError, match=r"game-000002\.txt.*play the game again"):
        play_match(plan(6), folder=folder)


def test_a_record_of_another_game_is_not_taken(kept: tuple[Path, Any], tmp_path: Path) -> None:
    folder = copy_of(kept, tmp_path)
    shutil.copy(folder / "game-000000.txt", folder / "game-000002.txt")
    with pytest.raises(InputError, match="belongs to game 0"):
        play_match(plan(6), folder=folder)
    with pytest.raises(InputError, match=r"another match.*another folder"):
        play_match(plan(6, seed=9), folder=folder)


# -- the sequential test ----------------------------------------------------------------------


def test_the_sequential_test_ends_at_the_same_pair_on_any_number_of_threads() -> None:
    alone = play_match(plan(40), sprt=Sprt(0, 500))
    together = play_match(plan(40), sprt=Sprt(0, 500), threads=4)
    assert alone.summary.sprt is not None
    assert alone.summary.sprt.state == "accepted"
    assert alone.tally.games < 40
    assert moves(alone) == moves(together)


def test_an_interrupt_keeps_what_was_played(tmp_path: Path) -> None:
    seen: list[Any] = []

    def stop(played: Any) -> None:
        seen.append(played)
        if len(seen) == 3:
            raise KeyboardInterrupt

    class StoppedError(Exception):
        pass

    found: list[Any] = []

    def ended(report: Any) -> BaseException:
        found.append(report)
        return StoppedError()

    with pytest.raises(StoppedError):
        play_match(plan(6), folder=tmp_path, watch=stop, on_interrupt=ended)
    assert found[0].tally.games == 3
    again = {one.number: one.game.moves for one in play_match(plan(6), folder=tmp_path).played}
    assert all(again[one.number] == one.game.moves for one in found[0].played)


# -- commands ------------------------------------------------------------------------------------


def test_match_answers_as_the_interface_says(capsys: pytest.CaptureFixture[str]) -> None:
    line = ["match", "alphabeta@nodes=100,hash=1", "random", "-v", "brandubh", "-n", "4", "--nodes", "1", "--json"]
    assert run(line) == 0
    said = json.loads(capsys.readouterr().out)
    assert {"games", "a_wins", "b_wins", "draws", "elo", "elo_interval", "by_colour", "termination"} <= set(said)
    assert said["games"] == said["a_wins"] + said["b_wins"] + said["draws"] == 4


def test_no_player_is_said_to_be_better_than_itself(capsys: pytest.CaptureFixture[str]) -> None:
    for first, second in ((RANDOM, RANDOM), (RANDOM, contestant("random@nodes=2", ONE))):
        show_match(PeopleConsole(), play_match(MatchPlan(RULES, first, second, 2)).summary)
        line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("superiority"))
        assert ("%" in line) == (first.text != second.text)


def test_tournament_rates_every_player(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    line = ["tournament", "random", "alphabeta@nodes=100,hash=1", "random", "-v", "brandubh", "-n", "4", "--nodes", "1"]
    assert run([*line, "--json", "--store", str(tmp_path / "t")]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["table"][0]["player"].startswith("alphabeta")
    assert {row["player"] for row in said["table"]} >= {"random", "random (2)"}
    assert sum(row["wins"] for row in said["table"]) == sum(row["losses"] for row in said["table"])
    assert [row["games"] for row in said["table"]] == [8, 8, 8]
    assert run([*line, "--json", "--store", str(tmp_path / "t")]) == 0
    assert json.loads(capsys.readouterr().out)["table"] == said["table"]


def test_measures_are_those_of_the_games() -> None:
    """Branching factors and lengths against the plain rules, on games replayed move by move."""
    rules = load_variant("brandubh-5-4v0")
    report = play_match(MatchPlan(rules, RANDOM, RANDOM, 40, openings=Openings(2, 1, 1), paired=False))
    assert len({one.game.moves[:2] for one in report.played}) > 4
    found = measure(rules, report)
    logs, lengths, repeated = [], [], []
    for one in report.played:
        game, total = NaiveGame(rules), 0.0
        position = game.start()
        met = [position]
        for move in one.game.moves:
            total += math.log10(len(game.legal_moves(position)))
            position = game.apply(position, game.parse_move(str(move))).position
            met.append(position)
        repeated.append(sum(one in met[:number] for number, one in enumerate(met)))
        logs.append(total)
        lengths.append(len(one.game.moves))
    assert found.log10_tree.mean == pytest.approx(sum(logs) / 40, abs=1e-4)
    assert found.plies.mean == pytest.approx(sum(lengths) / 40, abs=1e-4)
    assert found.repeated.mean == pytest.approx(sum(repeated) / 40, abs=1e-4)
    assert max(repeated) > 0
    assert found.plies.high - found.plies.mean == pytest.approx(
        1.96 * statistics.stdev(lengths) / math.sqrt(40), rel=1e-3
    )


# -- scores, intervals, ratings and the sequential test against independent ways to the same numbers


FIVE = st.lists(st.integers(0, 60), min_size=5, max_size=5).filter(lambda counts: sum(counts) > 3)


@given(st.floats(-800, 800))
def test_elo_and_score_are_inverse(elo: float) -> None:
    found = elo_of(score_of(elo))
    assert found is not None
    assert found == pytest.approx(elo, abs=1e-6)
    assert score_of(elo) + score_of(-elo) == pytest.approx(1)


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_is_scipys(counts: tuple[int, int]) -> None:
    wins, games = counts
    expected = binomtest(wins, games).proportion_ci(0.95, "wilson")
    assert wilson(wins, games) == pytest.approx((expected.low, expected.high), abs=1e-12)


@given(FIVE, st.sampled_from([(0.0, 5.0), (-10.0, 0.0), (0.0, 100.0)]))
def test_the_ratio_is_that_of_the_likeliest_chances(counts: list[int], elos: tuple[float, float]) -> None:
    """By duality the greatest likelihood of a mean m is that of the counts less max_x sum n log(1 + x (a - m))."""
    seen, points = np.maximum(np.array(counts, dtype=float), 1e-3), np.arange(5) / 4

    def loss(mean: float) -> float:
        ends = (-1 / (1 - mean) + 1e-9, 1 / mean - 1e-9)
        found = minimize_scalar(
            lambda x: -float((seen * np.log1p(x * (points - mean))).sum()), bounds=ends, options={"xatol": 1e-10}
        )
        return -float(found.fun)

    expected = loss(score_of(elos[0])) - loss(score_of(elos[1]))
    assert Sprt(*elos).ratio(counts) == pytest.approx(expected, abs=1e-4 * (1 + sum(counts)))


@given(FIVE)
def test_sides_are_symmetrical(counts: list[int]) -> None:
    pairs = tuple(counts)
    assert Sprt(-20, 20).ratio(pairs) == pytest.approx(-Sprt(-20, 20).ratio(pairs[::-1]), abs=1e-6)
    doubled = sum(count * place for place, count in enumerate(pairs))
    games = 2 * sum(pairs)
    one = Tally(doubled // 2, doubled % 2, games - doubled // 2 - doubled % 2, pairs)
    other = Tally(one.losses, one.draws, one.wins, pairs[::-1])
    assert superiority(one) + superiority(other) == pytest.approx(1, abs=1e-9)


def test_ratings_find_the_strengths_that_made_the_games() -> None:
    random, truth = np.random.default_rng(1), [-150.0, -20.0, 30.0, 140.0]
    points = {
        (i, j): (float(random.binomial(5000, score_of(truth[i] - truth[j]))), 5000)
        for i in range(4)
        for j in range(i + 1, 4)
    }
    for rating, elo in zip(ratings(4, points), truth, strict=True):
        assert rating.elo == pytest.approx(elo, abs=12)
        assert rating.interval[0] < rating.elo < rating.interval[1]


def test_one_who_wins_all_has_a_rating() -> None:
    strong, weak = ratings(2, {(0, 1): (200.0, 200)})
    assert 500 < strong.elo - weak.elo < 2500
    assert wilson(200, 200)[1] == 1.0


@pytest.mark.parametrize("wrong", [Sprt(10, 0), Sprt(0, 0), Sprt(0, 10, 0.0), Sprt(0, 10, 0.05, 0.7)])
def test_a_test_that_makes_no_sense_is_refused(wrong: Sprt) -> None:
    with pytest.raises(InputError) as refused:
        wrong.checked()
    assert refused.value.parameter == ("errors" if wrong.elo1 > wrong.elo0 else "sprt")


# -- coverage: how often each kind of interval contains the truth, in games whose truth is known --------


def tally_of(pairs: tuple[int, ...]) -> Tally:
    """Return the counts of pairs in which a player scored 0, ½, 1, 1½ and 2 points; one point is two draws."""
    lost, half, even, more, won = pairs
    return Tally(2 * won + more, half + 2 * even + more, 2 * lost + half, (lost, half, even, more, won))


@pytest.mark.parametrize(
    ("pairs", "chances"),
    [
        # So few pairs that dividing by their number instead of one less would show. The interval takes the mean of the
        # pairs as normal, which few pairs are only roughly; with these chances it holds even so.
        (12, (0, 0.1, 0.8, 0.1, 0)),
        (12, (0, 0.5, 0, 0.5, 0)),
        (12, (0.5, 0, 0, 0, 0.5)),
        (4, (0.2, 0, 0.6, 0, 0.2)),
        # A match of some length, between players of different strength.
        (400, (0.1, 0.2, 0.3, 0.25, 0.15)),
    ],
)
def test_the_elo_of_pairs_lies_in_its_interval(pairs: int, chances: tuple[float, ...]) -> None:
    draws, level = (20_000 if pairs < 100 else 4_000), 0.95
    truth = elo_of(sum(chance * place / 4 for place, chance in enumerate(chances)))
    drawn, times = np.unique(
        np.random.default_rng(67).multinomial(pairs, chances, size=draws), axis=0, return_counts=True
    )
    assert truth is not None
    hits = 0
    for counts, number in zip(drawn.tolist(), times.tolist(), strict=True):
        low, high = (elo_of(end) for end in interval_of_share(tally_of(tuple(counts)), level))
        # An end that is None is infinite.
        hits += number * ((low is None or low <= truth + 1e-9) and (high is None or truth - 1e-9 <= high))
    assert_covered(hits, draws, level)


@pytest.mark.parametrize("level", [0.95, 0.99])
@pytest.mark.parametrize("drawn_games", [0.0, 0.4])
def test_a_share_lies_in_wilsons_interval(level: float, drawn_games: float) -> None:
    """For shares all over the range: for a single share, the interval holds a little more or less often."""
    random, games, draws = np.random.default_rng(68), 60, 4_000
    shares = random.random(draws)
    # A drawn game is half a point, so the other games are won a little less often.
    even = drawn_games * 2 * np.minimum(shares, 1 - shares)
    halves = random.binomial(games, even)
    wins = random.binomial(games - halves, (shares - even / 2) / (1 - even))
    found = [wilson(points, games, level) for points in (wins + halves / 2).tolist()]
    assert_covered(sum(low <= share <= high for (low, high), share in zip(found, shares, strict=True)), draws, level)


def test_ratings_lie_in_their_intervals() -> None:
    random, truth, level, tournaments, hits = np.random.default_rng(69), [-90.0, -20.0, 30.0, 80.0], 0.95, 1_000, 0
    for _ in range(tournaments):
        points = {
            (i, j): (float(random.binomial(200, score_of(truth[i] - truth[j]))), 200)
            for j in range(4)
            for i in range(j)
        }
        # One player only, because the ratings of a tournament depend on each other.
        low, high = ratings(4, points)[0].interval
        hits += low <= truth[0] <= high
    assert_covered(hits, tournaments, level)


def test_means_of_measured_games_lie_in_their_intervals() -> None:
    random, level, draws = np.random.default_rng(70), 0.95, 4_000
    found = [_estimated(lengths) for lengths in random.poisson(60, size=(draws, 100)).tolist()]
    assert_covered(sum(one.low <= 60 <= one.high for one in found), draws, level)


def test_the_sequential_test_errs_as_rarely_as_it_says() -> None:
    """Games of which one hypothesis is true; each test ends, and its error is at most the one that was allowed."""
    random, test, tests = np.random.default_rng(71), Sprt(0, 60, 0.1, 0.1), 400
    for right, elo in (("rejected", 0), ("accepted", 60)):
        more = score_of(elo) - 0.5
        ends = []
        for _ in range(tests):
            pairs = np.zeros(5, dtype=int)
            while (state := test.state(pairs.tolist())) == "running":
                pairs += random.multinomial(5, (0.1 - more, 0.2, 0.4, 0.2, 0.1 + more))
            ends.append(state)
        assert_covered(ends.count(right), tests, 0.9)


# -- two sets of games ---------------------------------------------------------------------


@given(st.lists(st.integers(0, 25), min_size=4, max_size=4).filter(lambda n: n[0] + n[1] > 0 and n[2] + n[3] > 0))
def test_two_kinds_of_results_are_scipys_exact_test(counts: list[int]) -> None:
    first, second = counts[:2], counts[2:]
    assert same_chances(first, second) == pytest.approx(fisher_exact([first, second])[1], rel=1e-6, abs=1e-12)
    assert same_chances(second, first) == pytest.approx(same_chances(first, second), rel=1e-6)


@given(st.lists(st.integers(0, 4), min_size=6, max_size=6).filter(lambda n: sum(n[:3]) > 0 and sum(n[3:]) > 0))
def test_three_kinds_of_results_by_dealing_them_in_every_way(counts: list[int]) -> None:
    """Each way to deal the games to the two sets is as likely as any other; those of rarer tables are counted."""
    first, second = counts[:3], counts[3:]
    ways = {}
    for a in range(first[0] + second[0] + 1):
        for b in range(first[1] + second[1] + 1):
            c = sum(first) - a - b
            if 0 <= c <= first[2] + second[2]:
                sums = [x + y for x, y in zip(first, second, strict=True)]
                ways[a, b, c] = math.prod(math.comb(n, k) for n, k in zip(sums, (a, b, c), strict=True))
    rare = sum(count for count in ways.values() if count <= ways[tuple(first)])
    assert same_chances(first, second) == pytest.approx(rare / sum(ways.values()), rel=1e-6)


def test_a_tally_without_pairs_has_none_and_a_test_needs_errors_between_none_and_half() -> None:
    assert Tally(1, 2, 3).pairs == (0, 0, 0, 0, 0)
    assert Tally.of([1, 0, 0.5, 0.5], [(1, 1), (0, 0), (0, 0.5), (0.5, 0.5), (1, 0.5)]).pairs == (1, 1, 1, 1, 1)
    for alpha, beta in ((0, 0.05), (0.05, 0), (0.5, 0.05), (0.05, 0.5), (-0.1, 0.05)):
        with pytest.raises(InputError):
            Sprt(0, 5, alpha, beta).checked()
