"""Kernels that generate all children of canonical positions in canonical form.

A kernel computes the images of a parent's attackers and defenders under the whole group only once. A ply changes only a
few cells. A child's images are therefore derived from its parent's images: the move's origin and the captured soldiers
are removed, and the target is added. Often the least image is determined by the king's cell alone, or by the pieces
that did not move. Only the remaining candidates are compared, eight images in parallel (`tablut.engine.packing`). The
number of group elements that attain the least image is the order of the child's stabiliser, and thus determines the
size of its orbit without further work. Children are never unpacked.

Most quiet moves are not made on a board either, because a ply that captures nothing can usually end the game only by an
escape. On boards larger than 11×11, a simpler kernel makes every move on the board (`expand_wide`).

The kernels do not check that parents are well formed or that decided parents are marked as decided.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from counting.census.buckets import FIXING
from tablut.engine.attacks import captures_at, mark_threats, slides_along, slides_of, winner_of
from tablut.engine.canonical import ImageTables, least_image, table_entries
from tablut.engine.distant import is_far, may_part
from tablut.engine.jit import I64, U64, advance, inlined, keep, kernel, pointer, popcount, trailing_zeros
from tablut.engine.kernel_records import flat
from tablut.engine.kernels import generate, make, outcome_of_ply, toggle, toggle_captured, unmake
from tablut.engine.layout import (
    board_items,
    captured_cell,
    coordinates,
    count_of,
    king_of,
    line_of,
    occupied,
    own_pieces,
    put_king,
    side_of,
    undo_captured,
)
from tablut.engine.packing import board_bits, king_width, least_images, pack, unpack
from tablut.engine.perft import has_way_out
from tablut.engine.tables import Tables
from tablut.position import NARROW
from tablut.rules.outcome import KING_ESCAPED, UNDECIDED


class Expander(NamedTuple):
    """The tables for a game and its symmetry group that an expansion needs."""

    tables: Tables
    images: ImageTables
    template: NDArray[np.uint64]
    order: int


class Work(NamedTuple):
    """Scratch memory for an expansion, as pointers. Only kernels create instances of this class.

    N is the board size, and C is the number of cells.

    - ``board``: The parent, except while a ply's outcome is computed.
    - ``threats``: For each line, a mask of the cells on which an arriving piece may capture.
    - ``entries``: The indices of the table entries whose union is formed.
    - ``table``: The images of single cells, followed by the images of the parent's pieces; see `cell_images`.
    - ``least``: An output buffer for images that are discarded.
    - ``rows``, ``kings``, ``candidates``: Tables of the group; see `tablut.engine.canonical.ImageTables`.
    """

    board: NDArray[np.uint32]
    threats: NDArray[np.uint32]
    entries: NDArray[np.int64]
    table: NDArray[np.uint64]
    least: NDArray[np.uint64]
    rows: NDArray[np.uint64]
    kings: NDArray[np.uint8]
    candidates: NDArray[np.uint8]


class Parent(NamedTuple):
    """The properties that all children of a position have in common. Only kernels create instances of this class."""

    side: int
    home: int
    attackers: int
    settled: int
    least: int
    own: int
    foe: int
    tail: np.uint64
    way_out: bool


class Pieces(NamedTuple):
    """The table entries for a child's soldiers. For each colour, the images are the union of two entries."""

    white: int
    white_too: int
    black: int
    black_too: int


class ChildTally(NamedTuple):
    """The numbers of children written, of moves, of capturing moves and of captured soldiers."""

    children: int
    made: int
    capturing: int
    captured: int


class ChildFilter(NamedTuple):
    """A selection of the children to write: those reached by quiet moves, those reached by captures, or both.

    Kernels create a filter from constants. The code for other children is therefore not compiled.
    """

    quiet: bool
    capturing: bool


# -- images of cells ---------------------------------------------------------------------


WHITE, BLACK, MOVER, ENEMY, EMPTY, SLOTS = range(6)
"""Indices of the table entries that follow the single-cell entries, and the number of these entries.

The entries are the parent's white soldiers, the parent's black soldiers, the mover's soldiers without the moving one,
the opponent's soldiers without the captured ones, and the empty set.
"""


def cell_images(images: ImageTables, size: int) -> NDArray[np.uint64]:
    """Return the images of single cells, followed by empty entries for a parent's pieces.

    On boards larger than 11×11, the images are not used and are zero.
    """
    cells = size * size
    table = np.zeros((cells + SLOTS, 16), dtype=np.uint64)
    for cell in range(cells if size <= NARROW else 0):
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
    """Write a packed position, given its two boards, the bits for the king and the side to move, and its marks."""
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
    """Copy an entry's images to another entry, and remove one cell."""
    for lane in range(16):
        table[16 * target + lane] = table[16 * source + lane] & ~table[16 * cell + lane]


@inlined
def lane(table: NDArray[np.uint64], first: int, second: int, number: int) -> tuple[np.uint64, np.uint64]:
    """Return one image of the union of two entries."""
    low = table[16 * first + number] | table[16 * second + number]
    return U64(low), U64(table[16 * first + 8 + number] | table[16 * second + 8 + number])


# -- children in canonical form ----------------------------------------------------------


DECIDED: Final = 63
"""The bit of the last word that marks a decided position."""
BLACK_WON: Final = 62
"""The bit of the last word that is set if black won. No packed position uses the bits from `FIXING` on."""

EXPANSION_COUNTERS: Final = 4
"""Number of counters of `expand_canonical`: parents, moves, capturing moves and captured soldiers.

They count positions, not classes: each parent is weighted with the size of its orbit.
"""

# -- one parent, one ply ---------------------------------------------------------------------


@inlined
def _read_parent(rules: Tables, work: Work, word: NDArray[np.uint64]) -> Parent:
    """Unpack a position onto the board, and write its soldiers' images to their table entries."""
    unpack(rules, word, work.board)
    side, home, attackers = side_of(rules, work.board), king_of(rules, work.board), count_of(rules, work.board, 1)
    white, black = rules.cells + WHITE, rules.cells + BLACK
    low, high = board_bits(word, rules.words, rules.cells, rules.cells)
    count = table_entries(low, high, rules.size, work.entries)
    # First find the group elements that produce the least image of king and defenders. Then select the elements that
    # produce the least image of all pieces.
    settled = I64(
        least_images(work.rows, work.entries, I64(count), I64(work.candidates[home]), advance(work.table, 16 * white))
    )
    low, high = board_bits(word, rules.words, 0, rules.cells)
    count = table_entries(low, high, rules.size, work.entries)
    least = I64(least_images(work.rows, work.entries, I64(count), settled, advance(work.table, 16 * black)))
    own, foe = (black, white) if side == 1 else (white, black)
    way_out = has_way_out(rules, work.board, side)
    return Parent(side, home, attackers, settled, least, own, foe, U64(side ^ 1) << U64(king_width(rules)), way_out)


@inlined
def _threat(rules: Tables, work: Work, target: int) -> int:
    """Return 1 if a piece that arrives at the target might make a capture, otherwise 0."""
    to_rank, to_file = coordinates(rules, target)
    return ((I64(work.threats[to_rank]) >> to_file) | (I64(work.threats[rules.size + to_file]) >> to_rank)) & 1


@inlined
def _played(rules: Tables, work: Work, parent: Parent, start: int, target: int, is_king: bool) -> tuple[int, int]:
    """Return a ply's outcome and captures. The move is made on the board only if necessary."""
    king = target if is_king else parent.home
    threat = _threat(rules, work, target)
    besieging = parent.side == 1 and rules.facing[king * rules.cells + target] != 0
    afar = is_far(rules.distant) and (parent.side == 1 or rules.distant.edge[king] != 0)
    outcome, captures = UNDECIDED, 0
    if threat != 0 or besieging or rules.either_after_ply != 0 or afar:
        left, shift = parent.attackers, 16 - (parent.side << 4)
        toggle(rules, work.board, start, shift)
        toggle(rules, work.board, target, shift)
        if is_king:
            put_king(rules, work.board, target)
        if threat != 0:
            captures = captures_at(rules, work.board, parent.side, target, king)
        if captures != 0:
            toggle_captured(rules, work.board, target, captures, 16 - shift)
            left -= 0 if parent.side == 1 else popcount(captures)
        stays_open = parent.way_out and captures == 0 and not may_part(rules.distant, work.board, target)
        outcome = outcome_of_ply(rules, work.board, parent.side, target, king, left, stays_open)
        if captures != 0:
            toggle_captured(rules, work.board, target, captures, 16 - shift)
        if is_king:
            put_king(rules, work.board, parent.home)
        toggle(rules, work.board, target, shift)
        toggle(rules, work.board, start, shift)
    elif is_king and rules.escapes[target] != 0:
        outcome = KING_ESCAPED
    return outcome, captures


@inlined
def _pieces_after(rules: Tables, work: Work, parent: Parent, target: int, is_king: bool, captures: int) -> Pieces:
    """Return the table entries for a child's soldiers. After a capture, first compute the opponent's entry."""
    empty = rules.cells + EMPTY
    own, arrived = (parent.own, empty) if is_king else (rules.cells + MOVER, target)
    foe = parent.foe
    while captures:
        remove_cell(work.table, rules.cells + ENEMY, foe, captured_cell(rules, target, captures))
        captures &= captures - 1
        foe = rules.cells + ENEMY
    return Pieces(foe, empty, own, arrived) if parent.side == 1 else Pieces(own, arrived, foe, empty)


@inlined
def _least_of_child(work: Work, parent: Parent, pieces: Pieces, king: int) -> int:
    """Return the set of group elements that map a child to its canonical form.

    The king, the white soldiers and the black soldiers, in this order, narrow down the candidates.
    """
    # The comparison is written out twice, because a helper with an early return made the whole kernel 7 % slower.
    if parent.side == 1 and pieces.white == parent.foe:
        remaining = parent.settled
    else:
        remaining = I64(work.candidates[king])
        if (remaining & (remaining - 1)) != 0:
            work.entries[0], work.entries[1] = pieces.white, pieces.white_too
            remaining = I64(least_images(work.table, work.entries, I64(2), remaining, work.least))
    if (remaining & (remaining - 1)) != 0:
        work.entries[0], work.entries[1] = pieces.black, pieces.black_too
        remaining = I64(least_images(work.table, work.entries, I64(2), remaining, work.least))
    return remaining


@inlined
def _write_child(
    rules: Tables, work: Work, parent: Parent, pieces: Pieces, king: int, outcome: int, child: NDArray[np.uint64]
) -> None:
    """Write the canonical form of a child with the bits `FIXING` and, if the child is decided, its marks."""
    least = _least_of_child(work, parent, pieces, king)
    number = trailing_zeros(least)
    black = lane(work.table, pieces.black, pieces.black_too, number)
    white = lane(work.table, pieces.white, pieces.white_too, number)
    tail = U64(work.kings[king * 8 + number]) | parent.tail
    store_position(child, rules.words, rules.cells, black, white, tail, _marks(popcount(least), outcome))


@inlined
def _marks(fixing: int, outcome: int) -> np.uint64:
    """Return the bits in a child's last word that are not part of the position."""
    flags = U64(trailing_zeros(fixing)) << U64(FIXING)
    if outcome != UNDECIDED:
        flags |= U64(1) << U64(DECIDED)
        if winner_of(outcome) == 1:
            flags |= U64(1) << U64(BLACK_WON)
    return flags


@inlined
def _expand_piece(
    rules: Tables,
    work: Work,
    parent: Parent,
    start: int,
    children: NDArray[np.uint64],
    tally: ChildTally,
    choice: ChildFilter,
) -> ChildTally:
    """Write the selected children reached by moves of one piece, and count all children reached by these moves."""
    rank, file = coordinates(rules, start)
    is_king = parent.side == 0 and start == parent.home
    slides_at = slides_of(rules, parent.side, start, parent.home)
    if not is_king and choice.quiet:
        remove_cell(work.table, rules.cells + MOVER, parent.own, start)
    total, made, capturing, captured = tally.children, tally.made, tally.capturing, tally.captured
    for along in range(2):
        line, place = (rank, file) if along == 0 else (rules.size + file, rank)
        first, step = (rank * rules.size, 1) if along == 0 else (file, rules.size)
        targets = slides_along(rules, slides_at, line, place, occupied(line_of(work.board, line)))
        while targets:
            target = first + trailing_zeros(targets) * step
            targets &= targets - 1
            if not choice.quiet and _threat(rules, work, target) == 0:
                made += 1
                continue
            outcome, captures = _played(rules, work, parent, start, target, is_king)
            made += 1
            if captures != 0:
                capturing += 1
                captured += popcount(captures)
            if not (choice.quiet if captures == 0 else choice.capturing):
                continue
            if not is_king and not choice.quiet:  # computed only here, since captures are rare
                remove_cell(work.table, rules.cells + MOVER, parent.own, start)
            pieces = _pieces_after(rules, work, parent, target, is_king, captures)
            king = target if is_king else parent.home
            child = advance(children, total * rules.words)
            _write_child(rules, work, parent, pieces, king, outcome, child)
            total += 1
    return ChildTally(total, made, capturing, captured)


@inlined
def _expand_rows(
    expander: Expander,
    words: NDArray[np.uint64],
    children: NDArray[np.uint64],
    counters: NDArray[np.int64],
    choice: ChildFilter,
) -> tuple[int, int]:
    """Write the selected children of the undecided positions, and count all children; see `expand_canonical`."""
    rules = flat(expander.tables)
    scratch_board, scratch_threats = np.empty(board_items(rules.size), np.uint32), np.empty(2 * rules.size, np.uint32)
    scratch_entries, scratch_table = np.empty(2 * rules.size, dtype=np.int64), expander.template.copy()
    scratch_least = np.empty(16, dtype=np.uint64)
    w = Work(
        board=pointer(scratch_board),
        threats=pointer(scratch_threats),
        entries=pointer(scratch_entries),
        table=pointer(scratch_table),
        least=pointer(scratch_least),
        rows=pointer(expander.images.rows),
        kings=pointer(expander.images.kings),
        candidates=pointer(expander.images.candidates),
    )
    capacity = len(children) - 4 * rules.cells
    total = 0
    parent = 0
    while parent < len(words) and total <= capacity:
        word = advance(pointer(words), parent * rules.words)
        parent += 1
        if (word[rules.words - 1] >> U64(DECIDED)) != U64(0):
            continue
        p = _read_parent(rules, w, word)
        mark_threats(rules, w.board, p.side, w.threats)
        tally = ChildTally(total, 0, 0, 0)
        for rank in range(rules.size):
            own = own_pieces(line_of(w.board, rank), p.side)
            while own:
                start = rank * rules.size + trailing_zeros(own)
                own &= own - 1
                tally = _expand_piece(rules, w, p, start, pointer(children), tally, choice)
        orbit = expander.order // popcount(p.least)
        counters[0] += orbit
        counters[1] += orbit * tally.made
        counters[2] += orbit * tally.capturing
        counters[3] += orbit * tally.captured
        total = tally.children
    keep(scratch_board)
    keep(scratch_threats)
    keep(scratch_entries)
    keep(scratch_table)
    keep(scratch_least)
    return parent, total


@kernel
def expand_canonical(
    game: Expander, words: NDArray[np.uint64], children: NDArray[np.uint64], counters: NDArray[np.int64]
) -> tuple[int, int]:
    """Write the canonical form of every child of the undecided positions.

    Return the number of rows that were processed and the number of children that were written. The kernel stops early
    if the next row's children might not fit into ``children``.
    """
    return _expand_rows(game, words, children, counters, ChildFilter(True, True))


@kernel
def expand_quiet(
    game: Expander, words: NDArray[np.uint64], children: NDArray[np.uint64], counters: NDArray[np.int64]
) -> tuple[int, int]:
    """Write the canonical form of the children that are reached without a capture, and count all children."""
    return _expand_rows(game, words, children, counters, ChildFilter(True, False))


@kernel
def expand_captures(
    game: Expander, words: NDArray[np.uint64], children: NDArray[np.uint64], counters: NDArray[np.int64]
) -> tuple[int, int]:
    """Write the canonical form of the children that are reached by a capture, and count all children."""
    return _expand_rows(game, words, children, counters, ChildFilter(False, True))


@kernel
def expand_wide(
    game: Expander,
    words: NDArray[np.uint64],
    children: NDArray[np.uint64],
    counters: NDArray[np.int64],
    quiet: bool,
    capturing: bool,
) -> tuple[int, int]:
    """Write the canonical form of the selected children, and count all children, on boards larger than 11×11.

    Each move is made on the board, and the resulting position is packed.
    """
    rules, out = flat(game.tables), pointer(children)
    kings, candidates = pointer(game.images.kings), pointer(game.images.candidates)
    scratch_board, scratch_moves = (
        np.empty(board_items(rules.size), game.tables.exposed.dtype),
        np.empty(4 * rules.cells, np.int32),
    )
    scratch_words = np.empty(2 * rules.words, dtype=np.uint64)
    board, moves, child = pointer(scratch_board), pointer(scratch_moves), pointer(scratch_words)
    spare = advance(child, I64(rules.words))
    total = parent = 0
    while parent < len(words) and total <= len(children) - 4 * rules.cells:
        word = advance(pointer(words), parent * rules.words)
        parent += 1
        if (word[rules.words - 1] >> U64(DECIDED)) != U64(0):
            continue
        unpack(rules, word, board)
        king = king_of(rules, board)
        _, fixing = least_image(rules, word, child, kings, king, I64(candidates[king]), spare)
        orbit, count = game.order // fixing, generate(rules, board, moves)
        counters[0] += orbit
        counters[1] += orbit * count
        for index in range(count):
            undo, outcome = make(rules, board, I64(moves[index]))
            captured = popcount(undo_captured(undo))
            counters[2] += orbit * I64(captured != 0)
            counters[3] += orbit * captured
            if capturing if captured != 0 else quiet:
                pack(rules, board, child)
                king, row = king_of(rules, board), advance(out, total * rules.words)
                _, fixing = least_image(rules, child, row, kings, king, I64(candidates[king]), spare)
                row[rules.words - 1] |= _marks(fixing, outcome)
                total += 1
            unmake(rules, board, undo)
    keep(scratch_board)
    keep(scratch_moves)
    keep(scratch_words)
    return parent, total
