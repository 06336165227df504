"""What search, puzzles and players ask of a tablebase, and how they find one.

The protocol stands here, below both sides: search does not import the solver. A
package that can probe registers a function under the entry point group
``tablut.probers``; it takes a variant and a store (or None for what ships with the
package) and returns a `Prober`, or None if it has nothing on that variant.
"""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from tablut.errors import InputError, TablutError
from tablut.indexing.values import MISSING, Verdict, Wdl, value_of, verdict_of, within_limit
from tablut.variants import as_variant

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from tablut.indexing.tier_values import TierValues
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
    """Values of positions, exact and without history: each the first of its game, which a move limit leaves all plies.

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
        attackers, defenders : int
            The material.

        Returns
        -------
        bool
            Whether all of them are.
        """

    def probe(self, position: Position) -> Verdict:
        """Return the verdict on an undecided position.

        Parameters
        ----------
        position : Position
            The position.

        Returns
        -------
        Verdict
            Its verdict.

        Raises
        ------
        MissingTableError
            If its material is not covered.
        InputError
            If it is no position of the variant.
        """

    def probe_words(self, words: NDArray[np.uint64]) -> NDArray[np.int16]:
        """Return the values of packed undecided positions, shape (n, W) to (n,); see `verdict_of`, `MISSING`.

        Parameters
        ----------
        words : ndarray of uint64, shape (n, W)
            The positions, packed.

        Returns
        -------
        ndarray of int16, shape (n,)
            The values.
        """


@runtime_checkable
class TierProber(Prober, Protocol):
    """A prober that also hands out its values, for compiled code to probe them.

    They are those of `Prober.probe_words`, without history: a search allows for the plies made.
    """

    def load_tiers(self, memory: int) -> TierValues | None:
        """Return the values of all tiers that fit into so many bytes, those of the fewest men first.

        Their index counts, too. None if no tier fits.

        Parameters
        ----------
        memory : int
            Bytes, for codes and index.
        """


def find_prober(variant: VariantLike, store: Path | None = None) -> Prober | None:
    """Return what can be probed about a variant.

    Parameters
    ----------
    variant : Variant, str or path-like
        The rule set; its values must be those of exactly these rules.
    store : Path, optional
        A tablebase; by default what ships with the installed packages.

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
    for entry in entry_points(group="tablut.probers"):
        prober: Prober | None = entry.load()(variant, store)
        if prober is not None:
            return prober
    if store is not None:
        raise InputError(f"tablebase {store}: no installed package probes it for {variant.name}")
    return None
