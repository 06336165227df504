"""Simple players that look one or two plies ahead, the player `alphabeta`, and the McGill paper's scoring scheme.

The scoring scheme (section III-B of the McGill player paper) gives points for a move:

| white | | black | |
|---|---|---|---|
| the king can be captured | −1000 | | |
| each piece that the opponent can capture | −5 | the same | −5 |
| each piece captured | +10 | the same | +10 |
| the king has an open victory path | +5 | it has none | +1000 |
| the king has moved to a central square | +1 | the king is captured | +1000 |

The paper leaves some points open. Here, a piece that several moves can capture counts once, and the king is not among
these pieces. A path is open if white could take it with white to move. The central squares are the castle and the cells
beside it (section I-A). A winning move of white counts as an open path, and one of black as a capture of the king; a
losing move counts as allowing the same.

The table gives no points for winning, but section III-A says that a victory "should be taken". Therefore `Scheme.first`
is added to the score of a white move onto a victory path, and twice to that of an immediate win. If it is 0, only the
table decides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tablut.board import Board
from tablut.engine import engine_for
from tablut.engine.attacks import (
    NO_MOVE,
    escape_targets,
    escape_ways,
    king_capture,
    king_slides,
    may_capture,
    winner_of,
)
from tablut.engine.jit import I64, called, kernel, pointer, popcount, trailing_zeros
from tablut.engine.kernel_records import flat
from tablut.engine.kernels import escape_of_king, generate, make, unmake
from tablut.engine.layout import (
    captured_cell,
    coordinates,
    king_of,
    line_of,
    move_of,
    own_pieces,
    put_side,
    side_of,
    start_of,
    target_of,
    undo_captured,
)
from tablut.engine.tables import Tables
from tablut.play.players.base import ReproducedPlayer
from tablut.play.players.registry import SHIPPED_TABLE_MIB, PlayerOptions, Setting, bare_choice, read_settings
from tablut.play.search.limits import Choice, SearchLimits
from tablut.play.search.searcher import Searcher
from tablut.position import Move
from tablut.prober import find_prober
from tablut.rules.outcome import KING_CAPTURED, UNDECIDED
from tablut.variants import Variant

FIRST: Final = 10_000
"""Number that is larger than any sum of the scores in the table."""

_AT_RISK: Final = -5
_CAPTURED: Final = 10
_KING_AT_RISK: Final = -1000
_HAS_PATH: Final = 5
_CENTRAL: Final = 1
_NO_PATH: Final = 1000
_KING_CAPTURED: Final = 1000


class Scheme(NamedTuple):
    """Data for scoring moves, in addition to the engine's tables. C is the number of cells.

    - ``paths``, ``first``: Tables for victory paths, and extra score for entering one, or 0 for the paper's table
      alone.
    - ``central``: 1 for the castle and the cells beside it, 0 for all other cells.
    - ``replies``, ``marks``: Buffers for moves and for marking cells.
    """

    paths: PathTables
    first: int
    central: NDArray[np.uint8]
    replies: NDArray[np.int32]
    marks: NDArray[np.uint8]


def central_squares(variant: Variant) -> frozenset[int]:
    """Return the castle and the cells beside it."""
    regions = variant.regions
    return regions.castles.union(*(regions.neighbours(castle) for castle in regions.castles))


def new_scheme(variant: Variant, first: int = FIRST) -> Scheme:
    """Return the scoring scheme for a variant."""
    cells = variant.size**2
    central = np.zeros(cells, dtype=np.uint8)
    central[sorted(central_squares(variant))] = 1
    return Scheme(
        path_tables(variant), first, central, np.zeros(4 * cells, dtype=np.int32), np.zeros(cells, dtype=np.uint8)
    )


@called
def _pieces_at_risk(t: Tables, h: Scheme, board: NDArray[np.uint32]) -> int:
    """Return the number of soldiers that the side to move can capture, in O(moves)."""
    for cell in range(t.cells):
        h.marks[cell] = np.uint8(0)
    side, king = side_of(t, board), king_of(t, board)
    total = I64(0)
    for index in range(generate(t, board, h.replies)):
        move = I64(h.replies[index])
        target = target_of(t, move)
        stays = target if side == 0 and start_of(t, move) == king else king
        if not may_capture(t, board, side, target, stays):
            continue
        undo, _ = make(t, board, move)
        unmake(t, board, undo)
        captures = undo_captured(undo)
        while captures:
            cell = captured_cell(t, target, captures)
            captures &= captures - 1
            total += 1 - I64(h.marks[cell])
            h.marks[cell] = np.uint8(1)
    return total


@called
def _score(t: Tables, h: Scheme, board: NDArray[np.uint32], move: int) -> int:
    side = side_of(t, board)
    to_centre = side == 0 and start_of(t, move) == king_of(t, board) and h.central[target_of(t, move)] != 0
    undo, outcome = make(t, board, move)
    score = I64(_CAPTURED * popcount(undo_captured(undo)))
    if to_centre:
        score += _CENTRAL
    if outcome != UNDECIDED:
        if winner_of(outcome) == side:
            score += _HAS_PATH + 2 * h.first if side == 0 else _NO_PATH + _KING_CAPTURED
        elif side == 0:
            score += _KING_AT_RISK
    else:
        score += _AT_RISK * _pieces_at_risk(t, h, board)
        has_path = victory_path(t, h.paths, board) != NO_MOVE
        if side == 1:
            score += I64(0) if has_path else I64(_NO_PATH)
        else:
            score += I64(_HAS_PATH) if has_path else I64(0)
            if king_capture(t, board) != NO_MOVE:
                score += _KING_AT_RISK
            elif stands_on_path(t, h.paths, board):
                score += h.first
    unmake(t, board, undo)
    return score


@kernel
def mark_captures(
    tables: Tables, board: NDArray[np.uint32], moves: NDArray[np.int32], takes: NDArray[np.bool_]
) -> None:
    """Write into ``takes`` whether each move captures a piece, including the king."""
    t, array = flat(tables), pointer(board)
    for index in range(len(moves)):
        undo, outcome = make(t, array, I64(moves[index]))
        unmake(t, array, undo)
        takes[index] = outcome == KING_CAPTURED or undo_captured(undo) != 0


@kernel
def score_moves(
    tables: Tables, scheme: Scheme, board: NDArray[np.uint32], moves: NDArray[np.int32], scores: NDArray[np.int64]
) -> None:
    """Write the scores of moves into ``scores``, in O(moves²)."""
    t, h, array = flat(tables), flat(scheme), pointer(board)
    for index in range(len(moves)):
        scores[index] = _score(t, h, array, I64(moves[index]))


# -- victory paths: paths of the king to an escape that black cannot stop ------------------


# The McGill player paper (Pilarski, *Designing an Effective Tablut Artificial Intelligence*, section III-A) describes
# three kinds of victory path: a clear edge (figure 5), a safe edge (figure 6), and a safe edge with a single opposing
# piece in the last line before the corner (figure 7). Here they are generalised to any board. The king stands on a
# victory path in three cases:
#
# - It has two ways to an escape. One move can close only one of them.
# - It has one way to an escape, and no soldier can enter this way.
# - It has one way to an escape, which only a single soldier can enter, on the cell beside the corner. The king can
#   capture this soldier there.
#
# According to the paper, victory paths guarantee the win. This is not true beside a hostile corner, where a king may be
# captured between the corner and one soldier. Therefore a king that can be captured immediately does not count as
# standing on a victory path.


class PathTables(NamedTuple):
    """Data for victory paths, in addition to the engine's tables. C is the number of cells.

    - ``wedge``: 1 if the king can capture a soldier against a corner, 0 otherwise.
    - ``royal``: 1 for corners that only the king may enter, 0 for all other cells.
    """

    wedge: int
    royal: NDArray[np.uint8]


def path_tables(variant: Variant) -> PathTables:
    """Return the path tables for a variant."""
    royal = np.zeros(variant.size**2, dtype=np.uint8)
    royal[sorted(variant.regions.royal_corners)] = 1
    return PathTables(int(variant.rules.king.armed and variant.rules.corners.hostile), royal)


@called
def stands_on_path(t: Tables, paths: PathTables, board: NDArray[np.uint32]) -> bool:
    """Return whether black, which is to move, can no longer keep the king from an escape. This takes O(N)."""
    king = king_of(t, board)
    west, east, south, north = escape_ways(t, board, king)
    ways = I64(west != 0) + I64(east != 0) + I64(south != 0) + I64(north != 0)
    if ways == 0 or king_capture(t, board) != NO_MOVE:
        return False
    if ways > 1:
        return True
    rank, file = coordinates(t, king)
    along_row = (west | east) != 0
    way = west | east | south | north
    own, fixed = (file, rank) if along_row else (rank, file)
    # The way may end before the edge. An attacker beyond the end of the way can then enter it along the same line.
    end = own + popcount(way) if (way >> own) != 0 else own - popcount(way)
    attackers = own_pieces(line_of(board, rank if along_row else t.size + file), 1)
    if (attackers >> (end + 1) if end > own else attackers & ((1 << end) - 1)) != 0:
        return False
    entered, soldiers, where = I64(0), I64(0), I64(0)
    places = way
    while places:
        place = trailing_zeros(places)
        places &= places - 1
        cell = fixed * t.size + place if along_row else place * t.size + fixed
        if paths.royal[cell] != 0:
            continue
        attackers = own_pieces(line_of(board, t.size + place if along_row else place), 1)
        if attackers != 0:
            entered += 1
            soldiers += popcount(attackers)
            where = place
    if entered == 0:
        return True
    if entered > 1 or soldiers > 1 or paths.wedge == 0 or abs(where - own) < 2:
        return False
    at_corner = paths.royal[fixed * t.size + end if along_row else end * t.size + fixed] != 0
    return at_corner and abs(end - where) == 1


@called
def victory_path(t: Tables, paths: PathTables, board: NDArray[np.uint32]) -> int:
    """Return a king move that wins immediately or enters a victory path, or NO_MOVE if there is none.

    The position is treated as if white were to move. This takes O(N²).
    """
    king, side = king_of(t, board), side_of(t, board)
    put_side(t, board, 0)
    found = I64(NO_MOVE)
    row, column = escape_targets(t, board, king)
    if (row | column) != 0:
        found = escape_of_king(t, board, row, column)
    if found == NO_MOVE:
        rank, file = coordinates(t, king)
        row, column = king_slides(t, board, king)
        while (row | column) != 0 and found == NO_MOVE:
            if row != 0:
                target = rank * t.size + trailing_zeros(row)
                row &= row - 1
            else:
                target = trailing_zeros(column) * t.size + file
                column &= column - 1
            move = move_of(t, king, target)
            undo, outcome = make(t, board, move)
            if outcome == UNDECIDED:
                if stands_on_path(t, paths, board):
                    found = move
            elif winner_of(outcome) == 0:
                found = move
            unmake(t, board, undo)
    put_side(t, board, side)
    return found


# -- the random player: a baseline that every other player should beat -------------------


class RandomPlayer(ReproducedPlayer):
    """Player that makes uniformly random moves. The same seed produces the same moves."""

    name = "random"

    def _choice(self, _board: Board, moves: list[Move], _limits: SearchLimits, _began: float) -> Choice:
        return bare_choice(self._random.choice(moves))


# ------------------------------------------------------------------------------------------
# The greedy player of the McGill player paper, section II


class GreedyPlayer(ReproducedPlayer):
    """The greedy player of Pilarski, *Designing an Effective Tablut Artificial Intelligence*, section II.

    "If a piece can be captured, capture it. If no piece can be captured, and playing as the Swedes move the king
    towards the nearest corner. Else, perform a random move."

    The paper leaves some points open. Here, one of several captures, or of several king moves that end equally near to
    the corner along rank and file, is chosen at random, and so is the move if the king cannot come nearer. Capturing
    the king is no better than capturing a soldier (section II). Where the escapes are not corners, the nearest escape
    counts.
    """

    name = "greedy"

    def __init__(self, variant: Variant, options: PlayerOptions) -> None:
        super().__init__(variant, options)
        self._engine = engine_for(variant)

    def _choice(self, board: Board, moves: list[Move], _limits: SearchLimits, _began: float) -> Choice:
        """Return a move. The limits are ignored, because the player looks only one ply ahead."""
        wanted = self._captures(board, moves) or self._towards_escape(board, moves) or moves
        return bare_choice(self._random.choice(wanted))

    def _captures(self, board: Board, moves: Sequence[Move]) -> list[Move]:
        array = self._engine.board(board.position.cells, board.position.side)
        codes = np.array([move.code for move in moves], dtype=np.int32)
        takes = np.zeros(len(moves), dtype=np.bool_)
        mark_captures(self._engine.tables, array, codes, takes)
        return [move for move, taking in zip(moves, takes, strict=True) if taking]

    def _towards_escape(self, board: Board, moves: Sequence[Move]) -> list[Move]:
        """Return the king's moves that bring it nearest to an escape, or an empty list if no move brings it nearer."""
        king = board.king()
        nearer = {move: self._distance(move.target) for move in moves if move.start == king}
        least = min(nearer.values(), default=0)
        if king is None or least >= self._distance(king):
            return []
        return [move for move, distance in nearer.items() if distance == least]

    def _distance(self, cell: int) -> int:
        rank, file = divmod(cell, self.variant.size)
        escapes = (divmod(escape, self.variant.size) for escape in self.variant.regions.escapes)
        return min((abs(rank - to_rank) + abs(file - to_file) for to_rank, to_file in escapes), default=0)


# ------------------------------------------------------------------------------------------
# The heuristic player of the McGill paper, section III, which plays a random move among the moves with the best score


WIN_FIRST: Final[Mapping[str, Setting]] = {"win": Setting("first", ("first", "table"))}
"""Setting ``win``: whether winning moves come first (section III-A) or only the table decides (section III-B)."""


class MoveScores:
    """Scoring scheme of section III-B for one variant."""

    def __init__(self, variant: Variant, *, win_first: bool) -> None:
        self._engine = engine_for(variant)
        self._scheme = new_scheme(variant, FIRST if win_first else 0)
        array = self._engine.start()
        moves = self._engine.legal_moves(array)[:1]
        # Load or compile the kernel now, so that no move loses time.
        score_moves(self._engine.tables, self._scheme, array, moves, np.zeros(len(moves), dtype=np.int64))

    def of(self, board: Board, moves: Sequence[Move]) -> list[int]:
        """Return the scores of legal moves."""
        array = self._engine.board(board.position.cells, board.position.side)
        codes = np.array([move.code for move in moves], dtype=np.int32)
        scores = np.zeros(len(moves), dtype=np.int64)
        score_moves(self._engine.tables, self._scheme, array, codes, scores)
        return [int(score) for score in scores]

    def best(self, board: Board, moves: Sequence[Move], margin: int = 0) -> list[Move]:
        """Return the moves that score within a margin of the best."""
        scores = self.of(board, moves)
        least = max(scores) - margin
        return [move for move, score in zip(moves, scores, strict=True) if score >= least]


class HeuristicPlayer(ReproducedPlayer):
    """The heuristic player of Pilarski, *Designing an Effective Tablut Artificial Intelligence*, section III.

    It plays one of the moves with the best score (section III-B) at random (section VI-A). With ``win=first``, the
    default, it takes a victory path, which section III-A says "should be taken". With ``win=table``, only the table
    decides.
    """

    name = "heuristic"
    declared = WIN_FIRST

    def __init__(self, variant: Variant, options: PlayerOptions) -> None:
        super().__init__(variant, options)
        self._scores = MoveScores(variant, win_first=self.settings["win"] == "first")

    def _choice(self, board: Board, moves: list[Move], _limits: SearchLimits, _began: float) -> Choice:
        """Return one of the moves with the best score. The limits are ignored, because only two plies are examined."""
        return bare_choice(self._random.choice(self._scores.best(board, moves)))


# -- the alpha-beta player: `tablut.play.search` with the protocol of players --------------


class AlphaBetaPlayer(Searcher):
    """Player that uses the alpha-beta search and keeps its transposition table from move to move."""

    def __init__(self, variant: Variant, options: PlayerOptions) -> None:
        read_settings("alphabeta", options, {})
        prober = find_prober(variant, options.tablebase)
        # The built-in tables are unpacked at every start, so only a few of them are loaded. A store named by the user
        # may use the full memory.
        most = options.table_mib if options.tablebase is not None else min(options.table_mib, SHIPPED_TABLE_MIB)
        super().__init__(variant, hash_mib=options.hash_mib, prober=prober, table_mib=most, threads=options.threads)

    def observe(self, observer: Callable[[Choice], None] | None) -> None:
        """Set the function that is called with the current choice after each iteration."""
        self.observer = observer

    choose = Searcher.search
