"""Kernels around inlined functions of the players, which no player calls alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tablut.engine.jit import I64, advance, kernel, pointer
from tablut.engine.kernel_records import flat
from tablut.play.players.minimax import Evaluation, ended, estimate
from tablut.play.players.simple import PathTables, stands_on_path, victory_path

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tablut.engine.tables import Tables


@kernel
def values_of(
    tables: Tables,
    evaluation: Evaluation,
    boards: NDArray[np.uint32],
    winners: NDArray[np.int64],
    chooser: int,
    values: NDArray[np.int64],
) -> None:
    """Write what positions are worth to a side."""
    t, e, array = flat(tables), flat(evaluation), pointer(boards)
    for number in range(len(values)):
        board = advance(array, I64(number * boards.shape[1]))
        if winners[number] < 0:
            values[number] = estimate(t, e, board, I64(chooser))
        else:
            values[number] = ended(t, e, board, I64(chooser), winners[number])


@kernel
def find_path(tables: Tables, paths: PathTables, board: NDArray[np.uint32]) -> tuple[int, bool]:
    """Return the move of `victory_path`, or NO_MOVE, and whether the king `stands_on_path`."""
    t, p, array = flat(tables), flat(paths), pointer(board)
    return victory_path(t, p, array), stands_on_path(t, p, array)
