"""The words of ``otep:COMMAND``: OpenTafl's engine protocol, and ours for its front ends.

Facts of the protocol: ``opentafl-engine-protocol.txt`` of https://github.com/jslater89/OpenTafl. It has no word for the
moves before a game is taken up, so an engine is told the position before the last move as the start.
"""

from __future__ import annotations

import math
import re
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Final

from tablut.board import Board
from tablut.cli.streams import one_line
from tablut.errors import InputError
from tablut.formats.opentafl import read_position, write_move, write_position
from tablut.formats.reading import read_move
from tablut.play.arena.fronts import Front
from tablut.play.arena.programs import REFUSAL, Answer, Game, Process, Rules, Words, bare, opening_of, unlike
from tablut.position import MoveText
from tablut.records.opentafl import read_rules, rules_start, write_rules
from tablut.store.files import excerpt
from tablut.variants.model import Repetition

if TYPE_CHECKING:
    from tablut.play.players import Choice
    from tablut.play.search.limits import SearchLimits
    from tablut.position import Move, SideName
    from tablut.variants import Variant

_SIDES: Final[dict[SideName, str]] = {"black": "attackers", "white": "defenders"}
_FINISH: Final = {None: 0, "draw": 1, "black": 2, "white": 3}


def _sayable(variant: Variant) -> tuple[Variant, tuple[str, ...]]:
    """Return the nearest rules that the protocol can say, and what differs of a game's history; else refuse them."""
    with suppress(InputError):
        write_rules(variant)
        return variant, ()
    loses = variant.rules.repetition.result == "mover_loses"
    history = {"repetition": Repetition(times=3, result="mover_loses" if loses else "draw"), "move_limit": None}
    plain = replace(variant, rules=variant.rules.model_copy(update=history))
    write_rules(plain)
    return plain, unlike(variant, plain)[1]


class OtepWords(Words):
    """Rules, positions and moves in OpenTafl's notation; the engine keeps the game."""

    farewell: ClassVar[str] = "goodbye\n"

    def __init__(self) -> None:
        super().__init__()
        self._full = False
        self._told: tuple[Game, str, list[Move]] | None = None
        self._replies: dict[str, str] = {}
        """What it may ask at any time."""

    @classmethod
    def rules(cls, variant: Variant, own: dict[str, str]) -> Rules:
        """Return the rules string."""
        if own:
            raise InputError(f"has no option {excerpt(min(own))}: its protocol names none")
        plain, unsaid = _sayable(variant)
        return Rules(write_rules(plain), unsaid)

    def hear(self, text: str) -> tuple[str, str]:
        """Take notice of a wish for captures; what is asked is answered."""
        word, _, rest = text.partition(" ")
        if word == "simple-moves":
            self._full = rest.strip() == "off"
        critical = word == "error" and rest.split()[:1] == ["-1"]
        return (REFUSAL if critical else word if word in ("hello", "move") else "", self._replies.get(word, ""))

    def greet(self, process: Process, seconds: float) -> None:
        """Wait until it says hello."""
        process.ask("", "hello", seconds)

    def ask(self, process: Process, board: Board, limits: SearchLimits, seconds: float) -> Answer:
        """Tell it what has happened since it was asked last, and wait for its move."""
        before, side, moves = board.copy(), _SIDES[board.turn], board.move_stack
        last = before.pop() if moves else None
        if limits.movetime is not None:
            # All that is left is one period, for each move anew.
            left = f"{max(1, int(1000 * limits.movetime))}*"
            self._replies["clock"] = f"clock {left} {left} {math.ceil(limits.movetime)} 1 1\n"
        clock = self._replies.get("clock", "")
        told, self._told = self._told, (self.game, opening_of(board), moves)
        if told is not None and told[0] is self.game and moves[1:] and told[1:] == (self._told[1], moves[:-2]):
            lines = f"move {write_position(before.position)}\n"
        else:
            self._replies["rules"] = f"rules {write_rules(_sayable(self.game.variant)[0], before.position)}\n"
            self._replies["side"] = f"side {side}\n"
            lines = f"hello\n{self._replies['rules']}{self._replies['side']}{clock}start\n"
        self._replies["position"] = f"position {write_position(board.position)}\n"
        if last is not None:
            said = write_move(MoveText(last, frozenset(board.captured()) or None)) if self._full else str(last)
            lines += f"opponent-move {said} {write_position(board.position)}\n"
        return process.ask(f"{lines}play {side}\n{clock}", "move", seconds)

    def read(self, answer: Answer) -> Choice:
        """Return the move, said with captures or without."""
        return bare(read_move(answer.text.split()[1], self.game.variant.size).said.move)

    def end(self, process: Process, winner: str | None) -> None:
        """Tell it who won."""
        process.tell(f"finish {_FINISH[winner]}\n")


# -- our engine in OpenTafl --------------------------------------------------------------------


_CLOCK: Final = re.compile(r"(-?[0-9]{1,12})(\*?) (-?[0-9]{1,12})(\*?)( .*)?", re.ASCII)


class OtepFront(Front):
    """Our engine, which believes the positions that it is told."""

    def _greet(self) -> None:
        self._clocks: dict[SideName, tuple[int | None, bool]] = {}
        self._side: SideName = self._board.turn
        self._own = self._score = ""
        self._analysing = self._silent = False
        self._write("hello")

    def _obey(self, word: str, rest: str) -> bool:
        match word:
            case "" | "hello" | "start":
                pass
            case "finish" | "goodbye":
                self._silent = True
                self._session.leave()
            case "rules":
                self._take_rules(rest)
            case "side":
                self._side = _side(rest)
            case "position":
                self._set_up(rest, self._side)
            case "clock":
                self._take_clock(rest)
            case "move":
                self._go_on([], rest)
            case "opponent-move":
                moves, _, record = rest.partition(" ")
                self._go_on(moves.split("|"), record)
            case "play":
                self._side = _side(rest)
                millis, one_move = self._clocks.get(self._side, (None, False))
                self._choose(millis, one_move=one_move, analysing=False)
            case "analyze":
                found = re.fullmatch(r"[0-9]{1,9} ([0-9]{1,9})", rest, re.ASCII)
                if found is None:
                    raise InputError(f"analyze {excerpt(rest)}: expected a number of moves and a number of seconds")
                self._choose(1000 * int(found[1]), one_move=True, analysing=True)
            case "error":
                self._own = ""
            case _:
                raise InputError(f"{excerpt(word, 40)}: unknown command")
        return word != "goodbye"

    def _take_rules(self, text: str) -> None:
        self._own, self._clocks = "", {}
        try:
            self._board = Board(read_rules(text), rules_start(text))
            self._board.outcome()
        except InputError as error:
            self._write(f"error -1 {_ascii(str(error))}")

    def _take_clock(self, rest: str) -> None:
        found = _CLOCK.fullmatch(rest)
        if found is None:
            raise InputError(f"clock {excerpt(rest)}: expected milliseconds of the attackers and of the defenders")
        for side, place in zip(_SIDES, (1, 3), strict=True):
            left = int(found[place])
            self._clocks[side] = (None if left < 0 else left, bool(found[place + 1]))

    def _set_up(self, record: str, side: SideName) -> None:
        board = Board(self._board.variant, read_position(record, "w" if side == "white" else "b", self._board.size))
        board.outcome()  # what cannot be played on is refused here
        self._board = board

    def _go_on(self, moves: list[str], record: str) -> None:
        """Make moves, our own before them while it is not confirmed; where another position is told, take that."""
        own, self._own = [self._own] * bool(self._own), ""
        told = read_position(record, "b", self._board.size).cells
        for made in ([*own, *moves], moves, []):
            board = self._board.copy()
            with suppress(InputError):
                for move in made:
                    board.push_text(move)
                if board.position.cells == told:
                    self._board = board
                    return
        self._set_up(record, self._side)

    def _choose(self, millis: int | None, *, one_move: bool, analysing: bool) -> None:
        if self._board.turn != self._side:
            self._set_up(write_position(self._board.position), self._side)
        self._analysing, self._silent, self._score = analysing, False, "0"
        self._search(millis, one_move=one_move)

    def _said(self, line: str) -> None:
        word, _, rest = line.partition(" ")
        words = rest.split()
        if self._silent:
            return
        if word == "info" and words[0] == "string":
            self._write(f"status {_ascii(' '.join(words[1:]))}")
        elif word == "info" and "score" in words:
            self._score = words[words.index("score") + 2]
        elif word == "bestmove" and rest == "none":
            self._write("error 0 no move to choose")
        elif word == "bestmove" and self._analysing:
            self._write(f"analysis 1 {rest} {self._score}")
        elif word == "bestmove":
            self._own = rest
            self._write(f"move {rest}")

    def _refuse(self, why: str) -> None:
        self._write(f"error 0 {_ascii(why)}")


def _side(text: str) -> SideName:
    found = [side for side, name in _SIDES.items() if name == text]
    if not found:
        raise InputError(f"side {excerpt(text)}: expected attackers or defenders")
    return found[0]


def _ascii(text: str) -> str:
    """Return a message in the only letters that the protocol has, in one line."""
    return one_line(text).encode("ascii", "backslashreplace").decode()
