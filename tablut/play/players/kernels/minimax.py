"""Minimax with alpha-beta as the sources have it, and the evaluations of both, compiled.

Neither source orders moves, remembers positions or looks beyond its depth, so nothing of
that is here: moves are tried in the engine's order, and the first of equal ones is kept.
`tablut.play.search` is the search that does all that.

A position is valued for the side that chooses at the root, as both sources do; one of them
weighs own pieces and the opponent's differently, so that the value for the other side is
not its negative.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from tablut.engine.attacks import attackers_beside, winner_of
from tablut.engine.jit import I64, U64, advance, called, inlined, kernel, popcount
from tablut.engine.kernels import can_move, generate, key_change, make, position_key, unmake
from tablut.engine.layout import count_of, king_of, new_board, side_of, start_of
from tablut.engine.records import flat
from tablut.play.players.kernels.budget import NODES, is_spent, new_budget
from tablut.play.players.kernels.scoring import central_squares
from tablut.rules.outcome import UNDECIDED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tablut.engine.tables import Tables
    from tablut.variants import Variant

PAYOFF: Final = 0
"""Weights: own pieces, the opponent's, nearness to an escape, the end."""
BERKELEY: Final = 1
"""Weights: attackers beside the king, the king near the castle, pieces, the end."""

# Places in `MinimaxState.counters`.
ROOT_MOVES: Final = 0
ROOT_MOVE: Final = 1
"""The best one of those searched to their end; -1 if there is none."""
ROOT_SCORE: Final = 2
ROOT_DONE: Final = 3
"""How many moves were searched to their end."""
ROOT_SIDE: Final = 4
LIMIT_PLY: Final = 5
"""Plies from the root at which the game is drawn."""
REPETITION_RULE: Final = 6
"""0 none, 1 draw, 2 the mover loses."""
BASE: Final = 7
"""Number of positions of the game before the root that may recur."""
_COUNTERS: Final = 8

MOST_DEPTH: Final = 64
_INFINITE: Final = 1 << 50


class Evaluation(NamedTuple):
    """An evaluation; C is the number of cells.

    Attributes
    ----------
    kind : int
        `PAYOFF` or `BERKELEY`.
    weights : ndarray of int64, shape (4,)
        See there.
    distance : ndarray of int64, shape (C,)
        Tiles from a cell to the nearest escape, along rank and file.
    central : ndarray of int64, shape (C,)
        1 on the castle and beside it.
    """

    kind: int
    weights: NDArray[np.int64]
    distance: NDArray[np.int64]
    central: NDArray[np.int64]


class MinimaxState(NamedTuple):
    """The memory of a search; N is the size, C the cells of the board, P is MOST_DEPTH.

    Attributes
    ----------
    board : ndarray of uint32, shape (2N + 4,)
        The position at the current ply.
    root_moves : ndarray of int32, shape (4C,)
        The moves to choose from.
    moves : ndarray of int32, shape (P * 4C,)
        The moves of each ply.
    keys : ndarray of uint64
        The positions of the game that may recur, then those of the path.
    counters : ndarray of int64
        Settings and results.
    budget : ndarray of int64
        See `tablut.play.players.kernels.budget`.
    """

    board: NDArray[np.uint32]
    root_moves: NDArray[np.int32]
    moves: NDArray[np.int32]
    keys: NDArray[np.uint64]
    counters: NDArray[np.int64]
    budget: NDArray[np.int64]


def new_evaluation(variant: Variant, kind: int, weights: Sequence[int]) -> Evaluation:
    """Return an evaluation of positions of a variant."""
    size = variant.size
    rank, file = np.divmod(np.arange(size * size), size)
    escapes = np.array(sorted(variant.regions.escapes), dtype=np.int64)
    away = abs(rank[:, None] - rank[escapes]) + abs(file[:, None] - file[escapes])
    # A board may have no escape.
    distance = away.min(axis=1, initial=2 * size)
    central = np.zeros(size * size, dtype=np.int64)
    central[sorted(central_squares(variant))] = 1
    return Evaluation(kind, np.array(weights, dtype=np.int64), distance.astype(np.int64), central)


def new_minimax(size: int, past: int) -> MinimaxState:
    """Return the memory for a search."""
    cells = size * size
    return MinimaxState(
        board=new_board(size),
        root_moves=np.zeros(4 * cells, dtype=np.int32),
        moves=np.zeros((MOST_DEPTH + 1) * 4 * cells, dtype=np.int32),
        keys=np.zeros(past + MOST_DEPTH + 2, dtype=np.uint64),
        counters=np.zeros(_COUNTERS, dtype=np.int64),
        budget=new_budget(),
    )


# -- evaluation ----------------------------------------------------------------------------


@inlined
def estimate(t: Tables, evaluation: Evaluation, board: NDArray[np.uint32], chooser: int) -> int:
    """Return what a position is worth to the side that chooses, by its pieces; O(1)."""
    king = king_of(t, board)
    attackers, white = count_of(t, board, 1), count_of(t, board, 0) + 1
    sign = 1 - 2 * chooser
    if evaluation.kind == PAYOFF:
        own, other = (white, attackers) if chooser == 0 else (attackers, white)
        return (
            evaluation.weights[0] * own
            - evaluation.weights[1] * other
            + sign * (evaluation.weights[2] - evaluation.distance[king])
        )
    score = evaluation.weights[2] * (white - attackers) + evaluation.weights[1] * evaluation.central[king]
    return sign * (score - evaluation.weights[0] * popcount(attackers_beside(t, board, king)))


@inlined
def ended(t: Tables, evaluation: Evaluation, board: NDArray[np.uint32], chooser: int, winner: int) -> int:
    """Return what a decided position is worth to the side that chooses."""
    end = I64(evaluation.weights[3]) if winner == chooser else -I64(evaluation.weights[3])
    return end + estimate(t, evaluation, board, chooser) if evaluation.kind == PAYOFF else end


# -- search --------------------------------------------------------------------------------


@inlined
def _recurs(state: MinimaxState, key: np.uint64, ply: int) -> bool:
    """Return whether a position occurred earlier on the path or in the game."""
    here = I64(state.counters[BASE]) + ply
    found = False
    for back in range(2, here + 1, 2):
        found = found or state.keys[here - back] == key
    return found


@called
def _negamax(
    t: Tables, evaluation: Evaluation, state: MinimaxState, depth: int, alpha: int, beta: int, ply: int, key: np.uint64
) -> int:
    """Return the value, for the side to move, of a position below the root that no ply decided."""
    board = state.board
    side, chooser = side_of(t, board), I64(state.counters[ROOT_SIDE])
    sign = I64(1) if side == chooser else I64(-1)
    if not can_move(t, board, side):
        return sign * ended(t, evaluation, board, chooser, side ^ 1)
    rule = I64(state.counters[REPETITION_RULE])
    if rule != 0 and _recurs(state, key, ply):
        # It recurs by the other side's move.
        return I64(0) if rule == 1 else sign * ended(t, evaluation, board, chooser, side)
    if ply >= state.counters[LIMIT_PLY]:
        return I64(0)
    if depth == 0:
        return sign * estimate(t, evaluation, board, chooser)
    moves = advance(state.moves, I64(ply * 4 * t.cells))
    king = king_of(t, board)
    best = I64(-_INFINITE)
    for index in range(generate(t, board, moves)):
        move = I64(moves[index])
        is_king = side == 0 and start_of(move) == king
        undo, outcome = make(t, board, move)
        state.budget[NODES] += 1
        if outcome != UNDECIDED:
            value = sign * ended(t, evaluation, board, chooser, winner_of(outcome))
        else:
            child = U64(key ^ key_change(t, side, is_king, undo))
            state.keys[I64(state.counters[BASE]) + ply + 1] = child
            value = -_negamax(t, evaluation, state, depth - 1, -beta, -alpha, ply + 1, child)
        unmake(t, board, undo)
        if is_spent(state.budget):
            return I64(0)
        best = max(best, value)
        alpha = max(alpha, value)
        if alpha >= beta:
            break
    return best


@kernel
def search_to_depth(tables: Tables, evaluation: Evaluation, state: MinimaxState, depth: int) -> None:
    """Search all moves to choose from, and write the best one and its value into the counters."""
    t, e, s = flat(tables), flat(evaluation), flat(state)
    board, counters = s.board, s.counters
    side, king = side_of(t, board), king_of(t, board)
    key = position_key(t, board)
    base = I64(counters[BASE])
    s.keys[base] = key
    counters[ROOT_SIDE] = side
    counters[ROOT_MOVE], counters[ROOT_DONE] = -1, 0
    best = I64(-_INFINITE)
    for index in range(counters[ROOT_MOVES]):
        move = I64(s.root_moves[index])
        is_king = side == 0 and start_of(move) == king
        undo, outcome = make(t, board, move)
        s.budget[NODES] += 1
        if outcome != UNDECIDED:
            value = ended(t, e, board, side, winner_of(outcome))
        else:
            child = U64(key ^ key_change(t, side, is_king, undo))
            s.keys[base + 1] = child
            value = -_negamax(t, e, s, I64(depth - 1), I64(-_INFINITE), -best, I64(1), child)
        unmake(t, board, undo)
        if is_spent(s.budget):
            break
        counters[ROOT_DONE] += 1
        if value > best:
            best = value
            counters[ROOT_MOVE], counters[ROOT_SCORE] = move, value
