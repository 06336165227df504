"""A Python class, object or function takes the place of a player wherever there are names; its faults are its own."""

import json
import sys
from pathlib import Path
from typing import Any, ClassVar

import pytest

from tablut import Board
from tablut.cli.shell import run
from tablut.errors import InputError
from tablut.play.arena import MatchPlan, Tournament, contestant, play_match
from tablut.play.players import Choice, PlayerOptions
from tablut.play.search.limits import SearchLimits
from tablut.position import Move
from tablut.variants import load_variant
from tests.support.waiting import Clock

NAME = "brandubh-5-4v0"
ONE = SearchLimits(nodes=1)
CLOCK = Clock()
MODULE = '''
class Bot:
    """Plays the first move."""
    def __init__(self, options):
        self.options = options
    def choose(self, board, limits):
        return str(next(iter(board.legal_moves)))

class Failing:
    def choose(self, board, limits):
        if board.ply > 2:
            return [][0]
        return next(iter(board.legal_moves))

LEVEL = 3
'''


def first(board: Board, limits: SearchLimits) -> Move:
    return next(iter(board.legal_moves))


class First:
    made = 0

    def __init__(self) -> None:
        type(self).made += 1

    def choose(self, board: Board, limits: SearchLimits) -> str:
        return str(first(board, limits))


class Seeded:
    seen: ClassVar[list[tuple[str, int]]] = []

    def __init__(self, variant: Any, options: PlayerOptions, depth: int = 3) -> None:
        assert depth == 3
        self.seen.append((variant.name, options.seed))

    def choose(self, board: Board, limits: SearchLimits) -> Choice:
        move = first(board, limits)
        return Choice(move, score=0, mate=None, depth=1, nodes=7, pv=(move,))


class Named:
    name = "the \n first"

    def choose(self, board: Board, limits: SearchLimits) -> Move:
        board.push(first(board, limits))  # the board is a copy
        return board.peek()


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "ownbots.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "ownbots", raising=False)
    return tmp_path


def moves(report: Any) -> list[list[str]]:
    return [[str(move) for move in one.game.moves] for one in report.played]


def test_class_object_and_function_play_the_same_games() -> None:
    First.made = 0
    reports = [play_match(NAME, one, "random", games=4, limits=ONE) for one in (First, First(), first, Seeded, Named())]
    assert len({str(moves(report)) for report in reports}) == 1
    assert [report.summary.a for report in reports] == ["First", "First", "first", "Seeded", "the first"]
    assert First.made == 4 + 1, "a class is created once for each game"
    assert {name for name, _ in Seeded.seen} == {NAME}
    assert len(set(Seeded.seen)) == 4
    assert reports[3].summary.nodes_a_second[0] is not None
    plan = MatchPlan(load_variant(NAME), contestant(First, ONE), contestant("random", ONE), 4)
    assert moves(play_match(plan)) == moves(reports[0])


def test_games_are_kept_and_belong_to_this_player(tmp_path: Path) -> None:
    report = play_match(NAME, Named(), "random", games=2, limits=ONE, folder=tmp_path)
    assert play_match(NAME, Named(), "random", games=2, limits=ONE, folder=tmp_path).played == report.played
    with pytest.raises(InputError, match="another match"):
        play_match(NAME, First(), "random", games=2, limits=ONE, folder=tmp_path)


def raising(board: Board, limits: SearchLimits) -> Move:
    raise KeyError(board.turn)


def leaving(board: Board, limits: SearchLimits) -> Move:
    raise SystemExit("good\nbye")


def empty(board: Board, limits: SearchLimits) -> Any:
    return None


def careless(board: Board, limits: SearchLimits) -> Any:
    return Choice(first(board, limits), None, None, 0, None, ())  # type: ignore[arg-type]


def dreaming(board: Board, limits: SearchLimits) -> Move:
    CLOCK.now += 9.0
    return first(board, limits)


FAULTS = [
    (raising, "crash", "KeyError: '"),
    (leaving, "crash", "SystemExit: good bye"),
    (empty, "illegal", "expected a Move"),
    (careless, "illegal", "expected a Move"),
    (lambda board, limits: "a1-a2", "illegal", "a1-a2"),
    (lambda board, limits: "up", "illegal", "'up'"),
    (dreaming, "time", "for a move of 0.1 s"),
]


@pytest.mark.parametrize(("player", "termination", "fault"), FAULTS)
def test_a_fault_loses_the_game_and_is_shown_with_its_line(
    player: Any, termination: str, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tablut.play.arena.game.time", CLOCK)
    summary = play_match(NAME, player, "random", games=2).summary
    assert (summary.termination, summary.lost_by_fault) == ({termination: 2}, (2, 0))
    assert all(fault in line and "\n" not in line for line in summary.faults)
    assert termination != "crash" or all(f"({Path(__file__).name}, line " in line for line in summary.faults)


class NoBoard:
    def choose(self) -> Move:
        raise AssertionError


class Unready:
    def __init__(self) -> None:
        raise OSError("no weights")

    choose = First.choose


@pytest.mark.parametrize("given", [5, None, int, NoBoard, NoBoard(), object(), lambda board: board, ["random"]])
def test_what_is_no_player_is_refused_with_its_parameter(given: Any) -> None:
    for call, parameter in (
        (lambda: play_match(NAME, given, "random"), "first"),
        (lambda: play_match(NAME, "random", given), "second"),
        (lambda: contestant(given, ONE), "player"),
    ):
        with pytest.raises(InputError, match="choose") as found:
            call()
        assert found.value.parameter == parameter
    with pytest.raises(InputError):
        Tournament([given, "random"], NAME).play()


def test_other_wrong_calls_are_refused() -> None:
    plan = MatchPlan(load_variant(NAME), contestant("random", ONE), contestant("random", ONE), 2)
    for call, words in (
        (lambda: play_match(plan, games=4), "plan"),
        (lambda: play_match(NAME, Unready, "random"), "no weights"),
        (lambda: play_match(NAME, First, "random", games=0), "games 0"),
        (lambda: Tournament("random", NAME).play(), "players"),
        (lambda: Tournament([First], NAME).play(), "two players"),
        (lambda: Tournament([First, "nosuch"], NAME).play(), "nosuch"),
        (lambda: contestant(First, ONE, PlayerOptions(threads=2)).make(load_variant(NAME), 1), "threads"),
        (lambda: contestant(First, ONE, PlayerOptions(settings=(("own", "1"),))).make(load_variant(NAME), 1), "own"),
    ):
        with pytest.raises(InputError, match=words):
            call()


def test_a_tournament_of_objects_and_names() -> None:
    rows = Tournament([First(), First, "random"], NAME, limits=ONE).play().summary.table
    assert sorted(row.player for row in rows) == ["First", "First (2)", "random"]


# -- named on the command line -----------------------------------------------------------------


@pytest.mark.usefixtures("module")
def test_commands_import_a_class_only_if_it_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    more = ["-v", NAME, "--nodes", "1", "--json"]
    assert run(["match", "random", "random", "--games", "2", *more]) == 0
    assert "ownbots" not in sys.modules
    capsys.readouterr()
    assert run(["match", "ownbots:Bot@nodes=2", "ownbots:Failing", "--games", "2", *more]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["lost_by_fault"] == [0, 2]
    assert "IndexError: list index out of range (ownbots.py, line 12)" in found["faults"][0]
    assert run(["tournament", "ownbots:Bot", "random", "greedy", "--games", "2", *more]) == 0
    assert run(["bestmove", "--player", "ownbots:Bot", *more]) == 0


@pytest.mark.usefixtures("module")
def test_a_fault_ends_a_game_in_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["play", "-v", NAME, "--player", "ownbots:Failing", "--side", "none", "--nodes", "1"]) == 0
    said = " ".join(capsys.readouterr().out.split())  # a long message is wrapped
    assert "list index out of range (ownbots.py, line 12)" in said
    assert "wins (resigned)" in said


@pytest.mark.usefixtures("module")
@pytest.mark.parametrize("name", ["ownbots:Nothing", "ownbots:LEVEL", "nowhere:Bot", "ownbots:Bot.level", "json:load"])
def test_a_wrong_name_is_bad_input(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    for line in (
        ["bestmove", "--player", name],
        ["match", name, "random"],
        ["serve", "--no-browser", "--player", name],
    ):
        assert run(line) == 2
        error = capsys.readouterr().err
        assert error.count("\n") == 1
        assert "Traceback" not in error


@pytest.mark.parametrize(
    "change",
    [{"score": "x"}, {"score": 1.5}, {"score": 10**40}, {"points": 7.0}, {"points": "y"}, {"nodes": -1}, {"pv": None}],
)
def test_a_choice_with_parts_that_are_no_numbers_loses_the_game(change: dict[str, object]) -> None:
    def sound(board: Board, limits: SearchLimits) -> Choice:
        return Choice(first(board, limits), 3, None, 1, 1, (), points=0.5)

    def bot(board: Board, limits: SearchLimits) -> Choice:
        return sound(board, limits)._replace(**change)  # type: ignore[arg-type]

    for player, lost in ((sound, 0), (bot, 2)):
        summary = play_match(NAME, player, "random@nodes=1", games=2, limits=SearchLimits(nodes=1)).summary
        assert summary.lost_by_fault == (lost, 0)


def test_a_class_answers_the_protocols_but_only_the_one_named_at_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "enginebot.py").write_text(MODULE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    move = str(first(Board(NAME), ONE))

    def told(player: str, *lines: str, protocol: str = "uci") -> list[str]:
        words = [word for line in lines for word in ("--line", line)]
        assert run(["engine", "-v", NAME, "--player", player, "--protocol", protocol, *words]) == 0
        return capsys.readouterr().out.splitlines()

    choose = "setoption name player value"
    out = told("enginebot:Bot", "uci", "go nodes 1", f"{choose} random", f"{choose} enginebot:Bot", "go movetime 50")
    assert any(line.startswith("option name player") and line.endswith("default enginebot:Bot") for line in out)
    assert [line for line in out if line.startswith("bestmove")] == [f"bestmove {move}"] * 2
    out = told("enginebot:Bot", f"{choose} enginebot:Failing", "go nodes 1")
    assert "'enginebot:Failing': does not exist" in out[0]
    assert out[-1] == f"bestmove {move}"
    # An error of the class is reported with its place, and any legal move is made.
    moves = " ".join(str(found) for found in play_match(NAME, first, first, games=1).played[0].game.moves[:3])
    out = told("enginebot:Failing", f"position startpos moves {moves}", "go nodes 1")
    assert "IndexError: list index out of range (enginebot.py, line 12)" in out[0]
    assert out[-1].removeprefix("bestmove ") != "none"
    assert told("enginebot:Bot", "go nodes 1", protocol="taflzero")[-1] == f"bestmove {move.replace('-', '')}"
    for wrong, why in (("enginebot:LEVEL", "expected a class"), ("enginebot:None_", "cannot be imported")):
        assert run(["engine", "--player", wrong, "--line", "uci"]) == 2
        assert why in capsys.readouterr().err
