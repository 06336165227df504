"""TaflZero's protocol, a variant of UCI with a different FEN: engines that speak it, and a front for our engine.

Source for the protocol: ``README.md`` of https://github.com/sovelin/taflzero.
"""

from __future__ import annotations

import re
from typing import ClassVar

from tablut.errors import InputError
from tablut.formats.reading import write_fen, write_fen_move
from tablut.play.bridges.fronts import Front, in_points
from tablut.play.bridges.programs import Process, built_in
from tablut.play.bridges.uci import UciWords, option_line
from tablut.play.search.limits import SearchLimits
from tablut.position import Move, Position
from tablut.variants import Variant


class TaflZeroWords(UciWords):
    """UCI without rules and without ``ucinewgame``, and with a single limit for a move."""

    limits: ClassVar[tuple[str, ...]] = ("nodes", "movetime")

    @classmethod
    def rules(cls, variant: Variant, own: dict[str, str]) -> tuple[str, list[str]]:
        """Raise InputError if the rules differ from those of the program."""
        return built_in(variant, own)

    @classmethod
    def check(cls, limits: SearchLimits, *, elsewhere: bool) -> None:
        """Raise InputError for limits that the protocol cannot express, such as two limits together."""
        super().check(limits, elsewhere=elsewhere)
        if limits.nodes and limits.movetime:
            raise InputError("its protocol does not support nodes and movetime together", remedy="use only one of them")

    def begin(self, process: Process, seconds: float) -> None:
        """Send the options, which the program announces only after ``uciok``."""
        process.ask("isready\n", "readyok", seconds)
        process.ask(f"{''.join(map(option_line, self.settings().items()))}isready\n", "readyok", seconds)

    def said(self, one: Position | Move) -> str:
        """Return a position as FEN, or a move without a dash."""
        return write_fen_move(one) if isinstance(one, Move) else f"fen {write_fen(one)}"


# -- our engine in TaflZero's front ends -----------------------------------------------------------


class TaflZeroFront(Front):
    """Front that speaks the engine's usual protocol with FEN and moves in TaflZero's notation."""

    refusal: ClassVar[str] = "info string {}"
    sets: ClassVar[dict[str, tuple[str, ...]]] = {}

    def handle(self, line: str) -> bool:
        """Execute a line. The engine session itself keeps track of refused lines and checks the length of lines."""
        return self._obey(*(*line.split(None, 1), "", "")[:2])

    def _obey(self, command: str, rest: str) -> bool:
        if command == "quit":
            self._write("bye")
            return False
        return self._session.handle(f"{command} {rest.removeprefix('fen ') if command == 'position' else rest}")

    def _said(self, line: str) -> None:
        if line.startswith("bestmove"):
            line = line.replace("-", "").replace(" none", " (none)")
        elif line.startswith("info depth"):
            said, pv, moves = in_points(line).partition(" pv ")
            line = re.sub(r"nps (\d+) time (\d+) tbhits \d+", r"time \2 speed \1", said) + pv + moves.replace("-", "")
        self._write(line)
