"""Tests of clocks and of adjudication.

The time planned for moves never exceeds the clock, each program receives what its protocol can express, and a player
whose time is up loses the game. Tables or scores can decide games before their end.
"""

import re
import shlex
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablut import Board
from tablut.cli.people import PeopleConsole
from tablut.cli.shell import run
from tablut.errors import InputError
from tablut.play import players
from tablut.play.arena import MatchPlan, Openings, contestant, play_match
from tablut.play.arena import match as arena_match
from tablut.play.arena.cli import show_match
from tablut.play.arena.game import BY_SCORES, BY_TABLES
from tablut.play.arena.plan import Adjudication, check_contestants
from tablut.play.bridges import factory
from tablut.play.bridges.htp import HtpFront
from tablut.play.bridges.otep import OtepFront
from tablut.play.bridges.uci import Front, TaflZeroFront, go
from tablut.play.players import Choice, PlayerOptions
from tablut.play.protocol import EngineOptions, _read_go
from tablut.play.search.limits import (
    Clock,
    Pace,
    RunningClock,
    SearchLimits,
    TimeControl,
    nominal_points,
    read_time_control,
)
from tablut.play.search.searcher import Searcher
from tablut.position import Position
from tablut.prober import find_prober
from tablut.variants import load_variant
from tests.support.waiting import Clock as FakeTime

RULES = load_variant("brandubh")
ONE = SearchLimits(nodes=1)
RANDOM = contestant("random", ONE)

CONTROLS = st.builds(
    TimeControl,
    st.integers(1, 10**9).map(lambda n: n / 1000),
    st.integers(0, 10**9).map(lambda n: n / 1000),
    st.none() | st.integers(1, 60),
)


# -- clocks ------------------------------------------------------------------------------------


@given(CONTROLS)
def test_a_time_control_is_read_as_it_is_written(control: TimeControl) -> None:
    assert read_time_control(str(control)) == control


@pytest.mark.parametrize(
    "text", ["", "0", "0+1", "0/60", "60+", "60/40/30", "1e3", "-1", "٣", "9" * 5000, "5 + 1", "0.0005"]
)
def test_what_is_no_time_control_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="time control") as refused:
        read_time_control(text)
    assert len(str(refused.value)) < 300


@given(CONTROLS, st.lists(st.integers(0, 300), max_size=150))
def test_a_clock_counts_like_plain_fractions(control: TimeControl, spent: list[int]) -> None:
    clock, left = RunningClock(control), Fraction(control.base)
    for made, hundredths in enumerate(spent, 1):
        assert clock.left == pytest.approx(float(left), abs=1e-6)
        clock.press(hundredths / 100)
        left += Fraction(control.increment) - Fraction(hundredths, 100)
        if control.moves is not None and made % control.moves == 0:
            left += Fraction(control.base)
        assert clock.reading().moves == (None if control.moves is None else control.moves - made % control.moves)


@given(CONTROLS, st.randoms(use_true_random=False))
def test_whatever_the_manager_takes_is_there(control: TimeControl, random: Any) -> None:
    """Each of hundreds of moves takes either the planned or the longest time, chosen at random."""
    clock = RunningClock(control)
    for _ in range(300):
        reading = clock.reading()
        assert 0 < reading.planned <= reading.longest <= max(0.9 * clock.left, 0.002)
        clock.press(random.choice((reading.planned, reading.longest)) if clock.left > 0.01 else 0.0)
        assert clock.left > 0


def test_a_search_goes_on_where_its_result_is_unstable() -> None:
    clock = Clock(20.0)

    def end(results: list[tuple[int, int]]) -> float:
        """Return the time when a search ends. Each iteration takes 10 ms, and the last result repeats."""
        pace, seconds = Pace(clock), 0.0
        for move, score in results + [results[-1]] * 1000:
            seconds += 0.01
            if pace.is_enough(seconds, move, score):
                return seconds
        raise AssertionError("it goes on for ever")

    calm = end([(1, 30)])
    assert calm < clock.planned
    assert end([(1, 30)] + [(number % 2, 30) for number in range(300)]) > clock.planned
    assert end([(1, -60 * number) for number in range(300)]) > clock.planned
    assert end([(1, 30 * number) for number in range(300)]) == calm
    assert end([(2, 7), (3, 9), *[(1, 30)] * 20]) == pytest.approx(calm, abs=0.015)  # unstable only at first


def test_a_search_on_a_clock_keeps_within_it() -> None:
    searcher = Searcher("ashton", hash_mib=2)
    for clock in (Clock(2.0), Clock(0.3, 0.1), Clock(1.0, moves=1), Clock(0.0)):
        found = searcher.search(Board("ashton"), SearchLimits().on_clock(clock))
        assert found.move in Board("ashton").legal_moves
        assert found.seconds < clock.longest + 1  # the machine may be busy, but the search must end
    # If only one move is legal, no search is needed.
    assert searcher.search(Board("ashton"), SearchLimits(depth=1).on_clock(Clock(1e6))).depth == 1


# -- protocols -----------------------------------------------------------------------------------


@given(
    st.integers(1, 10**9),
    st.integers(0, 10**6),
    st.none() | st.integers(1, 60),
    st.none() | st.tuples(st.integers(1, 10**9), st.integers(0, 10**6)),
    st.sampled_from(["white", "black"]),
)
def test_our_protocol_reads_the_clocks_that_it_sends(
    left: int, more: int, moves: int | None, other: tuple[int, int] | None, turn: Any
) -> None:
    opponent = None if other is None else (other[0] / 1000, other[1] / 1000)
    limits = SearchLimits(depth=3).on_clock(Clock(left / 1000, more / 1000, moves, opponent))
    line, boards = (
        go(limits, turn),
        {
            side: Board("ashton", f"3bbb3/4b4/4w4/b3w3b/bbwwKwwbb/b3w3b/4w4/4b4/3bbb3 {side[0]}")
            for side in ("white", "black")
        },
    )
    again, *_, refused = _read_go(line.split()[1:], boards[turn], "alphabeta")
    assert again.clock is not None
    assert not refused
    assert (again.clock.moves, again.depth) == (moves, 3)
    sent = [left, more, *(other or ())]
    read = [again.clock.left, again.clock.increment, *(again.clock.opponent or ())]
    # Converting floating-point seconds may lose a millisecond.
    assert [1000 * one for one in read] == [pytest.approx(one, abs=1.1) for one in sent]
    if other is None:  # the other side moves immediately, because its time is not known
        again, *_, refused = _read_go(line.split()[1:], boards["black" if turn == "white" else "white"], "alphabeta")
        assert again.movetime is not None
        assert again.movetime < 1
        assert "time is missing" in refused[0]


def limits_of(words: str) -> SearchLimits:
    """The limits for a move in a game of brandubh, where black begins."""
    return _read_go(words.split(), Board("brandubh"), "alphabeta")[0]


def test_a_time_for_the_move_comes_before_the_clocks() -> None:
    assert limits_of("movetime 500 wtime 9 btime 9") == SearchLimits(movetime=0.5)


@pytest.mark.parametrize("words", ["btime 0", "btime -5 wtime 1000", "btime -1 binc 60000", "btime 0 movestogo -3"])
def test_a_side_whose_time_is_over_moves_at_once(words: str) -> None:
    longest = limits_of(words).longest
    assert longest is not None
    assert longest <= 0.01


def test_what_is_wrong_with_the_opponents_clock_changes_nothing() -> None:
    clean = limits_of("btime 1000 binc 50")
    for words in ("wtime -5 winc -7", "wtime 0", "movestogo 0", "movestogo -1", "wtime x", "foo 7"):
        limits = limits_of(f"btime 1000 binc 50 {words}")
        assert (limits.movetime, limits.longest) == (clean.movetime, clean.longest), words


@pytest.mark.parametrize("words", ["btime x", "wtime 1000", "btime 1.5", "movetime soon depth 99", "depth 99 btime"])
def test_without_a_time_that_can_be_read_the_search_is_short(words: str) -> None:
    limits = limits_of(words)
    assert limits.movetime is not None
    assert limits.movetime < 1


def test_a_number_beyond_all_measure_is_the_largest_that_the_search_takes() -> None:
    huge = "9" * 40
    words = f"movetime {huge} nodes {huge} depth {huge} playouts {huge}"
    assert limits_of(words) == limits_of(words).checked()
    assert limits_of(f"btime {huge} wtime {huge} binc {huge} movestogo {huge}").checked().clock is not None
    least = limits_of("movetime -1 nodes 0 depth 0 playouts -9")
    assert least == least.checked() == SearchLimits(0.001, 1, 1, 1)


FRONTS: list[tuple[type[Front], str, list[str], Clock]] = [
    (TaflZeroFront, "brandubh", ["go wtime 60000 btime 30000 winc 500 movestogo 7"], Clock(30, 0, 7, (60, 0.5))),
    (HtpFront, "copenhagen", ["first_move defender", "time_settings fischer 2 3", "generate_move"], Clock(120, 3)),
    (OtepFront, "brandubh", ["clock 1000 300000 20 0 4", "play defenders"], Clock(300, 20)),
    (OtepFront, "brandubh", ["clock 1000 30000* 20 0 4", "play defenders"], Clock(30, moves=1)),
    (OtepFront, "brandubh", ["clock 1000 30000", "play defenders"], Clock(30)),
]


@pytest.mark.parametrize(("front", "variant", "lines", "clock"), FRONTS)
def test_our_engine_takes_the_clock_of_each_protocol(
    front: type[Front], variant: str, lines: list[str], clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[SearchLimits] = []

    class Watching:
        def choose(self, board: Board, limits: SearchLimits) -> Choice:
            seen.append(limits)
            return Choice(next(iter(board.legal_moves)), None, None, 0, 0, ())

    monkeypatch.setattr("tablut.play.protocol.ready_player", lambda *_, **__: Watching())
    talk = front(lambda _: None, EngineOptions(variant, "random"), None)
    for line in lines:
        talk.handle(line)
    talk.finish()
    (limits,) = seen
    assert limits.clock is not None
    if front is not TaflZeroFront:
        clock = clock._replace(opponent=limits.clock.opponent)
    assert limits == SearchLimits().on_clock(clock)


PARTNER = """
import sys, time
name, log, delay = sys.argv[1:4]
for line in iter(sys.stdin.readline, ""):
    open(log, "a").write(line)
    if line.startswith("go"):
        time.sleep(float(delay))
        print("info depth 1 score cp 5 winrate 52.1% nodes 9 time 3 speed 2 pv d3c3")
        print("info multipv 2 score cp -70 winrate 31.0% nodes 9 time 3 speed 2 pv d5c5")
        print({"taflzero": "bestmove d3c3", "program": "bestmove d3-c3"}[name], flush=True)
    elif line.strip() in ("uci", "isready"):
        print({"uci": "uciok", "isready": "readyok"}[line.strip()], flush=True)
"""


def partner(tmp_path: Path, protocol: str, delay: float = 0.0) -> str:
    script = tmp_path / "partner.py"
    script.write_text(PARTNER)
    own = "@option.variant=brandubh," if protocol == "taflzero" else "@"
    return (
        f"{protocol}:{shlex.join([sys.executable, str(script), protocol, str(tmp_path / protocol), str(delay)])}{own}"
    )


def test_each_program_is_sent_what_its_protocol_can_say(tmp_path: Path) -> None:
    """The program makes a legal first move as White. Its second move is illegal, so it loses."""
    for protocol, sent in (("program", "go wtime 59"), ("taflzero", "go movetime 3")):
        one = contestant(partner(tmp_path, protocol) + "tc=60+0.5", ONE)
        two = contestant("random@tc=40/30", ONE)
        warned = check_contestants([one, two], RULES)
        assert len(warned) == (protocol == "taflzero")
        assert all("does not support clocks" in line for line in warned)
        play_match(MatchPlan(RULES, one, two, 1, openings=Openings(0, 1, 1)))
        lines = [line for line in (tmp_path / protocol).read_text().splitlines() if line.startswith("go")]
        assert lines[0] == "go movetime 100"  # the first move of all, before the games
        assert any(line.startswith((sent, "go wtime 60")) for line in lines[1:]), lines
        if protocol == "program":
            assert re.fullmatch(r"go wtime 60000 winc 500 btime (30000|29\d\d\d) binc 0", lines[1])


def test_the_score_of_a_program_is_that_of_its_best_line(tmp_path: Path) -> None:
    """TaflZero with the option MultiPV reports several lines, without a depth."""
    board = Board(RULES)
    board.push(next(iter(board.legal_moves)))
    text = partner(tmp_path, "taflzero").removesuffix("@option.variant=brandubh,")
    with factory.player_for(text, RULES, PlayerOptions(settings=(("variant", "brandubh"),))) as player:
        choice = player.choose(board, ONE)
    assert (str(choice.move), choice.score, choice.nodes) == ("d3-c3", 5, 9)


DYING = """
import sys
print("good morning", flush=True)
sys.stderr.write("Traceback of a program:\\n  File first\\nValueError: out of ideas\\n  at last.frame\\n")
sys.exit(3)
"""


@pytest.mark.parametrize("protocol", factory.PROTOCOLS)
def test_the_last_lines_of_a_program_that_dies_are_shown(protocol: str, tmp_path: Path) -> None:
    script, rules = tmp_path / "dying.py", load_variant("copenhagen")
    script.write_text(DYING)
    one = contestant(f"{protocol}:{shlex.join([sys.executable, str(script)])}@movetime=1", ONE)
    with pytest.raises(InputError, match="code 3: ValueError: out of ideas; its last output: 'good morning'"):
        check_contestants([one], rules)


def test_a_program_that_answers_late_keeps_its_game(tmp_path: Path) -> None:
    """TaflZero, for example, answers a fifth of a second late on a busy machine."""
    one = contestant(partner(tmp_path, "taflzero", 0.2) + "movetime=0.01", ONE)
    for grace, end in ((None, "illegal"), (0.1, "time")):
        report = play_match(MatchPlan(RULES, one, RANDOM, 1, openings=Openings(0, 1, 1), grace=grace))
        assert report.summary.termination == {end: 1}
        assert report.summary.lost_by_fault == (1, 0)


# -- matches ---------------------------------------------------------------------------------------


TIME = FakeTime()


class Slow:
    """Player that takes one second for each move."""

    seen: ClassVar[list[Clock]] = []

    def choose(self, board: Board, limits: SearchLimits) -> Choice:
        assert limits.clock is not None
        self.seen.append(limits.clock)
        TIME.now += 1
        return Choice(next(iter(board.legal_moves)), None, None, 0, 0, ())


@pytest.mark.parametrize(
    ("control", "moves"), [("3.5", 3), ("3.5+0.5", 6), ("2/3", 10**6), ("2/1.5", 1), ("2.95", 3), ("2.85", 2)]
)
def test_a_side_whose_flag_falls_has_lost(
    control: str, moves: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    real = players.make_player
    monkeypatch.setattr(factory, "make_player", lambda name, *rest: Slow() if name == "slow" else real(name, *rest))
    monkeypatch.setattr("tablut.play.arena.game.time", TIME)
    monkeypatch.setattr(arena_match, "_warm_up", lambda *_: None)
    Slow.seen.clear()
    whole = MatchPlan(
        RULES, contestant(f"slow@tc={control}", ONE), RANDOM, 1, openings=Openings(0, 1, 1), most_plies=60, grace=0.1
    )
    report = play_match(whole, folder=tmp_path)
    (game,) = (one.game for one in report.played)
    if moves < 30:
        assert (game.winner, game.termination) == ("black", "time")
        assert report.summary.lost_by_fault == (1, 0)
        assert len(game.moves) // 2 == moves  # Black begins
        assert f"its clock of {control}" in str(game.fault)
    else:
        assert game.termination != "time"
    assert report.summary.time_controls == (control, None)
    assert report.summary.seconds_a_game[0] == len(Slow.seen)
    show_match(PeopleConsole(), report.summary)
    assert f"clocks       {control} and none" in capsys.readouterr().out
    # The record contains the time control. It is read again, but rejected if the match has another time control.
    assert f'[TimeControls "{control} -"]' in (tmp_path / "game-000000.txt").read_text()
    assert play_match(whole, folder=tmp_path).played == report.played
    with pytest.raises(InputError, match="another match"):
        play_match(whole._replace(first=contestant("slow@tc=99", ONE)), folder=tmp_path)


def test_matches_without_clocks_keep_their_digest() -> None:
    """Stored matches must remain valid."""
    first, second = contestant("alphabeta@nodes=150,hash=1", ONE), contestant("random@movetime=0.5", ONE)
    plan = MatchPlan(RULES, first, second, 6, openings=Openings(4, 1, 1))
    assert plan.digest == "e67c739317218721967e6291c0d93a2060c8e27b36a98e111f7bee64712ae145"
    others = [
        plan._replace(first=contestant("alphabeta@tc=60,nodes=150,hash=1", ONE)),
        plan._replace(first=contestant("alphabeta@tc=60+1,nodes=150,hash=1", ONE)),
        plan._replace(adjudication=Adjudication("")),
        plan._replace(adjudication=Adjudication("", 4, 0.9)),
    ]
    assert len({plan.digest, *(one.digest for one in others)}) == 5


def test_the_commands_play_on_clocks(capsys: pytest.CaptureFixture[str]) -> None:
    line = ["match", "greedy", "random@nodes=1", "-v", "brandubh", "-n", "2", "--opening", "0"]
    assert run([*line, "--tc", "60+0.5"]) == 0
    assert "clocks       60+0.5 and none" in capsys.readouterr().out
    for wrong, why in ((["--tc", "60", "--movetime", "1"], "--movetime"), (["--tc", "5;1"], "time control '5;1'")):
        assert run([*line, *wrong]) == 2
        assert why in capsys.readouterr().err
    assert run(["match", "greedy@tc=1,movetime=1", "random", "-n", "2"]) == 2
    assert "a time for a move and a time control" in capsys.readouterr().err


# -- adjudication ------------------------------------------------------------------------------------


class Sure:
    """Random player that reports the same score in every position."""

    def __init__(self, score: int | None, player: Any) -> None:
        self._score, self._player = score, player

    def choose(self, board: Board, limits: SearchLimits) -> Choice:
        choice: Choice = self._player.choose(board, limits)
        return choice._replace(score=self._score)


@pytest.mark.parametrize(
    ("scores", "winner"),
    [((500, -500), "first"), ((-500, 700), "second"), ((500, 500), None), ((500, None), None), ((499, -900), None)],
)
def test_scores_on_which_both_agree_decide_a_game(
    scores: tuple[int | None, int | None], winner: str | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    real = players.make_player

    def made(name: str, *rest: Any) -> Any:
        number = {"one": 0, "two": 1}[name]
        return Sure(scores[number], real("random", *rest))

    monkeypatch.setattr(factory, "make_player", made)
    whole = MatchPlan(
        RULES,
        contestant("one", ONE),
        contestant("two", ONE),
        2,
        openings=Openings(2, 1, 1),
        most_plies=30,
        adjudication=Adjudication(None, 5, nominal_points(500)),
    )
    report = play_match(whole, folder=tmp_path)
    if winner is None:
        assert report.summary.adjudicated == 0
    else:
        assert report.summary.termination == {BY_SCORES: 2}
        assert report.summary.adjudicated == 2
        assert [one.points for one in report.played] == 2 * [1 if winner == "first" else 0]
        assert [len(one.game.moves) for one in report.played] == [2 + 5] * 2
        assert report.summary.lost_by_fault == (0, 0)
    assert play_match(whole, folder=tmp_path).played == report.played


def test_tables_decide_a_game_as_they_would_be_played_out(tmp_path: Path) -> None:
    """Tables decide a game at the first capture that leads into them, and the result is the tablebase value."""
    rules = load_variant("ashton")
    prober = find_prober(rules)
    assert prober is not None
    start = Position.parse("9/3b5/9/4w4/2K5b/9/9/2b6/4b4 w", 9)
    plan = MatchPlan(rules, RANDOM, RANDOM, 30, openings=Openings(2, 1, 1), start=start, most_plies=200)
    whole = play_match(plan)
    judged = play_match(plan._replace(adjudication=Adjudication("")), folder=tmp_path)
    ends = [one.game.termination for one in judged.played]
    assert 5 < ends.count(BY_TABLES) == judged.summary.adjudicated
    for one, two in zip(whole.played, judged.played, strict=True):
        moves = two.game.moves
        assert one.game.moves[: len(moves)] == moves
        board = Board(rules, start)
        decided = False
        for move in moves:
            assert not decided
            board.push(move)
            known = board.outcome() is None and board.captured() and prober.covers(*board.position.material)
            decided = bool(known) and len(board.move_stack) >= 2
        if two.game.termination == BY_TABLES:
            assert decided
            wdl = prober.probe(board.position).wdl
            mine, other = (board.turn, "white" if board.turn == "black" else "black")
            assert two.game.winner == {"win": mine, "loss": other, "draw": "draw"}[wdl]
        else:
            assert one.game == two.game._replace(seconds=one.game.seconds, longest=one.game.longest)
    assert play_match(plan._replace(adjudication=Adjudication("")), folder=tmp_path).played == judged.played
    with pytest.raises(InputError, match="no tablebase of copenhagen"):
        play_match(plan._replace(variant=load_variant("copenhagen"), start=None, adjudication=Adjudication("")))
