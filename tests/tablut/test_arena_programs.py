"""Programs as players: a real engine plays, and whatever another does wrong costs its game, never the match."""

import os
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from tablut import Board, __version__
from tablut.cli.shell import run
from tablut.errors import InputError, MachineError
from tablut.play.arena import MatchPlan, Openings, contestant, play_match
from tablut.play.arena.plan import Adjudication
from tablut.play.bridges import programs
from tablut.play.bridges.factory import PROTOCOLS, close_player, player_for, player_from_name
from tablut.play.bridges.htp import HtpWords
from tablut.play.bridges.programs import REFUSAL, IdlePrograms, Process, ProgramAnswer, ProgramGame
from tablut.play.bridges.uci import UciWords
from tablut.play.competition.client import Thinker
from tablut.play.competition.referee import ENDS
from tablut.play.players import PlayerOptions, make_player
from tablut.play.search.limits import SearchLimits, nominal_points
from tablut.position import Position
from tablut.records import read_record
from tablut.variants import load_variant
from tablut.work.files import excerpt
from tests.support.commands import answer
from tests.support.waiting import PATIENCE

RULES = load_variant("brandubh")
ONE = SearchLimits(nodes=1)
RANDOM = contestant("random", ONE)

SCRIPT = """
import os, sys, time
mode, log = sys.argv[1:3]
said = ["info depth 3 score mate -4 nodes 77 pv a1-a2"]
if mode.startswith("says "):
    said = mode.removeprefix("says ").split("|")
game = "g4-g5 e4-e6 f4-f6 d4-g4 d6-c6 g4-g1".split()
def say(text):
    sys.stdout.write(text + "\\n")
    sys.stdout.flush()
with open(log, "a") as file:
    file.write(f"pid {os.getpid()}\\n")
if mode == "gone":
    sys.exit("cannot go on")
while line := sys.stdin.readline():
    with open(log, "a") as file:
        file.write(line)
    word = line.split()[0]
    if word == "uci":
        say("id name fake")
        say("option name hash type spin default 1")
        say("option name own type string default none")
        say("uciok" if mode != "wordless" else "hello")
    elif word == "isready":
        if mode == "deaf":
            os.close(0)
            say("readyok")
            time.sleep(60)
        say("readyok")
    elif word == "position":
        made = len(line.split()[3:])
    elif word == "quit" and mode != "stubborn":
        break
    elif word == "go":
        for text in said:
            say(text)
        if mode == "crash":
            sys.stderr.write("first line\\nout of \\x1b[31mideas\\n")
            sys.stderr.flush()
            os._exit(3)
        if mode == "silent":
            time.sleep(60)
        if mode == "closed":
            os.close(1)
            time.sleep(60)
        if mode == "flood":
            while True:
                os.write(1, b"x" * 65536)
        if mode == "mad":
            os.write(1, b"readyok\\n" * 5000)
            time.sleep(60)
        if mode == "late":
            time.sleep(0.4)
        if mode == "binary":
            os.write(1, bytes(range(256)) + b"\\n")
        say({"garbage": "bestmove \\x1b[31mxyzzy", "none": "bestmove none", "short": "bestmove",
             "opens": "bestmove e4-f4"}.get(mode, "bestmove " + (game[made] if mode.startswith("says") else "a1-a2")))
"""


@pytest.fixture(autouse=True)
def a_busy_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Print no line about a program that takes long to start, because the machine may be busy."""
    monkeypatch.setattr(programs, "_SILENCE", PATIENCE)


@pytest.fixture
def fake(tmp_path: Path) -> Any:
    script = tmp_path / "fake engine.py"
    script.write_text(SCRIPT)

    def command(mode: str) -> str:
        return f"program:'{sys.executable}' '{script}' {shlex.quote(mode)} '{tmp_path / 'log'}'"

    return command


def pids(folder: Path) -> list[int]:
    return [int(line.split()[1]) for line in (folder / "log").read_text().splitlines() if line.startswith("pid ")]


def runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def plan(first: str, games: int = 2, **changes: Any) -> MatchPlan:
    return MatchPlan(RULES, contestant(first, ONE), RANDOM, games, openings=Openings(2, 1, 1))._replace(**changes)


@pytest.mark.parametrize(
    ("mode", "settings", "termination", "fault"),
    [
        (
            "crash",
            "nodes=5",
            "crash",
            r"the program exited with code 3: out of \x1b[31mideas; its last output: 'info depth 3",
        ),
        ("flood", "nodes=5", "crash", "wrote a line of more than 1,048,576 bytes"),
        ("mad", "nodes=5", "crash", "sent more than 1000 unrequested answers"),
        ("silent", "nodes=5", "time", "no bestmove within 0.5 s"),
        ("late", "movetime=0.05", "time", "s for a move of 0.05 s"),
        ("garbage", "nodes=5", "illegal", r"replied 'bestmove \x1b[31mxyzzy'"),
    ],
)
def test_a_program_at_fault_loses_its_game_and_not_the_match(
    fake: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str, settings: str, termination: str, fault: str
) -> None:
    if mode == "silent":
        # Patient until it has started, which may take its time.
        request = Process.request
        monkeypatch.setattr(
            Process, "request", lambda self, *line: request(self, *line[:2], 0.5 if line[1] == "bestmove" else line[2])
        )
    whole = plan(f"{fake(mode)}@{settings}")._replace(grace=0.1)
    report = play_match(whole, folder=tmp_path / "games")
    assert [one.points for one in report.played] == [0, 0]
    assert {one.game.termination for one in report.played} == {termination}
    for line in report.summary.faults:
        assert fault in line
        assert line.isprintable()
    # Kept like other games, and read again without the program.
    assert play_match(whole, folder=tmp_path / "games").summary == report.summary
    assert pids(tmp_path)
    assert not any(runs(pid) for pid in pids(tmp_path))


def test_a_program_may_be_late_unless_the_match_says_otherwise(fake: Any) -> None:
    late = plan(f"{fake('late')}@movetime=0.05", games=1)
    ends = [play_match(one).played[0].game.termination for one in (late, late._replace(grace=0.1))]
    assert ends == ["illegal", "time"]  # the move that comes too late is none of the game's
    # Matches between built-in players keep the digest that they had when the grace was always the same.
    assert late._replace(first=RANDOM).digest == late._replace(first=RANDOM, grace=0.1).digest
    assert late.digest != late._replace(grace=0.1).digest


def test_one_process_serves_the_games_of_a_match_and_is_told_of_each(fake: Any, tmp_path: Path) -> None:
    play_match(plan(f"{fake('illegal')}@nodes=7,depth=2,hash=3,option.own=a b", 4))
    log = (tmp_path / "log").read_text().splitlines()
    assert len(pids(tmp_path)) == 1
    assert log.count("ucinewgame") == log.count("isready") == 4
    assert {"setoption name variant value brandubh", "setoption name hash value 3"} <= set(log)
    assert "setoption name own value a b" in log
    assert not any("seed" in line or "patience" in line for line in log)
    assert log.count("go nodes 7 depth 2") == 4
    assert log[-1] == "quit"
    # The opening's two plies stand before the first move of the program that is white.
    (said, *_) = [line for line in log if line.startswith("position")]
    assert len(said.removeprefix("position startpos moves ").split()) in (2, 3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("program:'", "No closing quotation"),
        ("program:/no/such/program", "cannot be started: No such file"),
        ("MODE gone", "the program exited with code 1: cannot go on"),
        ("MODE wordless @option.patience=0.5", "no uciok within 0.5 s"),
        ("MODE good @option.colour=red", "has no option 'colour'"),
    ],
)
def test_a_program_that_cannot_play_is_refused_before_any_game(fake: Any, text: str, message: str) -> None:
    if text.startswith("MODE "):
        _, mode, settings = f"{text} ".split(" ", 2)
        text = fake(mode) + settings.strip()
    with pytest.raises(InputError, match=message):
        contestant(text, ONE).make(RULES, 1)


CHECKOUT = Path(__file__).parents[2]
PROGRAMS = ["-m tablut engine", f"'{CHECKOUT}/benchmarks/engines/checkout.py' '{CHECKOUT}'"]


@pytest.mark.slow
@pytest.mark.parametrize("program", PROGRAMS)
def test_our_engine_and_a_checkout_play_like_the_player_itself(program: str) -> None:
    """The same moves, since both search the same nodes with the game's history."""
    position = Position.parse("3b3/3b3/3w3/bbwKwbb/3w3/3b3/2b4 w", 7)
    games = []
    for first in (f"program:'{sys.executable}' {program}@nodes=400,hash=1", "alphabeta@nodes=400,hash=1"):
        report = play_match(plan(first, start=position, most_plies=12))
        assert report.summary.faults == []
        games.append([one.game.moves for one in report.played])
    assert games[0] == games[1]


# -- the words of an ``info`` line --------------------------------------------------------------


EXACT = "info depth 9 score cp 10 nodes 5 pv a4-a5"
SAID = {
    "info string draw score cp 5000 offered": (None, None, 0),
    "info depth 4 string score cp 5000": (None, None, 0),
    f"{EXACT}|info string score mate 2": (10, None, 9),
    "info depth 3 nodes 7 cp 5000 pv a4-a5": (None, None, 0),
    "info depth 3 pv a4-a5 nodes 7 score cp -31": (-31, None, 3),
    "info depth 3 score cp 10 wdl 400 300 300 nodes 5": (10, None, 3),
    "info depth 3 score cp much nodes 5": (None, None, 0),
    "info depth 3 score mate -4 nodes 5": (-29996, -4, 3),
    # Only the best line counts.
    "info depth 3 multipv 1 score cp 10|info depth 3 multipv 2 score cp 5000": (10, None, 3),
    "info depth 3 score cp 5000 multipv 12": (None, None, 0),
    # A bound that agrees with the score says nothing more, and one that does not counts in its direction only.
    f"{EXACT}|info depth 10 score cp 5000 upperbound nodes 9": (10, None, 9),
    f"{EXACT}|info depth 10 score cp -5000 lowerbound nodes 9": (10, None, 9),
    f"{EXACT}|info depth 10 score cp 5000 lowerbound nodes 9": (5000, None, 10),
    f"{EXACT}|info depth 10 score cp -5000 upperbound nodes 9": (-5000, None, 10),
    f"{EXACT}|info depth 10 score cp 5000 nodes 9 lowerbound": (5000, None, 10),
    "info depth 9 score cp 6000|info depth 10 score cp 5000 upperbound": (None, None, 10),
    "info depth 9 score cp -6000|info depth 10 score cp -5000 lowerbound": (None, None, 10),
    "info depth 9 score cp 6000|info depth 10 score cp 70 upperbound|info depth 10 score cp 60": (60, None, 10),
    "info depth 10 score cp 5000 upperbound": (None, None, 10),
    "info depth 10 score mate 9 lowerbound": (29991, 9, 10),
    "info depth 10 score mate 9 upperbound": (None, None, 10),
    "info depth 10 score mate -9 upperbound": (-29991, -9, 10),
    "info depth 10 score mate -9 lowerbound": (None, None, 10),
}


@pytest.mark.parametrize("lines", SAID)
def test_only_a_score_is_read_as_a_score(lines: str) -> None:
    words = UciWords()
    words.game = ProgramGame(RULES, "brandubh", PlayerOptions(), {})
    for line in lines.split("|"):
        assert words.receive(line) == ("", "")
    choice = words.read(ProgramAnswer("bestmove", "bestmove g4-g5", words.info))
    assert (choice.score, choice.mate, choice.depth) == SAID[lines]


@pytest.mark.parametrize(
    ("lines", "adjudicated"),
    [
        ("info depth 3 score cp 5000", True),
        ("info string score cp 5000", False),
        (f"{EXACT}|info depth 10 score cp 5000 upperbound", False),
        (f"{EXACT}|info depth 3 multipv 2 score cp 5000", False),
    ],
)
def test_no_game_is_decided_on_words_that_are_no_score(fake: Any, lines: str, adjudicated: bool) -> None:
    second = contestant(fake("says info depth 3 score cp -5000"), ONE)
    whole = plan(
        fake(f"says {lines}"),
        openings=Openings(0, 1, 1),
        second=second,
        adjudication=Adjudication(None, 2, nominal_points(4000)),
    )
    ends = {one.game.termination for one in play_match(whole).played}
    assert ends == {"adjudicated_by_scores" if adjudicated else "king_escaped"}


def test_the_names_of_options_may_contain_any_word() -> None:
    words = UciWords()
    for line in ("option name Piece type type combo default a var b", "option name Clear hash type button"):
        words.receive(line)
    assert words.options == {"piece type": "Piece type", "clear hash": "Clear hash"}


def test_only_an_equals_sign_of_its_own_begins_an_answer() -> None:
    words = HtpWords()
    assert [words.receive(text)[0] for text in ("= play attacker d11 d9", "=", "== thinking ==", "?!", "? no")] == [
        *("=", "=", "", "", REFUSAL)
    ]


# -- programs that do not start, or not any more --------------------------------------------------


def test_whoever_waits_for_a_program_is_told_so_and_not_for_long(
    fake: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(programs, "_GREETING", 0.7)
    monkeypatch.setattr(programs, "_SILENCE", 0.1)
    assert run(["match", fake("wordless"), "random", "-v", "brandubh", "-n", "2", "--nodes", "1"]) == 2
    waiting, given_up = capsys.readouterr().err.splitlines()
    assert "0.7 s" in waiting
    assert "0.7 s" in given_up
    assert "patience" in given_up


def test_a_program_that_closes_its_input_is_not_waited_for(fake: Any) -> None:
    with (
        player_for(fake("deaf"), RULES, PlayerOptions(settings=(("patience", "20"),))) as player,
        pytest.raises(MachineError) as found,
    ):
        player.choose(Board(RULES), ONE)
    assert not isinstance(found.value, TimeoutError)


@pytest.mark.parametrize("in_match", [False, True])
def test_a_program_is_started_again_outside_a_match_only(fake: Any, tmp_path: Path, in_match: bool) -> None:
    with IdlePrograms() as idle:
        player = player_from_name(fake("crash"), RULES, PlayerOptions(), idle if in_match else None)
        for _ in range(3):
            with pytest.raises(MachineError):
                player.choose(Board(RULES), ONE)
        close_player(player)
    assert len(pids(tmp_path)) == (1 if in_match else 3)
    assert not any(runs(pid) for pid in pids(tmp_path))


def test_a_late_answer_is_waited_for_where_another_move_can_be_sent(
    fake: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs, "_LATE", 0.01)
    with player_for(fake("late"), RULES, PlayerOptions()) as player:
        thinker, limits = Thinker(player), SearchLimits(movetime=0.05)
        assert thinker.choose(Board(RULES), limits, 0.05).choice is None
        thinker.choose(Board(RULES), limits, PATIENCE)
    assert (tmp_path / "log").read_text().count("go movetime") == 2
    assert len(pids(tmp_path)) == 1


# -- wherever a player is named ----------------------------------------------------------------


def test_a_program_chooses_a_move_and_has_a_script(
    fake: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = answer(capsys, "bestmove", "-v", "bologna", "--player", fake("opens"), "--nodes", "1")
    assert (said["player"], said["move"]) == (fake("opens"), "e4-f4")
    assert not runs(pids(tmp_path)[0])
    (tmp_path / "game").write_text('[Variant "bologna"] 1. e4-g4')
    for player, move, mate in ((fake("opens"), "e4-f4", -4), ("random", None, None)):
        told = answer(capsys, "analyse", str(tmp_path / "game"), "--player", player, "--nodes", "9")["plies"][0]
        assert told["choice"]["move"] == (move or told["choice"]["move"])
        assert (told["choice"]["mate"], told["choice"]["score"] is None) == (mate, mate is None)
        assert told["score"] is not None
    refused = [fake("gone"), "program:no-such-program", "program:'", fake("illegal")]
    for broken, code in [*((one, 2) for one in refused), (fake("crash"), 74)]:
        assert run(["bestmove", "--player", broken, "--nodes", "1"]) == code
    script = answer(capsys, "play", "--write-script", str(tmp_path / "entry"), "--player", fake("opens"))["script"]
    assert shlex.quote(fake("opens")) in Path(script).read_text(encoding="utf-8")


def test_a_program_plays_a_game_of_the_competition(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also one whose command is longer than a name may be."""
    engine = f"program:{shlex.quote(sys.executable)} -P -X {'x' * 100} -m tablut engine"
    seats = ["--white", engine, "--black", "random", "--port-white", "0", "--port-black", "0"]
    told = answer(capsys, "referee", *seats, "--nodes", "1", "--logs", str(tmp_path))
    assert told.keys() >= {"variant", "provenance", "result", "moves", "termination"}
    found = told["games"][0]
    assert found["termination"] not in ENDS
    # Called as it calls itself, and only the log as short as a log is.
    assert found["white"] == f"tablut {__version__}"
    shortened = re.sub("[^0-9a-z]", "", f"tablut {__version__}"[:10])  # as the server's logs do
    assert read_record(Path(found["log"]).read_text()).tags["White"] == shortened
    assert run(["referee", *seats[2:], "--option", "own=1"]) == 2
    assert "'own': is not an option of player random" in capsys.readouterr().err


@pytest.mark.slow
def test_who_wrote_a_program_learns_that_its_move_was_replaced(fake: Any, capsys: pytest.CaptureFixture[str]) -> None:
    seats = ["--white", fake("illegal"), "--black", "random", "--port-white", "0", "--port-black", "0", "--wait", "20"]
    assert run(["referee", *seats, "--nodes", "1"]) == 0
    told = capsys.readouterr().out
    # Its move is replaced, and who wrote it learns that.
    assert "fake: sent " in told
    assert not any(f"({end.replace('_', ' ')})" in told for end in ENDS)


def test_a_program_is_blamed_for_its_own_faults_alone(fake: Any) -> None:
    with pytest.raises(TimeoutError, match=r"^another's$"), player_for(fake("good"), RULES, PlayerOptions()):
        raise TimeoutError("another's")
    with (
        pytest.raises(MachineError, match="exited with code 3") as found,
        player_for(fake("crash"), RULES, PlayerOptions()) as player,
        player_for(fake("good"), RULES, PlayerOptions()),
    ):
        player.choose(Board(RULES), ONE)
    assert excerpt(fake("crash").removeprefix("program:")) in str(found.value)


def test_a_visitor_of_the_explorer_starts_no_program(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    for protocol in PROTOCOLS:
        with pytest.raises(InputError):
            make_player(f"{protocol}:touch {mark}", "brandubh")
    assert not mark.exists()
