"""OpenTafl's engine protocol (OTEP), used for external engines as players and for the toolkit's engine in OpenTafl.

It is documented in ``opentafl-engine-protocol.txt`` of https://github.com/jslater89/OpenTafl. It cannot transmit the
earlier moves of a game in progress, so the current position is sent as the start position.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace
from typing import ClassVar, Final

from tablut.board import Board
from tablut.errors import InputError
from tablut.formats.opentafl import (
    begun_at,
    read_position,
    read_rules,
    rules_start,
    write_move,
    write_position,
    write_rules,
)
from tablut.formats.reading import read_move
from tablut.play.bridges.programs import REFUSAL, Process, ProgramAnswer, ProgramGame, Words, opening_of, unlike
from tablut.play.bridges.uci import Front, in_points, plain
from tablut.play.players import Choice
from tablut.play.players.registry import bare_choice
from tablut.play.search.limits import MOST_LINES, Clock, SearchLimits
from tablut.position import Move, MoveText, Position, SideName
from tablut.variants import Variant
from tablut.variants.model import Repetition
from tablut.work.files import excerpt

_SIDES: Final[dict[SideName, str]] = {"black": "attackers", "white": "defenders"}
_EXPECTED_MOVES: Final = {7: 6, 9: 10}
"""Number of moves per side among which OpenTafl divides its clock, by board size. It is 20 for all other sizes."""
_PAD: Final = 500
"""Part of the time planned for a move that OpenTafl leaves unused, in milliseconds."""
_FINISH: Final[dict[str | None, int]] = {None: 0, "draw": 1, "black": 2, "white": 3}


class OtepWords(Words):
    """OpenTafl's protocol, with rules, positions and moves in OpenTafl's notation."""

    farewell: ClassVar[str] = "goodbye\n"

    def __init__(self) -> None:
        super().__init__()
        self._full = False
        self._first = 0
        """Milliseconds of the first clock of the game, or 0."""
        self._sent: tuple[ProgramGame, Position, list[Move]] | None = None
        self._replies: dict[str, str] = {}
        """Replies to the requests that the engine may send at any time, keyed by the first word of the request."""

    @classmethod
    def rules(cls, variant: Variant, own: dict[str, str]) -> tuple[str, list[str]]:  # noqa: ARG003
        """Return the rules string, and the rules about the game history that the string cannot express."""
        with suppress(InputError):
            return write_rules(variant), []
        result = variant.rules.repetition.result
        kept = result if result in ("mover_loses", "mover_wins") else "draw"
        history = {"repetition": Repetition(times=3, result=kept), "move_limit": None}
        plain = replace(variant, rules=variant.rules.model_copy(update=history))
        return write_rules(plain), unlike(variant, plain)[1]

    def receive(self, text: str) -> tuple[str, str]:
        """Process a line from the engine, and return the kind of answer and the reply to a request."""
        word, _, rest = text.partition(" ")
        if word == "simple-moves":
            self._full = rest.strip() == "off"
        critical = word == "error" and rest.split()[:1] == ["-1"]
        return (REFUSAL if critical else word if word in ("hello", "move") else "", self._replies.get(word, ""))

    def greet(self, process: Process, seconds: float) -> None:
        """Wait for ``hello``."""
        process.request("", "hello", seconds)

    def request_move(self, process: Process, board: Board, limits: SearchLimits, seconds: float) -> ProgramAnswer:
        """Send the moves since the last request, or a new game, and wait for the engine's move."""
        before, side, moves = board.copy(), _SIDES[board.turn], board.move_stack
        last = before.pop() if moves else None
        if limits.movetime is not None:
            self._replies["clock"] = self._clock(board.size, limits.movetime)
        clock = self._replies.get("clock", "")
        sent, self._sent = self._sent, (self.game, opening_of(board), moves)
        if moves[1:] and sent == (self.game, self._sent[1], moves[:-2]):
            lines = f"move {write_position(before.position)}\n"
        else:
            # A game in progress is sent as a game that begins at the current position, with the engine to move.
            begun, last = (board, None) if moves[1:] else (before, last)
            self._replies["rules"] = f"rules {begun_at(self.game.rules, begun.position)}\n"
            self._replies["side"] = f"side {side}\n"
            lines = f"hello\n{self._replies['rules']}{self._replies['side']}{clock}start\n"
        self._replies["position"] = f"position {write_position(board.position)}\n"
        if last is not None:
            move = write_move(MoveText(last, frozenset(board.captured()) or None)) if self._full else str(last)
            lines += f"opponent-move {move} {write_position(board.position)}\n"
        return process.request(f"{lines}play {side}\n{clock}", "move", seconds)

    def _clock(self, size: int, seconds: float) -> str:
        """Return a clock without overtime that makes OpenTafl use the given limit for one move.

        OpenTafl plans 5 % of its first clock for each of the first half of the moves that it expects. When at most a
        fifth is left, it divides the current time by the expected number. It stops half a second before the planned
        time ends, or may not stop at all if it has planned less than that.
        """
        left = _EXPECTED_MOVES.get(size, 20) * (_PAD + int(1000 * seconds))
        if self._first:
            left = min(left, self._first // 5)
        else:
            left = self._first = 10 * left
        return f"clock {left} {left} 0 0 0\n"

    def read(self, answer: ProgramAnswer) -> Choice:
        """Return the move, which may be written with or without its captures."""
        return bare_choice(read_move(answer.text.split()[1], self.game.variant.size).move)

    def end(self, process: Process, winner: str | None) -> None:
        """Send the game result, which makes OpenTafl forget the clock."""
        self._first = 0
        process.send(f"finish {_FINISH[winner]}\n")


# -- the toolkit's engine in OpenTafl --------------------------------------------------------------------


class OtepFront(Front):
    """Front end for OpenTafl. The engine adopts a position that the client sends, even if it contradicts the moves."""

    refusal: ClassVar[str] = "error 0 {}"
    sets: ClassVar[dict[str, tuple[str, ...]]] = {
        "rules": ("rule set", "position"),
        "side": ("side",),
        **dict.fromkeys(("position", "move", "opponent-move"), ("position",)),
    }

    def _greet(self) -> None:
        self._clocks: dict[SideName, Clock | None] = {}
        self._side: SideName = self._board.turn
        self._own = ""
        self._lines: dict[int, tuple[str, str]] = {}
        self._analysing, self._silent = 0, False
        self._session.handle("isready")  # load or compile the kernels now, so that no move loses time
        self._write("hello")

    def _refuse(self, command: str, why: str) -> None:
        if command == "rules":
            self._write(f"error -1 {plain(why)}")
        else:
            super()._refuse(command, why)

    def _obey(self, command: str, rest: str) -> bool:
        match command:
            case "" | "hello" | "start":
                pass
            case "finish" | "goodbye":
                self._silent = True
                self._session.leave()
            case "rules":
                self._take_rules(rest)
            case "side" | "play":
                self._side = {name: side for side, name in _SIDES.items()}[_matched("attackers|defenders", rest)[0]]
                if command == "play":
                    self._missing.pop("side", None)
                    self._choose(self._clocks.get(self._side))
            case "position":
                self._set_up(rest)
            case "clock":
                clock = _matched(r"(-?\d{1,12})(\*?) (-?\d{1,12})(\*?)(?: (\d{1,9}) (\d{1,9}) (\d{1,9}))?( .*)?", rest)
                for number, side in enumerate(_SIDES):
                    left, overtime = int(clock[1 + 2 * number]) / 1000, bool(clock[2 + 2 * number])
                    # An overtime period lasts for one move. During the main time, it is treated as an increment.
                    more = float(clock[5] or 0) if not overtime and int(clock[6 + number] or 0) else 0.0
                    self._clocks[side] = None if left < 0 else Clock(left, more, 1 if overtime else None)
            case "move" | "opponent-move":
                *moves, record = rest.split(" ")
                self._go_on(" ".join(moves).replace("|", " ").split(), record)
            case "analyze":
                number, seconds = map(int, _matched(r"(\d{1,9}) (\d{1,9})", rest).groups())
                self._choose(Clock(seconds, moves=1), analysing=min(max(number, 1), MOST_LINES))
            case "error":
                self._own = ""
            case _:
                raise InputError("unknown command", subject=excerpt(command, 40))
        return command != "goodbye"

    def _take_rules(self, text: str) -> None:
        self._own, self._clocks = "", {}
        variant, known = read_rules(text), self._board.variant
        alike = variant.terrain, variant.rules.model_copy(update={"first": known.rules.first})
        # Keep the variant if only the start position differs, because building new tables would take time.
        self._board = Board(known if alike == (known.terrain, known.rules) else variant, rules_start(text))

    def _set_up(self, record: str) -> None:
        position = read_position(record, "w" if self._side == "white" else "b", self._board.size)
        board = Board(self._board.variant, position)
        board.outcome()  # rejects invalid positions
        self._board = board

    def _go_on(self, moves: list[str], record: str) -> None:
        """Make the given moves, after the engine's last move if the client has not confirmed it.

        If they do not lead to the position received from the client, set that position instead.
        """
        own, self._own = [self._own] * bool(self._own), ""
        cells = read_position(record, "b", self._board.size).cells
        for made in (own + moves, []) if "position" not in self._missing else ():
            board = self._board.copy()
            with suppress(InputError):
                for move in made:
                    board.push_text(move)
                if board.position.cells == cells:
                    self._board = board
                    return
        self._set_up(record)

    def _choose(self, clock: Clock | None, *, analysing: int = 0) -> None:
        """Start a search for a move, or an analysis with the given number of lines."""
        if self._board.turn != self._side:
            self._set_up(write_position(self._board.position))
        self._analysing, self._silent, self._lines = analysing, True, {}
        self._session.handle(f"setoption name multipv value {max(analysing, 1)}")  # most players find only one line
        self._silent = False
        self._search(clock)

    def _translate(self, line: str) -> None:
        word, _, rest = line.partition(" ")
        words = rest.split()
        if self._silent:
            return
        if word == "info" and words[0] == "string":
            self._write(f"status {plain(' '.join(words[1:]))}")
        elif word == "info" and "score" in words:
            score, move = (in_points(line).partition(f" {key} ")[2].split()[0] for key in ("score cp", "pv"))
            self._lines[int(words[words.index("multipv") + 1]) if "multipv" in words else 1] = move, score
        elif word == "bestmove" and rest == "none":
            self._write("error 0 no move to choose")
        elif word == "bestmove" and self._analysing:
            scores = {rest: ""}
            for _, (move, score) in sorted(self._lines.items()):
                scores[move] = scores.get(move) or score
            found = list(scores.items())[: self._analysing]
            self._write(f"analysis {len(found)} {' '.join(f'{move} {score or 0}' for move, score in found)}")
        elif word == "bestmove":
            self._own = rest
            self._write(f"move {rest}")


def _matched(pattern: str, text: str) -> re.Match[str]:
    if (found := re.fullmatch(pattern, text, re.ASCII)) is None:
        raise InputError("does not follow the protocol", subject=excerpt(text))
    return found
