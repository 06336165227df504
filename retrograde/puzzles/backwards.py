"""Longer puzzles from shorter ones: two plies are put in front, as long as the win stays forced and single.

From a position that the side to move wins, moves are taken back: a quiet move of the
other side, after which *all* of its moves lose, then a quiet move of the winner, before
which one move only attains the distance.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from retrograde.proofs.win_search import Budget, WinSearch
from tablut.board import Board
from tablut.engine import engine_for
from tablut.position import Move, Position

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

    from retrograde.proofs.solution import ProofLimits, Solution
    from retrograde.proofs.solver import Solver
    from tablut.variants import Variant


def earlier_positions(variant: Variant, position: Position) -> list[Position]:
    """Return the undecided positions from which a legal move without capture leads to a position."""
    side = "w" if position.side == "b" else "b"
    found = []
    movers = "b" if side == "b" else "wK"
    for target in (cell for cell, piece in enumerate(position.cells) if piece in movers):
        for start in _reach(variant, target):
            cells = list(position.cells)
            if cells[start] != ".":
                continue
            cells[start], cells[target] = cells[target], "."
            before = Position("".join(cells), side)  # type: ignore[arg-type]
            earlier = Board(variant, before)
            if earlier.status() or earlier.outcome() is not None:
                continue
            move = Move(start, target, variant.size)
            if move not in earlier.legal_moves:
                continue
            earlier.push(move)
            if earlier.position.cells == position.cells and earlier.outcome() is None:
                found.append(before)
    return found


def _reach(variant: Variant, cell: int) -> list[int]:
    """Return the cells on the row and the column of a cell."""
    size = variant.size
    rank, file = divmod(cell, size)
    cells = [rank * size + other for other in range(size)] + [other * size + file for other in range(size)]
    return sorted({other for other in cells if other != cell})


def lengthen(
    solver: Solver, solution: Solution, limits: ProofLimits, rng: np.random.Generator, fits: Callable[[Position], bool]
) -> Solution | None:
    """Return the solution of a position whose win takes two plies more and begins with one move only."""
    variant, distance = solver.variant, solution.dtm
    assert distance is not None
    engine = engine_for(variant)
    winner = int(solution.position.side == "b")
    search = WinSearch(engine, winner, limits.memory_bytes // 2, Budget(limits))

    def _shuffled(position: Position) -> list[Position]:
        """Return the earlier positions in random order."""
        found = earlier_positions(variant, position)
        return [found[place] for place in rng.permutation(len(found))]

    for between in _shuffled(solution.position):
        board = engine.board(between.cells, between.side)
        search.budget = Budget(limits)
        if not search.within(board, distance + 1) or search.within(board, distance - 1) is not False:
            continue
        for before in _shuffled(between):
            if not fits(before):
                continue
            search.budget = Budget(limits)
            if search.within(engine.board(before.cells, before.side), distance) is not False:
                continue
            longer = solver.solve(before)
            if longer.status == "proved" and longer.dtm == distance + 2 and len(longer.winning_moves) == 1:
                return longer
    return None
