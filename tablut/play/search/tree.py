"""Alpha-beta search with quiescence search and principal-variation search, and `Worker`, the search of one thread.

`_quiesce` and `_negamax` are recursive and fail-soft. They prune moves, reduce depths and trust estimates, but a proven
score is exact: no move is left out as long as the best value found is a loss, and a null move proves nothing. A proof
from the table is used only within the search that stored it, because repetition depends on the game history. Each move
made on the board counts as one node.

The arguments of a recursive call must have exactly the same types as those of the first call. Otherwise, numba compiles
a second version and calls it through a symbol that is missing from the cache on disk.

References
----------
T. A. Marsland, M. Campbell, Parallel search of strongly ordered game trees, ACM Computing Surveys 14 (1982) 533-551
(principal-variation search); C. Donninger, Null move and deep search, ICCA Journal 16 (1993) 137-143.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from tablut.engine.attacks import king_slides
from tablut.engine.jit import I64, advance, called, inlined, kernel, trailing_zeros
from tablut.engine.kernel_records import flat
from tablut.engine.kernels import make, position_key, unmake
from tablut.engine.layout import (
    BoardArray,
    coordinates,
    king_of,
    move_of,
    side_of,
    start_of,
    undo_captured,
)
from tablut.play.search.evaluation import open_places
from tablut.play.search.limits import MATE, MAX_PLY, PROVEN
from tablut.play.search.node import (
    INFINITE,
    arrive,
    depth_after_pass,
    estimate,
    extend_line,
    leave,
    may_end_early,
    may_pass,
    most_after,
    moves_at,
    open_node,
    out_of_limits,
    parries,
    pass_turn,
    settle,
    store_node,
    take_turn_back,
    trusts_estimate,
    value_of_end,
)
from tablut.play.search.ordering import (
    DONE,
    capturing_moves,
    clear_mark,
    first_stage,
    is_hopeless,
    is_kings,
    is_quiet,
    mark_targets,
    next_move,
    next_moves,
    postpones,
    reduction,
    reward,
    set_mark,
)
from tablut.play.search.state import QUIESCENCE, SEEN, SearchCounters, SearchState, new_state
from tablut.rules.outcome import UNDECIDED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tablut.engine import Engine
    from tablut.engine.tables import Tables
    from tablut.play.search.evaluation import EvaluationTables
    from tablut.play.search.table_probing import Directory

_EVASIONS = 4
"""Number of plies of quiescence search that let a side that is about to lose try every move."""
_THREATS = 1
"""Number of plies of quiescence search that include moves of the king that threaten to escape."""
_REDUCED, _NARROW, _FULL = range(3)
"""Ways to search a move, in the order they are tried: reduced depth, window of width one, full window."""


@called
def _quiesce(rules: Tables, state: SearchState, alpha: int, beta: int, ply: int, key: np.uint64, deep: int) -> int:
    """Return the value of a position after all captures and threats to win have been played out."""
    if out_of_limits(state):
        return I64(0)
    settled, value, endangered, row, column = settle(rules, state, ply, key)
    if settled:
        return value
    board = state.board
    stand = estimate(rules, state)
    if (state.counters.flags & QUIESCENCE) == 0 or ply >= MAX_PLY - 2:
        return stand
    if ply > state.counters.selective_depth:
        state.counters.selective_depth = ply
    side, king = side_of(rules, board), king_of(rules, board)
    moves = moves_at(rules, state, ply)
    every = endangered and deep < _EVASIONS
    if every:
        count, hopeless = parries(rules, state, ply, key, row, column, moves)
        if count + hopeless == 0:
            return I64(ply - MATE)
        best = I64(ply + 2 - MATE) if hopeless != 0 else I64(-INFINITE)
        captures = I64(0)
    else:
        if stand >= beta or endangered:
            return stand
        best = stand
        threats = advance(state.threats, I64(ply * 4 * rules.size))
        captures = I64(0)
        if mark_targets(rules, board, side, threats) != 0:
            captures = capturing_moves(rules, board, threats, moves)
        count = captures
        if side == 0 and deep < _THREATS:
            count += threatening_moves(rules, state.evaluation, board, advance(moves, captures))
    alpha = max(alpha, best)
    for index in range(count):
        if alpha >= beta:
            break
        move = I64(moves[index])
        is_king = side == 0 and start_of(rules, move) == king
        undo, outcome = make(rules, board, move)
        if outcome != UNDECIDED:
            state.counters.nodes += 1
            unmake(rules, board, undo)
            value = value_of_end(state, outcome, side, ply)
        elif index >= captures or undo_captured(undo) != 0:
            state.counters.nodes += 1
            child = arrive(rules, state, ply, key, is_king, undo)
            value = -_quiesce(rules, state, -beta, -alpha, ply + 1, child, deep + 1)
            leave(state, child)
            unmake(rules, board, undo)
            if state.counters.stopped != 0:
                return I64(0)
        else:
            unmake(rules, board, undo)
            continue
        if value > best:
            best = value
            if value > alpha:
                alpha = value
                extend_line(state, ply, move, value)
    return best


@called
def _negamax(
    rules: Tables, state: SearchState, depth: int, alpha: int, beta: int, ply: int, key: np.uint64, after_null: int
) -> int:
    """Return the value of a position, searched to a depth of at least 1 ply."""
    if out_of_limits(state):
        return I64(0)
    # Steps 1 and 2. Check rules, history and tablebases, and then probe the transposition table.
    settled, value, node = open_node(rules, state, depth, alpha, beta, ply, key)
    if settled:
        return value
    depth, alpha, beta = node.depth, node.alpha, node.beta
    # Step 3. If the estimate is high, trust it, or try a null move.
    if may_end_early(rules, state, node):
        if trusts_estimate(node):
            return node.stand
        if may_pass(state, node, after_null):
            child = pass_turn(rules, state, node)
            left = I64(depth_after_pass(node))
            if left > 0:
                value = -_negamax(rules, state, left, -beta, 1 - beta, ply + 1, child, I64(1))
            else:
                value = -_quiesce(rules, state, -beta, 1 - beta, ply + 1, child, I64(0))
            take_turn_back(rules, state, node, child)
            if value >= beta or state.counters.stopped != 0:
                # A win after a null move proves nothing. If the search has been stopped, the caller ignores the value.
                return min(value, I64(PROVEN - 1))
    # Step 4. Search the moves, stage by stage.
    best, best_move, legal, searched = I64(-INFINITE), I64(0), I64(0), I64(0)
    stage, index, count = first_stage(node), I64(0), I64(0)
    while True:
        if index == count:
            if stage == DONE:
                break
            stage, count, omitted, best = next_moves(rules, state, node, stage, searched, best, alpha)
            legal += count + omitted
            index = I64(0)
            continue
        move = next_move(rules, state, node, stage, index, count)
        if searched > 0 and postpones(rules, state, node, stage, index, move):
            continue
        index += 1
        king, looks_quiet = is_kings(rules, node, move), is_quiet(rules, state, node, stage, move)
        if is_hopeless(node, king, looks_quiet, searched, best):
            continue
        state.counters.nodes += 1
        undo, outcome = make(rules, state.board, move)
        if outcome != UNDECIDED:
            value = value_of_end(state, outcome, node.side, ply)
        else:
            child = arrive(rules, state, ply, key, king, undo)
            late = reduction(rules, state, node, move, king, looks_quiet, searched)
            attempt = I64(_FULL if searched == 0 else (_REDUCED if late > 0 else _NARROW))
            value = most = most_after(state, ply, child)
            set_mark(state, node, move)
            while most > alpha:
                left = depth - 1 - late if attempt == _REDUCED else depth - 1
                low = -beta if attempt == _FULL else -alpha - 1
                if left > 0:
                    value = -_negamax(rules, state, left, low, -alpha, ply + 1, child, I64(0))
                else:
                    value = -_quiesce(rules, state, low, -alpha, ply + 1, child, I64(0))
                refuted = value <= alpha or (attempt == _NARROW and value >= beta)
                if attempt == _FULL or refuted or state.counters.stopped != 0:
                    break
                attempt += 1
            clear_mark(state, node, move)
            value = min(value, most)
            leave(state, child)
        unmake(rules, state.board, undo)
        if state.counters.stopped != 0:
            return I64(0)
        searched += 1
        if value > best:
            best = value
            if value > alpha:
                alpha, best_move = value, move
                extend_line(state, ply, move, value)
                if alpha >= beta:
                    reward(rules, state, node, stage, index - 1, undo)
                    break
    if legal == 0:
        return I64(ply - MATE)
    store_node(state, node, best, best_move)
    return best


@kernel
def search_root(tables: Tables, search: SearchState, depth: int, alpha: int, beta: int) -> int:
    """Search a state's position and return its value for the side to move."""
    rules, state = flat(tables), flat(search)
    state.counters.root_depth = depth
    state.counters.root_move = 0
    return _negamax(rules, state, depth, alpha, beta, I64(0), position_key(rules, state.board), I64(0))


# -- moves of the king that threaten to win ------------------------------------------------


# Moves that win immediately are found by `tablut.engine.kernels.escape_of_king` and
# `tablut.engine.attacks.king_capture`.


@inlined
def threatening_moves(rules: Tables, evaluation: EvaluationTables, board: BoardArray, moves: NDArray[np.int32]) -> int:
    """Write the king's moves that threaten to escape by a second move at right angles. Return their number."""
    size = rules.size
    king = king_of(rules, board)
    rank, file = coordinates(rules, king)
    row, column = king_slides(rules, board, king)
    count = 0
    for along in range(2):
        targets, across, place = (row, size, rank) if along == 0 else (column, I64(0), file)
        while targets:
            end = trailing_zeros(targets)
            targets &= targets - 1
            if (open_places(rules, evaluation, board, across + end) >> place) & 1:
                target = rank * size + end if along == 0 else end * size + file
                moves[count] = np.int32(move_of(rules, king, target))
                count += 1
    return count


# -- one thread's search ---------------------------------------------------------------------


# The workers of a search share only the transposition table, the marks and the history scores.


UNLIMITED: Final = 1 << 62
"""Number that is larger than any count of nodes or plies."""
_WINDOW: Final = 40
"""Half the width of the first aspiration window, in centi-logits."""


class Root(NamedTuple):
    """Root position of a search in the engine's representation. N is the size of the board.

    - ``array``: Board of an undecided position.
    - ``moves``: One or more moves to choose from, encoded as ``from | to << 7``.
    - ``past``: Zobrist keys of the earlier positions of the game that may recur, oldest first.
    - ``plies``: Number of plies played in the game so far.
    """

    array: NDArray[np.uint32]
    moves: list[int]
    past: list[int]
    plies: int


class Conditions(NamedTuple):
    """Search settings that are the same for every worker."""

    flags: int
    generation: int
    repetition: int
    recurrence: int
    plies_left: int


class Worker:
    """Search state of one thread, and the methods that run its iterations."""

    def __init__(
        self,
        engine: Engine,
        size: int,
        table: NDArray[np.uint64],
        evaluation: EvaluationTables,
        tables: Directory | None = None,
    ) -> None:
        self._engine, self._tables = engine, tables
        self.state = new_state(size, table, evaluation)

    def prepare(self, root: Root, conditions: Conditions, nodes: int) -> None:
        """Set up a search without a time limit. The stop flag and the history scores are left unchanged."""
        state = self.state
        if len(state.keys) < len(root.past) + MAX_PLY + 1:
            self.state = state = state._replace(keys=np.zeros(2 * len(root.past) + MAX_PLY + 1, dtype=np.uint64))
        state.board[:] = root.array
        keys = [*root.past, self._engine.key(root.array)]
        state.keys[: len(keys)] = np.array(keys, dtype=np.uint64)
        state.reversible[0] = len(root.past)
        state.seen[:] = 0
        for key in keys:
            state.seen[key & (SEEN - 1)] += 1
        state.root_moves[: len(root.moves)] = root.moves
        state.killers[:] = 0
        counters = state.counters
        for name in SearchCounters.__annotations__:
            setattr(counters, name, 0)
        counters.node_limit = nodes
        counters.limit_ply = conditions.plies_left
        counters.repetition_rule = conditions.repetition
        counters.recurrence = conditions.recurrence
        counters.flags = conditions.flags
        counters.generation = conditions.generation
        counters.before_root = len(root.past)
        counters.table_mask = len(state.table) - 8
        counters.root_moves = len(root.moves)
        counters.next_reading = UNLIMITED
        if self._tables is not None:
            counters.tablebase = self._tables.items.ctypes.data
            counters.tablebase_soldiers = self._tables.most_soldiers

    @property
    def stopped(self) -> bool:
        """Whether a limit or the stop flag ended the last iteration."""
        return bool(self.state.counters.stopped != 0)

    def aspire(self, depth: int, expected: int | None) -> int:
        """Search to the given depth with an aspiration window around the expected value, and return the value."""
        width = _WINDOW
        if expected is None or depth < 4 or abs(expected) >= PROVEN:
            return self.iterate(depth)
        alpha, beta = expected - width, expected + width
        while True:
            value = self.iterate(depth, max(alpha, -INFINITE), min(beta, INFINITE))
            if self.stopped or alpha < value < beta:
                return value
            width *= 4
            if value <= alpha:
                alpha = value - width if abs(value) < PROVEN else -INFINITE
            else:
                beta = value + width if abs(value) < PROVEN else INFINITE

    def iterate(self, depth: int, alpha: int = -INFINITE, beta: int = INFINITE) -> int:
        """Search to the given depth within a window, which is the full window by default, and return the value."""
        return int(search_root(self._engine.tables, self.state, depth, alpha, beta))

    def line(self) -> list[int]:
        """Return the principal variation of the last iteration."""
        return self.state.line[: self.state.line_length[0]].tolist()
