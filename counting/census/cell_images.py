"""Images of single cells under the group, in one table, of which the images of whole boards are put together.

Behind the cells there is room for what a parent's children share: its soldiers, those without the one that moves,
those without the captured ones. `counting.census.expansion` fills these entries.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tablut.engine.jit import U64, inlined

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tablut.engine.canonical import ImageTables

WHITE, BLACK, MOVER, ENEMY, EMPTY, SLOTS = range(6)
"""Entries behind those of the cells: pieces of a parent, of what moves and what is captured, of none; how many."""


def cell_images(images: ImageTables, size: int) -> NDArray[np.uint64]:
    """Return the images of single cells, with room for those of a parent behind them."""
    cells = size * size
    table = np.zeros((cells + SLOTS, 16), dtype=np.uint64)
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
    """Write a position of two boards."""
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
    """Write to an entry the images of another entry without a cell."""
    for lane in range(16):
        table[16 * target + lane] = table[16 * source + lane] & ~table[16 * cell + lane]


@inlined
def lane(table: NDArray[np.uint64], first: int, second: int, number: int) -> tuple[np.uint64, np.uint64]:
    """Return one image of two entries united."""
    low = table[16 * first + number] | table[16 * second + number]
    return U64(low), U64(table[16 * first + 8 + number] | table[16 * second + 8 + number])
