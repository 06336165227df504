"""Victory paths: ways of the king to an escape that black cannot stop, read off the lines.

The McGill player paper (Pilarski, *Designing an Effective Tablut Artificial Intelligence*,
section III-A) names three: a clear edge (figure 5), a safe edge (figure 6), and a safe edge
with a single opposing piece in the last line before the corner (figure 7). They are said
here for any board: two ways of which one move closes one; one way that no soldier can
enter; one way that a single soldier can enter, beside the corner, where the king takes it.

The paper calls them guaranteed. Beside a hostile corner they are not: a king may be taken
between the corner and one soldier. So a cell on which the king can be taken at once ends no path.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tablut.engine.attacks import (
    NO_MOVE,
    escape_targets,
    escape_ways,
    king_capture,
    king_slides,
    winner_of,
)
from tablut.engine.escapes import escape_of_king
from tablut.engine.jit import I64, called, kernel, pointer, popcount, trailing_zeros
from tablut.engine.kernels import make, unmake
from tablut.engine.layout import coordinates, king_of, line_of, move_of, own_pieces, put_side, side_of
from tablut.engine.records import flat
from tablut.rules.outcome import UNDECIDED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tablut.engine.tables import Tables
    from tablut.variants import Variant

__all__ = ["PathTables", "find_path", "path_tables", "stands_on_path", "victory_path"]


class PathTables(NamedTuple):
    """What victory paths depend on besides the rules' own tables; C is the number of cells.

    Attributes
    ----------
    wedge : int
        1 where a king takes a soldier against a corner, else 0.
    royal : ndarray of uint8, shape (C,)
        1 on corners that only a king may enter.
    """

    wedge: int
    royal: NDArray[np.uint8]


def path_tables(variant: Variant) -> PathTables:
    """Return the tables of a variant.

    Parameters
    ----------
    variant : Variant
        The rule set.

    Returns
    -------
    PathTables
        Its tables.

    Examples
    --------
    >>> from tablut.variants import load_variant
    >>> tables = path_tables(load_variant("mcgill"))
    >>> tables.wedge, tables.royal.nonzero()[0].tolist()
    (1, [0, 8, 72, 80])
    """
    royal = np.zeros(variant.size**2, dtype=np.uint8)
    royal[sorted(variant.regions.royal_corners)] = 1
    return PathTables(int(variant.rules.king.armed and variant.rules.corners.hostile), royal)


@called
def stands_on_path(t: Tables, p: PathTables, board: NDArray[np.uint32]) -> bool:
    """Return whether black, which is to move, can no longer keep the king from an escape; O(N).

    Parameters
    ----------
    t : Tables
        The compiled rules.
    p : PathTables
        What goes with them.
    board : pointer to uint32
        The position, its king not captured.

    Returns
    -------
    bool
        Whether the king stands on a victory path.
    """
    king = king_of(t, board)
    west, east, south, north = escape_ways(t, board, king)
    ways = I64(west != 0) + I64(east != 0) + I64(south != 0) + I64(north != 0)
    if ways == 0 or king_capture(t, board) != NO_MOVE:
        return False
    if ways > 1:
        return True
    rank, file = coordinates(t, king)
    along_row = (west | east) != 0
    way = west | east | south | north
    own, fixed = (file, rank) if along_row else (rank, file)
    # Beyond the end of the way, which may be no edge, a soldier may come along its own line.
    end = own + popcount(way) if (way >> own) != 0 else own - popcount(way)
    attackers = own_pieces(line_of(board, rank if along_row else t.size + file), 1)
    if (attackers >> (end + 1) if end > own else attackers & ((1 << end) - 1)) != 0:
        return False
    entered, soldiers, where = I64(0), I64(0), I64(0)
    places = way
    while places:
        place = trailing_zeros(places)
        places &= places - 1
        cell = fixed * t.size + place if along_row else place * t.size + fixed
        if p.royal[cell] != 0:
            continue
        attackers = own_pieces(line_of(board, t.size + place if along_row else place), 1)
        if attackers != 0:
            entered += 1
            soldiers += popcount(attackers)
            where = place
    if entered == 0:
        return True
    if entered > 1 or soldiers > 1 or p.wedge == 0 or abs(where - own) < 2:
        return False
    at_corner = p.royal[fixed * t.size + end if along_row else end * t.size + fixed] != 0
    return at_corner and abs(end - where) == 1


@called
def victory_path(t: Tables, p: PathTables, board: NDArray[np.uint32]) -> int:
    """Return a move by which white, were it to move, wins at once or enters a victory path, or NO_MOVE; O(N²).

    Parameters
    ----------
    t : Tables
        The compiled rules.
    p : PathTables
        What goes with them.
    board : pointer to uint32
        The position, its king not captured.

    Returns
    -------
    int
        The move, or NO_MOVE.
    """
    king, side = king_of(t, board), side_of(t, board)
    put_side(t, board, 0)
    found = I64(NO_MOVE)
    row, column = escape_targets(t, board, king)
    if (row | column) != 0:
        found = escape_of_king(t, board, row, column)
    if found == NO_MOVE:
        rank, file = coordinates(t, king)
        row, column = king_slides(t, board, king)
        while (row | column) != 0 and found == NO_MOVE:
            if row != 0:
                target = rank * t.size + trailing_zeros(row)
                row &= row - 1
            else:
                target = trailing_zeros(column) * t.size + file
                column &= column - 1
            move = move_of(king, target)
            undo, outcome = make(t, board, move)
            if outcome == UNDECIDED:
                if stands_on_path(t, p, board):
                    found = move
            elif winner_of(outcome) == 0:
                found = move
            unmake(t, board, undo)
    put_side(t, board, side)
    return found


@kernel
def find_path(tables: Tables, paths: PathTables, board: NDArray[np.uint32]) -> tuple[int, bool]:
    """Return the move of `victory_path`, or NO_MOVE, and whether the king `stands_on_path`.

    Parameters
    ----------
    tables : Tables
        The variant.
    paths : PathTables
        What goes with it.
    board : ndarray of uint32, shape (2N + 4,)
        Undecided; not changed.

    Returns
    -------
    tuple of (int, bool)
        The answers of both.
    """
    t, p, array = flat(tables), flat(paths), pointer(board)
    return victory_path(t, p, array), stands_on_path(t, p, array)
