"""The two minimax players of the sources: alpha-beta as they have it, and the evaluations of both, compiled.

Neither source orders moves, remembers positions or looks beyond its depth, so nothing of
that is here: moves are tried in the engine's order, and the first of equal ones is kept.
`tablut.play.search` is the search that does all that.

A position is valued for the side that chooses at the root, as both sources do; one of them
weighs own pieces and the opponent's differently, so that the value for the other side is
not its negative.
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
from tablut.engine.kernels import can_move, generate, key_change, make, position_key, unmake
from tablut.engine.layout import count_of, king_of, new_board, side_of, start_of
from tablut.engine.records import flat
from tablut.engine.tables import Tables
from tablut.play.players.budget import NODES, STOPPED, UNLIMITED, is_spent, new_budget, spending
from tablut.play.players.registry import PlayerOptions, Setting, read_settings
from tablut.play.players.simple import central_squares
from tablut.play.search.limits import RECURRENCES, Choice, SearchLimits, moves_asked_about
from tablut.play.search.searcher import reversible_keys
from tablut.position import Move
from tablut.rules.outcome import UNDECIDED
from tablut.running.one_caller import OneCaller
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
"""As in `tablut.play.search.limits.RECURRENCES`."""
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
        return I64(0) if rule == 1 else sign * ended(t, evaluation, board, chooser, side if rule == 2 else 4 - rule)
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


# -- the two minimax players of the sources: alpha-beta, and nothing that was not in them


_INFINITY: Final = 1 << 40


class _AlphaBeta(OneCaller):
    """What both have in common: minimax with alpha-beta, moves in the engine's order, the first of equal ones kept."""

    name: ClassVar[str]
    kind: ClassVar[int]
    declared: ClassVar[Mapping[str, Setting]]
    deepens: ClassVar[bool]

    def __init__(self, variant: Variant, options: PlayerOptions) -> None:
        settings = read_settings(self.name, options, self.declared)
        self.variant = variant
        self._engine = engine_for(variant)
        self._depth = int(settings.pop("depth"))
        weights = [int(weight) for weight in settings.values()]
        end = weights[3] if len(weights) == 4 else _INFINITY
        # No undecided position is worth more; what is, has been decided, if an end weighs enough to tell.
        pieces = 1 + sum(row.count(piece) for row in variant.start for piece in "bw")
        most = sum(weights[:3]) * pieces + 2 * variant.size
        self._proven = most if end > 2 * most else None
        self._evaluation = new_evaluation(variant, self.kind, [*weights[:3], end])
        array = self._engine.start()
        if moves := self._engine.legal_moves(array).tolist():
            # Loaded or compiled here, so that no move pays for it.
            self._search(array, moves, [], 0, SearchLimits(nodes=1), time.perf_counter())

    def choose(self, board: Board, limits: SearchLimits) -> Choice:
        """Return the best move found within limits."""
        began = time.perf_counter()
        limits.checked("movetime", "nodes", "depth")
        moves = [move.code for move in moves_asked_about(board, self.variant)]
        past = [] if self.variant.rules.repetition.result == "none" else reversible_keys(board)
        array = self._engine.board(board.position.cells, board.position.side)
        code, mate, depth, nodes = self._search(array, moves, past, board.ply, limits, began)
        move = Move.from_code(code, self.variant.size)
        return Choice(move, score=None, mate=mate, depth=depth, nodes=nodes, pv=(move,))

    def _search(
        self,
        array: NDArray[np.uint32],
        moves: list[int],
        past: list[int],
        plies: int,
        limits: SearchLimits,
        began: float,
    ) -> tuple[int, int | None, int, int]:
        """Return the move, the plies to a proven end, the depth completed and the moves made."""
        state = new_minimax(self.variant.size, len(past))
        counters, rules = state.counters, self.variant.rules
        state.board[:] = array
        state.root_moves[: len(moves)] = moves
        state.keys[: len(past)] = np.array(past, dtype=np.uint64)
        counters[ROOT_MOVES] = len(moves)
        counters[LIMIT_PLY] = UNLIMITED if rules.move_limit is None else rules.move_limit - plies
        counters[REPETITION_RULE] = RECURRENCES[rules.repetition.result]
        counters[BASE] = len(past)
        last = min(limits.depth or self._depth, MOST_DEPTH)
        best, mate, completed = moves[0], None, 0
        with spending(state.budget, limits, began):
            for depth in range(1 if self.deepens else last, last + 1):
                search_to_depth(self._engine.tables, self._evaluation, state, depth)
                stopped = state.budget[STOPPED] != 0
                # An iteration that was cut short counts for nothing, unless there is no other.
                if counters[ROOT_MOVE] >= 0 and not (stopped and completed):
                    best = int(counters[ROOT_MOVE])
                if stopped:
                    break
                completed, score = depth, int(counters[ROOT_SCORE])
                if self._proven is not None and abs(score) > self._proven:
                    # The first depth that sees the end is the number of plies to it.
                    mate = (depth if score > 0 else -depth) if self.deepens else None
                    break
        return best, mate, completed, int(state.budget[NODES])


class PayoffPlayer(_AlphaBeta):
    """``payoff``: minimax with alpha-beta and iterative deepening, of the second McGill text.

    The payoff of a position, for the player that chooses (its "technical approach"): 60 for each of its own
    pieces, minus 30 for each of the opponent's; for white plus 50 minus the tiles from the king
    to the nearest corner, for black the negative of that; 50,000 more for a win and less for a loss.

    Chosen where the text leaves it open: "subtract 50, subtracted by the number of tiles" is read as
    −(50 − tiles), since a king nearer to the corner is to be worth less to black; tiles are counted along rank and
    file; the parts are added at the end of the game too. The text deepens "by one", and then speaks
    of "a depth of one": this player deepens one ply at a time for as long as its limits last, and
    ``depth=1``, or ``--depth 1``, is the other reading. An iteration cut short counts for nothing.
    Where escapes are not corners, the nearest escape stands for the nearest corner. A repeated position is
    worth what the rules make of it, a draw nothing.
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
    """``minimax3``: minimax with alpha-beta to depth 3, of the Berkeley text.

    Its evaluation has four parts, higher for white: attackers beside the king lower it, and a king close to the
    throne raises it; a king that has reached the edge is worth infinity; a captured king minus infinity; the number of
    white pieces is added and that of black ones subtracted.

    The text gives no weights: one attacker beside the king, a king on or beside the throne, and one piece
    count 1 each, and the options ``beside``, ``throne`` and ``piece`` change that. It has no preference
    among wins, so that a nearer one may be put off; the first best move in the engine's order is
    kept. A repeated position is lost for who made it, as Berkeley's rules say, or what other rules
    make of it. If a limit comes first, the best of the moves searched to their end is played.
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
