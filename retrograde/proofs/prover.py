"""The proof search as `tablut.prober` knows it: a position in, a proved value out, within nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from retrograde.proofs.solution import ProofLimits
from retrograde.proofs.solver import Solver
from tablut.prober import Proved, find_prober

if TYPE_CHECKING:
    from tablut.position import Position
    from tablut.prober import Prover
    from tablut.variants import Variant

_MEMORY: Final = 32 << 20
"""Bytes of the proof search's table: it is asked once a ply, for few nodes."""


class _ProofSearch:
    """See `tablut.prober.Prover`."""

    def __init__(self, variant: Variant, nodes: int) -> None:
        # No exhaustive listing: it would take far more than the nodes that were granted.
        limits = ProofLimits(nodes=nodes, memory_bytes=_MEMORY, positions=0)
        self._solver = Solver(variant, limits, find_prober(variant))

    def prove(self, position: Position, plies_left: int | None) -> Proved | None:
        """See `tablut.prober.Prover.prove`."""
        found = self._solver.solve(position, plies_left=plies_left)
        if found.wdl is None:
            return None
        return Proved(found.wdl, found.dtm, found.winning_moves if found.dtm is not None else ())


def prover_for(variant: Variant, nodes: int) -> Prover | None:
    """Return the proof search of a variant."""
    return _ProofSearch(variant, nodes)
