"""What search, players and analysis ask of tablebases and of proof searches, and how they find them.

The protocols stand here, below both sides: search does not import the solver. A package registers two
functions under the entry point group ``tablut.probers``. ``tables`` takes a variant and a store (or None for what
ships) and returns a `Prober`; ``proofs`` takes a variant and a number of nodes and returns a `Prover`. Each returns
None if it has nothing on that variant.
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


class MissingTableError(TablutError, LookupError):
    """A position that no table covers."""


class Prober(Protocol):
    """Exact values of positions, without history.

    Every position is taken for the first of its game: a move limit leaves it all its plies.
    """

    variant: Variant

    def covers(self, attackers: int, defenders: int) -> bool:
        """Return whether positions of a material are known."""

    def probe(self, position: Position) -> Verdict:
        """Return the verdict on an undecided position."""

    def probe_words(self, words: NDArray[np.uint64]) -> NDArray[np.int16]:
        """Return the values of packed undecided positions."""


@runtime_checkable
class TierProber(Prober, Protocol):
    """A prober that also gives its values to compiled code.

    They are those of `Prober.probe_words`, without history: a search allows for the plies made.
    """

    def load_tiers(self, memory: int) -> TierValues | None:
        """Return the values of all tiers that fit into memory, the tiers with the fewest men first."""


class Proved(NamedTuple):
    """What was proved about a position."""

    wdl: Wdl
    dtm: int | None
    best: tuple[Move, ...]


class Prover(Protocol):
    """A proof search of one variant."""

    def prove(self, position: Position, plies_left: int | None) -> Proved | None:
        """Return what can be proved of a position, or None if the nodes run out first."""


@cache
def _registered(name: str) -> tuple[EntryPoint, ...]:
    """Return what installed packages have registered; looking for it takes tens of milliseconds, so it is kept."""
    return tuple(entry_points(group="tablut.probers", name=name))


def _first(name: str, *asked: Any) -> Any:
    """Return the first that answers, or None."""
    return next((found for entry in _registered(name) if (found := entry.load()(*asked)) is not None), None)


def find_prober(variant: VariantLike, store: Path | str | None = None) -> Prober | None:
    """Return what can be probed about a variant."""
    variant = as_variant(variant)
    prober: Prober | None = _first("tables", variant, store)
    if prober is None and store is not None:
        raise InputError(f"tablebase {store}: no installed package probes it for {variant.name}")
    return prober


def find_prover(variant: VariantLike, nodes: int) -> Prover | None:
    """Return what can prove positions of a variant."""
    prover: Prover | None = _first("proofs", as_variant(variant), nodes)
    return prover
