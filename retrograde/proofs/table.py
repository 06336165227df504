"""The proof search's transposition table: proved facts and estimates, each stored with the exact position.

Entries are grouped in buckets of four. The packed position's hash selects the bucket. Each entry contains the position
itself, so two positions are never confused, whatever their hashes.

Several threads read and write a table without locks, as in the game-tree search
(`tablut.play.search.transposition`): the position's words are combined, by exclusive or, with a hash of the other
words. If a reader gets words from two different entries, they match no position, except with probability 2**-64.

There are two kinds of entries. A *settled* entry stores a proved fact: that the prover wins within a number of plies,
or that it does not win within a number of plies. The first fact is also true for every larger bound, and the second for
every smaller bound. Neither fact depends on the path that led to the position. An *open* entry stores a position's
proof numbers under one bound; a position may have several open entries. An open entry under the bound `LONGEST` stores
the numbers that all bounds share in a search with shared numbers.

A table belongs to one prover. An entry has ``W + 2`` words: the position, then ``pn | dn << 32``, then
``kind | bound or win << 2 | (no_win + 1) << 14 | effort << 32``. In a full bucket, the entry that took the least effort
(number of moves searched) is replaced.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tablut.engine.jit import (
    I64,
    U64,
    advance,
    called,
    finalised,
    inlined,
    kernel,
    pointer,
    prefetch,
    read_word,
    write_word,
)
from tablut.play.search.transposition import own_lines

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tablut.engine.tables import Tables

    Words = NDArray[np.uint64]
    """Packed positions, or entries."""
    BoardArray = NDArray[np.uint32]
    Directory = NDArray[np.int64]
    """A workspace's directory."""
    Numbers = NDArray[np.int64]

INFINITE: Final = 1 << 30
"""A disproved position's proof number, and a proved position's disproof number."""
LONGEST: Final = 4095
"""A number of plies above any bound.

In the field for a win, this number means that no win is known. In the field for plies without a win, this number means
that the prover never wins.
"""
WAYS: Final = 4
SLOTS: Final = 1 << 16
"""Number of slots in which threads record the moves that they are searching. Each thread avoids the others' moves.

Two moves may share a slot, which costs little.
"""

_ODD: Final = 0x9E3779B97F4A7C15
_OPEN: Final = 1
_SETTLED: Final = 2
_MOST_EFFORT: Final = (1 << 31) - 1


def new_table(size_bytes: int, words: int) -> NDArray[np.uint64]:
    """Return an empty table."""
    buckets = max(1, size_bytes // (8 * (words + 2) * WAYS))
    return own_lines(buckets * WAYS * (words + 2), np.uint64).reshape(-1, words + 2)


@inlined
def bucket_of(words: Words, width: int, buckets: int) -> int:
    """Return a packed position's bucket."""
    value = U64(0)
    for word in range(width):
        value = finalised(U64(value ^ words[word]))
    return I64(value % U64(buckets))


@inlined
def holds(words: Words, others: Words, width: int) -> bool:
    """Return whether two packed positions are the same."""
    differ = U64(0)
    for word in range(width):
        differ |= words[word] ^ others[word]
    return differ == U64(0)


@inlined
def send_for(table: Words, buckets: int, words: Words, width: int) -> None:
    """Prefetch the bucket for a position that will be read soon."""
    size = WAYS * (width + 2)
    bucket = advance(table, bucket_of(words, width, buckets) * size)
    for word in range(0, size, 8):
        prefetch(advance(bucket, word))


@inlined
def _guard(numbers: np.uint64, state: np.uint64) -> np.uint64:
    """Compute, from the other two words of an entry, the hash that is combined with its position words."""
    return finalised(U64(numbers * U64(_ODD) + state))


@inlined
def _is_of(entry: Words, words: Words, width: int, guard: np.uint64) -> bool:
    """Return whether an entry stores a given position and its words are consistent."""
    differ = U64(0)
    for word in range(width):
        differ |= read_word(advance(entry, word)) ^ words[word] ^ guard
    return differ == U64(0)


@inlined
def _write(entry: Words, words: Words, width: int, numbers: np.uint64, state: np.uint64) -> None:
    guard = _guard(numbers, state)
    for word in range(width):
        write_word(advance(entry, word), words[word] ^ guard)
    write_word(advance(entry, width), numbers)
    write_word(advance(entry, width + 1), state)


@called
def find(table: Words, buckets: int, words: Words, width: int, left: int, under: int) -> tuple[int, int, int]:
    """Return the proof number, disproof number and distance (-1 unless proved) of a position with ``left`` plies left.

    For an open position, the numbers stored for the bound ``under`` are returned. If nothing is known, the result is
    (-1, -1, -1).
    """
    first = bucket_of(words, width, buckets) * WAYS
    pn, dn = I64(-1), I64(-1)
    for way in range(WAYS):
        entry = advance(table, (first + way) * (width + 2))
        numbers, whole = read_word(advance(entry, width)), read_word(advance(entry, width + 1))
        if whole & U64(3) == U64(0) or not _is_of(entry, words, width, _guard(numbers, whole)):
            continue
        state = I64(whole & U64(0xFFFFFFFF))
        bound = (state >> 2) & 0xFFF
        if state & 3 == _SETTLED:
            if bound <= left:
                return I64(0), I64(INFINITE), bound
            # The stored number is one more than the number of plies without a win, so that 0 means unknown.
            if (state >> 14) & 0xFFF > left:
                return I64(INFINITE), I64(0), I64(-1)
        elif bound == under:
            pn, dn = I64(numbers & U64(0xFFFFFFFF)), I64(numbers >> U64(32))
    return pn, dn, I64(-1)


@inlined
def _victim(table: Words, first: int, words: Words, width: int, kind: int, under: int) -> tuple[int, np.uint64]:
    """Return the index of the entry to overwrite in a bucket, and the last word of the entry for this position, or 0.

    An entry is for this position only if its kind matches too and, if it is open, its bound.
    """
    chosen, least = I64(0), I64(1) << 40
    for way in range(WAYS):
        entry = advance(table, (first + way) * (width + 2))
        numbers, whole = read_word(advance(entry, width)), read_word(advance(entry, width + 1))
        state, effort = I64(whole & U64(0xFFFFFFFF)), I64(whole >> U64(32))
        if state & 3 == 0:
            effort = I64(-1)
        elif _is_of(entry, words, width, _guard(numbers, whole)):
            same = state & 3 == kind and (kind == _SETTLED or (state >> 2) & 0xFFF == under)
            if same:
                return first + way, whole
            if kind == _SETTLED and state & 3 == _OPEN and (state >> 2) & 0xFFF == under:
                # The position was open under this bound and is now settled.
                effort = I64(-2)
        if effort < least:
            chosen, least = first + way, effort
    return chosen, U64(0)


@called
def keep_open(table: Words, buckets: int, words: Words, width: int, under: int, pn: int, dn: int, effort: int) -> None:
    """Store a position's proof numbers under a bound."""
    place, old = _victim(table, bucket_of(words, width, buckets) * WAYS, words, width, _OPEN, under)
    effort += I64(old >> U64(32))
    state = U64(_OPEN | (under << 2)) | (U64(min(effort, _MOST_EFFORT)) << U64(32))
    _write(advance(table, place * (width + 2)), words, width, U64(pn) | (U64(dn) << U64(32)), state)


@called
def keep_settled(
    table: Words, buckets: int, words: Words, width: int, under: int, win: int, no_win: int, effort: int
) -> None:
    """Store the result that the prover wins within ``win`` plies, but not within ``no_win`` plies.

    ``win`` is `LONGEST` if no win is known, and ``no_win`` is -1 if no such number is known. ``under`` is the bound of
    the search that found the result.
    """
    place, old = _victim(table, bucket_of(words, width, buckets) * WAYS, words, width, _SETTLED, under)
    beyond = min(no_win + 1, LONGEST)
    if old != U64(0):
        before = I64(old & U64(0xFFFFFFFF))
        win, beyond = min(win, (before >> 2) & 0xFFF), max(beyond, (before >> 14) & 0xFFF)
        effort += I64(old >> U64(32))
    state = U64(_SETTLED | (win << 2) | (beyond << 14)) | (U64(min(effort, _MOST_EFFORT)) << U64(32))
    _write(advance(table, place * (width + 2)), words, width, U64(0), state)


@kernel
def keep_values(table: Words, words: Words, wins: NDArray[np.int64], no_wins: NDArray[np.int64]) -> None:
    """Store the known values of positions that are given as an array of shape (n, W).

    ``wins`` contains the numbers of plies within which the prover wins, and ``no_wins`` those within which it does not.
    """
    width = words.shape[1]
    buckets = len(table) // WAYS
    for index in range(len(words)):
        own = advance(pointer(words), index * width)
        # A tablebase is queried only once for a position. Give its values priority over results that a short search can
        # find again.
        keep_settled(pointer(table), buckets, own, width, LONGEST, wins[index], no_wins[index], 1 << 20)


# -- the workspace: the table, positions to look up in a tablebase, and a stack of plies -
# A workspace serves one prover and one search at a time. Python allocates the workspace, and kernels get its arrays as
# pointers.


class ProofWorkspace(NamedTuple):
    """Memory for a proof search on a board with C cells, P plies and W words for each position.

    - ``prover``: The side whose win is searched for: 0 for white, 1 for black.
    - ``width``: 4C, an upper bound on the number of moves from a position.
    - ``stride``: Number of columns of `covered`.
    - ``buckets``: Number of buckets of the table.
    - ``table``: The transposition table; see `retrograde.proofs.table`.
    - ``covered``: For each number of attackers and defenders, 1 if a tablebase covers the material, otherwise 0.
    - ``pending``: Positions to look up in the tablebase before the search continues.
    - ``moves``, ``pns``, ``dns``: By ply, the moves, and the proof and disproof numbers of the positions after them.
    - ``distances``: By ply and move, the number of plies to the win that has been proved after the move, or -1 if there
      is none.
    - ``words``: By ply, the position.
    - ``counts``, ``chosen``, ``undos``: By ply, the number of moves assessed, the index of the move being searched, and
      the record for undoing it.
    - ``pn_limits``, ``dn_limits``: By ply, the thresholds that end the position's search.
    - ``began``: By ply, the value of the node counter when the search entered the position.
    - ``killers``: The opponent moves that most recently prevented a win: first a move for the leaves, then a move for
      each ply.
    - ``scratch``: Space for the moves in the plies that are searched without a stack.
    - ``counters``: Number of nodes (moves made on the board), number of pending positions, and 1 if there is a
      tablebase.
    - ``threads``, ``thread``: Number of threads that search with this table, and the index of the thread that owns this
      workspace.
    - ``busy``: By thread and slot, the number of moves on the thread's path that have this slot.
    - ``held``: By ply, the slot of the move being searched.
    - ``stop``: A value other than 0 makes all threads stop.
    - ``below``: For each move of the current position, the position after it.
    """

    prover: int
    width: int
    stride: int
    buckets: int
    table: NDArray[np.uint64]
    covered: NDArray[np.uint8]
    pending: NDArray[np.uint64]
    moves: NDArray[np.int32]
    pns: NDArray[np.int32]
    dns: NDArray[np.int32]
    distances: NDArray[np.int16]
    words: NDArray[np.uint64]
    counts: NDArray[np.int64]
    chosen: NDArray[np.int64]
    undos: NDArray[np.int64]
    pn_limits: NDArray[np.int64]
    dn_limits: NDArray[np.int64]
    began: NDArray[np.int64]
    killers: NDArray[np.int64]
    scratch: NDArray[np.int32]
    counters: NDArray[np.int64]
    threads: int
    thread: int
    busy: NDArray[np.uint8]
    held: NDArray[np.int64]
    stop: NDArray[np.uint64]
    below: NDArray[np.uint64]


def new_proof_workspace(
    tables: Tables, prover: int, memory_bytes: int, plies: int = 16, threads: int = 1
) -> ProofWorkspace:
    """Return an empty workspace."""
    cells, words = tables.cells, tables.words
    table = new_table(memory_bytes, words)
    return ProofWorkspace(
        prover=prover,
        width=4 * cells,
        stride=cells + 1,
        buckets=len(table) // WAYS,
        table=table,
        # A position to be solved may have more soldiers than the starting position.
        covered=np.zeros((cells + 1, cells + 1), dtype=np.uint8),
        pending=np.zeros((4 * cells, words), dtype=np.uint64),
        scratch=np.empty(12 * cells, dtype=np.int32),
        counters=np.zeros(3, dtype=np.int64),
        threads=threads,
        thread=0,
        busy=np.zeros((threads, SLOTS), dtype=np.uint8),
        stop=np.zeros(1, dtype=np.uint64),
        below=np.zeros((4 * cells, words), dtype=np.uint64),
        **_stack(cells, words, plies),
    )


def for_thread(workspace: ProofWorkspace, thread: int) -> ProofWorkspace:
    """Return a workspace for another thread that uses the same table."""
    cells, words = workspace.width // 4, workspace.words.shape[1]
    own = {name: getattr(workspace, name).copy() for name in ("pending", "scratch", "counters", "below")}
    return workspace._replace(thread=thread, **own, **_stack(cells, words, len(workspace.moves) - 1))


def with_plies(workspace: ProofWorkspace, plies: int) -> ProofWorkspace:
    """Return the workspace with space for at least ``plies`` plies. If the stack is too small, it is replaced."""
    rows, width = workspace.moves.shape
    if plies < rows:
        return workspace
    return workspace._replace(**_stack(width // 4, workspace.words.shape[1], max(plies, 2 * rows)))


def _stack(cells: int, words: int, plies: int) -> dict[str, Any]:
    """Return the arrays for a stack with a given number of plies, keyed by their names in the workspace."""
    by_move: dict[str, NDArray[Any]] = {
        name: np.empty((plies + 1, 4 * cells), dtype=np.int32) for name in ("moves", "pns", "dns")
    }
    names = ("counts", "chosen", "undos", "pn_limits", "dn_limits", "began", "held")
    by_ply = {name: np.zeros(plies + 2, dtype=np.int64) for name in names}
    return {
        **by_move,
        **by_ply,
        "distances": np.empty((plies + 1, 4 * cells), dtype=np.int16),
        "words": np.zeros((plies + 2, words), dtype=np.uint64),
        "killers": np.zeros(plies + 4, dtype=np.int64),
    }
