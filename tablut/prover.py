"""What analysis asks of a proof search, and how it finds one.

The protocol stands here, below both sides, as `tablut.prober` does for tables: players and
analysis do not import the solver. A package that can prove registers a function under
the entry point group ``tablut.provers``; it takes a variant and a number of nodes and
returns a `Prover`, or None if it has nothing for that variant.
"""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import TYPE_CHECKING, NamedTuple, Protocol

from tablut.variants import as_variant

if TYPE_CHECKING:
    from tablut.position import Move, Position
    from tablut.prober import Wdl
    from tablut.variants import VariantLike

__all__ = ["Proved", "Prover", "find_prover"]


class Proved(NamedTuple):
    """What was proved about a position.

    Attributes
    ----------
    wdl : {'win', 'draw', 'loss', 'unresolved'}
        For the side to move, the position being the first of its game.
    dtm : int or None
        Plies to the end under best play; None for no win or loss, or where it is not proved.
    best : tuple of Move
        The first moves that attain ``dtm``; empty if that is None.
    """

    wdl: Wdl
    dtm: int | None
    best: tuple[Move, ...]


class Prover(Protocol):
    """A proof search of one variant."""

    def prove(self, position: Position, plies_left: int | None) -> Proved | None:
        """Return what can be proved of a position, or None if the nodes run out first.

        Parameters
        ----------
        position : Position
            Undecided, of the prover's variant.
        plies_left : int or None
            Plies before the game is drawn; None without a limit.

        Returns
        -------
        Proved or None
            True whatever was played before, but for repetitions of earlier positions.
        """


def find_prover(variant: VariantLike, nodes: int) -> Prover | None:
    """Return what can prove positions of a variant.

    Parameters
    ----------
    variant : Variant, str or path-like
        The rule set.
    nodes : int
        Moves that it may make for each position.

    Returns
    -------
    Prover or None
        None if no installed package can.
    """
    rules = as_variant(variant)
    for entry in entry_points(group="tablut.provers"):
        prover: Prover | None = entry.load()(rules, nodes)
        if prover is not None:
            return prover
    return None
