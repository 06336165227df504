"""All children of canonical positions, in canonical form: one kernel, no child is ever taken apart.

The images of a parent's attackers and defenders under the whole group are made once. A
ply changes few cells, so each image of a child is an image of the parent less the cell
that was left, with the cell that was reached. Which image is least is often known
from the king's cell alone, or from the pieces that did not move; only what is left
after that is compared, eight images at once (`tablut.engine.vector`). How many images are least
together is how many symmetries keep the child: its orbit need not be found again.

Quiet moves are not made on a board either: where no piece can be captured and the
king cannot fall, a ply decides nothing but an escape.

Non-guarantee: parents must be undecided or marked as decided, and well formed;
nothing is checked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from counting.census.buckets import FIXING
from tablut.engine.attacks import captures_at, neighbour, slides_along
from tablut.engine.canonical import ImageTables, table_entries
from tablut.engine.jit import I64, U64, advance, inlined, keep, kernel, pointer, popcount, trailing_zeros
from tablut.engine.kernels import judge, toggle, toggle_captured
from tablut.engine.layout import board_items, coordinates, count_of, king_of, occupied, put_king, side_of
from tablut.engine.packing import board_bits, king_width, unpack
from tablut.engine.perft import mark_threats
from tablut.engine.records import flat
from tablut.engine.vector import least_images
from tablut.rules.outcome import KING_CAPTURED, KING_ESCAPED, NO_MOVES_WHITE, UNDECIDED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tablut.engine.tables import Tables

__all__ = ["BLACK_WON", "DECIDED", "EXPANSION_COUNTERS", "cell_images", "expand_canonical"]

DECIDED: Final = 63
"""The bit of the last word that marks a decided position."""
BLACK_WON: Final = 62
"""The bit of the last word that says who won it. No board's packing reaches so far, nor to `FIXING`."""

EXPANSION_COUNTERS: Final = 4
"""Counters of `expand_canonical`, in positions: parents, moves, capturing moves, captured soldiers."""

_WHITE, _BLACK, _MOVER, _ENEMY, _EMPTY, _SLOTS = range(6)


def cell_images(images: ImageTables, size: int) -> NDArray[np.uint64]:
    """Return the images of single cells, with room for those of a parent behind them.

    Parameters
    ----------
    images : ImageTables
        The group.
    size : int
        N.

    Returns
    -------
    ndarray of uint64, flat
        At ``16 * cell`` the low words of its image under eight elements, then the high ones.
    """
    cells = size * size
    table = np.zeros((cells + _SLOTS, 16), dtype=np.uint64)
    for cell in range(cells):
        rank, file = divmod(cell, size)
        table[cell] = images.rows[rank, 1 << file].ravel()
    return table.ravel()


@inlined
def store_position(
    out: NDArray[np.uint64],
    width: int,
    cells: int,
    black: tuple[np.uint64, np.uint64],
    white: tuple[np.uint64, np.uint64],
    tail: np.uint64,
    flags: np.uint64,
) -> None:
    """Write a position of two boards, the tail (king and side) and the marks of a decided one."""
    second, third, fourth = U64(0), U64(0), U64(0)
    if cells < 64:
        first = black[0] | (white[0] << U64(cells))
        second = white[0] >> U64(64 - cells)
    else:
        first = black[0]
        second = black[1] | (white[0] << U64(cells - 64))
        third = (white[0] >> U64(128 - cells)) | (white[1] << U64(cells - 64))
        fourth = white[1] >> U64(128 - cells)
    word = (2 * cells) >> 6
    tail <<= U64((2 * cells) & 63)
    if word == 0:
        first |= tail
    elif word == 1:
        second |= tail
    elif word == 2:
        third |= tail
    else:
        fourth |= tail
    if width == 1:
        out[0] = first | flags
    elif width == 2:
        out[0], out[1] = first, second | flags
    elif width == 3:
        out[0], out[1], out[2] = first, second, third | flags
    else:
        out[0], out[1], out[2], out[3] = first, second, third, fourth | flags


@inlined
def remove_cell(table: NDArray[np.uint64], target: int, source: int, cell: int) -> None:
    """Write to a slot the images of another slot without a cell."""
    for lane in range(16):
        table[16 * target + lane] = table[16 * source + lane] & ~table[16 * cell + lane]


@inlined
def lane(table: NDArray[np.uint64], first: int, second: int, number: int) -> tuple[np.uint64, np.uint64]:
    """Return one image of two entries united."""
    low = table[16 * first + number] | table[16 * second + number]
    return U64(low), U64(table[16 * first + 8 + number] | table[16 * second + 8 + number])


@kernel
def expand_canonical(
    tables: Tables,
    images: ImageTables,
    template: NDArray[np.uint64],
    order: int,
    words: NDArray[np.uint64],
    children: NDArray[np.uint64],
    counters: NDArray[np.int64],
) -> tuple[int, int]:
    """Write the canonical form of every child of the undecided positions.

    Parameters
    ----------
    tables : Tables
        The variant.
    images : ImageTables
        The group.
    template : ndarray of uint64
        Its `cell_images`.
    order : int
        The number of its elements.
    words : ndarray of uint64, shape (n, W)
        Canonical positions; those marked as decided are passed over.
    children : ndarray of uint64, shape (m, W)
        Receives the children, marked where they are decided, with the bits `FIXING`. Room for
        4C more than there are is needed.
    counters : ndarray of int64, shape (EXPANSION_COUNTERS,)
        Is added to, each parent counting as often as its orbit has members.

    Returns
    -------
    rows : int
        How many of the positions were dealt with: n, unless the room ran out.
    total : int
        The number of children.
    """
    t = flat(tables)
    size, cells, width = t.size, t.cells, t.words
    king_bits = king_width(t)
    scratch_board, scratch_threats = np.empty(board_items(size), dtype=np.uint32), np.empty(2 * size, dtype=np.uint32)
    scratch_entries, scratch_table = np.empty(2 * size, dtype=np.int64), template.copy()
    scratch_least = np.empty(16, dtype=np.uint64)
    board, threats, entries = pointer(scratch_board), pointer(scratch_threats), pointer(scratch_entries)
    table, least, rows = pointer(scratch_table), pointer(scratch_least), pointer(images.rows)
    kings, candidates = pointer(images.kings), pointer(images.candidates)
    white_slot, black_slot, empty = cells + _WHITE, cells + _BLACK, cells + _EMPTY
    mover_slot, enemy_slot = cells + _MOVER, cells + _ENEMY
    capacity = len(children) - 4 * cells
    total = 0
    parent = 0
    while parent < len(words) and total <= capacity:
        word = advance(pointer(words), parent * width)
        parent += 1
        if (word[width - 1] >> U64(DECIDED)) != U64(0):
            continue
        unpack(t, word, board)
        side, home, attackers = side_of(t, board), king_of(t, board), count_of(t, board, 1)
        low, high = board_bits(word, width, cells, cells)
        count = table_entries(low, high, size, entries)
        # The images that can be least as far as the king and the defenders say, then all pieces.
        settled = I64(least_images(rows, entries, I64(count), I64(candidates[home]), advance(table, 16 * white_slot)))
        low, high = board_bits(word, width, 0, cells)
        count = table_entries(low, high, size, entries)
        least_of_all = I64(least_images(rows, entries, I64(count), settled, advance(table, 16 * black_slot)))
        orbit = order // popcount(least_of_all)
        before, capturing, captured = total, 0, 0

        shift = 16 - (side << 4)
        own_slot, foe_slot = (black_slot, white_slot) if side == 1 else (white_slot, black_slot)
        slides_at = t.attacker_slides if side == 1 else t.defender_slides
        mark_threats(t, board, side, threats)
        for rank in range(size):
            row = I64(board[rank])
            own = (row >> shift) & 0xFFFF
            row = occupied(row)
            while own:
                file = trailing_zeros(own)
                own &= own - 1
                start = rank * size + file
                column = I64(board[size + file])
                column = occupied(column)
                is_king = side == 0 and start == home
                places_at = t.king_slides if is_king else slides_at
                if not is_king:
                    remove_cell(table, mover_slot, own_slot, start)
                for along in range(2):
                    if along == 0:
                        targets = slides_along(t, places_at, rank, file, row)
                        first, step = rank * size, 1
                    else:
                        targets = slides_along(t, places_at, size + file, rank, column)
                        first, step = file, size
                    while targets:
                        place = trailing_zeros(targets)
                        targets &= targets - 1
                        target = first + place * step
                        king = target if is_king else home
                        to_rank, to_file = coordinates(t, target)
                        threat = (I64(threats[to_rank]) >> to_file) | (I64(threats[size + to_file]) >> to_rank)
                        besieging = side == 1 and t.facing[king * cells + target] != 0
                        outcome, directions = UNDECIDED, 0
                        if (threat & 1) != 0 or besieging or t.either_after_ply != 0:
                            left = attackers
                            toggle(t, board, start, shift)
                            toggle(t, board, target, shift)
                            if is_king:
                                put_king(t, board, target)
                            if (threat & 1) != 0:
                                directions = captures_at(t, board, side, target, king)
                            if directions != 0:
                                toggle_captured(t, board, target, directions, 16 - shift)
                                left -= 0 if side == 1 else popcount(directions)
                            outcome = judge(t, board, side, target, king, left)
                            if directions != 0:
                                toggle_captured(t, board, target, directions, 16 - shift)
                            if is_king:
                                put_king(t, board, home)
                            toggle(t, board, target, shift)
                            toggle(t, board, start, shift)
                        elif is_king and t.escapes[target] != 0:
                            outcome = KING_ESCAPED

                        own_first, own_second = (own_slot, empty) if is_king else (mover_slot, target)
                        foe_first = foe_slot
                        if directions != 0:
                            capturing += 1
                            captured += popcount(directions)
                            foe_first = enemy_slot
                            source = foe_slot
                            while directions:
                                direction = directions & -directions
                                directions ^= direction
                                remove_cell(table, enemy_slot, source, neighbour(t, target, direction))
                                source = enemy_slot

                        if side == 1 and foe_first == foe_slot:
                            remaining = settled
                        else:
                            remaining = I64(candidates[king])
                            if (remaining & (remaining - 1)) != 0:
                                if side == 1:
                                    entries[0], entries[1] = foe_first, empty
                                else:
                                    entries[0], entries[1] = own_first, own_second
                                remaining = I64(least_images(table, entries, I64(2), remaining, least))
                        if (remaining & (remaining - 1)) != 0:
                            if side == 1:
                                entries[0], entries[1] = own_first, own_second
                            else:
                                entries[0], entries[1] = foe_first, empty
                            remaining = I64(least_images(table, entries, I64(2), remaining, least))
                        number = trailing_zeros(remaining)
                        fixing = trailing_zeros(popcount(remaining))
                        own_lane = lane(table, own_first, own_second, number)
                        foe_lane = lane(table, foe_first, empty, number)
                        tail = U64(kings[king * 8 + number]) | (U64(side ^ 1) << U64(king_bits))
                        flags = U64(fixing) << U64(FIXING)
                        if outcome != UNDECIDED:
                            flags |= U64(1) << U64(DECIDED)
                            if outcome in (KING_CAPTURED, NO_MOVES_WHITE):
                                flags |= U64(1) << U64(BLACK_WON)
                        child = advance(pointer(children), total * width)
                        if side == 1:
                            store_position(child, width, cells, own_lane, foe_lane, tail, flags)
                        else:
                            store_position(child, width, cells, foe_lane, own_lane, tail, flags)
                        total += 1
        counters[0] += orbit
        counters[1] += orbit * (total - before)
        counters[2] += orbit * capturing
        counters[3] += orbit * captured
    keep(scratch_board)
    keep(scratch_threats)
    keep(scratch_entries)
    keep(scratch_table)
    keep(scratch_least)
    return parent, total
