"""The two minimax players of the sources: alpha-beta, and nothing that was not in them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from tablut.engine import engine_for
from tablut.play.players.kernels import minimax as at
from tablut.play.players.kernels.budget import NODES, STOPPED, UNLIMITED, spending
from tablut.play.players.registry import Setting, read_settings
from tablut.play.search.limits import Choice, SearchLimits, moves_asked_about
from tablut.play.search.searcher import reversible_keys
from tablut.position import Move

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from tablut.board import Board
    from tablut.play.players.registry import PlayerOptions
    from tablut.variants import Variant

_REPETITION: Final = {"none": 0, "draw": 1, "mover_loses": 2}
_INFINITY: Final = 1 << 40


class _AlphaBeta:
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
        self._evaluation = at.new_evaluation(variant, self.kind, [*weights[:3], end])
        array = self._engine.start()
        if moves := self._engine.legal_moves(array).tolist():
            # Loaded or compiled here, so that no move pays for it.
            self._search(array, moves, [], 0, SearchLimits(nodes=1), time.perf_counter())

    def choose(self, board: Board, limits: SearchLimits) -> Choice:
        """Return the best move found within limits."""
        began = time.perf_counter()
        limits.checked("movetime", "nodes", "depth")
        moves = [move.code for move in moves_asked_about(board, self.variant)]
        past = [] if self.variant.rules.repetition == "none" else reversible_keys(board)
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
        state = at.new_minimax(self.variant.size, len(past))
        counters, rules = state.counters, self.variant.rules
        state.board[:] = array
        state.root_moves[: len(moves)] = moves
        state.keys[: len(past)] = np.array(past, dtype=np.uint64)
        counters[at.ROOT_MOVES] = len(moves)
        counters[at.LIMIT_PLY] = UNLIMITED if rules.move_limit is None else rules.move_limit - plies
        counters[at.REPETITION_RULE] = _REPETITION[rules.repetition]
        counters[at.BASE] = len(past)
        last = min(limits.depth or self._depth, at.MOST_DEPTH)
        best, mate, completed = moves[0], None, 0
        with spending(state.budget, limits, began):
            for depth in range(1 if self.deepens else last, last + 1):
                at.search_to_depth(self._engine.tables, self._evaluation, state, depth)
                stopped = state.budget[STOPPED] != 0
                # An iteration that was cut short counts for nothing, unless there is no other.
                if counters[at.ROOT_MOVE] >= 0 and not (stopped and completed):
                    best = int(counters[at.ROOT_MOVE])
                if stopped:
                    break
                completed, score = depth, int(counters[at.ROOT_SCORE])
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
    kind = at.PAYOFF
    deepens = True
    declared: ClassVar[Mapping[str, Setting]] = {
        "depth": Setting(at.MOST_DEPTH, least=1, most=at.MOST_DEPTH),
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
    kind = at.BERKELEY
    deepens = False
    declared: ClassVar[Mapping[str, Setting]] = {
        "depth": Setting(3, least=1, most=at.MOST_DEPTH),
        "beside": Setting(1),
        "throne": Setting(1),
        "piece": Setting(1),
    }
