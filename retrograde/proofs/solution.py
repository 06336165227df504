"""What is asked of a solver and what it answers: limits, proven bounds, the solution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from tablut.indexing.values import Wdl
    from tablut.position import Move, Position
    from tablut.variants import Variant

__all__ = ["Bounds", "ProofLimits", "Solution", "Source"]

Source = Literal["search", "tablebase", "exhaustion", "rules"]


@dataclass(frozen=True)
class ProofLimits:
    """How much work a solver may do.

    Attributes
    ----------
    nodes : int
        Moves made on the board.
    seconds : float or None
        Wall time; None for no limit. Checked every quarter of a second or so.
    memory_bytes : int
        Memory of the transposition tables.
    positions : int
        Most positions of an exhaustive listing; 0 for none.
    """

    nodes: int = 50_000_000
    seconds: float | None = None
    memory_bytes: int = 256 << 20
    positions: int = 250_000


@dataclass(frozen=True)
class Bounds:
    """What has been proved about one side's chances."""

    win_within: int | None = None
    no_win_within: int = -1
    never: bool = False


@dataclass(frozen=True)
class Solution:
    """The truth about a position, as far as it was proved.

    Attributes
    ----------
    variant : Variant
        The rule set.
    position : Position
        What was asked.
    status : {'proved', 'unknown'}
        ``proved`` if value, distance, first moves and line are, all of them; else what stands
        in the other fields is proved all the same, and ``reason`` says what is missing.
    wdl : {'win', 'draw', 'loss', 'unresolved'} or None
        For the side to move; None if unknown.
    dtm : int or None
        Plies to the end under best play, if a win or a loss and if proved to be shortest.
    line : tuple of Move
        Best play by both: ``dtm`` plies, to the end, if the status is ``proved``.
    winning_moves : tuple of Move
        The first moves that attain ``dtm``, exactly: the winner's shortest wins, the
        loser's longest defences. Empty where there is no ``dtm``.
    other_winning_moves : tuple of Move or None
        Moves that win, but later; None if they were not asked for.
    open_moves : tuple of Move
        First moves of which it is not known whether they belong to the last two.
    bounds : dict
        `Bounds` of ``white`` and ``black``.
    nodes : int
        Moves made on the board by the search.
    seconds : float
        Wall time, compiling left out.
    source : {'search', 'tablebase', 'exhaustion', 'rules'}
        What proved it; ``rules``: the side to move has no move.
    reason : str
        Why the status is unknown; empty if it is not.
    """

    variant: Variant
    position: Position
    status: Literal["proved", "unknown"]
    wdl: Wdl | None
    dtm: int | None
    line: tuple[Move, ...]
    winning_moves: tuple[Move, ...]
    other_winning_moves: tuple[Move, ...] | None
    open_moves: tuple[Move, ...]
    bounds: dict[Literal["white", "black"], Bounds]
    nodes: int
    seconds: float
    source: Source
    reason: str = ""

    @property
    def winner(self) -> Literal["white", "black"] | None:
        """Who wins, if that is proved."""
        if self.wdl not in ("win", "loss"):
            return None
        return "white" if (self.position.side == "w") == (self.wdl == "win") else "black"
