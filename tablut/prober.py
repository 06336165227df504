"""What search, puzzles and players ask of a tablebase, and how they find one.

The protocol stands here, below both sides: search does not import the solver. A
package that can probe registers a function under the entry point group
``tablut.probers``; it takes a variant and a store (or None for what ships with the
package) and returns a `Prober`, or None if it has nothing on that variant.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from tablut.errors import InputError, TablutError
from tablut.indexing.values import MISSING, Verdict, Wdl, value_of, verdict_of, within_limit
from tablut.variants import as_variant

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tablut.indexing.tier_values import TierValues
    from tablut.locations import LocationLike
    from tablut.position import Position
    from tablut.variants import Variant, VariantLike

__all__ = [
    "MISSING",
    "MissingTableError",
    "Prober",
    "TierProber",
    "Verdict",
    "Wdl",
    "find_prober",
    "value_of",
    "verdict_of",
    "within_limit",
]


class MissingTableError(TablutError, LookupError):
    """A position that no table covers."""


class Prober(Protocol):
    """Exact values of positions, without history.

    Every position is taken for the first of its game: a move limit leaves it all its plies.

    Attributes
    ----------
    variant : Variant
        The rule set that the values belong to.
    """

    variant: Variant

    def covers(self, attackers: int, defenders: int) -> bool:
        """Return whether positions of a material are known.

        Parameters
        ----------
        attackers : int
            Number of attackers.
        defenders : int
            Number of defenders, the king not counted.

        Returns
        -------
        bool
            Whether `probe` answers for them.
        """

    def probe(self, position: Position) -> Verdict:
        """Return the verdict on an undecided position.

        Parameters
        ----------
        position : Position
            Undecided.

        Returns
        -------
        Verdict
            For the side to move.

        Raises
        ------
        MissingTableError
            If its material is not covered.
        InputError
            If it is not a position of the variant.
        """

    def probe_words(self, words: NDArray[np.uint64]) -> NDArray[np.int16]:
        """Return the values of packed undecided positions.

        Parameters
        ----------
        words : ndarray of uint64, shape (n, W)
            Packed positions; see `tablut.engine.packing`.

        Returns
        -------
        ndarray of int16, shape (n,)
            See `verdict_of`; `MISSING` where no table covers the position.
        """


@runtime_checkable
class TierProber(Prober, Protocol):
    """A prober that also gives its values to compiled code.

    They are those of `Prober.probe_words`, without history: a search allows for the plies made.
    """

    def load_tiers(self, memory: int) -> TierValues | None:
        """Return the values of all tiers that fit into memory, the tiers with the fewest men first.

        Parameters
        ----------
        memory : int
            Most bytes; the index counts, too.

        Returns
        -------
        TierValues or None
            None if no tier fits.
        """


@cache
def _registered() -> tuple[EntryPoint, ...]:
    """Return what installed packages have registered; looking for it takes tens of milliseconds, so it is kept."""
    return tuple(entry_points(group="tablut.probers"))


def find_prober(variant: VariantLike, store: LocationLike | None = None) -> Prober | None:
    """Return what can be probed about a variant.

    Parameters
    ----------
    variant : Variant, str or path-like
        The rule set; its values must be those of exactly these rules.
    store : Path, Remote or str, optional
        A tablebase, see `tablut.locations.as_location`; by default what ships with the installed packages.

    Returns
    -------
    Prober or None
        None if nothing ships for the variant.

    Raises
    ------
    InputError
        If a store is named that no installed package can probe for the variant.
    """
    variant = as_variant(variant)
    for entry in _registered():
        prober: Prober | None = entry.load()(variant, store)
        if prober is not None:
            return prober
    if store is not None:
        raise InputError(f"tablebase {store}: no installed package probes it for {variant.name}")
    return None
