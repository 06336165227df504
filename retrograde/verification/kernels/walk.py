"""The placements of a tier in the order of its entries, by a decoding of the proof's own: lists of cells, a board."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tablut.engine.jit import I64, inlined
from tablut.engine.kernels import toggle
from tablut.engine.layout import put_count, put_king

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from retrograde.verification.kernels.desk import Listing, ProofDesk

_STRIDE = 8
"""Combinations up to which it is quicker to step on than to begin anew."""


@inlined
def _write_combination(r: Listing, rank: int, men: int, spots: int, numbers: NDArray[np.int64]) -> None:
    """Write the ascending numbers below ``spots`` that make the combination of a rank."""
    number = I64(spots)
    for k in range(men, 0, -1):
        number -= 1
        while r.binomial[number * r.most + k] > rank:
            number -= 1
        rank -= r.binomial[number * r.most + k]
        numbers[k - 1] = number


@inlined
def open_row(d: ProofDesk, row: int, king: int) -> None:
    """Write the row soldiers' cells, and those that are left to column soldiers; O(cells)."""
    r, m = d.listing, d.memory
    soldiers = m.white if r.row_kind == 1 else m.black
    _write_combination(r, r.combination[row], r.row_men, r.row_spots, m.column)
    for k in range(r.row_men):
        soldiers[k] = r.row_cell[m.column[k]]
    left = I64(0)
    for k in range(r.column_spots):
        cell = I64(r.column_cell[k])
        taken = cell == king
        for soldier in range(r.row_men):
            taken = taken or I64(soldiers[soldier]) == cell
        if not taken:
            m.left[left] = cell
            left += 1


@inlined
def first_column(d: ProofDesk) -> None:
    """Set the column soldiers of an open row to the first of their combinations."""
    for k in range(d.listing.column_men):
        d.memory.column[k] = k


@inlined
def next_column(d: ProofDesk) -> None:
    """Write the column soldiers' cells, and move on to the next combination of them."""
    m, men = d.memory, d.listing.column_men
    soldiers = m.black if d.listing.row_kind == 1 else m.white
    for k in range(men):
        soldiers[k] = m.left[m.column[k]]
    # The first place that can move up does, those below start again.
    k = I64(0)
    while k + 1 < men and m.column[k] + 1 == m.column[k + 1]:
        m.column[k] = k
        k += 1
    m.column[k] += 1


@inlined
def set_board(d: ProofDesk, king: int) -> None:
    """Put the king and the lists of cells on the board; the side to move stays as it is."""
    t, m = d.tables, d.memory
    attackers, defenders = d.tiers.tier.attackers[d.tier], d.tiers.tier.defenders[d.tier]
    for line in range(2 * t.size):
        m.board[line] = np.uint32(0)
    toggle(t, m.board, king, 16)
    for k in range(attackers):
        toggle(t, m.board, I64(m.black[k]), 0)
    for k in range(defenders):
        toggle(t, m.board, I64(m.white[k]), 16)
    put_king(t, m.board, king)
    put_count(t, m.board, 1, attackers)
    put_count(t, m.board, 0, defenders)


# -- the board carried along: attackers on cells of ``left`` ---------------------------------


@inlined
def first_soldiers(d: ProofDesk, combination: int, spots: int, king: int) -> None:
    """Put the attackers on the cells that a combination of those left makes, and everything on the board."""
    m, men = d.memory, d.tiers.tier.attackers[d.tier]
    _write_combination(d.listing, combination, men, spots, m.column)
    for k in range(men):
        m.black[k] = m.left[m.column[k]]
    set_board(d, king)


@inlined
def later_soldiers(d: ProofDesk, before: int, combination: int, spots: int, king: int) -> None:
    """Move the attackers on to a later combination of the cells that are left; two of them move, if it is the next."""
    if combination - before > _STRIDE:
        first_soldiers(d, combination, spots, king)
        return
    t, m, men = d.tables, d.memory, d.tiers.tier.attackers[d.tier]
    for _ in range(combination - before):
        k = I64(0)
        while k + 1 < men and m.column[k] + 1 == m.column[k + 1]:
            toggle(t, m.board, I64(m.black[k]), 0)
            m.column[k] = k
            m.black[k] = m.left[k]
            k += 1
        toggle(t, m.board, I64(m.black[k]), 0)
        m.column[k] += 1
        m.black[k] = m.left[m.column[k]]
        for moved in range(k + 1):
            toggle(t, m.board, I64(m.black[moved]), 0)
