"""Lemmas of unreachability, compiled: less than a microsecond a placement. The proofs are in ``docs/reachable.md``.

`lemma` gives the lemma by which a counted placement is out of reach, as a number: its place in
`counting.reachable.plain.LEMMAS`, from 1, or 0 where none applies.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from counting.reachable.drawing import bit_of, first_of
from tablut.engine import engine_for
from tablut.engine.attacks import captures_at
from tablut.engine.jit import I64, U64, advance, called, inlined, keep, kernel, pointer, popcount, trailing_zeros
from tablut.engine.kernels import can_move, toggle
from tablut.engine.layout import (
    board_items,
    coordinates,
    count_of,
    king_of,
    line_of,
    occupied,
    own_pieces,
    put_count,
    put_king,
    put_side,
    side_of,
)
from tablut.engine.records import flat
from tablut.engine.unmoves import OriginTables, build_origins, has_unmove, line_origins, would_capture
from tablut.variants.model import anvils_against_attackers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from counting.reachable.drawing import Bits, Placed
    from tablut.engine.tables import Tables
    from tablut.engine.unmoves import OriginTables
    from tablut.variants import Variant

MATERIAL: Final = 1
CAMP: Final = 2
IMMOBILE: Final = 3
LOCKED: Final = 4
LAST_MOVE: Final = 5


class LemmaTables(NamedTuple):
    """What the lemmas ask of a variant beside the un-moves; N is the board's size.

    Attributes
    ----------
    anvil_to_white, anvil_to_black : int
        0 or 1: whether some terrain is ever an anvil against a soldier of that side.
    camps : int
        How many camps can be overfull: those with fewer attackers at the start than cells.
    camp_rows : ndarray of uint32, shape (camps * N,)
        Their cells, as masks of rows.
    garrisons : ndarray of int64, shape (camps,)
        Their attackers at the start.
    """

    anvil_to_white: int
    anvil_to_black: int
    camps: int
    camp_rows: NDArray[np.uint32]
    garrisons: NDArray[np.int64]


def _build_lemmas(variant: Variant) -> LemmaTables:
    """Return the tables of a variant."""
    rules, regions, size = variant.rules, variant.regions, variant.size
    corner = rules.corners.hostile and bool(regions.royal_corners)
    garrisoned = [camp for camp in regions.camps if camp.garrison]
    to_white = (
        corner
        or (rules.camps.hostile and any(camp.cells for camp in regions.camps))
        or rules.castle.hostile_to_white != "never"
    )
    overfull = [camp for camp in garrisoned if camp.garrison < len(camp.cells)]
    rows = np.zeros((len(overfull), size), dtype=np.uint32)
    for number, camp in enumerate(overfull):
        for cell in camp.cells:
            rows[number, cell // size] |= np.uint32(1 << cell % size)
    return LemmaTables(
        anvil_to_white=int(to_white),
        anvil_to_black=int(bool(anvils_against_attackers(variant))),
        camps=len(overfull),
        camp_rows=rows.ravel(),
        garrisons=np.array([camp.garrison for camp in overfull], dtype=np.int64),
    )


@inlined
def without_last_capture(t: Tables, r: OriginTables, m: LemmaTables, attackers: int, defenders: int) -> bool:
    """Return whether soldiers are missing that neither side can have captured last."""
    if attackers == r.attackers and defenders == r.defenders:
        return False
    armed = defenders + t.king_armed
    if attackers < r.attackers and (armed >= 2 or (armed == 1 and m.anvil_to_black != 0)):
        return False
    return not (defenders < r.defenders and (attackers >= 2 or m.anvil_to_white != 0))


@inlined
def _overfull_camp(t: Tables, m: LemmaTables, board: NDArray[np.uint32]) -> bool:
    """Return whether a camp holds more attackers than started in it."""
    for camp in range(m.camps):
        held = I64(0)
        for rank in range(t.size):
            held += popcount(own_pieces(line_of(board, rank), 1) & I64(m.camp_rows[camp * t.size + rank]))
        if held > m.garrisons[camp]:
            return True
    return False


@inlined
def _captures_one(t: Tables, left: NDArray[np.uint32], cell: int, kind: int, king: int) -> bool:
    """Return whether a piece of a set, arriving last, captures another; ``king`` is -1 if it is not of the set."""
    if king >= 0:
        return would_capture(t, left, I64(kind == 0), cell, king)
    # The king may have stood on the castle, or not. Against white the castle is then an anvil as
    # where a king stands on it; against black, an armed king on it does what the empty castle does.
    if kind == 0:
        return captures_at(t, left, 1, cell, t.castle) != 0
    return captures_at(t, left, 0, cell, cell if t.king_armed != 0 else t.castle) != 0


@inlined
def _peel(t: Tables, r: OriginTables, left: NDArray[np.uint32], king: int) -> int:
    """Take pieces away that could have arrived last among those left; return the king's cell, or -1 if it went."""
    size = t.size
    changed = True
    while changed:
        changed = False
        for rank in range(size):
            white, pieces = own_pieces(line_of(left, rank), 0), occupied(line_of(left, rank))
            while pieces:
                file = trailing_zeros(pieces)
                pieces &= pieces - 1
                cell = rank * size + file
                kind = (white >> file) & 1
                if cell == king:
                    kind = I64(2)
                row, column = line_origins(t, r, left, cell, kind)
                if (row | column) == 0 or _captures_one(t, left, cell, kind, king):
                    continue
                toggle(t, left, cell, 16 if kind != 0 else 0)
                if kind == 2:
                    king = I64(-1)
                changed = True
    return king


@inlined
def _stands_as_at_start(t: Tables, r: OriginTables, left: NDArray[np.uint32], king: int) -> bool:
    """Return whether every piece of a set stands where a piece of its kind starts."""
    home = king_of(t, r.start)
    home_rank, home_file = coordinates(t, home)
    if king >= 0 and king != home:
        return False
    for rank in range(t.size):
        start = line_of(r.start, rank)
        if king < 0 and rank == home_rank:
            # A defender on the king's cell is not at home.
            start &= ~(1 << (16 + home_file))
        if line_of(left, rank) & ~start:
            return False
    return True


@inlined
def is_locked(t: Tables, r: OriginTables, board: NDArray[np.uint32], left: NDArray[np.uint32]) -> bool:
    """Return whether a placement is locked; ``left`` is a scratch board, and holds what is left."""
    for place in range(board_items(t.size)):
        left[place] = board[place]
    return not _stands_as_at_start(t, r, left, _peel(t, r, left, king_of(t, left)))


@inlined
def is_start(t: Tables, r: OriginTables, board: NDArray[np.uint32]) -> bool:
    """Return whether a board is the start, with the side that begins to move."""
    for place in range(t.size):
        if board[place] != r.start[place]:
            return False
    return king_of(t, board) == king_of(t, r.start) and side_of(t, board) == side_of(t, r.start)


@inlined
def _cheap_lemma(
    t: Tables, r: OriginTables, m: LemmaTables, board: NDArray[np.uint32], left: NDArray[np.uint32]
) -> int:
    """Return the lemma that excludes a placement other than the start, the last move's left out; or 0."""
    if without_last_capture(t, r, m, count_of(t, board, 1), count_of(t, board, 0)):
        return MATERIAL
    if _overfull_camp(t, m, board):
        return CAMP
    if t.either_after_ply != 0 and not (can_move(t, board, 0) and can_move(t, board, 1)):
        return IMMOBILE
    return LOCKED if is_locked(t, r, board, left) else 0


@called
def lemma(t: Tables, r: OriginTables, m: LemmaTables, board: NDArray[np.uint32], left: NDArray[np.uint32]) -> int:
    """Return the lemma that excludes a counted position, or 0; ``left`` is a scratch board."""
    if is_start(t, r, board):
        return I64(0)
    found = _cheap_lemma(t, r, m, board, left)
    if found != 0:
        return I64(found)
    return I64(0) if has_unmove(t, r, board) else I64(LAST_MOVE)


@kernel
def _lemmas_of_boards(
    tables: Tables, origins: OriginTables, more: LemmaTables, boards: NDArray[np.uint32], found: NDArray[np.uint8]
) -> None:
    """Write the lemma of each board, shape (n, 2N + 4), to ``found``, shape (n,)."""
    t, r, m = flat(tables), flat(origins), flat(more)
    stride = board_items(t.size)
    scratch = np.empty(stride, dtype=np.uint32)
    for index in range(len(boards)):
        board = advance(pointer(boards), index * stride)
        found[index] = np.uint8(lemma(t, r, m, board, pointer(scratch)))
    keep(scratch)


class Lemmas:
    """The lemmas of one variant, for arrays of positions."""

    def __init__(self, variant: Variant) -> None:
        self.variant = variant
        self.engine = engine_for(variant)
        self.tables = self.engine.tables
        self.origins = build_origins(variant)
        self.more = _build_lemmas(variant)

    def of_boards(self, boards: NDArray[np.uint32]) -> NDArray[np.uint8]:
        """Return which lemma excludes each position; 0 for none."""
        found = np.empty(len(boards), dtype=np.uint8)
        _lemmas_of_boards(self.tables, self.origins, self.more, np.ascontiguousarray(boards), found)
        return found


@lru_cache(maxsize=16)
def lemmas_for(variant: Variant) -> Lemmas:
    """Return the lemmas of a variant; the same object for equal variants."""
    return Lemmas(variant)


@inlined
def _put(t: Tables, board: NDArray[np.uint32], black: Bits, white: Bits) -> None:
    """Write a board of soldiers, and a king among the white ones; its head is not written."""
    for place in range(board_items(t.size)):
        board[place] = np.uint32(0)
    for kind in range(2):
        low, high = black if kind == 0 else white
        while (low | high) != U64(0):
            cell = first_of(low, high)
            toggle(t, board, cell, 16 * kind)
            if low != U64(0):
                low &= low - U64(1)
            else:
                high &= high - U64(1)


@inlined
def placement_lemma(
    t: Tables,
    r: OriginTables,
    m: LemmaTables,
    position: Placed,
    board: NDArray[np.uint32],
    left: NDArray[np.uint32],
) -> int:
    """Return the lemma that excludes a counted position of a sample, or 0; the boards are scratch."""
    black, white, king, side, attackers, defenders = position
    at_king = bit_of(king)
    _put(t, board, black, (white[0] | at_king[0], white[1] | at_king[1]))
    put_king(t, board, king)
    put_side(t, board, side)
    put_count(t, board, 0, defenders)
    put_count(t, board, 1, attackers)
    return lemma(t, r, m, board, left)
