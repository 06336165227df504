"""Hnefatafl Text Protocol of hnefatafl.org, used for external programs as players and for the toolkit's engine.

The protocol follows ``src/message.rs`` and ``src/play.rs`` of https://github.com/dcampbell24/hnefatafl. The source does
not specify whether ``generate_move`` also makes the move, so each request sends the whole game. Cells are written in
lower case on 11×11 boards and in upper case on 13×13 boards, and read in both forms.
"""

from __future__ import annotations

import re
import time
from itertools import cycle
from typing import TYPE_CHECKING, ClassVar, Final

from tablut.board import Board
from tablut.errors import InputError
from tablut.play.bridges.programs import REFUSAL, Process, ProgramAnswer, Words, built_in
from tablut.play.bridges.uci import Front
from tablut.play.players import Choice
from tablut.play.players.registry import bare_choice
from tablut.play.search.limits import RunningClock, SearchLimits, TimeControl
from tablut.position import SIDES, Move, Position, SideName, parse_square, square_name
from tablut.variants import Variant
from tablut.work.files import excerpt

if TYPE_CHECKING:
    from collections.abc import Iterable

_BOARDS: Final = (11, 13)
_ROLES: Final[dict[SideName, str]] = {"black": "attacker", "white": "defender"}
_SIDES: Final[dict[str, SideName]] = {"a": "black", "attacker": "black", "d": "white", "defender": "white"}


def _read_play(text: str, size: int) -> tuple[SideName, Move]:
    """Parse the side and the move in a line ``play ROLE FROM TO``, where the role may be abbreviated to one letter."""
    words = text.replace(",", " ").split()
    if len(words) < 4 or words[0] != "play" or words[1].lower() not in _SIDES:
        raise InputError("expected play ROLE FROM TO, such as play attacker d11 d9", subject=excerpt(text))
    return _SIDES[words[1].lower()], Move(parse_square(words[2], size), parse_square(words[3], size), size)


def _write_square(cell: int, size: int) -> str:
    """Return the name of a cell. On a 13×13 board, the name is in upper case."""
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
        """Raise InputError if the rules or the board size differ from the program's."""
        if variant.size not in _BOARDS:
            raise InputError(
                f"its protocol does not support a board of side {variant.size}", remedy="use side 11 or 13"
            )
        return built_in(variant, own)

    @classmethod
    def clock_gap(cls, control: TimeControl) -> str:
        """Return the part of a time control that the protocol cannot express."""
        if control.moves is None and control.increment.is_integer():
            return "a clock of less than a minute, so the program receives whole minutes, at least one"
        return f"the time control {control}, so the program receives whole minutes and whole seconds as the increment"

    def receive(self, text: str) -> tuple[str, str]:
        """Process a line from the program, and return its kind (answer, refusal or neither) and an empty reply."""
        return ({"=": "=", "?": REFUSAL}.get("".join(text.split()[:1]), ""), "")

    def greet(self, process: Process, seconds: float) -> None:
        """Request the program's name."""
        self.name = process.request("name\n", "=", seconds).text[1:].strip()

    def request_move(self, process: Process, board: Board, limits: SearchLimits, seconds: float) -> ProgramAnswer:
        """Send the whole game and request a move."""
        # The clock is set again for each move. It counts whole minutes, so only the match enforces a shorter limit.
        left, more = (limits.movetime, 0.0) if limits.clock is None else limits.clock[:2]
        clock = "un-timed" if left is None else f"fischer {max(1, int(left / 60))} {int(more)}"
        sides = cycle(SIDES if self.game.variant.rules.first == "white" else reversed(SIDES))
        plays = [_write_play(side, move) for side, move in zip(sides, board.move_stack, strict=False)]
        lines = [f"board_size {board.size}", f"time_settings {clock}", *plays, "generate_move"]
        return process.request("".join(f"{line}\n" for line in lines), "=", seconds, len(lines))

    def read(self, answer: ProgramAnswer) -> Choice:
        """Return the move. If the program resigns, its answer cannot be parsed as a move."""
        return bare_choice(_read_play(answer.text[1:], self.game.variant.size)[1])


# -- the toolkit's engine with this protocol ---------------------------------------------------


_COMMANDS: Final = (
    "board_size final_status first_move generate_move known_command list_commands name play play_from play_to "
    "play_undo protocol_version quit show_board show_board_open_tafl time_settings version"
)
_OPPONENT: Final[dict[SideName | None, SideName]] = {"black": "white", "white": "black"}
_LETTERS: Final = str.maketrans("bw", "AD")
_RESULTS: Final = {"black": "attacker_wins", "white": "defender_wins", "draw": "draw", "*": "ongoing"}


class HtpFront(Front):
    """Front end for the Hnefatafl Text Protocol. ``generate_move`` also makes the move."""

    refusal: ClassVar[str] = "? {}\n"
    sets: ClassVar[dict[str, tuple[str, ...]]] = {
        "board_size": ("game", "position"),
        "first_move": ("game", "position"),
        "play": ("position",),
        "play_undo": ("position",),
    }

    def _greet(self) -> None:
        self._start = self._board.copy()
        self._clocks: dict[SideName, RunningClock] = {}
        self._best = self._trouble = ""
        self._resigned: SideName | None = None
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

        if line[0] in ("final_status", "show_board", "show_board_open_tafl", "play_from", "play_to", "play_undo"):
            self._need()
        match line:
            case ["board_size", size] if size == str(self._board.size):
                self._restart(self._start.turn)
                return ""
            case ["final_status"]:
                return _RESULTS[_OPPONENT.get(self._resigned) or self._board.result()]
            case ["first_move", role] if role.lower() in _SIDES:
                self._restart(_SIDES[role.lower()])
                return ""
            case ["generate_move"]:
                return self._generated()
            case ["known_command", name]:
                return "true" if name in _COMMANDS.split() else "false"
            case ["list_commands"]:
                return "\n" + _COMMANDS.replace(" ", "\n")
            case ["name"]:
                return "tablut"
            case ["play", role, "resigns", *_] if role.lower() in _SIDES:
                self._need()
                self._resigned = _SIDES[role.lower()]
                return ""
            case ["play", *_]:
                return self._played(*_read_play(" ".join(line), self._board.size))
            case ["play_from"]:
                starts = sorted({move.start for move in self._board.legal_moves})
                return " ".join([_ROLES[self._board.turn], *self._names(starts)])
            case ["play_to", role, start] if role.lower() in _SIDES:
                self._check_turn(_SIDES[role.lower()], "play_to")
                cell = parse_square(start, self._board.size)
                return " ".join(self._names(move.target for move in self._board.legal_moves if move.start == cell))
            case ["play_undo"]:
                if self._resigned is None:
                    self._board.pop()
                self._resigned = None
                return ""
            case ["protocol_version"]:
                return "1-beta"
            case ["show_board"]:
                return "\n" + "\n".join(self._board.position.rows())
            case ["show_board_open_tafl"]:
                rows = "/".join(self._board.position.rows()).translate(_LETTERS)
                return f"/{re.sub('[.]+', lambda empty: str(len(empty[0])), rows)}/"
            case ["time_settings", "un-timed", *_]:
                self._restart(self._start.turn)
                self._clocks = {}
                return ""
            case ["time_settings", "fischer", *times] if re.fullmatch(r"\d{1,9} \d{1,9}", " ".join(times), re.ASCII):
                self._restart(self._start.turn)
                control = TimeControl(60.0 * int(times[0]), int(times[1]))
                self._clocks = {side: RunningClock(control) for side in SIDES}
                return ""
            case ["version"]:
                return __version__
        raise InputError("does not exist", subject=f"command {excerpt(' '.join(line), 80)}", remedy="see list_commands")

    def _restart(self, first: SideName) -> None:
        """Return to the start of the game, where a given side makes the first move."""
        start = self._start.position
        self._board = Board(self._start.variant, Position(start.cells, "w" if first == "white" else "b"))
        self._resigned = None

    def _names(self, cells: Iterable[int]) -> list[str]:
        return [_write_square(cell, self._board.size) for cell in cells]

    def _check_turn(self, side: SideName, command: str) -> None:
        if side != self._board.turn:
            raise InputError(f"it is the {_ROLES[self._board.turn]}'s turn", subject=command)

    def _check_undecided(self) -> None:
        if self._resigned is not None:
            raise InputError(f"the game is over: the {_ROLES[self._resigned]} has resigned")

    def _played(self, side: SideName, move: Move) -> str:
        """Make a client's move, and return the names of the cells where pieces were captured."""
        if side != self._board.turn and "position" in self._missing:
            # The client assumes that the refused move has been made.
            self._missing["game"] = self._missing["position"]
        self._check_turn(side, "play")
        self._check_undecided()
        self._board.push(move)
        return " ".join(self._names(self._board.captured()))

    def _generated(self) -> str:
        self._check_undecided()
        side, began = self._board.turn, time.monotonic()
        self._best = ""
        clock = self._clocks.get(side)
        self._search(None if clock is None else clock.reading())
        self._session.finish()
        if clock is not None:
            clock.press(time.monotonic() - began)
        if not self._best:
            raise InputError(self._trouble)
        self._board.push_text(self._best)
        return _write_play(side, self._board.peek())

    def _translate(self, line: str) -> None:
        if line.startswith("info string"):
            self._trouble = line.removeprefix("info string ")
        elif line != "bestmove none":
            self._best = line.partition("bestmove ")[2]
