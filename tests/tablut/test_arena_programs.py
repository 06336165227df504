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
from tablut.play.bridges import PROTOCOLS, player_for
from tablut.play.bridges.programs import Process
from tablut.play.competition.referee import ENDS
from tablut.play.players import PlayerOptions, make_player
from tablut.play.search.limits import SearchLimits
from tablut.position import Position
from tablut.records import read_record
from tablut.variants import load_variant
from tablut.work.files import excerpt
from tests.support.commands import answer

RULES = load_variant("brandubh")
ONE = SearchLimits(nodes=1)
RANDOM = contestant("random", ONE)

SCRIPT = """
import os, sys, time
mode, log = sys.argv[1:3]
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
        say("readyok")
    elif word == "quit" and mode != "stubborn":
        break
    elif word == "go":
        say("info depth 3 score mate -4 nodes 77 pv a1-a2")
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
             "opens": "bestmove e4-f4"}.get(mode, "bestmove a1-a2"))
"""


@pytest.fixture
def fake(tmp_path: Path) -> Any:
    script = tmp_path / "fake engine.py"
    script.write_text(SCRIPT)

    def command(mode: str) -> str:
        return f"program:'{sys.executable}' '{script}' {mode} '{tmp_path / 'log'}'"

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
