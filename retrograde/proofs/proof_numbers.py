"""Compiled depth-first proof-number search (df-pn) for a win within a bounded number of plies.

Proof-number search [1]_ expands the leaf that matters most for a proof or disproof of the root. df-pn [2]_ does this
depth first, with thresholds and a transposition table. The search leaves a child only when the child's number exceeds
the next best number by a quarter (the 1 + ε trick of [3]_). This avoids most of the switching between children.

The state is a position together with the number of plies left. The graph of states therefore has no cycles, even if the
game repeats positions. The game history causes no errors either, whereas unbounded df-pn may disprove a position on one
path and wrongly use this result on another [4]_. A proof means that the prover wins within n plies against any play,
and a disproof means that the prover does not. Neither a proof nor a disproof depends on how the position was reached.
The bound excludes no wins: if a win takes at least n plies, the distance falls with every ply of best play, and no
position repeats. The least bound under which the search finds a proof is the exact distance.

This method is exact, but slow for long wins: a position that is reached with many different numbers of plies left is
searched once for each of them. An alternative is to let all bounds share the numbers of *open* positions, which are
neither proved nor disproved, in one entry for each position. The graph then has cycles. A position that is already on
the path counts as if its proof number were almost infinite, so that no disproof follows from it [4]_. The entries for
*settled* positions still contain proved facts and their numbers of plies, and each fact follows from facts with fewer
plies. A position's initial numbers are multiplied by a factor that depends on its evaluation. With shared numbers, a
proof is still valid, but the win need not be the shortest. A search that finds no proof shows nothing.

Leaves are solved exactly, three plies deep, as explained in the comment above `winner_after`. When positions have
material that a tablebase covers, the search pauses to look up many of them together.

References
----------
.. [1] L. V. Allis, M. van der Meulen, H. J. van den Herik, Proof-number search,
   Artificial Intelligence 66 (1994), https://doi.org/10.1016/0004-3702(94)90004-3
.. [2] A. Nagai, Df-pn algorithm for searching AND/OR trees and its applications,
   PhD thesis, University of Tokyo, 2002
.. [3] J. Pawlewicz, Ł. Lew, Improving depth-first PN-search: 1 + ε trick, Computers and
   Games 2006, https://doi.org/10.1007/978-3-540-75538-8_14
.. [4] A. Kishimoto, M. Müller, A general solution to the graph history interaction
   problem, AAAI 2004, pp. 644-649
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from retrograde.proofs.table import (
    INFINITE,
    LONGEST,
    SLOTS,
    ProofWorkspace,
    bucket_of,
    find,
    holds,
    keep_open,
    keep_settled,
    send_for,
)
from tablut.engine.attacks import escape_targets, is_legal, king_capture, king_slides, may_end_afar, winner_of
from tablut.engine.distant import has_shieldwalls
from tablut.engine.jit import I64, U64, advance, called, inlined, kernel, pointer, read_word
from tablut.engine.kernel_records import flat, record_at
from tablut.engine.kernels import (
    can_move,
    count_moves,
    escape_of_king,
    generate,
    line_content,
    make,
    moves_on_line,
    unmake,
)
from tablut.engine.layout import (
    captured_cell,
    coordinates,
    count_of,
    is_wide,
    king_of,
    put_side,
    side_of,
    start_of,
    target_of,
    undo_captured,
)
from tablut.engine.packing import flip, king_width, pack, unpack
from tablut.play.search.evaluation import evaluate
from tablut.rules.outcome import UNDECIDED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from retrograde.proofs.table import BoardArray, Directory, Numbers, Words
    from tablut.engine.tables import Tables
    from tablut.play.search.evaluation import EvaluationTables

    Moves = NDArray[np.int32]

MOST_PLIES: Final = 1000
"""Maximum bound of a search, in plies."""

DEEPEST: Final = 500
"""Maximum length, in plies, of a path in a search whose bounds share the open numbers."""

RESULT_FIELDS: Final = 6
"""Number of results of `prove`: the proof number, the disproof number, the distance (-1 unless proved), the best first
move, the number of moves made on the board, and the number of positions to look up in the tablebase."""

NODES, PENDING, TABLES = range(3)
"""Indices in `ProofWorkspace.counters`."""

_AHEAD = 8
"""Number of moves that are made in advance, so that their table entries are prefetched before they are needed."""

_EVEN, _DOUBLES = 1000, 150
"""The score above which a proof number is not multiplied, and the decrease in the score that doubles it, in
centi-logits."""


@called
def _child_words(t: Tables, parent: Words, board: BoardArray, undo: int, child: Words) -> None:
    """Pack the child position that is on the board. ``undo`` is the undo record of the ply that led to it."""
    cells = t.cells
    start, target, captures = start_of(t, undo), target_of(t, undo), undo_captured(undo)
    mover = side_of(t, board) ^ 1
    own, enemy = (0, cells) if mover == 1 else (cells, 0)
    for word in range(t.words):
        child[word] = parent[word]
    flip(child, 2 * cells + king_width(t))
    if mover == 0 and king_of(t, board) == target:
        king_at = 2 * cells
        # On every board, the bits for the king's cell lie within one word.
        child[king_at >> 6] ^= U64(start ^ target) << U64(king_at & 63)
    else:
        flip(child, own + start)
        flip(child, own + target)
    while captures:
        flip(child, enemy + captured_cell(t, target, captures))
        captures &= captures - 1


@inlined
def _proved(distance: int) -> tuple[int, int, int]:
    """Return the proof number, disproof number and distance of a position that is won within ``distance`` plies."""
    return I64(0), I64(INFINITE), I64(distance)


@inlined
def disproved() -> tuple[int, int, int]:
    """Return the proof number, disproof number and distance of a position that is not won."""
    return I64(INFINITE), I64(0), I64(-1)


@inlined
def _power(score: int) -> float:
    """Return the factor for one of a position's numbers that corresponds to the position's score in centi-logits."""
    return 2.0 ** (max(0, min(_EVEN - score, 12 * _DOUBLES)) / _DOUBLES)


@called
def _first_numbers(
    t: Tables, e: EvaluationTables, board: BoardArray, prover: int, under: int, pn: int, dn: int
) -> tuple[int, int, int]:
    """Return the initial numbers of an open position.

    The initial numbers are the given numbers. If all bounds share the numbers, they are weighted by the position's
    evaluation.
    """
    if under != LONGEST:
        return I64(pn), I64(dn), I64(-1)
    score = I64(evaluate(t, e, board)) * (1 - 2 * prover)
    return I64(2 * pn * _power(score)), I64(2 * dn * _power(-score)), I64(-1)


@called
def _repeats(t: Tables, path: Words, undos: Numbers, child: Words, undo: int, ply: int) -> bool:
    """Return whether the position after a ply already occurs on the path that leads to it."""
    place = ply
    while undo_captured(undo) == 0 and place > 0:
        place -= 1
        undo = undos[place]
        if undo_captured(undo) == 0 and holds(advance(path, place * t.words), child, t.words):
            return True
    return False


@called
def _assess(
    t: Tables, e: EvaluationTables, directory: Directory, board: BoardArray, words: Words, left: int, under: int
) -> tuple[int, int, int]:
    """Return the proof number, disproof number and distance of an undecided position that is not in the table.

    The distance is -1 unless the position is proved.
    """
    work = record_at(directory, ProofWorkspace)
    side = side_of(t, board)
    if side != work.prover and left <= 2:
        distance = lost_at_once(t, board, left, work.scratch, work.killers, work.counters)
        return _proved(distance) if distance >= 0 else disproved()
    if left <= 1:
        distance = wins_soon(t, board, left, work.scratch, work.killers, work.counters)
        return _proved(distance) if distance >= 0 else disproved()
    if side == work.prover:
        if left <= 3:
            before = work.counters[NODES]
            distance = wins_soon(t, board, left, work.scratch, work.killers, work.counters)
            effort = work.counters[NODES] - before
            if distance >= 0:
                keep_settled(work.table, work.buckets, words, t.words, under, distance, -1, effort)
                return _proved(distance)
            keep_settled(work.table, work.buckets, words, t.words, under, LONGEST, left, effort)
            return disproved()
        if winning_move(t, board, work.scratch) >= 0:
            return _proved(1)
        return _first_numbers(t, e, board, work.prover, under, 1, 1 + count_moves(t, board, side) // 8)
    # If the prover could win immediately by moving now, only a few of the opponent's moves can prevent this.
    put_side(t, board, work.prover)
    threat = winning_move(t, board, work.scratch) >= 0
    put_side(t, board, side)
    if threat:
        parries = count_parries(t, board, work.scratch, work.counters)
        return _proved(2) if parries == 0 else _first_numbers(t, e, board, work.prover, under, parries, 1)
    return _first_numbers(t, e, board, work.prover, under, 4 + count_moves(t, board, side), 1)


@inlined
def _note_pending(t: Tables, work: ProofWorkspace, board: BoardArray, words: Words, pn: int, dn: int) -> None:
    """If a position is open and its material is in the tablebase, add it to the positions to be looked up."""
    if pn != 0 and dn != 0 and work.covered[count_of(t, board, 1) * work.stride + count_of(t, board, 0)] != 0:
        for word in range(t.words):
            work.pending[work.counters[PENDING] * t.words + word] = words[word]
        work.counters[PENDING] += 1


@inlined
def _set(work: ProofWorkspace, at: int, numbers: tuple[int, int, int]) -> None:
    """Write a child's numbers and distance."""
    work.pns[at], work.dns[at], work.distances[at] = np.int32(numbers[0]), np.int32(numbers[1]), np.int16(numbers[2])


@called
def _make_ahead(t: Tables, directory: Directory, board: BoardArray, ply: int, index: int, shared: bool) -> None:
    """Make a move, write the position after it, and undo the move.

    If the new position is settled, also write its result; otherwise prefetch its table entry.
    """
    work = record_at(directory, ProofWorkspace)
    at, child = ply * work.width + index, advance(work.below, index * t.words)
    undo, outcome = make(t, board, I64(work.moves[at]))
    _child_words(t, advance(work.words, ply * t.words), board, undo, child)
    winner = winner_after(t, board, outcome)
    if winner >= 0:
        _set(work, at, _proved(0) if winner == work.prover else disproved())
    elif shared and (ply + 1 == DEEPEST or _repeats(t, work.words, work.undos, child, undo, ply)):
        _set(work, at, (I64(INFINITE) - 1, I64(1), I64(-1)))
    else:
        send_for(work.table, work.buckets, child, t.words)
        _set(work, at, (I64(-1), I64(-1), I64(-1)))
    unmake(t, board, undo)


@called
def _see(
    t: Tables, e: EvaluationTables, directory: Directory, board: BoardArray, ply: int, index: int, left: int, under: int
) -> None:
    """Write the initial numbers of a child that `_make_ahead` has left open."""
    work = record_at(directory, ProofWorkspace)
    at, child = ply * work.width + index, advance(work.below, index * t.words)
    prover_moves = side_of(t, board) == work.prover
    numbers = (I64(-1), I64(-1), I64(-1))
    if left > 2 or (left == 2 and not prover_moves):
        numbers = find(work.table, work.buckets, child, t.words, left, under)
    if numbers[0] < 0 or work.counters[TABLES] != 0:
        undo, _ = make(t, board, I64(work.moves[at]))
        if numbers[0] < 0:
            numbers = _assess(t, e, directory, board, child, left, under)
        _note_pending(t, work, board, child, numbers[0], numbers[1])
        unmake(t, board, undo)
    _set(work, at, numbers)


@called
def _enter(
    t: Tables, e: EvaluationTables, directory: Directory, board: BoardArray, ply: int, left: int, shared: bool
) -> None:
    """Write a position's moves and the initial numbers after each move. Stop at a move that settles the position.

    A move settles the position if it wins for the prover, or if it is the opponent's and prevents the win.
    """
    work = record_at(directory, ProofWorkspace)
    at = ply * work.width
    moves, proving = advance(work.moves, at), side_of(t, board) == work.prover
    work.began[ply] = work.counters[NODES]
    count = generate(t, board, moves)
    if not proving:
        # First try the move that prevented a win last time, since one such move suffices.
        for index in range(1, count):
            if I64(moves[index]) == work.killers[ply + 1]:
                moves[index], moves[0] = moves[0], moves[index]
    numbers = work.pns if proving else work.dns
    under = I64(LONGEST) if shared else left - 1
    # Make the first move alone, because it often settles the position. Then make several moves at a time to prefetch
    # their entries.
    made = I64(0)
    for index in range(count):
        if index == made:
            made = min(count, index + (_AHEAD if index else 1))
            for place in range(index, made):
                _make_ahead(t, directory, board, ply, place, shared)
        work.counters[NODES] += 1
        if work.pns[at + index] < 0:
            _see(t, e, directory, board, ply, index, left - 1, under)
        if numbers[at + index] == 0:
            if not proving:
                work.killers[ply + 1] = I64(moves[index])
            count = index + 1
            break
    work.counts[ply] = count


class NodeNumbers(NamedTuple):
    """A node's numbers, computed from its children's numbers. Kernels create this tuple."""

    pn: int
    dn: int
    distance: int
    best: int
    second: int


@inlined
def _judge_node(work: ProofWorkspace, ply: int, proving: bool) -> NodeNumbers:
    """Compute a node's numbers from its children's numbers. The side to move needs only one good child."""
    at = ply * work.width
    least, second, total, best, worst = I64(INFINITE), I64(INFINITE), I64(0), I64(0), I64(0)
    for index in range(work.counts[ply]):
        own = I64(work.pns[at + index]) if proving else I64(work.dns[at + index])
        other = I64(work.dns[at + index]) if proving else I64(work.pns[at + index])
        total += other
        worst = max(worst, I64(work.distances[at + index]))
        if own < least:
            second, least, best = least, own, index
        else:
            second = min(second, own)
    if least == 0:
        total = I64(INFINITE)
    elif total >= INFINITE:
        total = I64(INFINITE) - 1
    pn, dn = (least, total) if proving else (total, least)
    distance = I64(-1)
    if pn == 0:
        distance = 1 + (I64(work.distances[at + best]) if proving else worst)
    return NodeNumbers(pn, dn, distance, best, second)


@inlined
def _keep_node(t: Tables, work: ProofWorkspace, v: NodeNumbers, ply: int, left: int, under: int, proving: bool) -> None:
    """Store a node's result in the table."""
    own, effort = advance(work.words, ply * t.words), work.counters[NODES] - work.began[ply]
    if v.pn == 0:
        keep_settled(work.table, work.buckets, own, t.words, under, v.distance, -1, effort)
    elif v.dn == 0:
        # With more plies left than any bound, a disproof means that the position is never won.
        no_win = I64(LONGEST) if left > MOST_PLIES else left
        keep_settled(work.table, work.buckets, own, t.words, under, LONGEST, no_win, effort)
        if not proving:
            work.killers[ply + 1] = I64(work.moves[ply * work.width + v.best])
    else:
        # Every line repeats a position on this path, but perhaps not on another path. Therefore store the same numbers
        # as after a search that reached its limit without a proof.
        pn = work.pn_limits[ply] if under == LONGEST and v.pn == INFINITE - 1 else v.pn
        keep_open(work.table, work.buckets, own, t.words, under, pn, v.dn, effort)


@inlined
def _place(t: Tables, work: ProofWorkspace, ply: int) -> int:
    """Return the number from which `_slot` computes the slots of a node's moves."""
    return bucket_of(advance(work.words, ply * t.words), t.words, SLOTS)


@inlined
def _slot(node: int, move: int) -> int:
    """Return the slot for one of a node's moves. The factor is odd, so moves at the same node rarely share a slot."""
    return (node + 0x9E37 * move) & (SLOTS - 1)


@inlined
def _others(work: ProofWorkspace, slot: int) -> int:
    """Return the number of other threads that are searching a move."""
    count = I64(0)
    for thread in range(work.threads):
        if thread != work.thread and work.busy[thread * SLOTS + slot] != 0:
            count += 1
    return count


@called
def _kept_apart(t: Tables, directory: Directory, v: NodeNumbers, ply: int, proving: bool) -> NodeNumbers:
    """Return a node's numbers. If other threads search the best child, choose another child of about the same value."""
    work = record_at(directory, ProofWorkspace)
    at, limit = ply * work.width, work.pn_limits[ply] if proving else work.dn_limits[ply]
    numbers = work.pns if proving else work.dns
    least, second, best = I64(INFINITE), I64(INFINITE), v.best
    most = 2 * I64(numbers[at + v.best]) + 1
    node = _place(t, work, ply)
    for index in range(work.counts[ply]):
        own = I64(numbers[at + index])
        if own >= limit:
            continue
        if own <= most:
            own += (own // 4 + 1) * _others(work, _slot(node, I64(work.moves[at + index])))
        if own < least:
            second, least, best = least, own, index
        else:
            second = min(second, own)
    return NodeNumbers(v.pn, v.dn, v.distance, best, second)


@called
def _learn(t: Tables, directory: Directory, ply: int, left: int, under: int) -> bool:
    """Look up the next child in the table, in case another thread has updated it. Return whether the entry is new."""
    work = record_at(directory, ProofWorkspace)
    at = ply * work.width + work.chosen[ply]
    if work.pns[at] >= INFINITE - 1:
        # The child repeats a position on this path.
        return False
    pn, dn, distance = find(work.table, work.buckets, advance(work.words, (ply + 1) * t.words), t.words, left, under)
    if pn < 0 or (pn == work.pns[at] and dn == work.dns[at]):
        return False
    _set(work, at, (pn, dn, distance))
    return True


@inlined
def _descend(t: Tables, work: ProofWorkspace, board: BoardArray, v: NodeNumbers, ply: int, proving: bool) -> None:
    """Make a node's best move, and set the thresholds for the position after it."""
    at = ply * work.width + v.best
    limit = min(v.second + v.second // 4 + 1, INFINITE)
    # A sum that was capped just below infinity is not exact, and nothing can be subtracted from it.
    if proving:
        rest = v.dn - I64(work.dns[at]) if v.dn < INFINITE - 1 else I64(0)
        work.pn_limits[ply + 1] = min(work.pn_limits[ply], limit)
        work.dn_limits[ply + 1] = work.dn_limits[ply] - rest
    else:
        rest = v.pn - I64(work.pns[at]) if v.pn < INFINITE - 1 else I64(0)
        work.dn_limits[ply + 1] = min(work.dn_limits[ply], limit)
        work.pn_limits[ply + 1] = work.pn_limits[ply] - rest
    work.chosen[ply] = v.best
    work.held[ply] = _slot(_place(t, work, ply), I64(work.moves[at]))
    undo, _ = make(t, board, I64(work.moves[at]))
    work.counters[NODES] += 1
    work.undos[ply] = undo
    _child_words(t, advance(work.words, ply * t.words), board, undo, advance(work.words, (ply + 1) * t.words))


@kernel
def prove(
    tables: Tables,
    evaluation: EvaluationTables,
    directory_array: Directory,
    board_array: BoardArray,
    bound: int,
    shared: int,
    node_limit: int,
    result: Numbers,
) -> None:
    """Search for a win for the prover within ``bound`` plies. If ``shared`` is 1, all bounds share the open numbers."""
    t, e, directory, board = flat(tables), flat(evaluation), pointer(directory_array), pointer(board_array)
    p = record_at(directory, ProofWorkspace)
    p.counters[NODES], p.counters[PENDING] = 0, 0
    for place in range((min(bound, DEEPEST) if shared else bound) + 4):
        p.killers[place] = 0
    pack(t, board, p.words)
    # With shared numbers, the proof number stays just below infinity if all lines repeat positions. Stop at this
    # number.
    p.pn_limits[0], p.dn_limits[0] = I64(INFINITE) - I64(shared), I64(INFINITE)
    ply = I64(0)
    entering = True
    while True:
        left = bound - ply
        under = I64(LONGEST) if shared else left
        proving = side_of(t, board) == p.prover
        if entering:
            _enter(t, e, directory, board, ply, left, shared != 0)
            entering = False
        v = _judge_node(p, ply, proving)
        stopped = p.counters[NODES] >= node_limit or p.counters[PENDING] > 0 or read_word(p.stop) != U64(0)
        if v.pn == 0 or v.dn == 0 or v.pn >= p.pn_limits[ply] or v.dn >= p.dn_limits[ply] or stopped:
            _keep_node(t, p, v, ply, left, under, proving)
            if ply == 0:
                result[0], result[1], result[2], result[3] = v.pn, v.dn, v.distance, I64(p.moves[v.best])
                result[4], result[5] = p.counters[NODES], p.counters[PENDING]
                break
            ply -= 1
            unmake(t, board, p.undos[ply])
            at = ply * p.width + p.chosen[ply]
            p.busy[p.thread * SLOTS + p.held[ply]] -= np.uint8(1)
            p.pns[at], p.dns[at], p.distances[at] = np.int32(v.pn), np.int32(v.dn), np.int16(v.distance)
        else:
            # If no other thread is searching the move to this node, other threads could have reached positions below it
            # only through a different move. Ignore them.
            company = p.threads > 1 and (ply == 0 or _others(p, p.held[ply - 1]) > 0)
            if company:
                v = _kept_apart(t, directory, v, ply, proving)
            _descend(t, p, board, v, ply, proving)
            if company and _learn(t, directory, ply, left - 1, under if shared else under - 1):
                unmake(t, board, p.undos[ply])
                continue
            p.busy[p.thread * SLOTS + p.held[ply]] += np.uint8(1)
            ply += 1
            entering = True


@kernel
def read_proofs(
    tables: Tables,
    evaluation: EvaluationTables,
    directory_array: Directory,
    words: Words,
    lefts: Numbers,
    board_array: BoardArray,
    results: Numbers,
) -> None:
    """For each position, write the quickest proved winning move and the length of the win, in shape (n, 2).

    The positions have shape (n, W). The prover is to move in all positions, with ``lefts`` plies left. The board is
    scratch memory.
    """
    t, e, directory, board = flat(tables), flat(evaluation), pointer(directory_array), pointer(board_array)
    p = record_at(directory, ProofWorkspace)
    for index in range(len(words)):
        own = advance(pointer(words), index * t.words)
        unpack(t, own, board)
        for word in range(t.words):
            p.words[word] = own[word]
        left = I64(lefts[index])
        # In most positions of a strategy, some move wins immediately.
        won = winning_move(t, board, p.scratch) if left > 0 else I64(-1)
        results[index, 0], results[index, 1] = won, 1 if won >= 0 else -1
        if won >= 0:
            continue
        soonest, count = left, generate(t, board, p.moves)
        for place in range(count):
            _make_ahead(t, directory, board, I64(0), place, True)
        for place in range(count):
            if p.pns[place] < 0:
                child = advance(p.below, place * t.words)
                _set(p, place, find(p.table, p.buckets, child, t.words, left - 1, I64(LONGEST)))
            if p.pns[place] == 0 and p.distances[place] < soonest:
                soonest = I64(p.distances[place])
                results[index, 0], results[index, 1] = I64(p.moves[place]), soonest + 1
        if soonest == left and left > 0:
            # The table contains no win for this position. Search for a short win without the table.
            p.counters[PENDING] = 0
            _enter(t, e, directory, board, I64(0), left, True)
            v = _judge_node(p, I64(0), True)
            if v.pn == 0:
                results[index, 0], results[index, 1] = I64(p.moves[v.best]), v.distance


# -- the leaves: positions decided within three plies ------------------------------------
# A win in one ply is searched for only where it can occur: a slide of the king to an escape, or a slide of an attacker
# to a free cell next to the king that captures the king. Each candidate is made on the board and evaluated there, so
# superfluous candidates cost only time. Two other kinds of win can occur anywhere on the board: a capture of the last
# attackers, and a ply that leaves the other side without a legal move. For these, every move is tried, unless one of
# the following facts shows that no single ply can win in this way:
#
# * Without shieldwalls, a ply captures at most three soldiers, and so cannot capture the last four. * A ply adds a
# piece to two lines and removes captured soldiers from at most three more, so a side that can move on
#   six lines can still move after it.
# * A ply closes at most one of the directions in which the king can move.
#
# Tests compare all results with the results of trying every move. The *prover* is the side whose win is searched for,
# and the *opponent* is the other side. A distance is in plies; -1 means that there is no win within the bound. C is the
# number of cells.


_SAFE_LINES = 6
"""Number of lines on which a side must be able to move so that it can still move after any ply by the other side."""


@inlined
def winner_after(t: Tables, board: BoardArray, outcome: int) -> int:
    """Return the winner after a ply (0 for white, 1 for black, -1 if undecided), given the board and the outcome."""
    if outcome != UNDECIDED:
        return winner_of(outcome)
    side = side_of(t, board)
    # Under `either_after_ply`, the outcome already covers this case.
    if t.either_after_ply == 0 and not can_move(t, board, side):
        return side ^ 1
    return -1


@called
def _is_win(t: Tables, board: BoardArray, move: int, side: int) -> bool:
    """Return whether a legal move by the side to move wins immediately."""
    undo, outcome = make(t, board, move)
    won = winner_after(t, board, outcome) == side
    unmake(t, board, undo)
    return won


@called
def _mobile_lines(t: Tables, board: BoardArray, side: int) -> int:
    """Return the number of lines on which a side can move, up to `_SAFE_LINES`. The king is treated as a soldier."""
    counts_at = t.attacker_counts if side == 1 else t.defender_counts
    lines = 0
    for line in range(2 * t.size):
        if is_wide(board):
            moves = moves_on_line(t, board, side, I64(-1), line)
        else:
            moves = I64(t.counts[I64(counts_at[line]) + line_content(t, I64(board[line]))])
        if moves != 0:
            lines += 1
            if lines == _SAFE_LINES:
                return lines
    return lines


@inlined
def _ply_may_decide_otherwise(t: Tables, board: BoardArray, side: int) -> bool:
    """Return whether a ply by a side may capture the last attacker or leave the other side without a legal move."""
    if (side == 0 and count_of(t, board, 1) <= 3) or has_shieldwalls(t.distant) or may_end_afar(t, board, side):
        return True
    if side == 1:
        king = king_of(t, board)
        rank, file = coordinates(t, king)
        row, column = king_slides(t, board, king)
        ways = 1 if row & ((1 << file) - 1) else 0
        ways += 1 if row >> file else 0
        ways += 1 if column & ((1 << rank) - 1) else 0
        ways += 1 if column >> rank else 0
        if ways >= 2:
            return False
    return _mobile_lines(t, board, side ^ 1) < _SAFE_LINES


@inlined
def _escaping_move(t: Tables, board: BoardArray) -> int:
    """Return a move by which the king escapes and wins, or -1 if there is none. White must be to move."""
    row, column = escape_targets(t, board, king_of(t, board))
    return escape_of_king(t, board, row, column)


@called
def winning_move(t: Tables, board: BoardArray, scratch: Moves) -> int:
    """Return a move that wins in one ply for the side to move, or -1 if there is none.

    ``scratch`` has space for 4C moves.
    """
    side = side_of(t, board)
    move = _escaping_move(t, board) if side == 0 else king_capture(t, board)
    if move >= 0:
        return move
    if _ply_may_decide_otherwise(t, board, side):
        count = generate(t, board, scratch)
        for index in range(count):
            if _is_win(t, board, I64(scratch[index]), side):
                return I64(scratch[index])
    return -1


@called
def _distance_after(t: Tables, board: BoardArray, move: int, left: int, scratch: Moves, counters: Numbers) -> int:
    """Return how many plies it takes the opponent to lose after making a given move. The opponent is to move.

    Return -1 if this takes more than ``left`` plies (1 or 2).
    """
    opponent = side_of(t, board)
    undo, outcome = make(t, board, move)
    counters[0] += 1
    winner = winner_after(t, board, outcome)
    distance = -1
    if winner == opponent ^ 1:
        distance = 1
    elif winner < 0 and left > 1 and winning_move(t, board, scratch) >= 0:
        distance = 2
    unmake(t, board, undo)
    return distance


@called
def lost_at_once(t: Tables, board: BoardArray, left: int, scratch: Moves, killer: Numbers, counters: Numbers) -> int:
    """Return how many plies it takes the opponent to lose. The opponent is to move.

    Return -1 if this takes more than ``left`` plies (0 to 2). ``scratch`` has space for 8C moves. ``killer`` is the
    move that most recently prevented a loss; it is tried first. ``counters[0]`` counts the moves made.
    """
    if not can_move(t, board, side_of(t, board)):
        return 0
    if left == 0:
        return -1
    below = advance(scratch, 4 * t.cells)
    if is_legal(t, board, killer[0]) and _distance_after(t, board, killer[0], left, below, counters) < 0:
        return -1
    worst = 0
    count = generate(t, board, scratch)
    for index in range(count):
        move = I64(scratch[index])
        distance = _distance_after(t, board, move, left, below, counters)
        if distance < 0:
            killer[0] = move
            return -1
        worst = max(worst, distance)
    return worst


@called
def count_parries(t: Tables, board: BoardArray, scratch: Moves, counters: Numbers) -> int:
    """Return the number of moves by the opponent, who is to move, that prevent the prover from winning in two plies."""
    below = advance(scratch, 4 * t.cells)
    parries = 0
    count = generate(t, board, scratch)
    for index in range(count):
        if _distance_after(t, board, I64(scratch[index]), 2, below, counters) < 0:
            parries += 1
    return parries


@called
def wins_soon(t: Tables, board: BoardArray, left: int, scratch: Moves, killer: Numbers, counters: Numbers) -> int:
    """Return a number of plies within which the prover wins. The prover is to move.

    The number is 1 if the prover can win in one ply, and otherwise the length of the first win found. If there is no
    win within ``left`` plies (0 to 3), the number is -1. ``scratch`` has space for 12C moves.
    """
    if left == 0:
        return -1
    if winning_move(t, board, scratch) >= 0:
        return 1
    if left == 1:
        return -1
    below = advance(scratch, 4 * t.cells)
    count = generate(t, board, scratch)
    for index in range(count):
        undo, outcome = make(t, board, I64(scratch[index]))
        counters[0] += 1
        distance = -1
        # No move wins immediately, and so a move that ends the game loses.
        if winner_after(t, board, outcome) < 0:
            distance = lost_at_once(t, board, left - 1, below, killer, counters)
        unmake(t, board, undo)
        if distance >= 0:
            return distance + 1
    return -1
