"""The proof of whole rows: what `retrograde.verification.kernels.proof` comes to, with less work.

All placements of a row have the king and the defenders in common, and follow each other with one or two attackers
moved. So the board is carried along; how images are ranked is compared once a row (`row_is_regular`); an attacker's ply
changes one term of a rank; and where white's plies lead is found once a row (`find_way`). A ply is made and judged on
the board only where it may capture something or end the game. A row that the index ranks in any other way is
proved plainly.

Without defenders each row is one placement. There the rows of a king are what the columns of a row are elsewhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from retrograde.verification.kernels.proof import (
    ALIASES,
    LOST,
    MOST_CELLS,
    ORBITS,
    QUIET,
    UNPROVED,
    WON,
    WRONG_ALIAS,
    WRONG_IMAGE,
    ProofDesk,
    entry_at,
    first_soldiers,
    judged_code,
    later_soldiers,
    open_row,
    prove_row_plainly,
    report,
    settle,
)
from retrograde.verification.kernels.ways import (
    NOWHERE,
    SEVERAL,
    compare_symmetries,
    find_way,
    king_is_regular,
    row_is_regular,
)
from tablut.engine.attacks import (
    beside,
    escape_targets,
    king_slides,
    may_capture,
    slides_along,
    slides_from,
)
from tablut.engine.jit import I64, advance, called, inlined, kernel, pointer, trailing_zeros
from tablut.engine.layout import coordinates, line_of, move_of, occupied, put_side
from tablut.engine.records import record_at
from tablut.indexing.tier_tables import code_at, combination_rank, is_loss, sort_in

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tablut.engine.tables import Tables

_SAFE: Final = 1 << 17
_FAR: Final = 1 << 18
"""Merits of successors: to win is the better the less it takes, then comes what is not forced, and then to lose, the
better the longer it takes. Codes have 16 bits."""


@inlined
def _merit(code: int) -> int:
    """Return the merit of a successor by its code; the greatest of all successors says what a position is worth."""
    if code == 0:
        return I64(_SAFE)
    if code == LOST:
        return I64(0)
    return _FAR - code if is_loss(code) else code


@inlined
def _code_of_merit(merit: int) -> int:
    """Return the code of a position from the greatest merit of its successors, -1 if there is none."""
    if merit < 0:
        return I64(1)
    if merit == _SAFE:
        return I64(0)
    # A ply before a loss in d is a win in d + 1, and the other way round.
    return _FAR - merit + 1 if merit > _SAFE else merit + 3


@inlined
def _men_with_two_ways(d: ProofDesk, king: int) -> tuple[int, int]:
    """Return the attackers, and the defenders with the king as the last one, that may slide along row and column."""
    t, m = d.tables, d.memory
    attackers, defenders = d.tiers.tier.attackers[d.tier], d.tiers.tier.defenders[d.tier]
    black, white = I64(0), I64(0)
    for k in range(attackers):
        row, column = slides_from(t, m.board, t.attacker_slides, I64(m.black[k]))
        black |= I64(row != 0 and column != 0) << k
    for k in range(defenders):
        row, column = slides_from(t, m.board, t.defender_slides, I64(m.white[k]))
        white |= I64(row != 0 and column != 0) << k
    row, column = king_slides(t, m.board, king)
    return black, white | I64(row != 0 and column != 0) << defenders


@inlined
def _sure_plies(d: ProofDesk, king: int) -> tuple[int, int]:
    """Return the attackers, and the men of white, whose plies surely leave either side a move if they capture nothing.

    The rules may end the game for a side without a move after any ply. Whoever arrives on a cell blocks a row or a
    column of another man, not both; and who leaves one blocks nothing.
    """
    if d.tables.either_after_ply == 0:
        return I64(-1), I64(-1)
    black, white = _men_with_two_ways(d, king)
    sure_black, sure_white = I64(0), I64(0)
    for k in range(d.tiers.tier.attackers[d.tier]):
        sure_black |= I64(white != 0 and black & ~(I64(1) << k) != 0) << k
    for k in range(d.tiers.tier.defenders[d.tier] + 1):
        sure_white |= I64(black != 0 and white & ~(I64(1) << k) != 0) << k
    return sure_black, sure_white


@inlined
def _cell(t: Tables, line: int, place: int) -> int:
    """Return the cell at a place of a line."""
    return line * t.size + place if line < t.size else place * t.size + line - t.size


@called
def _way_code(d: ProofDesk, man: int, target: int, king: int, stamp: int) -> int:
    """Return the stored code of what a quiet ply of white leads to, or `UNPROVED`."""
    x, m, w = d.tiers, d.memory, d.ways
    s, attackers, defenders = x.square, x.tier.attackers[d.tier], x.tier.defenders[d.tier]
    way = man * s.cells + target
    if w.stamp[way] != stamp:
        find_way(d, man, target, king, stamp)
    base = w.base[way]
    if base == NOWHERE:
        return I64(UNPROVED)
    if base == SEVERAL:
        if man == defenders:
            entry = entry_at(x, d.tier, target, m.black, m.white, m.scratch)
        else:
            start = m.white[man]
            m.white[man] = target
            entry = entry_at(x, d.tier, king, m.black, m.white, m.scratch)
            m.white[man] = start
    else:
        there = advance(w.there, way * MOST_CELLS)
        for k in range(attackers):
            sort_in(m.scratch, k, I64(there[I64(m.black[k])]))
        entry = base + combination_rank(s.binomial, s.most, m.scratch, attackers)
        if defenders == 0:
            row = I64(x.row.number[entry])
            entry = w.first[way] + row if row >= 0 else I64(-1)
    return code_at(d.places, 2 * d.tier + 1, entry) if entry >= 0 else I64(UNPROVED)


@called
def _prove_white(d: ProofDesk, king: int, stamp: int, sure: int) -> int:
    """Return the code of the position on the board with white to move, or `UNPROVED`."""
    t, m = d.tables, d.memory
    board, defenders = m.board, d.tiers.tier.defenders[d.tier]
    put_side(t, board, 0)
    row, column = escape_targets(t, board, king)
    if row | column != 0:
        rank, file = coordinates(t, king)
        cell = rank * t.size + trailing_zeros(row) if row != 0 else trailing_zeros(column) * t.size + file
        if judged_code(d, I64(0), move_of(king, cell)) == WON:
            return I64(2)
    best = I64(-1)
    for man in range(defenders, -1, -1):
        start = king if man == defenders else I64(m.white[man])
        slides = t.king_slides if man == defenders else t.defender_slides
        quiet = (sure >> man) & 1 != 0
        rank, file = coordinates(t, start)
        for along in range(2):
            line, place = (rank, file) if along == 0 else (t.size + file, rank)
            targets = slides_along(t, slides, line, place, occupied(line_of(board, line)))
            if targets == 0:
                continue
            near = beside(t, board, line, 1)
            ends = I64(t.escapes_on[line]) if man == defenders else I64(0)
            while targets:
                to = trailing_zeros(targets)
                bit = targets & -targets
                targets ^= bit
                target = _cell(t, line, to)
                there = target if man == defenders else king
                code = I64(QUIET)
                if bit & ends != 0 or (bit & near != 0 and may_capture(t, board, I64(0), target, there)) or not quiet:
                    code = judged_code(d, I64(0), move_of(start, target))
                if code == QUIET:
                    code = _way_code(d, man, target, king, stamp)
                if code == WON:
                    return I64(2)
                if code == UNPROVED:
                    return code
                best = max(best, _merit(code))
    return _code_of_merit(best)


@inlined
def _turned_rank(d: ProofDesk, turn: int, men: int) -> int:
    """Return the rank of the attackers' images under a symmetry that keeps the open row or king."""
    s, m, w = d.tiers.square, d.memory, d.ways
    image = advance(d.listing.image, turn * s.cells)
    for k in range(men):
        sort_in(m.scratch, k, I64(w.number[I64(image[I64(m.black[k])])]))
    return combination_rank(s.binomial, s.most, m.scratch, men)


@called
def _least_turned_rank(d: ProofDesk, men: int) -> int:
    """Return the least rank of the attackers' images under the symmetries of the open row; there must be one."""
    least, left = I64(1) << 62, d.ways.turns[0]
    while left:
        least = min(least, _turned_rank(d, trailing_zeros(left), men))
        left &= left - 1
    return least


@inlined
def _prepare_black(d: ProofDesk, man: int, men: int) -> None:
    """Write what the other attackers contribute to a rank, if so many of them are below the one that moves."""
    s, m, w = d.tiers.square, d.memory, d.ways
    total = I64(0)
    for k in range(men):
        if k < man:
            w.below[k] = total
            total += s.binomial[m.column[k] * s.most + k + 1]
        elif k > man:
            w.below[k - 1] = total
            total += s.binomial[m.column[k] * s.most + k]
    w.below[men - 1] = total
    total = I64(0)
    for k in range(men - 1, -1, -1):
        if k > man:
            w.above[k] = total
            total += s.binomial[m.column[k] * s.most + k + 1]
        elif k < man:
            w.above[k + 1] = total
            total += s.binomial[m.column[k] * s.most + k + 2]
    w.above[0] = total


@called
def _prove_black(d: ProofDesk, king: int, base: int, at: int, sure: int) -> int:
    """Return the code of the position on the board with black to move, or `UNPROVED`.

    In a tier with defenders `base` is the row's first entry and `at` is -1; without, `base` is the king's first
    entry and `at` is where the rows of its combinations are.
    """
    t, x, m, w = d.tables, d.tiers, d.memory, d.ways
    s, board, men = x.square, m.board, x.tier.attackers[d.tier]
    put_side(t, board, 1)
    best = I64(-1)
    for man in range(men):
        _prepare_black(d, man, men)
        start = I64(m.black[man])
        quiet = (sure >> man) & 1 != 0
        rank, file = coordinates(t, start)
        for along in range(2):
            line, place = (rank, file) if along == 0 else (t.size + file, rank)
            targets = slides_along(t, t.attacker_slides, line, place, occupied(line_of(board, line)))
            near = w.near[line]
            while targets:
                to = trailing_zeros(targets)
                bit = targets & -targets
                targets ^= bit
                target = _cell(t, line, to)
                code = I64(QUIET)
                if not quiet or (bit & near != 0 and may_capture(t, board, I64(1), target, king)):
                    code = judged_code(d, I64(1), move_of(start, target))
                if code == QUIET:
                    number = I64(w.number[target])
                    if number >= MOST_CELLS:
                        return I64(UNPROVED)
                    less = I64(0)
                    for k in range(men):
                        less += I64(k != man and m.column[k] < number)
                    entry = w.below[less] + s.binomial[number * s.most + less + 1] + w.above[less]
                    if at >= 0:
                        entry = I64(x.row.number[at + entry])
                        if entry < 0:
                            return I64(UNPROVED)
                    elif w.turns[0] != 0:
                        m.black[man] = target
                        entry = min(entry, _least_turned_rank(d, men))
                        m.black[man] = start
                    code = code_at(d.places, 2 * d.tier, base + entry)
                if code == WON:
                    return I64(2)
                if code == UNPROVED:
                    return code
                best = max(best, _merit(code))
    return _code_of_merit(best)


@inlined
def _number_cells(d: ProofDesk, spots: int) -> None:
    """Give numbers to the cells that are left to attackers, and find the places beside white's pieces, on the board."""
    t, m, w = d.tables, d.memory, d.ways
    for cell in range(t.cells):
        w.number[cell] = MOST_CELLS
    for k in range(spots):
        w.number[I64(m.left[k])] = k
    for line in range(2 * t.size):
        w.near[line] = beside(t, m.board, line, I64(0))


@inlined
def _prove_entry(d: ProofDesk, entry: int, start: int, rank: int, king: int, at: int, stamp: int) -> None:
    """Prove the index of the placement on the board, and its values.

    Without defenders, `start` is the king's first entry and `at` is where the rows of its combinations are; else
    `start` is the row's first entry and `at` is -1. The attackers' combination has the rank.
    """
    x, m, r, tally = d.tiers, d.memory, d.listing, d.tally
    ranked = entry_at(x, d.tier, king, m.black, m.white, m.scratch)
    if ranked != entry:
        tally.counters[ALIASES] += 1
        if ranked < start or ranked > entry or at >= 0:
            report(tally, I64(WRONG_ALIAS), entry, I64(0), ranked)
        return
    stabiliser, left, men = I64(1), d.ways.turns[0], x.tier.attackers[d.tier]
    while left:
        turned = _turned_rank(d, trailing_zeros(left), men)
        left &= left - 1
        stabiliser += I64(turned == rank)
        if at >= 0 and start + I64(x.row.number[at + turned]) != entry:
            report(tally, I64(WRONG_IMAGE), entry, I64(0), I64(-1))
            stabiliser = I64(0)
            break
    if stabiliser > 0:
        tally.counters[ORBITS] += r.order // stabiliser
    black, white = _sure_plies(d, king)
    settle(tally, entry, I64(0), code_at(d.places, 2 * d.tier, entry), _prove_white(d, king, stamp, white))
    settle(tally, entry, I64(1), code_at(d.places, 2 * d.tier + 1, entry), _prove_black(d, king, start, at, black))


@called
def _prove_row(d: ProofDesk, row: int, king: int, start: int, width: int) -> None:
    """Prove all positions of a row that is open and regular; the tier has defenders."""
    r = d.listing
    spots = I64(r.column_spots) - r.row_men
    for k in range(r.column_spots):
        spots -= I64(I64(r.column_cell[k]) == king)
    first_soldiers(d, I64(0), spots, king)
    _number_cells(d, spots)
    for column in range(width):
        if column > 0:
            later_soldiers(d, column - 1, column, spots, king)
        _prove_entry(d, start + column, start, column, king, I64(-1), row + 1)


@called
def _prove_king(d: ProofDesk, orbit: int, first: int, last: int) -> None:
    """Prove some rows of a king, which is regular; the tier has no defenders."""
    x, m, r = d.tiers, d.memory, d.listing
    king, base, spots = r.king_cell[orbit], r.base[orbit], I64(r.row_spots)
    at = x.tier.rows_at[d.tier] + orbit * x.tier.row_space[d.tier]
    for k in range(spots):
        m.left[k] = r.row_cell[k]
    for row in range(first, last):
        combination = r.combination[row]
        if row == first:
            first_soldiers(d, combination, spots, king)
            _number_cells(d, spots)
        else:
            later_soldiers(d, r.combination[row - 1], combination, spots, king)
        _prove_entry(d, base + row - r.first_row[orbit], base, combination, king, at, orbit + 1)


@kernel
def prove_rows(desk: NDArray[np.int64], first: int, last: int, plainly: int) -> None:
    """Prove all positions in some rows of a tier; O(entries * moves)."""
    d = record_at(pointer(desk), ProofDesk)
    r = d.listing
    compare_symmetries(d)
    orbit, row = I64(0), I64(first)
    while row < last:
        while row >= r.first_row[orbit + 1]:
            orbit += 1
        king, width = r.king_cell[orbit], r.width[orbit]
        if plainly == 0 and r.row_kind == 0 and king_is_regular(d, orbit, king):
            after = min(I64(last), r.first_row[orbit + 1])
            _prove_king(d, orbit, row, after)
            row = after
            continue
        start = r.base[orbit] + (row - r.first_row[orbit]) * width
        if plainly == 0 and r.row_kind == 1:
            open_row(d, row, king)
            if row_is_regular(d, row, orbit, king):
                _prove_row(d, row, king, start, width)
                row += 1
                continue
        prove_row_plainly(d, row, king, start, width)
        row += 1
