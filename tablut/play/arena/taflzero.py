"""The words of ``taflzero:COMMAND``: TaflZero's lines, UCI's with its own FEN, and ours for its front ends.

Facts of the protocol: ``README.md`` of https://github.com/sovelin/taflzero.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

from tablut.errors import InputError
from tablut.formats import fen
from tablut.formats.reading import read_move, read_position
from tablut.play.arena.fronts import Front
from tablut.play.arena.programs import Process, Rules, built_in
from tablut.play.arena.uci import UciWords, option_line
from tablut.play.search.limits import MATE

if TYPE_CHECKING:
    from tablut.play.search.limits import SearchLimits
    from tablut.variants import Variant


class TaflZeroWords(UciWords):
    """UCI without rules and without ``ucinewgame``; one limit a move."""

    limits: ClassVar[tuple[str, ...]] = ("nodes", "movetime")

    @classmethod
    def rules(cls, variant: Variant, own: dict[str, str]) -> Rules:
        """Refuse rules that are not those of the program."""
        return built_in(variant, own)

    @classmethod
    def check(cls, limits: SearchLimits, *, elsewhere: bool) -> None:
        """Refuse what it cannot say, two limits at once as well."""
        super().check(limits, elsewhere=elsewhere)
        if limits.nodes and limits.movetime:
            raise InputError("its protocol cannot say nodes and movetime at once; name one of them")

    def begin(self, process: Process, seconds: float) -> None:
        """Tell it options, which it names after ``uciok``."""
        process.ask("isready\n", "readyok", seconds)
        process.ask(f"{''.join(map(option_line, self.settings().items()))}isready\n", "readyok", seconds)

    def position(self, text: str) -> str:
        """Return a position as it is said."""
        return f"fen {fen.write_position(read_position(text, self.game.variant.size))}"

    def move(self, text: str) -> str:
        """Return a move as it is said."""
        return fen.write_move(read_move(text, self.game.variant.size).said.move)


# -- our engine in TaflZero's front ends -----------------------------------------------------------


class TaflZeroFront(Front):
    """Our engine's own lines, with FEN and moves as TaflZero writes them."""

    def _obey(self, word: str, rest: str) -> bool:
        if word == "quit":
            self._write("bye")
            return False
        return self._session.handle(f"{word} {rest.removeprefix('fen ') if word == 'position' else rest}")

    def _said(self, line: str) -> None:
        words = line.split()
        if words[0] == "bestmove":
            line = "bestmove (none)" if words[1] == "none" else f"bestmove {words[1].replace('-', '')}"
        elif words[:2] == ["info", "depth"]:
            said = dict(pairwise(words[: words.index("pv")]))
            if "mate" in said:
                plies = int(said["mate"])
                said["cp"] = str(MATE - plies if plies > 0 else -MATE - plies)
            score = f"score cp {said['cp']} " if "cp" in said else ""
            moves = " ".join(words[words.index("pv") + 1 :]).replace("-", "")
            line = (
                f"info depth {said['depth']} {score}nodes {said['nodes']} time {said['time']} "
                f"speed {said['nps']} pv {moves}"
            )
        self._write(line)

    def _refuse(self, why: str) -> None:
        self._write(f"info string {why}")
