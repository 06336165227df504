"""Between boards and the entries of tiers, compiled, one board or an array of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tablut.engine.jit import I64, advance, inlined, keep, kernel, pointer, trailing_zeros
from tablut.engine.kernels import toggle
from tablut.engine.layout import board_items, count_of, king_of, put_count, put_king, put_side
from tablut.engine.records import flat
from tablut.indexing.tier_kernels import SCRATCH, entry_of, men_of, tier_at

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tablut.engine.tables import Tables
    from tablut.indexing.tier_tables import TierTables

__all__ = ["men_of_board", "rank_boards", "set_board", "unrank_entries"]


@inlined
def men_of_board(t: Tables, board: NDArray[np.uint32], black: NDArray[np.uint8], white: NDArray[np.uint8]) -> None:
    """Write the cells of a board's attackers and of its defenders, each list ascending; O(size + men).

    Parameters
    ----------
    t : Tables
        The variant, flat.
    board : pointer to uint32
        The position.
    black, white : pointer to uint8
        Receive the cells.
    """
    king = king_of(t, board)
    attackers, defenders = I64(0), I64(0)
    for rank in range(t.size):
        row = I64(board[rank])
        while row:
            place = trailing_zeros(row)
            row &= row - 1
            cell = rank * t.size + (place & 15)
            if place < 16:
                black[attackers] = cell
                attackers += 1
            elif cell != king:
                white[defenders] = cell
                defenders += 1


@kernel
def rank_boards(
    tables: Tables,
    index: TierTables,
    boards: NDArray[np.uint32],
    tiers: NDArray[np.int32],
    entries: NDArray[np.int64],
) -> None:
    """Write the tier and the entry of each position; -1 where there is none.

    Parameters
    ----------
    tables : Tables
        The variant.
    index : TierTables
        The tiers.
    boards : ndarray of uint32, shape (n, 2N + 4)
        The positions.
    tiers : ndarray of int32, shape (n,)
        Receives the numbers of the tiers.
    entries : ndarray of int64, shape (n,)
        Receives the entries.
    """
    t, x = flat(tables), flat(index)
    soldiers, numbers = np.empty(2 * t.cells, dtype=np.uint8), np.empty(SCRATCH, dtype=np.int64)
    black, scratch = pointer(soldiers), pointer(numbers)
    white = advance(black, t.cells)
    for number in range(len(boards)):
        board = advance(pointer(boards), number * board_items(t.size))
        attackers, defenders = count_of(t, board, 1), count_of(t, board, 0)
        tier = tier_at(x, attackers, defenders)
        tiers[number], entries[number] = tier, -1
        if tier >= 0:
            men_of_board(t, board, black, white)
            entries[number] = entry_of(x, tier, king_of(t, board), black, white, scratch)
    keep(soldiers)
    keep(numbers)


@kernel
def unrank_entries(
    tables: Tables,
    index: TierTables,
    tier: int,
    entries: NDArray[np.int64],
    side: int,
    boards: NDArray[np.uint32],
) -> None:
    """Write the positions of some entries of a tier to boards.

    Parameters
    ----------
    tables : Tables
        The variant.
    index : TierTables
        The tiers.
    tier : int
        The number of the tier.
    entries : ndarray of int64, shape (n,)
        The entries.
    side : int
        Who is to move: 0 white, 1 black.
    boards : ndarray of uint32, shape (n, 2N + 4)
        Receives the positions.
    """
    t, x = flat(tables), flat(index)
    soldiers, numbers = np.empty(2 * t.cells, dtype=np.uint8), np.empty(SCRATCH, dtype=np.int64)
    black, scratch = pointer(soldiers), pointer(numbers)
    white = advance(black, t.cells)
    for number in range(len(entries)):
        board = advance(pointer(boards), number * board_items(t.size))
        king = men_of(x, tier, entries[number], black, white, scratch)
        set_board(t, x, tier, king, black, white, side, board)
    keep(soldiers)
    keep(numbers)


@inlined
def set_board(
    t: Tables,
    x: TierTables,
    tier: int,
    king: int,
    black: NDArray[np.uint8],
    white: NDArray[np.uint8],
    side: int,
    board: NDArray[np.uint32],
) -> None:
    """Write a position of a tier to a board.

    Parameters
    ----------
    t : Tables
        The variant, flat.
    x : TierTables
        Flat.
    tier : int
        The number of the tier.
    king : int
        The king's cell.
    black, white : pointer to uint8
        The cells of the attackers and of the defenders.
    side : int
        Who is to move: 0 white, 1 black.
    board : pointer to uint32
        Receives the position.
    """
    for line in range(2 * t.size):
        board[line] = np.uint32(0)
    toggle(t, board, king, 16)
    for k in range(x.tier.attackers[tier]):
        toggle(t, board, I64(black[k]), 0)
    for k in range(x.tier.defenders[tier]):
        toggle(t, board, I64(white[k]), 16)
    put_king(t, board, king)
    put_side(t, board, side)
    put_count(t, board, 1, x.tier.attackers[tier])
    put_count(t, board, 0, x.tier.defenders[tier])
