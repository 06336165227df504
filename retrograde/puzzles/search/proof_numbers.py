"""df-pn: depth-first proof-number search for a win within a bounded number of plies, compiled.

Proof-number search [1]_ develops the leaf whose value the proof or disproof of the
root needs most; df-pn [2]_ does so depth first, by thresholds, with a transposition
table. A child is left only when it has exceeded the next best by a quarter (the 1 + ε
of [3]_), which saves most of the coming and going.

The state is a position *with the number of plies left*. So the graph has no cycles,
whatever the board does, and the history of a game, which makes unbounded df-pn
disprove positions by a path and believe it on another [4]_, does not exist: a proof says "the
prover wins within n plies against everything", a disproof "it does not", and
neither depends on how the position came about. A win that takes n plies at best never repeats a
position, since its distance falls with every ply; hence nothing is lost by it, and the
least bound with a proof is the exact distance.

Leaves are exact three plies deep (`retrograde.puzzles.search.immediate`). Where
a tablebase covers a material the search stops and asks for the values, many at once.

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

from typing import TYPE_CHECKING, Final

import numpy as np

from retrograde.puzzles.search.immediate import (
    count_parries,
    lost_at_once,
    winner_after,
    winning_move,
    wins_soon,
)
from retrograde.puzzles.search.table import INFINITE, LONGEST, WAYS, find, keep_open, keep_settled
from tablut.engine.attacks import neighbour
from tablut.engine.jit import I64, U64, advance, called, keep, kernel, pointer
from tablut.engine.kernels import count_moves, generate, make, unmake
from tablut.engine.layout import count_of, king_of, put_side, side_of, start_of, target_of, undo_captured
from tablut.engine.packing import flip, king_width, pack
from tablut.engine.records import flat

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tablut.engine.tables import Tables

__all__ = ["ANSWER_FIELDS", "MOST_PLIES", "prove"]

MOST_PLIES: Final = 1000
"""The largest bound of a search."""

ANSWER_FIELDS: Final = 6
"""What `prove` answers: proof number, disproof number, distance (-1 unless proved), the best
first move, moves made on the board, positions to be asked of the tablebase."""

_NODES, _PENDING = 0, 1


@called
def child_words(
    t: Tables, parent: NDArray[np.uint64], board: NDArray[np.uint32], undo: int, child: NDArray[np.uint64]
) -> None:
    """Write the packing of a child; the board shows it, ``undo`` is the record of the ply that led to it."""
    cells = t.cells
    start, target, directions = start_of(undo), target_of(undo), undo_captured(undo)
    mover = side_of(t, board) ^ 1
    own, enemy = (0, cells) if mover == 1 else (cells, 0)
    for word in range(t.words):
        child[word] = parent[word]
    flip(child, 2 * cells + king_width(t))
    if mover == 0 and king_of(t, board) == target:
        king_at = 2 * cells
        # On no board does the king's number straddle two words.
        child[king_at >> 6] ^= U64(start ^ target) << U64(king_at & 63)
    else:
        flip(child, own + start)
        flip(child, own + target)
    while directions:
        direction = directions & -directions
        directions ^= direction
        flip(child, enemy + neighbour(t, target, direction))


@called
def assess(
    t: Tables,
    board: NDArray[np.uint32],
    words: NDArray[np.uint64],
    outcome: int,
    left: int,
    prover: int,
    table: NDArray[np.uint64],
    buckets: int,
    scratch: NDArray[np.int32],
    killer: NDArray[np.int64],
    counters: NDArray[np.int64],
) -> tuple[int, int, int]:
    """Return proof number, disproof number and distance of a position that a ply has led to.

    The distance is -1 unless the position is proved.
    """
    winner = winner_after(t, board, outcome)
    if winner >= 0:
        if winner == prover:
            return I64(0), I64(INFINITE), I64(0)
        return I64(INFINITE), I64(0), I64(-1)
    side = side_of(t, board)
    if side != prover and left <= 2:
        distance = lost_at_once(t, board, left, scratch, killer, counters)
        return (I64(0), I64(INFINITE), distance) if distance >= 0 else (I64(INFINITE), I64(0), I64(-1))
    if left <= 1:
        distance = wins_soon(t, board, left, scratch, killer, counters)
        return (I64(0), I64(INFINITE), distance) if distance >= 0 else (I64(INFINITE), I64(0), I64(-1))
    pn, dn, distance = find(table, buckets, words, t.words, left)
    if pn >= 0:
        return pn, dn, distance
    if side == prover:
        if left <= 3:
            before = counters[_NODES]
            distance = wins_soon(t, board, left, scratch, killer, counters)
            effort = counters[_NODES] - before
            if distance >= 0:
                keep_settled(table, buckets, words, t.words, left, distance, -1, effort)
                return I64(0), I64(INFINITE), distance
            keep_settled(table, buckets, words, t.words, left, LONGEST, left, effort)
            return I64(INFINITE), I64(0), I64(-1)
        if winning_move(t, board, scratch) >= 0:
            return I64(0), I64(INFINITE), I64(1)
        return I64(1), I64(1) + count_moves(t, board, side) // 8, I64(-1)
    # Were it the prover's turn again, could it win at once? Then few replies hold.
    put_side(t, board, prover)
    threat = winning_move(t, board, scratch) >= 0
    put_side(t, board, side)
    if threat:
        parries = count_parries(t, board, scratch, counters)
        if parries == 0:
            return I64(0), I64(INFINITE), I64(2)
        return I64(parries), I64(1), I64(-1)
    return I64(4) + count_moves(t, board, side), I64(1), I64(-1)


@kernel
def prove(
    tables: Tables,
    board_array: NDArray[np.uint32],
    prover: int,
    bound: int,
    node_limit: int,
    table_array: NDArray[np.uint64],
    covered_array: NDArray[np.uint8],
    pending_array: NDArray[np.uint64],
    answer: NDArray[np.int64],
) -> None:
    """Search for a win of the prover within a number of plies.

    Parameters
    ----------
    tables : Tables
        The variant.
    board_array : ndarray of uint32, shape (2N + 4,)
        An undecided position in which the side to move can move; as before on return.
    prover : int
        The side that is to win, 0 white or 1 black.
    bound : int
        Plies, 1 to `MOST_PLIES`.
    node_limit : int
        Moves to be made on the board, about; what was found so far stays in the table.
    table_array : ndarray of uint64, shape (4 * buckets, W + 2)
        The prover's table.
    covered_array : ndarray of uint8, shape (A + 1, D + 1)
        1 where a tablebase knows positions of so many attackers and defenders.
    pending_array : ndarray of uint64, shape (4C, W)
        Receives positions whose values the search waits for.
    answer : ndarray of int64, shape (ANSWER_FIELDS,)
        Receives what was found.
    """
    t, board, table = flat(tables), pointer(board_array), pointer(table_array)
    covered, pending = pointer(covered_array), pointer(pending_array)
    buckets, width, stride = len(table_array) // WAYS, 4 * t.cells, covered_array.shape[1]
    moves_array = np.empty((bound + 1) * width, dtype=np.int32)
    pn_array = np.empty((bound + 1) * width, dtype=np.int32)
    dn_array = np.empty((bound + 1) * width, dtype=np.int32)
    distance_array = np.empty((bound + 1) * width, dtype=np.int16)
    words_array = np.zeros((bound + 2) * t.words, dtype=np.uint64)
    scratch_array = np.empty(3 * width, dtype=np.int32)
    killer_array = np.zeros(bound + 4, dtype=np.int64)
    counter_array = np.zeros(4, dtype=np.int64)
    all_moves, all_pn, all_dn = pointer(moves_array), pointer(pn_array), pointer(dn_array)
    all_distances, all_words, scratch = pointer(distance_array), pointer(words_array), pointer(scratch_array)
    killers, counters = pointer(killer_array), pointer(counter_array)
    pn_limits, dn_limits = np.empty(bound + 2, dtype=np.int64), np.empty(bound + 2, dtype=np.int64)
    counts, undos = np.zeros(bound + 2, dtype=np.int64), np.zeros(bound + 2, dtype=np.int64)
    chosen, began = np.zeros(bound + 2, dtype=np.int64), np.zeros(bound + 2, dtype=np.int64)

    pack(t, board, all_words)
    pn_limits[0], dn_limits[0] = INFINITE, INFINITE
    ply = I64(0)
    entering = True
    while True:
        left = bound - ply
        moves, pns = advance(all_moves, ply * width), advance(all_pn, ply * width)
        dns, distances = advance(all_dn, ply * width), advance(all_distances, ply * width)
        own = advance(all_words, ply * t.words)
        side = side_of(t, board)
        proving = side == prover
        if entering:
            entering = False
            began[ply] = counters[_NODES]
            count = generate(t, board, moves)
            if not proving:
                # The move that held last time first: one is enough.
                for index in range(1, count):
                    if I64(moves[index]) == killers[left]:
                        moves[index], moves[0] = moves[0], moves[index]
            child = advance(all_words, (ply + 1) * t.words)
            known = count
            for index in range(count):
                undo, outcome = make(t, board, I64(moves[index]))
                counters[_NODES] += 1
                child_words(t, own, board, undo, child)
                pn, dn, distance = assess(
                    t, board, child, outcome, left - 1, prover, table, buckets, scratch, killers, counters
                )
                if pn != 0 and dn != 0:
                    attackers, defenders = count_of(t, board, 1), count_of(t, board, 0)
                    if covered[attackers * stride + defenders] != 0:
                        for word in range(t.words):
                            pending[counters[_PENDING] * t.words + word] = child[word]
                        counters[_PENDING] += 1
                unmake(t, board, undo)
                pns[index], dns[index], distances[index] = np.int32(pn), np.int32(dn), np.int16(distance)
                if (proving and pn == 0) or (not proving and dn == 0):
                    if not proving:
                        killers[left] = I64(moves[index])
                    known = index + 1
                    break
            counts[ply] = known

        # What the children say of the node: the prover needs one of them, the defender too.
        least, second, total, best, worst = I64(INFINITE), I64(INFINITE), I64(0), I64(0), I64(0)
        for index in range(counts[ply]):
            one = I64(pns[index]) if proving else I64(dns[index])
            other = I64(dns[index]) if proving else I64(pns[index])
            total += other
            worst = max(worst, I64(distances[index]))
            if one < least:
                second, least, best = least, one, index
            else:
                second = min(second, one)
        if least == 0:
            total = I64(INFINITE)
        elif total >= INFINITE:
            total = I64(INFINITE) - 1
        pn, dn = (least, total) if proving else (total, least)
        distance = I64(-1)
        if pn == 0:
            distance = 1 + (I64(distances[best]) if proving else worst)
        stopped = counters[_NODES] >= node_limit or counters[_PENDING] > 0
        if pn == 0 or dn == 0 or pn >= pn_limits[ply] or dn >= dn_limits[ply] or stopped:
            effort = counters[_NODES] - began[ply]
            if pn == 0:
                keep_settled(table, buckets, own, t.words, left, distance, -1, effort)
            elif dn == 0:
                keep_settled(table, buckets, own, t.words, left, LONGEST, left, effort)
                if not proving:
                    killers[left] = I64(moves[best])
            else:
                keep_open(table, buckets, own, t.words, left, pn, dn, effort)
            if ply == 0:
                answer[0], answer[1], answer[2], answer[3] = pn, dn, distance, I64(moves[best])
                answer[4], answer[5] = counters[_NODES], counters[_PENDING]
                break
            ply -= 1
            unmake(t, board, undos[ply])
            place = ply * width + chosen[ply]
            all_pn[place], all_dn[place], all_distances[place] = np.int32(pn), np.int32(dn), np.int16(distance)
            continue

        limit = min(second + second // 4 + 1, INFINITE)
        if proving:
            pn_limits[ply + 1] = min(pn_limits[ply], limit)
            dn_limits[ply + 1] = min(dn_limits[ply] - dn + I64(dns[best]), INFINITE)
        else:
            dn_limits[ply + 1] = min(dn_limits[ply], limit)
            pn_limits[ply + 1] = min(pn_limits[ply] - pn + I64(pns[best]), INFINITE)
        chosen[ply] = best
        undo, outcome = make(t, board, I64(moves[best]))
        counters[_NODES] += 1
        undos[ply] = undo
        child_words(t, own, board, undo, advance(all_words, (ply + 1) * t.words))
        ply += 1
        entering = True
    keep(moves_array)
    keep(pn_array)
    keep(dn_array)
    keep(distance_array)
    keep(words_array)
    keep(scratch_array)
    keep(killer_array)
    keep(counter_array)
