"""Proof that a tier's index is correct, and that its values follow from the successors' values.

`retrograde.verification` lists the code that the proof shares with the solver. The index is part of this code, so it is
proved as well. The proof uses an independent decoding to enumerate the placements from the stored representatives.
Every image of every placement must be ranked to the placement's entry, and the sizes of the orbits must add up to the
number of placements. No placement can then be missing.

The terms *row*, *column* and *entry* are defined in `retrograde.solver.kernels`.
"""

from __future__ import annotations

from math import comb
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from tablut.engine.attacks import may_capture, may_end_afar, slides_from, winner_of
from tablut.engine.jit import I64, advance, called, inlined, kernel
from tablut.engine.kernel_records import directory, record_at
from tablut.engine.kernels import generate, make, unmake
from tablut.engine.layout import cells_dtype, count_of, king_of, new_board, put_side, start_of, target_of, undo_captured
from tablut.engine.tables import Tables, build_tables
from tablut.indexing.tier_kernels import SCRATCH, entry_of, men_of_board, place_of, row_of, set_board, tier_at
from tablut.indexing.tier_tables import TierTables, code_at, is_loss, plies_of, rank_places, sort_in
from tablut.rules.outcome import UNDECIDED

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from retrograde.tablebase.bulk_probing import UnpackedTiers
    from tablut.indexing.tiers import TierIndex
    from tablut.variants import Variant

CHECKED, ALIASES, ORBITS, FAILURES, COUNTERS = 0, 1, 2, 3, 4
"""Indices of the counters: the positions proved, the aliases, the sum of the sizes of orbits, and the failures.

The last value is the number of counters.
"""


class Listing(NamedTuple):
    """The placements of a tier in the order of its entries.

    C, K and G are the numbers of cells, king orbits and symmetries.

    - ``row_kind``, ``row_men``, ``column_men``: The kind of the row soldiers (1 for defenders, 0 for attackers), their
      number, and the number of column soldiers.
    - ``row_spots``, ``column_spots``: Numbers of cells on which row soldiers and column soldiers may stand.
    - ``most``, ``order``: The length of a row of ``binomial``, and G.
    - ``king_cell``, ``base``, ``width``: For each king orbit, the king's cell, the first entry, and the number of
      columns in each row.
    - ``first_row``: For each king orbit, the number of the first row.
    - ``combination``: For each row, the row soldiers' combination.
    - ``row_cell``, ``column_cell``: Cells on which row soldiers and column soldiers may stand.
    - ``binomial``: At index ``n * most + k``, the number of k-combinations of n elements.
    - ``image``: At index ``element * C + cell``, the image of the cell.
    """

    row_kind: int
    row_men: int
    column_men: int
    row_spots: int
    column_spots: int
    most: int
    order: int
    king_cell: NDArray[np.int64]
    base: NDArray[np.int64]
    width: NDArray[np.int64]
    first_row: NDArray[np.int64]
    combination: NDArray[np.int64]
    row_cell: NDArray[np.uint8]
    column_cell: NDArray[np.uint8]
    binomial: NDArray[np.int64]
    image: NDArray[np.uint8]


class ProofMemory(NamedTuple):
    """Working arrays of one thread that checks a proof. C is the number of cells, and R is the number of row soldiers.

    Cells are uint8, or uint16 on wide boards (`tablut.engine.layout.cells_dtype`). This type can hold every value of
    ``row_place``, because these values are at most C.

    - ``board``: The position to prove.
    - ``moves``: The moves of this position.
    - ``black``, ``white``: Cells of the position's attackers and defenders.
    - ``spare_black``, ``spare_white``: Cells of the soldiers in another position, which is an image or the successor
      after a capture.
    - ``left``: Cells that the row leaves for column soldiers, in ascending order.
    - ``column``: Indices of the column soldiers' cells in ``left``, in ascending order.
    - ``scratch``: Scratch memory for `tablut.indexing.tier_kernels.entry_of`.
    - ``row_first``: For each change of the current row, the first entry of the resulting row, or `_UNSEEN`, `_NOWHERE`
      or `_SYMMETRIC`. Change 0 keeps the row. Change 1 + r * C + cell moves row soldier r to the cell, where r = R
      means the king.
    - ``row_place``: For each change and cell, 1 plus the cell's number in the new row, or 0 if the cell has no number.
    """

    board: NDArray[np.uint32]
    moves: NDArray[np.int32]
    black: NDArray[np.uint8]
    white: NDArray[np.uint8]
    spare_black: NDArray[np.uint8]
    spare_white: NDArray[np.uint8]
    left: NDArray[np.uint8]
    column: NDArray[np.int64]
    scratch: NDArray[np.int64]
    row_first: NDArray[np.int64]
    row_place: NDArray[np.uint8]


class ProofTally(NamedTuple):
    """The results of a proof.

    - ``codes``, ``capacity``: The number of codes that are counted, beginning with code 0, and the number of failures
      that can be recorded.
    - ``counters``: Counters, at the indices `CHECKED`, `ALIASES`, `ORBITS` and `FAILURES`.
    - ``histogram``: For each side to move and each stored code, the number of classes.
    - ``failures``: For each failure, the kind, the entry, the side to move, and the proved code. For `WRONG_ALIAS`, the
      last number is the placement's actual rank.
    """

    codes: int
    capacity: int
    counters: NDArray[np.int64]
    histogram: NDArray[np.int64]
    failures: NDArray[np.int64]


class ProofData(NamedTuple):
    """All data that one thread uses to prove a tier."""

    tables: Tables
    tiers: TierTables
    listing: Listing
    memory: ProofMemory
    tally: ProofTally
    places: NDArray[np.int64]
    tier: int


def new_memory(variant: Variant, row_men: int) -> ProofMemory:
    """Return the working arrays for one thread, for tiers with ``row_men`` row soldiers."""
    cells, cell = variant.size**2, cells_dtype(variant.size)
    changes = 1 + (row_men + 1) * cells
    return ProofMemory(
        board=new_board(variant.size),
        moves=np.zeros(4 * cells, dtype=np.int32),
        black=np.zeros(cells, dtype=cell),
        white=np.zeros(cells, dtype=cell),
        spare_black=np.zeros(cells, dtype=cell),
        spare_white=np.zeros(cells, dtype=cell),
        left=np.zeros(cells, dtype=cell),
        column=np.zeros(cells + 1, dtype=np.int64),
        scratch=np.zeros(SCRATCH, dtype=np.int64),
        row_first=np.zeros(changes, dtype=np.int64),
        row_place=np.zeros(cells * changes, dtype=cell),
    )


def new_tally(codes: int, capacity: int) -> ProofTally:
    """Return an empty tally."""
    return ProofTally(
        codes=codes,
        capacity=capacity,
        counters=np.zeros(COUNTERS, dtype=np.int64),
        histogram=np.zeros(2 * codes, dtype=np.int64),
        failures=np.zeros(4 * capacity, dtype=np.int64),
    )


# -- a tier's placements in entry order ------------------------------------------------------


@inlined
def _write_combination(listing: Listing, rank: int, men: int, spots: int, numbers: NDArray[np.int64]) -> None:
    """Write, in ascending order, the numbers in the combination with a given rank. All numbers are below ``spots``."""
    number = I64(spots)
    for k in range(men, 0, -1):
        number -= 1
        while listing.binomial[number * listing.most + k] > rank:
            number -= 1
        rank -= listing.binomial[number * listing.most + k]
        numbers[k - 1] = number


@inlined
def _open_row(data: ProofData, row: int, king: int) -> None:
    """Make a row the current row: write its row soldiers' cells and the cells that remain for column soldiers.

    The function takes O(cells * men) time.
    """
    listing, memory = data.listing, data.memory
    soldiers = memory.white if listing.row_kind == 1 else memory.black
    _write_combination(listing, listing.combination[row], listing.row_men, listing.row_spots, memory.column)
    for k in range(listing.row_men):
        soldiers[k] = listing.row_cell[memory.column[k]]
    left = I64(0)
    for k in range(listing.column_spots):
        cell = I64(listing.column_cell[k])
        taken = cell == king
        for soldier in range(listing.row_men):
            taken = taken or I64(soldiers[soldier]) == cell
        if not taken:
            memory.left[left] = cell
            left += 1
    for change in range(1 + (listing.row_men + 1) * data.tiers.square.cells):
        memory.row_first[change] = _UNSEEN


@inlined
def _first_column(data: ProofData) -> None:
    """Set the current row's column soldiers to their first combination."""
    for k in range(data.listing.column_men):
        data.memory.column[k] = k


@inlined
def _next_column(data: ProofData) -> None:
    """Write the column soldiers' cells, and advance to their next combination."""
    memory, men = data.memory, data.listing.column_men
    soldiers = memory.black if data.listing.row_kind == 1 else memory.white
    for k in range(men):
        soldiers[k] = memory.left[memory.column[k]]
    # Increase the lowest number that can be increased, and reset all lower numbers.
    k = I64(0)
    while k + 1 < men and memory.column[k] + 1 == memory.column[k + 1]:
        memory.column[k] = k
        k += 1
    memory.column[k] += 1


# -- the rows after plies ------------------------------------------------------------------------
# All placements in a row have the same king and row soldiers. When one of these pieces moves, the new row and its cell
# numbers are therefore the same for all placements, and need to be looked up only once.


_UNSEEN: Final = -1
"""Value of ``row_first`` for a change that has not been looked up yet."""
_NOWHERE: Final = -2
"""Value for a change that leads to no row, because the piece may not stand on the cell."""
_SYMMETRIC: Final = -3
"""Value for a change that leads to a row with symmetries."""


@called
def _entry_at(
    index: TierTables,
    tier: int,
    king: int,
    black: NDArray[np.uint8],
    white: NDArray[np.uint8],
    scratch: NDArray[np.int64],
) -> int:
    """Return a position's entry. The call to `tablut.indexing.tier_kernels.entry_of` is not inlined."""
    return entry_of(index, tier, king, black, white, scratch)


@called
def _look_up_row(data: ProofData, change: int, king: int) -> None:
    """Look up the row for the current king and row soldiers in O(cells * men) time, and store it for later changes."""
    index, memory, cells = data.tiers, data.memory, data.tiers.square.cells
    row_cells = memory.white if data.listing.row_kind == 1 else memory.black
    first, element, others = row_of(index, data.tier, king, row_cells, memory.scratch)
    memory.row_first[change] = I64(_NOWHERE) if first < 0 else I64(_SYMMETRIC) if others != 0 else first
    if first < 0 or others != 0 or data.listing.column_men == 0:
        return
    orbit = I64(index.square.king[king])
    for cell in range(cells):
        image = I64(index.square.image[element * cells + cell])
        number = place_of(index, orbit, memory.scratch, data.listing.row_men, image)
        memory.row_place[change * cells + cell] = number + 1


@inlined
def _entry_after(data: ProofData, change: int, king: int) -> int:
    """Return the entry for the position of the current men, or -1 if it has none.

    ``change`` is the change of the current row that leads to this position's row.
    """
    index, memory, cells = data.tiers, data.memory, data.tiers.square.cells
    if memory.row_first[change] == _UNSEEN:
        _look_up_row(data, change, king)
    first = memory.row_first[change]
    if first == _NOWHERE:
        return I64(-1)
    if first == _SYMMETRIC:
        return _entry_at(index, data.tier, king, memory.black, memory.white, memory.scratch)
    column_cells = memory.black if data.listing.row_kind == 1 else memory.white
    for k in range(data.listing.column_men):
        number = I64(memory.row_place[change * cells + I64(column_cells[k])]) - 1
        if number < 0:
            return I64(-1)
        sort_in(memory.scratch, k, number)
    return first + rank_places(index.square.binomial, index.square.most, memory.scratch, data.listing.column_men)


# -- the proof ---------------------------------------------------------------------------------


WRONG_VALUE: Final = 0
"""Failure: the stored code differs from the code implied by the successors."""
NO_ENTRY: Final = 1
"""Failure: a successor has no entry."""
WRONG_ALIAS: Final = 2
"""Failure: an entry's placement is ranked to another entry that is not an earlier entry of the same row."""
WRONG_IMAGE: Final = 3
"""Failure: an image of an entry's placement is ranked to another entry."""

_UNPROVED, _WON, _LOST, _QUIET = -1, -2, -3, -4
"""Values that replace a successor's code. In this order, they mean that the successor has no entry, that the move wins
the game, that it loses the game, and that it neither captures nor ends the game. In the last case, the successor is in
the same tier."""
_FAR: Final = 1 << 20


@called
def _made_code(data: ProofData, side: int, move: int) -> int:
    """Make a move, take it back, and return its successor's stored code.

    The result can also be `_UNPROVED`, `_WON`, `_LOST` or `_QUIET`.
    """
    rules, index, memory = data.tables, data.tiers, data.memory
    undo, outcome = make(rules, memory.board, move)
    if outcome != UNDECIDED:
        unmake(rules, memory.board, undo)
        return I64(_WON) if winner_of(outcome) == side else I64(_LOST)
    if undo_captured(undo) == 0:
        unmake(rules, memory.board, undo)
        return I64(_QUIET)
    tier, entry = tier_at(index, count_of(rules, memory.board, 1), count_of(rules, memory.board, 0)), I64(-1)
    if tier >= 0:
        men_of_board(rules, memory.board, memory.spare_black, memory.spare_white)
        entry = _entry_at(
            index, tier, king_of(rules, memory.board), memory.spare_black, memory.spare_white, memory.scratch
        )
    unmake(rules, memory.board, undo)
    return code_at(data.places, 2 * tier + (side ^ 1), entry) if entry >= 0 else I64(_UNPROVED)


@inlined
def _replace(cells: NDArray[np.uint8], start: int, target: int) -> int:
    """Replace a cell in a list, and return the index of the replacement."""
    place = I64(0)
    while I64(cells[place]) != start:
        place += 1
    cells[place] = target
    return place


@inlined
def _free_men(data: ProofData, side: int, king: int) -> int:
    """Return the number of a side's men that can slide along both their rank and their file."""
    rules, memory, tier = data.tables, data.memory, data.tiers.tier
    men, cells, slides = tier.defenders[data.tier], memory.white, rules.defender_slides
    if side == 1:
        men, cells, slides = tier.attackers[data.tier], memory.black, rules.attacker_slides
    free = I64(0)
    for k in range(men):
        along_rank, along_file = slides_from(rules, memory.board, slides, I64(cells[k]))
        free += I64(along_rank != 0 and along_file != 0)
    if side == 0:
        along_rank, along_file = slides_from(rules, memory.board, rules.king_slides, king)
        free += I64(along_rank != 0 and along_file != 0)
    return free


@inlined
def _leaves_moves(data: ProofData, side: int, king: int) -> bool:
    """Return whether both sides certainly have a legal move after any ply by ``side`` that captures nothing.

    A piece that arrives on a cell can block the rank or the file of another man, but not both. Vacating a cell blocks
    nothing.
    """
    return _free_men(data, side ^ 1, king) > 0 and _free_men(data, side, king) > 1


@inlined
def _successor_code(data: ProofData, side: int, king: int, move: int, certain: bool) -> int:
    """Return the stored code of a move's successor, or `_UNPROVED`, `_WON` or `_LOST`.

    ``certain`` means that both sides are known to have a legal move afterwards. A move is then made on the board only
    if it is an escape or may capture.
    """
    rules, memory, cells = data.tables, data.memory, data.tiers.square.cells
    start, target = start_of(rules, move), target_of(rules, move)
    royal = side == 0 and start == king
    escapes = royal and rules.escapes[target] != 0
    if not certain or escapes or may_capture(rules, memory.board, side, target, target if royal else king):
        code = _made_code(data, side, move)
        if code != _QUIET:
            return code
    if royal:
        entry = _entry_after(data, 1 + data.listing.row_men * cells + target, target)
    else:
        own = memory.black if side == 1 else memory.white
        place = _replace(own, start, target)
        change = I64(0) if side == data.listing.row_kind else 1 + place * cells + target
        entry = _entry_after(data, change, king)
        own[place] = start
    return code_at(data.places, 2 * data.tier + (side ^ 1), entry) if entry >= 0 else I64(_UNPROVED)


@inlined
def _won(plies: int) -> int:
    """Return the code for a win in the given number of plies."""
    return 2 * plies


@inlined
def _lost(plies: int) -> int:
    """Return the code for a loss in the given number of plies."""
    return 2 * plies + 1


@inlined
def _prove(data: ProofData, side: int, king: int) -> int:
    """Derive the current position's code from its successors' codes.

    The result is `_UNPROVED` if a successor has no entry.
    """
    rules, memory = data.tables, data.memory
    put_side(rules, memory.board, side)
    count = generate(rules, memory.board, memory.moves)
    if count == 0:
        return _lost(I64(0))
    # Only some rules require this check after every ply.
    certain = rules.either_after_ply == 0 or _leaves_moves(data, side, king)
    certain = certain and not may_end_afar(rules, memory.board, side)
    best, worst, safe = I64(_FAR), I64(0), False
    for number in range(count):
        code = _successor_code(data, side, king, I64(memory.moves[number]), certain)
        if code == _UNPROVED:
            return code
        if code == _WON:
            # No win is quicker than a win in one ply.
            return _won(I64(1))
        if code == _LOST:
            worst = max(worst, I64(1))
        elif code == 0:
            safe = True
        elif is_loss(code):
            best = min(best, plies_of(code) + 1)
        else:
            worst = max(worst, plies_of(code) + 1)
    if best < _FAR:
        return _won(best)
    return I64(0) if safe else _lost(worst)


@inlined
def _orbit(data: ProofData, entry: int, king: int) -> int:
    """Return the size of a placement's orbit, or -1 if one of its images is ranked to another entry."""
    index, memory, order = data.tiers, data.memory, data.listing.order
    attackers, defenders = index.tier.attackers[data.tier], index.tier.defenders[data.tier]
    stabiliser = I64(1)
    # Element 0 is the identity.
    for element in range(1, order):
        table = advance(data.listing.image, element * index.square.cells)
        for k in range(attackers):
            memory.spare_black[k] = table[I64(memory.black[k])]
        for k in range(defenders):
            memory.spare_white[k] = table[I64(memory.white[k])]
        moved = I64(table[king])
        if _entry_at(index, data.tier, moved, memory.spare_black, memory.spare_white, memory.scratch) != entry:
            return I64(-1)
        if moved == king and _are_same(memory.black, memory.spare_black, attackers):
            stabiliser += I64(_are_same(memory.white, memory.spare_white, defenders))
    return order // stabiliser


@inlined
def _are_same(cells: NDArray[np.uint8], others: NDArray[np.uint8], count: int) -> bool:
    """Return whether two lists, each of ``count`` distinct cells, contain the same cells."""
    for k in range(count):
        is_there = False
        for other in range(count):
            is_there = is_there or others[other] == cells[k]
        if not is_there:
            return False
    return True


@inlined
def _report(tally: ProofTally, kind: int, entry: int, side: int, proved: int) -> None:
    """Count a failure, and record it if there is still space."""
    number = tally.counters[FAILURES]
    if number < tally.capacity:
        tally.failures[4 * number] = kind
        tally.failures[4 * number + 1] = entry
        tally.failures[4 * number + 2] = side
        tally.failures[4 * number + 3] = proved
    tally.counters[FAILURES] = number + 1


@inlined
def _settle(tally: ProofTally, entry: int, side: int, stored: int, proved: int) -> None:
    """Count a proved value, and report a failure if it differs from the stored value."""
    tally.counters[CHECKED] += 1
    if stored < tally.codes:
        tally.histogram[side * tally.codes + stored] += 1
    if proved != stored:
        _report(tally, I64(NO_ENTRY) if proved < 0 else I64(WRONG_VALUE), entry, side, proved)


@inlined
def _prove_row(data: ProofData, row: int, king: int, start: int, width: int) -> None:
    """Prove all positions of a row, in O(entries * moves) time."""
    memory = data.memory
    _open_row(data, row, king)
    _first_column(data)
    for entry in range(start, start + width):
        _next_column(data)
        ranked = _entry_at(data.tiers, data.tier, king, memory.black, memory.white, memory.scratch)
        if ranked != entry:
            data.tally.counters[ALIASES] += 1
            if ranked < start or ranked > entry:
                _report(data.tally, I64(WRONG_ALIAS), entry, I64(0), ranked)
            continue
        images = _orbit(data, entry, king)
        if images < 0:
            _report(data.tally, I64(WRONG_IMAGE), entry, I64(0), I64(-1))
        else:
            data.tally.counters[ORBITS] += images
        set_board(data.tables, data.tiers, data.tier, king, memory.black, memory.white, I64(0), memory.board)
        for side in range(2):
            stored = code_at(data.places, 2 * data.tier + side, entry)
            _settle(data.tally, entry, side, stored, _prove(data, side, king))


@kernel
def prove_rows(addresses: NDArray[np.int64], first: int, last: int) -> None:
    """Prove all positions in the given rows of a tier, in O(entries * moves) time."""
    data = record_at(addresses, ProofData)
    listing, orbit = data.listing, I64(0)
    for row in range(first, last):
        while row >= listing.first_row[orbit + 1]:
            orbit += 1
        start = listing.base[orbit] + (row - listing.first_row[orbit]) * listing.width[orbit]
        _prove_row(data, row, listing.king_cell[orbit], start, listing.width[orbit])


# -- a tier, part by part -----------------------------------------------------------------------


_PART: Final = 1 << 18
"""Approximate number of entries in a part. One thread proves one part at a time."""


class RowRange(NamedTuple):
    """A range of rows in a tier, and the number of entries in it."""

    first: int
    last: int
    entries: int


class TierProof:
    """The proof for one tier, which is carried out part by part. Each part lists at most ``listed`` failures."""

    def __init__(self, index: TierIndex, unpacked: UnpackedTiers, codes: int, listed: int) -> None:
        self.index, self.unpacked, self.codes, self.listed = index, unpacked, codes, listed
        self.rows = listing(index)
        self.number = unpacked.number((index.attackers, index.defenders))

    def parts(self) -> Iterable[RowRange]:
        """Yield ranges of rows that together cover the tier, with about `_PART` entries each."""
        rows = self.rows
        for number in range(len(rows.king_cell)):
            first, last, width = int(rows.first_row[number]), int(rows.first_row[number + 1]), int(rows.width[number])
            if not width:
                # With the king on this cell, too few cells are left for the attackers.
                continue
            step = max(1, _PART // width)
            for start in range(first, last, step):
                stop = min(start + step, last)
                yield RowRange(start, stop, (stop - start) * width)

    def prove(self, part: RowRange) -> ProofTally:
        """Prove the positions in a part."""
        variant = self.index.variant
        tables, unpacked = build_tables(variant), self.unpacked
        memory = new_memory(variant, self.index.row_men)
        tally = new_tally(self.codes, self.listed)
        # Kernels receive only addresses, and this record keeps the arrays alive.
        data = ProofData(tables, unpacked.tables, self.rows, memory, tally, unpacked.places, self.number)
        prove_rows(directory(data), part.first, part.last)
        return tally


def listing(index: TierIndex) -> Listing:
    """Return the data for enumerating a tier's placements, computed from its representatives.

    The binomial coefficients are computed again, independently of the index.
    """
    counts = np.count_nonzero(index.representatives, axis=1)
    most = 1 + max(index.row_men, index.column_men)
    cells, cell = index.variant.size**2, cells_dtype(index.variant.size)
    return Listing(
        row_kind=int(index.defenders > 0),
        row_men=index.row_men,
        column_men=index.column_men,
        row_spots=len(index.row_cells),
        column_spots=len(index.column_cells),
        most=most,
        order=len(index.kings.group),
        king_cell=np.array(index.kings.representatives, dtype=np.int64),
        base=np.array(index.offsets[:-1], dtype=np.int64),
        width=np.array(index.widths, dtype=np.int64),
        first_row=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        combination=np.nonzero(index.representatives)[1].astype(np.int64),
        row_cell=np.array(index.row_cells, dtype=cell),
        column_cell=np.array(index.column_cells, dtype=cell),
        binomial=np.array([[comb(n, k) for k in range(most)] for n in range(cells + 1)], dtype=np.int64).ravel(),
        image=np.array([symmetry.table for symmetry in index.kings.group], dtype=cell).ravel(),
    )
