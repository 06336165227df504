"""Two minimax players from the literature, a compiled alpha-beta search, and their two evaluations.

Like the source texts, this search uses no move ordering, transposition table or quiescence search. Moves are tried in
the engine's order, and the first of equally good moves is kept. A position is valued for the side to move at the root,
because one of the sources gives different weights to the player's pieces and to the opponent's.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import ClassVar, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tablut.board import Board
from tablut.engine import engine_for
from tablut.engine.attacks import attackers_beside, winner_of
from tablut.engine.jit import I64, U64, advance, called, inlined, kernel, popcount
from tablut.engine.kernel_records import flat
from tablut.engine.kernels import can_move, generate, key_change, make, position_key, unmake
from tablut.engine.layout import count_of, king_of, new_board, side_of, start_of
from tablut.engine.tables import Tables
from tablut.play.players.base import (
    NODES,
    STOPPED,
    UNLIMITED,
    ReproducedPlayer,
    is_spent,
    new_budget,
    spending,
)
from tablut.play.players.registry import PlayerOptions, Setting, bare_choice
from tablut.play.players.simple import central_squares
from tablut.play.search.limits import RECURRENCES, Choice, SearchLimits
from tablut.play.search.searcher import reversible_keys
from tablut.position import Move
from tablut.rules.outcome import UNDECIDED
from tablut.variants import Variant

PAYOFF: Final = 0
"""Evaluation with weights for own pieces, opposing pieces, nearness to an escape, and the end of the game."""
BERKELEY: Final = 1
"""Evaluation with weights for attackers beside the king, a king near the castle, pieces, and the end of the game."""

# Indices into `MinimaxState.counters`.
ROOT_MOVES: Final = 0
ROOT_MOVE: Final = 1
"""Best of the root moves that were searched completely, or -1 if there is no such move."""
ROOT_SCORE: Final = 2
ROOT_DONE: Final = 3
"""Number of root moves that were searched completely."""
ROOT_SIDE: Final = 4
LIMIT_PLY: Final = 5
"""Number of plies, counted from the root, after which the game is drawn."""
REPETITION_RULE: Final = 6
"""Code of the repetition rule, from `tablut.play.search.limits.RECURRENCES`."""
BASE: Final = 7
"""Number of positions before the root that may recur."""
_COUNTERS: Final = 8

MOST_DEPTH: Final = 64
_INFINITE: Final = 1 << 50


class Evaluation(NamedTuple):
    """Evaluation for a minimax player. C is the number of cells.

    - ``kind``: `PAYOFF` or `BERKELEY`.
    - ``weights``: Weights, in the order listed in `PAYOFF` and `BERKELEY`.
    - ``distance``: Distance of a cell from the nearest escape, measured along rank and file.
    - ``central``: 1 for the castle and the cells beside it, 0 for all other cells.
    """

    kind: int
    weights: NDArray[np.int64]
    distance: NDArray[np.int64]
    central: NDArray[np.int64]


class MinimaxState(NamedTuple):
    """Working memory of a minimax search. N is the size of the board, C is its number of cells, and P is `MOST_DEPTH`.

    - ``board``: Position at the current ply.
    - ``root_moves``: Root moves to choose from.
    - ``moves``: Moves at each ply.
    - ``keys``: Zobrist keys of the positions before the root that may recur, followed by the keys of the path.
    - ``counters``: Settings and results.
    - ``budget``: Budget for the move; see `tablut.play.players.base`.
    """

    board: NDArray[np.uint32]
    root_moves: NDArray[np.int32]
    moves: NDArray[np.int32]
    keys: NDArray[np.uint64]
    counters: NDArray[np.int64]
    budget: NDArray[np.int64]


def new_evaluation(variant: Variant, kind: int, weights: Sequence[int]) -> Evaluation:
    """Return an evaluation of the given kind for a variant."""
    size = variant.size
    rank, file = np.divmod(np.arange(size * size), size)
    escapes = np.array(sorted(variant.regions.escapes), dtype=np.int64)
    away = abs(rank[:, None] - rank[escapes]) + abs(file[:, None] - file[escapes])
    # On a board without escapes, all distances are the same.
    distance = away.min(axis=1, initial=2 * size)
    central = np.zeros(size * size, dtype=np.int64)
    central[sorted(central_squares(variant))] = 1
    return Evaluation(kind, np.array(weights, dtype=np.int64), distance.astype(np.int64), central)


def new_minimax(size: int, past: int) -> MinimaxState:
    """Return new working memory for a search, including space for ``past`` earlier game positions."""
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
    """Return the static evaluation of a position for the side to move at the root (``chooser``), in O(1)."""
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
    """Return the value of a decided position for the side to move at the root (``chooser``)."""
    end = I64(evaluation.weights[3]) if winner == chooser else -I64(evaluation.weights[3])
    return end + estimate(t, evaluation, board, chooser) if evaluation.kind == PAYOFF else end


# -- search --------------------------------------------------------------------------------


@inlined
def _recurs(state: MinimaxState, key: np.uint64, ply: int) -> bool:
    """Return whether a position has occurred earlier on the path or in the game."""
    here = I64(state.counters[BASE]) + ply
    found = False
    for back in range(2, here + 1, 2):
        found = found or state.keys[here - back] == key
    return found


@called
def _negamax(
    t: Tables, evaluation: Evaluation, state: MinimaxState, depth: int, alpha: int, beta: int, ply: int, key: np.uint64
) -> int:
    """Return the value of a position below the root, for the side to move. The last move has not ended the game."""
    board = state.board
    side, chooser = side_of(t, board), I64(state.counters[ROOT_SIDE])
    sign = I64(1) if side == chooser else I64(-1)
    if not can_move(t, board, side):
        return sign * ended(t, evaluation, board, chooser, side ^ 1)
    rule = I64(state.counters[REPETITION_RULE])
    # Black may repeat a position if only white may not (code 6).
    if rule != 0 and (rule != 6 or side == 1) and _recurs(state, key, ply):
        # The opponent's move has repeated the position.
        if rule == 1:
            return I64(0)
        winner = side ^ 1 if rule == 5 else side if rule in (2, 6) else 4 - rule
        return sign * ended(t, evaluation, board, chooser, winner)
    if ply >= state.counters[LIMIT_PLY]:
        return I64(0)
    if depth == 0:
        return sign * estimate(t, evaluation, board, chooser)
    moves = advance(state.moves, I64(ply * 4 * t.cells))
    king = king_of(t, board)
    best = I64(-_INFINITE)
    for index in range(generate(t, board, moves)):
        move = I64(moves[index])
        is_king = side == 0 and start_of(t, move) == king
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
    """Search all root moves, and write the best one and its value into the counters."""
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
        is_king = side == 0 and start_of(t, move) == king
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


# -- the two players, which use only the sources' techniques


_INFINITY: Final = 1 << 40


class _AlphaBeta(ReproducedPlayer):
    """Base class of both players, which use alpha-beta without move ordering."""

    kind: ClassVar[int]
    deepens: ClassVar[bool]

    def __init__(self, variant: Variant, options: PlayerOptions) -> None:
        super().__init__(variant, options)
        self._engine = engine_for(variant)
        self._depth, *weights = (int(value) for value in self.settings.values())
        end = weights[3] if len(weights) == 4 else _INFINITY
        # Bound on the value of an undecided position. If the end of the game has a large enough weight, a value beyond
        # this bound proves that the game is won or lost.
        pieces = 1 + variant.attackers + variant.defenders
        most = sum(weights[:3]) * pieces + 2 * variant.size
        self._proven = most if end > 2 * most else None
        self._evaluation = new_evaluation(variant, self.kind, [*weights[:3], end])
        board = Board(variant)
        if moves := list(board.legal_moves):
            # Load or compile the kernel now, so that no move loses time.
            self._choice(board, moves, SearchLimits(nodes=1), time.perf_counter())

    def _choice(self, board: Board, moves: list[Move], limits: SearchLimits, began: float) -> Choice:
        """Return the best move, the number of plies to a proven end, the completed depth and the number of nodes."""
        rules = self.variant.rules
        past = [] if rules.repetition.result == "none" else reversible_keys(board)
        state = new_minimax(self.variant.size, len(past))
        counters = state.counters
        state.board[:] = self._engine.board(board.position.cells, board.position.side)
        state.root_moves[: len(moves)] = [move.code for move in moves]
        state.keys[: len(past)] = np.array(past, dtype=np.uint64)
        counters[ROOT_MOVES] = len(moves)
        counters[LIMIT_PLY] = UNLIMITED if rules.move_limit is None else rules.move_limit - board.ply
        counters[REPETITION_RULE] = RECURRENCES[rules.repetition.result]
        counters[BASE] = len(past)
        last = min(limits.depth or self._depth, MOST_DEPTH)
        best, mate, completed = moves[0], None, 0
        with spending(state.budget, limits, began):
            for depth in range(1 if self.deepens else last, last + 1):
                search_to_depth(self._engine.tables, self._evaluation, state, depth)
                stopped = state.budget[STOPPED] != 0
                # Ignore an interrupted iteration's result, unless it is the only one.
                if counters[ROOT_MOVE] >= 0 and not (stopped and completed):
                    best = Move.from_code(int(counters[ROOT_MOVE]), self.variant.size)
                if stopped:
                    break
                completed, score = depth, int(counters[ROOT_SCORE])
                if self._proven is not None and abs(score) > self._proven:
                    # With iterative deepening, the first depth that finds the end is the number of plies to it.
                    mate = (depth if score > 0 else -depth) if self.deepens else None
                    break
        return bare_choice(best)._replace(mate=mate, depth=completed, nodes=int(state.budget[NODES]))


class PayoffPlayer(_AlphaBeta):
    """``payoff``: minimax with alpha-beta and iterative deepening, from the second McGill text ("technical approach").

    Each of the player's pieces adds 60, and each of the opponent's subtracts 30. For white, 50 minus the number of
    tiles from the king to the nearest corner (or escape) is added; for black, it is subtracted. A win adds 50,000, and
    a loss subtracts 50,000.

    The text leaves some points open. "Subtract 50, subtracted by the number of tiles" is read as −(50 − tiles), and
    tiles are counted along rank and file. The text deepens "by one", and then mentions "a depth of one" (``depth=1``).
    An interrupted iteration is ignored. A repeated position is valued according to the rules, and a draw is worth 0.
    """

    name = "payoff"
    kind = PAYOFF
    deepens = True
    declared: ClassVar[Mapping[str, Setting]] = {
        "depth": Setting(MOST_DEPTH, least=1, most=MOST_DEPTH),
        "own": Setting(60),
        "other": Setting(30),
        "corner": Setting(50),
        "end": Setting(50_000, least=1, most=1_000_000_000),
    }


class MinimaxPlayer(_AlphaBeta):
    """``minimax3``: minimax with alpha-beta to depth 3, from the Berkeley text.

    For white, attackers beside the king lower the value, and a king close to the throne raises it. A king that has
    reached the edge is worth infinity, and a captured king minus infinity. White pieces are added, and black pieces
    subtracted.

    The text gives no weights. Here, an attacker beside the king, a king on or beside the throne, and a piece have a
    weight of 1 each (``beside``, ``throne``, ``piece``). All wins are worth the same, so the player may postpone a win.
    A repeated position is valued according to the rules. A search that a limit ends uses the moves that were searched
    completely.
    """

    name = "minimax3"
    kind = BERKELEY
    deepens = False
    declared: ClassVar[Mapping[str, Setting]] = {
        "depth": Setting(3, least=1, most=MOST_DEPTH),
        "beside": Setting(1),
        "throne": Setting(1),
        "piece": Setting(1),
    }
