"""UCI-like protocol for players given as ``program:COMMAND``, a subset of the protocol of `tablut engine`."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import ClassVar, Final

from tablut.board import Board
from tablut.errors import InputError
from tablut.formats.reading import read_move
from tablut.play.bridges.programs import Answer, Process, Words, opening_of
from tablut.play.players import Choice
from tablut.play.players.registry import once
from tablut.play.search.limits import MATE, SearchLimits
from tablut.position import Move, Position
from tablut.variants import Variant
from tablut.variants.library import shipped_name
from tablut.work.files import excerpt

_MOST_OPTIONS: Final = 1000
_NUMBER: Final = re.compile(r"-?[0-9]{1,15}", re.ASCII)
_ANSWERS: Final = ("bestmove", "readyok", "uciok")


def go(limits: SearchLimits) -> str:
    """Return the ``go`` line that requests a move within limits."""
    words = [f"{name} {value}" for name, value in limits._asdict().items() if value is not None and name != "movetime"]
    if limits.movetime is not None:
        # At least 1 ms, because a time of 0 is refused.
        words.insert(0, f"movetime {max(1, int(limits.movetime * 1000))}")
    return f"go {' '.join(words)}"


class UciWords(Words):
    """UCI-like protocol with the rule set as an option."""

    limits: ClassVar[tuple[str, ...]] = SearchLimits._fields
    options_known: ClassVar[bool] = True

    def __init__(self) -> None:
        super().__init__()
        self.options: dict[str, str] = {}
        """Options that the program has announced, in its spelling, keyed by the name in lower case."""

    @classmethod
    def rules(cls, variant: Variant, own: dict[str, str]) -> tuple[str, list[str]]:
        """Return the name of the rule set to send to the program, and no differences."""
        if name := own.pop("variant", None) or shipped_name(variant):
            return name, []
        raise InputError(
            f"cannot be sent the rules of {variant.name}, which is not a shipped rule set",
            remedy="give its name for them with option.variant=NAME",
        )

    def hear(self, text: str) -> tuple[str, str]:
        """Process a line from the program: store names, options and scores, and return the keyword of an answer."""
        words = text.split()
        if words[:1] == ["info"] and "score" in words:
            self.info = text
        elif words[:2] == ["id", "name"]:
            self.name = " ".join(words[2:])
        elif words[:2] == ["option", "name"] and len(self.options) < _MOST_OPTIONS:
            name = " ".join(words[2 : words.index("type") if "type" in words else None])
            self.options[name.lower()] = name
        return (words[0] if words and words[0] in _ANSWERS else "", "")

    def greet(self, process: Process, seconds: float) -> None:
        """Send ``uci`` and wait for ``uciok``."""
        process.ask("uci\n", "uciok", seconds)

    def settings(self) -> dict[str, str]:
        """Return the options to send. Raise InputError for a player's setting that the program has not announced.

        Options shared by all players are left out if the program has not announced them.
        """
        options, own = self.game.options, self.game.own
        if unknown := sorted(name for name in own if name.lower() not in self.options):
            raise InputError(f"has no option {excerpt(unknown[0])}")
        once("option", map(str.lower, own))
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
        said = {"variant": self.game.rules} | self.settings()
        process.ask("".join([*map(option_line, said.items()), "ucinewgame\nisready\n"]), "readyok", seconds)

    def ask(self, process: Process, board: Board, limits: SearchLimits, seconds: float) -> Answer:
        """Send the whole game and wait for the program's move."""
        start = opening_of(board)
        known = str(start) == self.game.variant.start_position
        words = ["position", "startpos" if known else self.said(start)]
        if board.ply:
            words += ["moves", *map(self.said, board.move_stack)]
        return process.ask(f"{' '.join(words)}\n{go(limits)}\n", "bestmove", seconds)

    def said(self, one: Position | Move) -> str:
        """Return a position or a move in the notation of the protocol."""
        return str(one)

    def read(self, answer: Answer) -> Choice:
        """Return the move with the score and statistics of the last ``info`` line, as far as they can be parsed."""
        move = read_move(answer.text.split()[1], self.game.variant.size).said.move
        said: dict[str, int] = {}
        for name, value in pairwise(answer.info.split()):
            if name in ("depth", "nodes", "tbhits", "cp", "mate") and _NUMBER.fullmatch(value):
                said.setdefault(name, int(value))
        depth, nodes, tbhits = (max(said.get(name, 0), 0) for name in ("depth", "nodes", "tbhits"))
        mate, score = said.get("mate"), said.get("cp")
        if mate is not None and 0 < abs(mate) < MATE:
            score = MATE - mate if mate > 0 else -MATE - mate
        else:
            mate = None
        return Choice(move, score, mate, depth, nodes, (move,), tbhits)


def option_line(said: tuple[str, str]) -> str:
    """Return the line that sets an option."""
    return f"setoption name {said[0]} value {' '.join(said[1].split())}\n"
