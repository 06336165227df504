"""Hnefatafl Text Protocol of hnefatafl.org, used for external programs as players and for the toolkit's engine.

The protocol and its moves, such as ``play attacker d11 d9``, follow ``src/message.rs`` and ``src/play.rs`` of
https://github.com/dcampbell24/hnefatafl. The source does not specify whether ``generate_move`` also makes the move, so
the whole game is sent from its start for each request. Squares are written in lower case on 11×11 boards and in upper
case on 13×13 boards. Both forms are read on every board.
"""

from __future__ import annotations

import re
import time
from itertools import cycle
from typing import ClassVar, Final

from tablut.board import Board
from tablut.errors import InputError
from tablut.play.bridges.programs import REFUSAL, Process, ProgramAnswer, Words, built_in
from tablut.play.bridges.uci import Front
from tablut.play.players import Choice
from tablut.play.players.registry import bare_choice
from tablut.play.search.limits import SearchLimits
from tablut.position import SIDES, Move, SideName, parse_square, square_name
from tablut.variants import Variant
from tablut.work.files import excerpt

_BOARDS: Final = (11, 13)
_ROLES: Final[dict[SideName, str]] = {"black": "attacker", "white": "defender"}
_SIDES: Final[dict[str, SideName]] = {"a": "black", "attacker": "black", "d": "white", "defender": "white"}


def _read_play(text: str, size: int) -> tuple[SideName, Move]:
    """Parse the side and the move in a line of the form ``play ROLE FROM TO``.

    The role may be abbreviated to its first letter. Further words are ignored.
    """
    words = text.replace(",", " ").split()
    if len(words) < 4 or words[0] != "play" or words[1].lower() not in _SIDES:
        raise InputError("expected play ROLE FROM TO, such as play attacker d11 d9", subject=excerpt(text))
    return _SIDES[words[1].lower()], Move(parse_square(words[2], size), parse_square(words[3], size), size)


def _write_square(cell: int, size: int) -> str:
    """Return the name of a square. On a 13×13 board, the name is in upper case."""
    name = square_name(cell, size)
    return name.upper() if size == 13 else name


def _write_play(side: SideName, move: Move) -> str:
    """Return the protocol's line for a move."""
    return f"play {_ROLES[side]} {_write_square(move.start, move.size)} {_write_square(move.target, move.size)}"


class HtpWords(Words):
    """Hnefatafl Text Protocol, which has one answer to each request and is similar to the Go Text Protocol."""

    anywhere: ClassVar[bool] = False

    @classmethod
    def rules(cls, variant: Variant, own: dict[str, str]) -> tuple[str, list[str]]:
        """Raise InputError if the rules or the size of the board differ from those of the program."""
        if variant.size not in _BOARDS:
            raise InputError(
                f"its protocol does not support a board of side {variant.size}", remedy="use side 11 or 13"
            )
        return built_in(variant, own)

    def receive(self, text: str) -> tuple[str, str]:
        """Process a line from the program, and return its kind (answer, refusal or neither) and an empty reply."""
        return ({"=": "=", "?": REFUSAL}.get(text[:1], ""), "")

    def greet(self, process: Process, seconds: float) -> None:
        """Request the name of the program."""
        self.name = process.request("name\n", "=", seconds).text[1:].strip()

    def request_move(self, process: Process, board: Board, limits: SearchLimits, seconds: float) -> ProgramAnswer:
        """Send the whole game and request a move."""
        # The program may use all the time on the clock for this move, because the clock is set again for each move.
        clock = "un-timed" if limits.movetime is None else f"fischer {max(1, int(1000 * limits.movetime))} 0"
        sides = cycle(SIDES if self.game.variant.rules.first == "white" else reversed(SIDES))
        plays = [_write_play(side, move) for side, move in zip(sides, board.move_stack, strict=False)]
        lines = [f"board_size {board.size}", f"time_settings {clock}", *plays, "generate_move"]
        return process.request("".join(f"{line}\n" for line in lines), "=", seconds, len(lines))

    def read(self, answer: ProgramAnswer) -> Choice:
        """Return the move. If the program resigns, its answer cannot be parsed as a move."""
        return bare_choice(_read_play(answer.text[1:], self.game.variant.size)[1])


# -- the toolkit's engine with this protocol ---------------------------------------------------


_COMMANDS: Final = (
    "board_size final_status generate_move known_command list_commands name play protocol_version quit show_board "
    "time_settings version"
)
_RESULTS: Final = {"black": "attacker_wins", "white": "defender_wins", "draw": "draw", "*": "ongoing"}


class HtpFront(Front):
    """Front end for the Hnefatafl Text Protocol. ``generate_move`` also makes the move."""

    refusal: ClassVar[str] = "? {}\n"
    sets: ClassVar[dict[str, tuple[str, ...]]] = {"board_size": ("game", "position"), "play": ("position",)}

    def _greet(self) -> None:
        self._start = self._board.copy()
        self._left: dict[SideName, float] = {}
        self._more = 0.0
        self._best = self._trouble = ""
        self._session.handle("isready")  # load or compile the kernels now, so that no move loses time

    def handle(self, line: str) -> bool:
        """Execute a line. Text after a number sign is a comment."""
        return super().handle(line.partition("#")[0])

    def _obey(self, command: str, rest: str) -> bool:
        line = [command, *rest.split()]
        if command and line != ["quit"]:
            self._write(f"= {self._answer(line)}\n")
        return line != ["quit"]

    def _answer(self, line: list[str]) -> str:
        from tablut import __version__

        if line[0] in ("final_status", "show_board"):
            self._need()
        match line:
            case ["board_size", size] if size == str(self._board.size):
                self._board = self._start.copy()
                return ""
            case ["final_status"]:
                return _RESULTS[self._board.result()]
            case ["generate_move"]:
                return self._generated()
            case ["known_command", name]:
                return "true" if name in _COMMANDS.split() else "false"
            case ["list_commands"]:
                return "\n" + _COMMANDS.replace(" ", "\n")
            case ["name"]:
                return "tablut"
            case ["play", *_]:
                side, move = _read_play(" ".join(line), self._board.size)
                if side != self._board.turn:
                    if "position" in self._missing:  # the client assumes that the refused move has been made
                        self._missing["game"] = self._missing["position"]
                    raise InputError(f"it is the {_ROLES[self._board.turn]}'s turn", subject="play")
                self._board.push(move)
                return " ".join(_write_square(cell, self._board.size) for cell in self._board.captured())
            case ["protocol_version"]:
                return "1-beta"
            case ["show_board"]:
                return "\n" + "\n".join(self._board.position.rows())
            case ["time_settings", "un-timed", *_]:
                self._left = {}
                return ""
            case ["time_settings", "fischer", *times] if re.fullmatch(r"\d{1,12} \d{1,9}", " ".join(times), re.ASCII):
                self._left, self._more = dict.fromkeys(SIDES, int(times[0]) / 1000), int(times[1])
                return ""
            case ["version"]:
                return __version__
        raise InputError("does not exist", subject=f"command {excerpt(' '.join(line), 80)}", remedy="see list_commands")

    def _generated(self) -> str:
        side, began = self._board.turn, time.monotonic()
        self._best = ""
        self._search(self._left.get(side), self._more)
        self._session.finish()
        if side in self._left:
            self._left[side] += self._more - (time.monotonic() - began)
        if not self._best:
            raise InputError(self._trouble)
        self._board.push_text(self._best)
        return _write_play(side, self._board.peek())

    def _translate(self, line: str) -> None:
        if line.startswith("info string"):
            self._trouble = line.removeprefix("info string ")
        elif line != "bestmove none":
            self._best = line.partition("bestmove ")[2]
