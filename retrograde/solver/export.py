"""A solved board as a tablebase: every value of it, in the order that stores have."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from retrograde.solver.tier_solver import codes_of
from retrograde.tablebase.store import open_store
from retrograde.tablebase.writer import create, write_tier, writing
from tablut.indexing.tier_kernels import rank_boards, unrank_entries
from tablut.indexing.tier_tables import tier_tables
from tablut.indexing.tiers import TierIndex
from tablut.indexing.values import ALIAS_CODE
from tablut.store.files import store_path

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from retrograde.solver.tier_solver import TierSolver
    from retrograde.tablebase.store import Store
    from tablut.indexing.tier_tables import TierTables

_STEP = 1 << 20


def store_solution(solver: TierSolver, root: Path | str) -> Store:
    """Write all tiers of a solver to a store that does not have them yet.

    A store's tiers are indexed under all symmetries of the rules; the solver may have used
    fewer, those of the start.
    """
    root = store_path(root)
    variant = solver.variant
    whole = tier_tables(variant, solver.materials)
    store = create(root, variant, solver.materials)
    with writing(root):
        for tier, material in enumerate(solver.materials):
            if store.has(*material):
                continue
            size = int(whole.tier.size[tier])
            white, black = (np.empty(size, dtype=np.uint16) for _ in range(2))
            boards = np.empty((min(size, _STEP), 2 * variant.size + 4), dtype=np.uint32)
            for start in range(0, size, _STEP):
                entries = np.arange(start, min(start + _STEP, size), dtype=np.int64)
                part = boards[: len(entries)]
                unrank_entries(solver.tables, whole, tier, entries, 0, part)
                own, home = _ranks(solver.index, solver, part), _ranks(whole, solver, part)
                for codes, items in zip((white, black), solver.items[material], strict=True):
                    found = codes_of(items[own])
                    # An alias is ranked elsewhere.
                    found[home != entries] = ALIAS_CODE
                    codes[start : start + len(entries)] = found
            write_tier(root, TierIndex(variant, *material), white, black)
    return open_store(root)


def _ranks(index: TierTables, solver: TierSolver, boards: NDArray[np.uint32]) -> NDArray[np.int64]:
    entries = np.empty(len(boards), dtype=np.int64)
    rank_boards(solver.tables, index, boards, np.empty(len(boards), dtype=np.int32), entries)
    return entries
