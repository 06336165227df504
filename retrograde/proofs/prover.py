"""The proof search as `tablut.prover` knows it: a position in, a proved value out, within nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from retrograde.proofs.solution import ProofLimits
from retrograde.proofs.solver import Solver
from tablut.prober import find_prober
from tablut.prover import Proved

if TYPE_CHECKING:
    from tablut.position import Position
    from tablut.prover import Prover
    from tablut.variants import Variant

__all__ = ["prover_for"]

_MEMORY: Final = 32 << 20
"""Bytes of the proof search's table: it is asked once a ply, for few nodes."""


class _ProofSearch:
    """See `tablut.prover.Prover`."""

    def __init__(self, variant: Variant, nodes: int) -> None:
        # No exhaustive listing: it would take far more than the nodes that were granted.
        limits = ProofLimits(nodes=nodes, memory_bytes=_MEMORY, positions=0)
        self._solver = Solver(variant, limits, find_prober(variant))

    def prove(self, position: Position, plies_left: int | None) -> Proved | None:
        """See `tablut.prover.Prover.prove`."""
        found = self._solver.solve(position, plies_left=plies_left)
        if found.wdl is None:
            return None
        return Proved(found.wdl, found.dtm, found.winning_moves if found.dtm is not None else ())


def prover_for(variant: Variant, nodes: int) -> Prover | None:
    """Return the proof search of a variant.

    Parameters
    ----------
    variant : Variant
        The rule set.
    nodes : int
        Moves that it may make for each position.

    Returns
    -------
    Prover or None
        Always a prover: every rule set can be searched.

    Examples
    --------
    >>> from tablut.position import Position
    >>> from tablut.variants import load_variant
    >>> prover = prover_for(load_variant("ashton-5-4v0"), 10_000)
    >>> found = prover.prove(Position.parse("2b2/5/b1K1b/5/2b2 w", 5), None)
    >>> found.wdl, found.dtm, [str(move) for move in found.best]
    ('win', 3, ['c3-b3', 'c3-d3', 'c3-c2', 'c3-c4'])
    """
    return _ProofSearch(variant, nodes)
