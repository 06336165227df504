"""The complete solution of a game: the value of every position reachable from the start.

First, all of the game's tiers are solved. Then the reachable positions are marked, from the highest tier downwards, so
that captures lead only to tiers that are processed later. Classes are formed under the start's symmetries, not the
board's. Either all positions in an orbit are then reachable or none are. The sizes of the reachable orbits therefore
add up to the number of reachable positions without symmetry.

A move limit is applied only when values are read. Every position is valued as if the game began with this position, so
a win or loss that takes more plies than the limit is not forced. The reachable positions are those that a game can
reach within the limit.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from retrograde.solver.build import build_tablebase, stored_items
from retrograde.solver.kernels.context import Marking
from retrograde.solver.kernels.reach import NEW, count_values, mark_successors
from retrograde.solver.passes import SolverError, on_threads
from retrograde.solver.tier_graph import CLASSES_A_SECOND, generations, least_classes, tier_graph
from retrograde.solver.tier_solver import TierSolver
from retrograde.tablebase.bulk_probing import value_table
from retrograde.tablebase.querying import mutual_zugzwangs
from retrograde.tablebase.store import tier_name
from retrograde.tablebase.writer import create
from tablut.board import Board
from tablut.engine.kernel_records import directory
from tablut.engine.layout import new_board
from tablut.errors import THREADS, InputError, numbers
from tablut.indexing import PlacementIndex
from tablut.indexing.tier_kernels import rank_boards, unrank_entries
from tablut.indexing.tier_tables import tier_tables
from tablut.indexing.values import CODES, code_of, is_decided, plies_of, value_of_code
from tablut.position import SIDES, Position
from tablut.prober import PositionValues
from tablut.variants import as_variant
from tablut.work.progress import Observer, duration, plural, size_text

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

    from retrograde.solver.kernels.context import Context
    from retrograde.tablebase.store import Store
    from symmetry import Symmetry
    from tablut.position import SideName
    from tablut.variants import VariantLike

Sides: TypeAlias = "tuple[NDArray[np.uint16], NDArray[np.uint16]]"
"""Items of a tier, with white and with black to move."""
_STEP = 1 << 20
_BYTES = 6
"""Bytes of memory for each entry: two items and two marks."""


@dataclass(frozen=True)
class ValueCounts:
    """Numbers of positions by code, that is, by their value for the side to move.

    ``classes`` counts positions up to symmetry, and ``positions`` counts all positions.
    """

    classes: NDArray[np.int64]
    positions: NDArray[np.int64]

    def totals(self, *, up_to_symmetry: bool = False) -> tuple[int, int, int]:
        """Return the numbers of wins, of positions where neither side can force a win, and of losses."""
        counts = self.classes if up_to_symmetry else self.positions
        return int(counts[2::2].sum()), int(counts[0]), int(counts[1::2].sum())

    def deepest(self) -> int:
        """Return the greatest distance to the end of the game, in plies, or 0 if no position is won or lost."""
        found = np.flatnonzero(self.classes[1:])
        return int(found[-1] + 1) >> 1 if len(found) else 0


class SolvedGame(PositionValues):
    """A variant, and the value of every position reachable from its start.

    Each position is valued as if the game began with this position. Under a move limit, a win or loss that takes longer
    than the limit is therefore not forced.

    Parameters
    ----------
    solver : TierSolver
        A solver that has solved all of its tiers.
    marks : dict
        Marks on the entries that can be reached from the start, for each material, with white and with black to move.

    Attributes
    ----------
    variant : Variant
        The rule set.
    counts : dict of (attackers, defenders, side) to ValueCounts
        Numbers of reachable positions, by material and side to move.
    mutual_zugzwangs : dict of {'full', 'half'} to int
        Numbers of mutual zugzwangs, up to symmetry, that are reachable with either side to move. In a ``full`` mutual
        zugzwang, whichever side is to move loses. In a ``half`` mutual zugzwang, one side loses if it is to move, and
        neither side can force a win if the other side is to move.
    """

    def __init__(self, solver: TierSolver, marks: Marks) -> None:
        self.variant = solver.variant
        limit = self.variant.rules.move_limit
        self._solver, self._marks = solver, marks
        # The kernels receive only addresses. This variable keeps the arrays alive.
        context = solver.new_context(solver.variant.defenders)
        places = directory(context)
        self.counts: dict[tuple[int, int, SideName], ValueCounts] = {}
        for tier, material in enumerate(solver.materials):
            for side, name in enumerate(SIDES):
                classes, positions = np.zeros(CODES, dtype=np.int64), np.zeros(CODES, dtype=np.int64)
                count_values(places, tier, solver.items[material][side], marks[material][side], classes, positions)
                if limit is not None:
                    for counts in (classes, positions):
                        counts[0] += counts[2 * limit + 2 :].sum()
                        counts[2 * limit + 2 :] = 0
                self.counts[(*material, name)] = ValueCounts(classes, positions)
        self.mutual_zugzwangs = self._find_zugzwangs()

    @property
    def group(self) -> tuple[Symmetry, ...]:
        """Symmetries that preserve the start. Classes are formed under these symmetries."""
        return self._solver.group

    def total(self, side: SideName | None = None, material: tuple[int, int] | None = None) -> ValueCounts:
        """Return the total counts for a given side to move and material.

        By default, the counts include both sides and all tiers.

        Parameters
        ----------
        side : str, optional
            ``white`` or ``black``.
        material : (int, int), optional
            Attackers and defenders.

        Returns
        -------
        ValueCounts
            The sums.
        """
        chosen = [
            counts
            for (attackers, defenders, name), counts in self.counts.items()
            if side in (None, name) and material in (None, (attackers, defenders))
        ]
        classes, positions = np.sum([(counts.classes, counts.positions) for counts in chosen], axis=0)
        return ValueCounts(classes, positions)

    def _stored(self, position: Position) -> int:
        """Return the value of an undecided position, whether or not it is reachable."""
        material = position.material
        if material not in self._solver.items:
            raise InputError(f"is not an undecided position of {self.variant.name}", subject=f"position '{position}'")
        entry = self._solver.tier_index(material).rank(position)
        return int(value_of_code(code_of(int(self._solver.items[material][position.side == "b"][entry]))))

    def deepest(self) -> Position | None:
        """Return a reachable position whose win or loss takes the most plies. The first in tier order is chosen.

        Returns
        -------
        Position or None
            The position, or None if no reachable position is won or lost.
        """
        longest = max((counts.deepest(), -number) for number, counts in enumerate(self.counts.values()))
        if longest[0] == 0:
            return None
        attackers, defenders, side = list(self.counts)[-longest[1]]
        number = SIDES.index(side)
        items = self._solver.items[attackers, defenders][number]
        reached = self._marks[attackers, defenders][number] != 0
        entry = int(np.flatnonzero(reached & is_decided(items) & (plies_of(items) == longest[0]))[0])
        index = self._solver.tier_index((attackers, defenders))
        return index.unrank(entry, "w" if side == "white" else "b")

    def _find_zugzwangs(self) -> dict[str, int]:
        counts, values = {"full": 0, "half": 0}, value_table(self.variant.rules.move_limit)
        for material, sides in self._solver.items.items():
            marks = self._marks[material]
            both = (marks[0] != 0) & (marks[1] != 0)
            found = mutual_zugzwangs(*(values[code_of(items[both])] for items in sides))
            for kind, mask in found.items():
                counts[kind] += int(mask.sum())
        return counts


def memory_needed(variant: VariantLike) -> int:
    """Return the approximate number of bytes of memory that are needed to solve a variant."""
    variant = as_variant(variant)
    order = len(variant.start_symmetries)
    return _BYTES * PlacementIndex(variant).size // order


@numbers(threads=THREADS)
def solve_game(
    variant: VariantLike, *, threads: int = 1, store: Path | str | None = None, observer: Observer | None = None
) -> SolvedGame:
    """Solve all positions reachable from the start of a variant.

    Parameters
    ----------
    variant : Variant, str or path-like
        The game, on a reduced board. `memory_needed` returns the memory that a solution takes.
    threads : int
        Number of threads.
    store : Path or str, optional
        Tablebase where each tier is saved once it is solved. The tablebase is created if it is missing. Tiers that it
        already contains are not solved again.
    observer : Observer, optional
        Receives progress reports, as a lower bound on the number of classes solved.

    Returns
    -------
    SolvedGame
        The solution.

    Raises
    ------
    InputError
        If the start is decided.
    TablebaseError
        If the store belongs to another game.

    Examples
    --------
    >>> from tablut.variants import load_variant
    >>> solved = solve_game(load_variant("ashton-5-4v0"))
    >>> solved.total("white").totals(up_to_symmetry=True), solved.total("black").totals(up_to_symmetry=True)
    ((8525, 0, 286), (2565, 0, 6142))
    """
    variant = as_variant(variant)
    over = Board(variant).outcome()
    if over is not None and (over.termination != "no_moves" or variant.rules.no_moves == "either_after_ply"):
        raise InputError(
            f"has a decided start ({over.how}: {over.winner} has won)",
            subject=f"variant {variant.name}",
            remedy="choose rules with an undecided start",
        )
    watcher, graph = observer or Observer(), tier_graph(variant)
    materials = [material for tiers in generations(graph) for material in tiers]
    solver = TierSolver(variant, materials, variant.start_symmetries, threads)
    classes = least_classes(graph, len(solver.group if store is None else variant.symmetries))
    stored = [] if store is None else create(store, variant, materials).tiers()
    whole = sum(classes[material] for material in materials if material not in stored)
    kind = f"tiers (the other {len(stored)} are stored)" if stored else "tiers"
    memory, seconds = size_text(memory_needed(variant)), whole / CLASSES_A_SECOND / threads
    if whole:
        watcher.announce(
            f"{len(materials) - len(stored)} {kind}, at least {plural(whole, 'class')}: {memory} of memory, "
            f"about {duration(seconds)}",
            seconds,
        )
    if store is not None:
        # The whole solution will be in memory, so no tier needs to be built in slices.
        built = build_tablebase(store, variant, None, threads=threads, memory=sys.maxsize, observer=watcher)
        solver.items = _stored_items_of(built, solver)
    else:
        watcher.begin("tiers", whole)
        for material in materials:
            name = tier_name(material)
            solver.solve(material, advanced=lambda step, name=name: watcher.note(f"{name}: {step}"))  # type: ignore[misc]
            watcher.advance(classes[material])
    return SolvedGame(solver, mark_reached(solver, watcher.note))


def _stored_items_of(store: Store, solver: TierSolver) -> dict[tuple[int, int], Sides]:
    """Return the stored tiers' items in the order of a solver's index.

    A store indexes its tiers under all of the rules' symmetries. The solver may use only those of the start.
    """
    found: dict[tuple[int, int], Sides] = {}
    variant = solver.variant
    index = None if len(solver.group) == len(variant.symmetries) else tier_tables(variant, solver.materials)
    for tier, material in enumerate(solver.materials):
        items = found[material] = stored_items(store, material)
        if index is None:
            continue
        size = solver.size(material)
        carried = found[material] = np.empty(size, dtype=np.uint16), np.empty(size, dtype=np.uint16)
        for start in range(0, size, _STEP):
            entries = np.arange(start, min(start + _STEP, size), dtype=np.int64)
            boards = new_board(variant.size, len(entries))
            unrank_entries(solver.tables, solver.index, tier, entries, 0, boards)
            there = np.empty_like(entries)
            rank_boards(solver.tables, index, boards, np.empty(len(boards), dtype=np.int32), there)
            for to, side in zip(carried, items, strict=True):
                to[entries] = side[there]
    return found


# -- the positions reachable from the start, as marks parallel to the items -------------------


Marks: TypeAlias = "dict[tuple[int, int], tuple[NDArray[np.uint8], ...]]"
"""Marks of each material, with white and with black to move; see `retrograde.solver.kernels.reach`."""


def mark_reached(solver: TierSolver, tell: Callable[[str], None]) -> Marks:
    """Mark every entry reachable from the start, and return the marks.

    Tiers are processed downwards, and captures lead only to tiers that come later. Under a move limit, however,
    positions are marked ply by ply, up to the limit.
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
    contexts = [solver.new_context(variant.defenders) for _ in range(solver.threads)]

    def mark_side(tier: int, side: int) -> int:
        """Mark the successors of a tier's newly marked positions with one side to move. Return the number of new marks.

        Only the new marks in the same tier are counted.
        """
        rows, both = solver.rows(tier), marks[solver.materials[tier]]
        parts = min(rows, 32 * solver.threads) if solver.threads > 1 else 1
        task = Marking(tier, side, both[side], both[1 - side], addresses)

        def run(context: Context, part: int) -> int:
            fresh = int(mark_successors(directory(context), task, part * rows // parts, (part + 1) * rows // parts))
            if fresh < 0:
                raise SolverError(f"{variant.name}: a move from tier {solver.materials[tier]} leads out of the index")
            return fresh

        return on_threads(contexts, range(parts), run)

    tiers = range(len(solver.materials))
    limit = variant.rules.move_limit
    for ply in range(limit or 0):
        side = ((start.side == "b") + ply) & 1
        tell(f"positions reached in {plural(ply + 1, 'ply')}")
        new = [tier for tier in tiers if (marks[solver.materials[tier]][side] == NEW).any()]
        if not new:
            break
        for tier in new:
            mark_side(tier, side)
    for tier in reversed(tiers) if limit is None else ():
        attackers, defenders = solver.materials[tier]
        tell(f"{attackers}v{defenders}: reachable positions")
        while mark_side(tier, 0) + mark_side(tier, 1):
            pass
    return marks
