"""The words of ``htp:COMMAND``: the Hnefatafl Text Protocol of hnefatafl.org's programs, and ours for its front ends.

Facts of the protocol: ``src/message.rs`` of https://github.com/dcampbell24/hnefatafl. It does not say whether
``generate_move`` makes the move that it names, so each time the whole game is told from its start.
"""

from __future__ import annotations

import time
from itertools import cycle
from typing import TYPE_CHECKING, ClassVar, Final

from tablut.errors import InputError
from tablut.formats import htp
from tablut.notation import parse_square
from tablut.play.arena.fronts import Front
from tablut.play.arena.programs import REFUSAL, Answer, Process, Rules, Words, bare, built_in
from tablut.position import SIDES
from tablut.store.files import excerpt

if TYPE_CHECKING:
    from tablut.board import Board
    from tablut.play.players import Choice
    from tablut.play.search.limits import SearchLimits
    from tablut.position import SideName
    from tablut.variants import Variant

_BOARDS: Final = (11, 13)


class HtpWords(Words):
    """A question and an answer each, shaped after Go's text protocol."""

    anywhere: ClassVar[bool] = False

    @classmethod
    def rules(cls, variant: Variant, own: dict[str, str]) -> Rules:
        """Refuse rules that are not those of the program."""
        if variant.size not in _BOARDS:
            raise InputError(f"its protocol cannot say a board of side {variant.size}; its boards have 11 or 13")
        rules = built_in(variant, own)
        if own:
            raise InputError(f"has no option {excerpt(min(own))}: its protocol names none")
        return rules

    def hear(self, text: str) -> tuple[str, str]:
        """Tell answers from refusals."""
        return ({"=": "=", "?": REFUSAL}.get(text[:1], ""), "")

    def greet(self, process: Process, seconds: float) -> None:
        """Ask its name."""
        self.called(process.ask("name\n", "=", seconds).text[1:])

    def ask(self, process: Process, board: Board, limits: SearchLimits, seconds: float) -> Answer:
        """Tell it the whole game, and have it generate a move."""
        # All of its clock is for this move: the next one tells it anew.
        clock = "un-timed" if limits.movetime is None else f"fischer {max(1, int(1000 * limits.movetime))} 0"
        sides = cycle(SIDES if self.game.variant.rules.first == "white" else reversed(SIDES))
        plays = [htp.write_play(side, move) for side, move in zip(sides, board.move_stack, strict=False)]
        lines = [f"board_size {board.size}", f"time_settings {clock}", *plays, "generate_move"]
        return process.ask("".join(f"{line}\n" for line in lines), "=", seconds, len(lines))

    def read(self, answer: Answer) -> Choice:
        """Return the move; the word of a program that resigns is none."""
        return bare(htp.read_play(answer.text[1:], self.game.variant.size)[1])


# -- our engine behind it ----------------------------------------------------------------------


_COMMANDS: Final = (
    "board_size",
    "final_status",
    "generate_move",
    "known_command",
    "list_commands",
    "name",
    "play",
    "play_from",
    "play_to",
    "protocol_version",
    "quit",
    "show_board",
    "time_settings",
    "version",
)
_RESULTS: Final = {"black": "attacker_wins", "white": "defender_wins", "draw": "draw", "*": "ongoing"}


class HtpFront(Front):
    """Our engine, one question after the other; ``generate_move`` makes its move."""

    def _greet(self) -> None:
        self._start = self._board.copy()
        self._resigned: SideName | None = None
        self._left: dict[SideName, float] = {}
        self._more = 0.0
        self._best = self._trouble = ""

    def _obey(self, word: str, rest: str) -> bool:
        line = f"{word} {rest}".partition("#")[0].split()
        if line == ["quit"]:
            return False
        if line:
            self._write(f"= {self._answer(line[0], line[1:])}\n")
        return True

    def _answer(self, word: str, rest: list[str]) -> str:
        from tablut import __version__

        match word, rest:
            case "board_size", [size]:
                if size != str(self._board.size):
                    raise InputError(f"board_size {excerpt(size)}: this game's board has {self._board.size}")
                self._board, self._resigned = self._start.copy(), None
                return ""
            case "final_status", []:
                return _RESULTS[self._result()]
            case "generate_move", []:
                return self._generated()
            case "known_command", [name]:
                return "true" if name in _COMMANDS else "false"
            case "list_commands", []:
                return "\n" + "\n".join(_COMMANDS)
            case "name", []:
                return "tablut"
            case "play", [role, "resign" | "resigns", *_]:
                self._resigned = htp.read_side(role)
                return ""
            case "play", _:
                return self._played(rest)
            case "play_from", []:
                starts = sorted({move.start for move in self._board.legal_moves})
                return " ".join([htp.ROLES[self._board.turn], *map(self._square, starts)])
            case "play_to", [role, start]:
                self._check_turn(htp.read_side(role))
                cell = parse_square(start, self._board.size)
                return " ".join(self._square(move.target) for move in self._board.legal_moves if move.start == cell)
            case "protocol_version", []:
                return "1-beta"
            case "show_board", []:
                return "\n" + "\n".join(self._board.position.rows())
            case "time_settings", _:
                return self._timed(rest)
            case "version", []:
                return __version__
        known = "its arguments are others" if word in _COMMANDS else "unknown; list_commands names all"
        raise InputError(f"command {excerpt(' '.join([word, *rest]), 80)}: {known}")

    def _square(self, cell: int) -> str:
        return htp.write_square(cell, self._board.size)

    def _result(self) -> str:
        if self._resigned is not None:
            return SIDES[self._resigned == "white"]
        return self._board.result()

    def _check_turn(self, side: SideName) -> None:
        if self._result() != "*":
            raise InputError("the game is over")
        if side != self._board.turn:
            raise InputError(f"it is the {htp.ROLES[self._board.turn]}'s turn")

    def _played(self, rest: list[str]) -> str:
        side, move = htp.read_play(" ".join(["play", *rest]), self._board.size)
        self._check_turn(side)
        self._board.push(move)
        return " ".join(map(self._square, self._board.captured()))

    def _timed(self, rest: list[str]) -> str:
        match rest:
            case ["un-timed", *_]:
                self._left = {}
            case ["fischer", millis, more] if all(text.isdecimal() and len(text) < 13 for text in (millis, more)):
                self._left, self._more = dict.fromkeys(SIDES, float(millis)), float(more)
            case _:
                raise InputError("time_settings: expected un-timed, or fischer MILLISECONDS ADD_SECONDS")
        return ""

    def _generated(self) -> str:
        side = self._board.turn
        self._check_turn(side)
        began, self._best = time.monotonic(), ""
        self._search(self._left.get(side), self._more)
        self._session.finish()
        if side in self._left:
            self._left[side] += 1000 * (self._more - (time.monotonic() - began))
        if not self._best:
            raise InputError(self._trouble)
        self._board.push_text(self._best)
        return htp.write_play(side, self._board.peek())

    def _said(self, line: str) -> None:
        if line.startswith("info string"):
            self._trouble = line.removeprefix("info string ")
        elif line.startswith("bestmove") and not line.endswith("none"):
            self._best = line.removeprefix("bestmove ")

    def _refuse(self, why: str) -> None:
        self._write(f"? {why}\n")
