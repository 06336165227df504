"""Interfaces that let search, players and analysis use tablebases and proof searches.

The protocols are defined here so that the search does not have to import the solver. A package registers two functions
under the entry point group ``tablut.probers``: ``tables`` takes a variant and a store (or None for the built-in
tablebases) and returns a `Prober`; ``proofs`` takes a variant and a number of nodes and returns a `Prover`. Both return
None if they do not support the variant.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

from tablut.errors import InputError, TablutError
from tablut.variants import Variant, VariantLike, as_variant

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from tablut.indexing.tier_tables import TierValues
    from tablut.indexing.values import Verdict, Wdl
    from tablut.position import Move, Position

__all__ = ["MissingTableError", "Prober", "Proved", "ProvedWin", "Prover", "TierProber", "find_prober", "find_prover"]


class MissingTableError(TablutError, LookupError):
    """Error for a position that no tablebase covers."""


class Prober(Protocol):
    """A source of exact values of positions, each treated as the first position of a game."""

    variant: Variant

    def covers(self, attackers: int, defenders: int) -> bool:
        """Return whether the values of all positions with the given material are known."""

    def probe(self, position: Position) -> Verdict:
        """Return the verdict on an undecided position."""

    def probe_words(self, words: NDArray[np.uint64]) -> NDArray[np.int16]:
        """Return the values of undecided positions, given as packed words."""


@runtime_checkable
class TierProber(Prober, Protocol):
    """A prober that also makes the values of `Prober.probe_words` available to compiled code."""

    def load_tiers(self, memory: int) -> TierValues | None:
        """Return the values of as many tiers as fit into ``memory`` bytes. Tiers with fewer men take precedence."""


class Proved(NamedTuple):
    """The proved value of a position, together with the best moves."""

    wdl: Wdl
    dtm: int | None
    best: tuple[Move, ...]


class ProvedWin(NamedTuple):
    """Answer to the question whether the side to move can win within a number of plies.

    - ``wins``: Whether there is such a win, or None if the search was stopped or reached its node limit.
    - ``line``, ``plies``: Play to the end of the game, as far as it has been proved, and the number of plies.
    - ``nodes``: Number of moves made by the search.
    """

    wins: bool | None
    line: tuple[Move, ...]
    plies: int
    nodes: int


class Prover(Protocol):
    """A proof search for one variant."""

    def prove(self, position: Position, plies_left: int | None) -> Proved | None:
        """Return the proved value of a position, or None if the node limit is reached first."""

    def wins_within(self, position: Position, plies: int) -> ProvedWin:
        """Find out whether the side to move can force a win within a number of plies."""

    def stop(self) -> None:
        """Stop the proof that another thread is running, or the next one, within about a quarter of a second."""


@cache
def _registered(name: str) -> tuple[EntryPoint, ...]:
    """Return the entry points registered under a name. They are cached, because a lookup takes tens of milliseconds."""
    return tuple(entry_points(group="tablut.probers", name=name))


def _first(name: str, *arguments: Any) -> Any:
    """Return the first result of the registered functions that is not None, or None if there is no such result."""
    return next((found for entry in _registered(name) if (found := entry.load()(*arguments)) is not None), None)


def find_prober(variant: VariantLike, store: Path | str | None = None) -> Prober | None:
    """Return a prober for a variant, or None if no package has a tablebase for it."""
    variant = as_variant(variant)
    prober: Prober | None = _first("tables", variant, store)
    if prober is None and store is not None:
        raise InputError(f"cannot be probed for {variant.name} by any installed package", subject=f"tablebase {store}")
    return prober


def find_prover(variant: VariantLike, nodes: int) -> Prover | None:
    """Return a prover for a variant, or None if no package has one."""
    prover: Prover | None = _first("proofs", as_variant(variant), nodes)
    return prover
