"""The engine's UCI-like protocol and TaflZero's variant of it, used for external programs and for front ends.

A front end implements another protocol for the toolkit's engine: it translates the client's lines for an
`EngineSession`, and translates the responses back. TaflZero's protocol, which uses a different FEN, is described in the
``README.md`` of https://github.com/sovelin/taflzero.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable
from itertools import pairwise
from typing import ClassVar, Final

from tablut.board import Board
from tablut.cli.streams import one_line
from tablut.errors import InputError
from tablut.formats.reading import read_move, write_fen, write_fen_move
from tablut.play.bridges.programs import Process, ProgramAnswer, Words, built_in, opening_of
from tablut.play.players import Choice
from tablut.play.players.registry import once
from tablut.play.protocol import EngineOptions, EngineSession, LineProtocol, OwnPlayer
from tablut.play.search.limits import MATE, Clock, SearchLimits, TimeControl
from tablut.position import Move, Position, SideName
from tablut.variants import Variant
from tablut.variants.library import shipped_name
from tablut.work.files import excerpt

_MOST_OPTIONS: Final = 1000
_NUMBER: Final = re.compile(r"-?[0-9]{1,15}", re.ASCII)
_ANSWERS: Final = ("bestmove", "readyok", "uciok")
_KINDS: Final = ("button", "check", "combo", "spin", "string")
_COUNTERS: Final = ("depth", "nodes", "tbhits", "multipv")
_BOUNDS: Final = {"lowerbound": 1, "upperbound": -1}


def read_info(line: str, known: dict[str, int]) -> dict[str, int]:
    """Return the numbers known about a search after an ``info`` line, keyed by the words before them.

    The word ``string`` begins free text. ``cp`` and ``mate`` count only after ``score``; the value of ``cp`` is in
    points, even for a number of plies. A line without a score or for another than the best move changes nothing. A
    bound counts as the score only if it contradicts the score; against the side that it favours, it leaves no score.
    """
    found: dict[str, int] = {}
    scored = False
    for word, value in pairwise([*line.split()[1:], ""]):
        if word == "string":
            break
        scored |= word == "score"
        if word in _BOUNDS:
            found["bound"] = _BOUNDS[word]
        elif (word in _COUNTERS or (scored and word in ("cp", "mate"))) and _NUMBER.fullmatch(value):
            found.setdefault(word, int(value))
    mate = found.pop("mate", 0)
    if 0 < abs(mate) < MATE:
        found |= {"mate": mate, "cp": MATE - mate if mate > 0 else -MATE - mate}
    score, bound, before = found.get("cp"), found.get("bound", 0), known.get("cp")
    if score is None or found.get("multipv", 1) != 1:
        return known
    if bound and before is not None and bound * (score - before) <= 0:
        return known | {name: found[name] for name in ("nodes", "tbhits") if name in found}
    return found if bound * score >= 0 else {name: found[name] for name in found if name not in ("cp", "mate")}


def go(limits: SearchLimits, turn: SideName = "white") -> str:
    """Return the ``go`` line that requests a move within the given limits, for the side to move."""
    given = limits._replace(movetime=None, clock=None)._asdict()
    words = [f"{name} {value}" for name, value in given.items() if value is not None]
    if (clock := limits.clock) is not None:
        times = {turn[0]: (clock.left, clock.increment), "bw"[turn == "black"]: clock.opponent}
        for side, found in sorted(times.items(), reverse=True):
            if found is not None:
                words += [f"{side}time {_milliseconds(found[0])}", f"{side}inc {int(found[1] * 1000)}"]
        words += [f"movestogo {clock.moves}"] * (clock.moves is not None)
    elif limits.movetime is not None:
        words.insert(0, f"movetime {_milliseconds(limits.movetime)}")
    return f"go {' '.join(words)}"


def _milliseconds(seconds: float) -> int:
    """Convert seconds to milliseconds. The result is at least 1, because a time of 0 is refused."""
    return max(1, int(seconds * 1000))


class UciWords(Words):
    """Protocol similar to UCI. The rule set is an option."""

    limits: ClassVar[tuple[str, ...]] = SearchLimits._fields
    options_known: ClassVar[bool] = True
    clocks: ClassVar[bool] = True
    """Whether ``go`` can contain the clocks of both sides."""

    def __init__(self) -> None:
        super().__init__()
        self.options: dict[str, str] = {}
        """Options announced by the program, in the program's spelling, keyed by their names in lower case."""

    @classmethod
    def rules(cls, variant: Variant, own: dict[str, str]) -> tuple[str, list[str]]:
        """Return the name of the rule set to send to the program, and an empty list of unsupported rules."""
        if name := own.pop("variant", None) or shipped_name(variant):
            return name, []
        raise InputError(
            f"cannot be sent the rules of {variant.name}, which is not a built-in rule set",
            remedy="give the program's name for these rules with option.variant=NAME",
        )

    @classmethod
    def clock_gap(cls, control: TimeControl) -> str:
        """Return the part of a time control that the protocol cannot express."""
        return "" if cls.clocks else super().clock_gap(control)

    def receive(self, text: str) -> tuple[str, str]:
        """Process a line from the program. Store names, options and scores. Return an answer's keyword and text."""
        words = text.split()
        if words[:1] == ["info"]:
            self.info = read_info(text, self.info)
        elif words[:2] == ["id", "name"]:
            self.name = " ".join(words[2:])
        elif words[:2] == ["option", "name"] and len(self.options) < _MOST_OPTIONS:
            # The name itself may contain the word `type`.
            ends = [place for place, pair in enumerate(pairwise(words)) if pair[0] == "type" and pair[1] in _KINDS]
            name = " ".join(words[2 : ends[0] if ends else None])
            self.options[name.lower()] = name
        return (words[0] if words and words[0] in _ANSWERS else "", "")

    def greet(self, process: Process, seconds: float) -> None:
        """Send ``uci`` and wait for ``uciok``."""
        process.request("uci\n", "uciok", seconds)

    def settings(self) -> dict[str, str]:
        """Return the options to send to the program. Raise `InputError` for a setting that it has not announced."""
        options, own = self.game.options, self.game.own
        if unknown := sorted(name for name in own if name.lower() not in self.options):
            raise InputError(f"has no option {excerpt(unknown[0])}")
        once("option", ((name.lower(), value) for name, value in own.items()))
        if options.threads != 1 and "threads" not in self.options:
            raise InputError("has no option threads")
        shared: dict[str, object] = {
            "hash": options.hash_mib,
            "seed": options.seed,
            "table_memory": options.table_mib,
            "threads": options.threads,
        }
        if options.tablebase is not None:
            shared["tables"] = options.tablebase
        own = {self.options[name.lower()]: value for name, value in own.items()}
        return {key: str(value) for key, value in shared.items() if key in self.options} | own

    def begin(self, process: Process, seconds: float) -> None:
        """Send the rule set and the options."""
        options = {"variant": self.game.rules} | self.settings()
        process.request("".join([*map(option_line, options.items()), "ucinewgame\nisready\n"]), "readyok", seconds)

    def request_move(self, process: Process, board: Board, limits: SearchLimits, seconds: float) -> ProgramAnswer:
        """Send the whole game and wait for the program's move."""
        start = opening_of(board)
        known = str(start) == self.game.variant.start_position
        words = ["position", "startpos" if known else self.text_of(start)]
        if board.ply:
            words += ["moves", *map(self.text_of, board.move_stack)]
        if not self.clocks:
            limits = limits._replace(clock=None)
        return process.request(f"{' '.join(words)}\n{go(limits, board.turn)}\n", "bestmove", seconds)

    def text_of(self, one: Position | Move) -> str:
        """Return a position or a move in the protocol's notation."""
        return str(one)

    def read(self, answer: ProgramAnswer) -> Choice:
        """Return the move, with the score and the statistics from the program's ``info`` lines."""
        move = read_move(answer.text.split()[1], self.game.variant.size).move
        depth, nodes, tbhits = (max(answer.info.get(name, 0), 0) for name in ("depth", "nodes", "tbhits"))
        return Choice(move, answer.info.get("cp"), answer.info.get("mate"), depth, nodes, (move,), tbhits)


def option_line(option: tuple[str, str]) -> str:
    """Return the line that sets an option, which is given as a name and a value."""
    name, value = option
    return f"setoption name {name} value {' '.join(value.split())}\n"


class TaflZeroWords(UciWords):
    """Variant of UCI that has no rule sets, no clocks and no ``ucinewgame``, and allows only one limit for a move."""

    limits: ClassVar[tuple[str, ...]] = ("nodes", "movetime")
    clocks: ClassVar[bool] = False

    @classmethod
    def rules(cls, variant: Variant, own: dict[str, str]) -> tuple[str, list[str]]:
        """Raise InputError if the rules differ from the program's."""
        return built_in(variant, own)

    @classmethod
    def check(cls, limits: SearchLimits, *, elsewhere: bool) -> None:
        """Raise InputError for limits that the protocol cannot express, such as two limits at the same time."""
        super().check(limits, elsewhere=elsewhere)
        if limits.nodes and limits.movetime:
            raise InputError("its protocol does not support nodes and movetime together", remedy="use only one of them")

    def begin(self, process: Process, seconds: float) -> None:
        """Send the options, which the program announces only after ``uciok``."""
        process.request("isready\n", "readyok", seconds)
        process.request(f"{''.join(map(option_line, self.settings().items()))}isready\n", "readyok", seconds)

    def text_of(self, one: Position | Move) -> str:
        """Return a position as FEN, or a move without a dash."""
        return write_fen_move(one) if isinstance(one, Move) else f"fen {write_fen(one)}"


# -- front ends, which implement other protocols for the toolkit's engine ------------------


UNTIMED: Final = 2.0
"""Time in seconds for a move if the client sets no clock."""


def in_points(line: str) -> str:
    """Return an ``info`` line with ``score mate`` converted to ``score cp``, for protocols without ``mate``."""
    return re.sub(r"score mate (-?)(\d+)", lambda found: f"score cp {found[1]}{MATE - int(found[2])}", line)


def plain(text: str) -> str:
    """Convert a message to one line of ASCII, which every protocol can transmit."""
    return one_line(text).encode("ascii", "backslashreplace").decode()


class Front(LineProtocol):
    """Base class of the front ends. Each front end implements another protocol for the engine."""

    refusal: ClassVar[str]
    """Format of the line that reports why a line was refused."""

    def __init__(
        self,
        write: Callable[[str], None],
        options: EngineOptions,
        limits: SearchLimits | None,
        own: OwnPlayer | None = None,
    ) -> None:
        super().__init__()
        self._write, self._limits = write, limits
        self._session = EngineSession(self._translate, options, own)
        self.finish, self.leave = self._session.finish, self._session.leave
        self._board = self._session.board
        self._greet()

    def _greet(self) -> None:
        """Write the first line, if the protocol requires the engine to send it."""

    def _refuse(self, command: str, why: str) -> None:  # noqa: ARG002 (used by some protocols)
        self._write(self.refusal.format(plain(why)))

    @abstractmethod
    def _translate(self, line: str) -> None:
        """Translate a line from the engine and write it. The search thread may call this method."""

    def _search(self, clock: Clock | None) -> None:
        """Start a search from the current board.

        If the front end was created with limits, the search uses them. Otherwise it uses the clock of the side to move.
        """
        self._need()
        limits = self._limits
        if limits is None:
            limits = SearchLimits(UNTIMED) if clock is None else SearchLimits().on_clock(clock)
        self._session.place(self._board)
        self._session.handle(go(limits, self._board.turn))


class TaflZeroFront(Front):
    """Front end for the engine's usual protocol that uses TaflZero's notation for positions and moves."""

    refusal: ClassVar[str] = "info string {}"
    sets: ClassVar[dict[str, tuple[str, ...]]] = {}

    def handle(self, line: str) -> bool:
        """Execute a line. The engine session checks its length, and records the line if it is refused."""
        return self._obey(*(*line.split(None, 1), "", "")[:2])

    def _obey(self, command: str, rest: str) -> bool:
        if command == "quit":
            self._write("bye")
            return False
        return self._session.handle(f"{command} {rest.removeprefix('fen ') if command == 'position' else rest}")

    def _translate(self, line: str) -> None:
        if line.startswith("bestmove"):
            line = line.replace("-", "").replace(" none", " (none)")
        elif line.startswith("info depth"):
            info, pv, moves = in_points(line).partition(" pv ")
            line = re.sub(r"nps (\d+) time (\d+) tbhits \d+", r"time \2 speed \1", info) + pv + moves.replace("-", "")
        self._write(line)
