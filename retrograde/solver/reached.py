"""What the start of a game reaches: marks beside the items of its tiers."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from retrograde.solver.kernels.reach import NEW, mark_successors
from retrograde.solver.kernels.task import Marking
from retrograde.solver.tier_solver import SolverError
from tablut.engine.records import directory
from tablut.position import Position

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from retrograde.solver.kernels.workspace import Desk
    from retrograde.solver.tier_solver import TierSolver

Marks: TypeAlias = "dict[tuple[int, int], tuple[NDArray[np.uint8], ...]]"
"""By material, what is marked with white and with black to move; see `retrograde.solver.kernels.reach`."""


def mark_reached(solver: TierSolver, tell: Callable[[str], None]) -> Marks:
    """Return the marks of all that the start reaches.

    Tiers are gone through downwards, so that captures only ever mark what is still to come;
    under a move limit ply by ply, as far as it goes.
    """
    variant = solver.variant
    marks: Marks = {
        material: tuple(np.zeros(solver.size(material), dtype=np.uint8) for _ in range(2))
        for material in solver.materials
    }
    addresses = np.array(
        [side.ctypes.data for material in solver.materials for side in marks[material]], dtype=np.int64
    )
    start = Position.parse(variant.start_position, variant.size)
    index = solver.tier_index(start.material)
    marks[start.material][start.side == "b"][index.rank(start)] = NEW
    desks = [solver.new_desk(variant.defenders) for _ in range(solver.threads)]
    rows = [solver.rows(tier) for tier in range(len(solver.materials))]
    limit = variant.rules.move_limit
    if limit is not None:
        _mark_plies(solver, tell, limit, start.side == "b", rows, marks, addresses, desks)
        return marks
    for tier in reversed(range(len(solver.materials))):
        attackers, defenders = solver.materials[tier]
        tell(f"{attackers}v{defenders}: what the start reaches")
        fresh = 1
        while fresh:
            fresh = sum(
                _mark_side(solver, tier, side, rows[tier], marks[attackers, defenders], addresses, desks)
                for side in (0, 1)
            )
    return marks


def _mark_plies(
    solver: TierSolver,
    tell: Callable[[str], None],
    limit: int,
    first: int,
    rows: list[int],
    marks: Marks,
    addresses: NDArray[np.int64],
    desks: list[Desk],
) -> None:
    """Mark ply by ply what the start reaches within so many plies; who is to move changes with every ply."""
    for ply in range(limit):
        side = (first + ply) & 1
        tell(f"what the start reaches in {ply + 1} plies")
        new = [tier for tier, material in enumerate(solver.materials) if (marks[material][side] == NEW).any()]
        if not new:
            break
        for tier in new:
            _mark_side(solver, tier, side, rows[tier], marks[solver.materials[tier]], addresses, desks)


def _mark_side(
    solver: TierSolver,
    tier: int,
    side: int,
    rows: int,
    marks: tuple[NDArray[np.uint8], ...],
    addresses: NDArray[np.int64],
    desks: list[Desk],
) -> int:
    parts = min(rows, 32 * solver.threads) if solver.threads > 1 else 1
    free = list(desks)
    task = Marking(tier, side, marks[side], marks[1 - side], addresses)

    def run(part: int) -> int:
        desk = free.pop()
        try:
            first, last = part * rows // parts, (part + 1) * rows // parts
            fresh = mark_successors(directory(desk), task, first, last)
        finally:
            free.append(desk)
        if fresh < 0:
            raise SolverError(
                f"{solver.variant.name}: a move from tier {solver.materials[tier]} leads out of the index"
            )
        return int(fresh)

    with ThreadPoolExecutor(max_workers=solver.threads) as pool:
        return sum(pool.map(run, range(parts)))
