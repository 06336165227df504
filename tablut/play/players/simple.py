"""The players that look a ply or two ahead, `alphabeta`, and the scoring scheme of the McGill player paper, III-B.

| white | | black | |
|---|---|---|---|
| the king can be captured | −1000 | | |
| each piece that the opponent can capture | −5 | the same | −5 |
| each piece captured | +10 | the same | +10 |
| the king has an open victory path | +5 | it has none | +1000 |
| the king has moved to a central square | +1 | the king is captured | +1000 |

What a table of two columns leaves open is chosen so: a piece that several moves can capture
counts once; the king is no piece among these; a path is open if white, were it to move, could
take it, whoever is to move; central squares are the castle and those beside it (section I-A).
A white ply that ends the game for white has its path, a black one that does counts as the
capture of the king, and a ply by which the mover loses as the capture or the path allowed.

The table gives nothing for winning. Section III-A does: a victory "should be taken". So
`Scheme.first` is added to a white move after which the king stands on a victory path, and
twice that to one that wins at once; with 0 the table is all there is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
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
from tablut.engine.records import flat
from tablut.engine.tables import Tables
from tablut.play.players.registry import SHIPPED_TABLE_MIB, PlayerOptions, Setting, read_settings
from tablut.play.search.limits import Choice, SearchLimits, moves_asked_about
from tablut.play.search.searcher import Searcher
from tablut.position import Move
from tablut.prober import find_prober
from tablut.rules.outcome import KING_CAPTURED, UNDECIDED
from tablut.running.one_caller import OneCaller, alone
from tablut.variants import Variant

FIRST: Final = 10_000
"""More than any sum of the table."""

_AT_RISK: Final = -5
_CAPTURED: Final = 10
_KING_AT_RISK: Final = -1000
_HAS_PATH: Final = 5
_CENTRAL: Final = 1
_NO_PATH: Final = 1000
_KING_CAPTURED: Final = 1000


class Scheme(NamedTuple):
    """What the scores depend on besides the rules' own tables; C is the number of cells.

    Attributes
    ----------
    paths : PathTables
        For victory paths.
    first : int
        What entering a victory path is worth on top; 0 for the paper's table alone.
    central : ndarray of uint8, shape (C,)
        1 on the castle and beside it.
    replies : ndarray of int32, shape (4C,)
        Room for moves.
    marks : ndarray of uint8, shape (C,)
        Room for marks.
    """

    paths: PathTables
    first: int
    central: NDArray[np.uint8]
    replies: NDArray[np.int32]
    marks: NDArray[np.uint8]


def central_squares(variant: Variant) -> frozenset[int]:
    """Return the castle and the squares beside it."""
    regions = variant.regions
    return regions.castles.union(*(regions.neighbours(castle) for castle in regions.castles))


def new_scheme(variant: Variant, first: int = FIRST) -> Scheme:
    """Return the scheme of a variant."""
    cells = variant.size**2
    central = np.zeros(cells, dtype=np.uint8)
    central[sorted(central_squares(variant))] = 1
    return Scheme(
        path_tables(variant), first, central, np.zeros(4 * cells, dtype=np.int32), np.zeros(cells, dtype=np.uint8)
    )


@called
def _pieces_at_risk(t: Tables, h: Scheme, board: NDArray[np.uint32]) -> int:
    """Return how many soldiers of the side that is not to move some move captures; O(moves)."""
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
    """Write which moves capture something, the king included."""
    t, array = flat(tables), pointer(board)
    for index in range(len(moves)):
        undo, outcome = make(t, array, I64(moves[index]))
        unmake(t, array, undo)
        takes[index] = outcome == KING_CAPTURED or undo_captured(undo) != 0


@kernel
def score_moves(
    tables: Tables, scheme: Scheme, board: NDArray[np.uint32], moves: NDArray[np.int32], scores: NDArray[np.int64]
) -> None:
    """Write the scores of moves; O(moves²)."""
    t, h, array = flat(tables), flat(scheme), pointer(board)
    for index in range(len(moves)):
        scores[index] = _score(t, h, array, I64(moves[index]))


# -- victory paths: ways of the king to an escape that black cannot stop, read off the lines ---


# The McGill player paper (Pilarski, *Designing an Effective Tablut Artificial Intelligence*,
# section III-A) names three: a clear edge (figure 5), a safe edge (figure 6), and a safe edge
# with a single opposing piece in the last line before the corner (figure 7). They are said
# here for any board: two ways of which one move closes one; one way that no soldier can
# enter; one way that a single soldier can enter, beside the corner, where the king takes it.
#
# The paper calls them guaranteed. Beside a hostile corner they are not: a king may be taken
# between the corner and one soldier. So a cell on which the king can be taken at once ends no path.


class PathTables(NamedTuple):
    """What victory paths depend on besides the rules' own tables; C is the number of cells.

    Attributes
    ----------
    wedge : int
        1 where a king takes a soldier against a corner, else 0.
    royal : ndarray of uint8, shape (C,)
        1 on corners that only a king may enter.
    """

    wedge: int
    royal: NDArray[np.uint8]


def path_tables(variant: Variant) -> PathTables:
    """Return the tables of a variant."""
    royal = np.zeros(variant.size**2, dtype=np.uint8)
    royal[sorted(variant.regions.royal_corners)] = 1
    return PathTables(int(variant.rules.king.armed and variant.rules.corners.hostile), royal)


@called
def stands_on_path(t: Tables, paths: PathTables, board: NDArray[np.uint32]) -> bool:
    """Return whether black, which is to move, can no longer keep the king from an escape; O(N)."""
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
    # Beyond the end of the way, which may be no edge, a soldier may come along its own line.
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
    """Return a move by which white, were it to move, wins at once or enters a victory path, or NO_MOVE; O(N²)."""
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


# -- the player that plays any legal move: an opponent that everyone should beat ---------


class RandomPlayer(OneCaller):
    """Uniformly random moves, the same ones for the same seed."""

    def __init__(self, variant: Variant, options: PlayerOptions) -> None:
        read_settings("random", options, {})
        self.variant = variant
        self._random = Random(options.seed)

    def choose(self, board: Board, limits: SearchLimits) -> Choice:
        """Return any legal move; the limits are kept by doing nothing else."""
        limits.checked()
        move = self._random.choice(moves_asked_about(board, self.variant))
        return Choice(move, score=None, mate=None, depth=0, nodes=0, pv=(move,))


# ------------------------------------------------------------------------------------------
# The baseline of the McGill player paper, section II: capture, else run to the corner, else anything


class GreedyPlayer(OneCaller):
    """The greedy player of S. Pilarski, *Designing an Effective Tablut Artificial Intelligence*, section II.

    "If a piece can be captured, capture it. If no piece can be captured, and playing as the
    Swedes move the king towards the nearest corner. Else, perform a random move."

    Chosen where the paper leaves it open: among several captures, or several moves nearest to
    the corner, any is as likely as the others; the king counts as a piece, and taking it is no
    better than taking a soldier, a weakness that section II names; the distance is that along
    rank and file; a king that cannot come nearer leaves the choice to chance. Where
    escapes are not corners, the nearest escape stands for the nearest corner.
    """

    def __init__(self, variant: Variant, options: PlayerOptions) -> None:
        read_settings("greedy", options, {})
        self.variant = variant
        self._engine = engine_for(variant)
        self._random = Random(options.seed)

    def choose(self, board: Board, limits: SearchLimits) -> Choice:
        """Return a move; the limits are kept by looking one ply ahead."""
        limits.checked()
        moves = moves_asked_about(board, self.variant)
        wanted = self._captures(board, moves) or self._towards_escape(board, moves) or moves
        move = self._random.choice(wanted)
        return Choice(move, score=None, mate=None, depth=0, nodes=0, pv=(move,))

    def _captures(self, board: Board, moves: Sequence[Move]) -> list[Move]:
        array = self._engine.board(board.position.cells, board.position.side)
        codes = np.array([move.code for move in moves], dtype=np.int32)
        takes = np.zeros(len(moves), dtype=np.bool_)
        mark_captures(self._engine.tables, array, codes, takes)
        return [move for move, taking in zip(moves, takes, strict=True) if taking]

    def _towards_escape(self, board: Board, moves: Sequence[Move]) -> list[Move]:
        """Return white's moves of the king that come nearest to an escape, if they come nearer at all."""
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
# The heuristic player of the McGill paper, section III: the best moves by its scoring scheme, any of them


WIN_FIRST: Final[Mapping[str, Setting]] = {"win": Setting("first", ("first", "table"))}
"""Whether a victory is taken before the table is asked (section III-A), or the table alone decides (III-B)."""


class MoveScores:
    """The scoring scheme of section III-B for one variant."""

    def __init__(self, variant: Variant, *, win_first: bool) -> None:
        self._engine = engine_for(variant)
        self._scheme = new_scheme(variant, FIRST if win_first else 0)
        array = self._engine.start()
        moves = self._engine.legal_moves(array)[:1]
        # Loaded or compiled here, so that no move pays for it.
        score_moves(self._engine.tables, self._scheme, array, moves, np.zeros(len(moves), dtype=np.int64))

    def of(self, board: Board, moves: Sequence[Move]) -> list[int]:
        """Return the score of each of some legal moves."""
        array = self._engine.board(board.position.cells, board.position.side)
        codes = np.array([move.code for move in moves], dtype=np.int32)
        scores = np.zeros(len(moves), dtype=np.int64)
        score_moves(self._engine.tables, self._scheme, array, codes, scores)
        return [int(score) for score in scores]

    def best(self, board: Board, moves: Sequence[Move], margin: int = 0) -> list[Move]:
        """Return the moves that score at most a margin less than the best one."""
        scores = self.of(board, moves)
        least = max(scores) - margin
        return [move for move, score in zip(moves, scores, strict=True) if score >= least]


class HeuristicPlayer(OneCaller):
    """The heuristic player of S. Pilarski, *Designing an Effective Tablut Artificial Intelligence*, section III.

    says how it is read), and one of the best is drawn at random (section VI-A).

    The table gives a white move nothing for winning, but section III-A says that a victory
    path "should be taken": with ``win=first``, the default, it is; ``win=table`` is the table alone.
    """

    def __init__(self, variant: Variant, options: PlayerOptions) -> None:
        settings = read_settings("heuristic", options, WIN_FIRST)
        self.variant = variant
        self._scores = MoveScores(variant, win_first=settings["win"] == "first")
        self._random = Random(options.seed)

    @alone
    def choose(self, board: Board, limits: SearchLimits) -> Choice:
        """Return one of the moves of the best score; the limits are kept by looking two plies ahead."""
        limits.checked()
        move = self._random.choice(self._scores.best(board, moves_asked_about(board, self.variant)))
        return Choice(move, score=None, mate=None, depth=0, nodes=0, pv=(move,))


# -- the player that searches: `tablut.play.search` behind the protocol of players ---------


class AlphaBetaPlayer(Searcher):
    """Alpha-beta with a transposition table that lasts from move to move."""

    def __init__(self, variant: Variant, options: PlayerOptions) -> None:
        read_settings("alphabeta", options, {})
        prober = find_prober(variant, options.tablebase)
        # What ships is unpacked at every start, so only what takes no time. A named store gets all it may have.
        most = options.table_mib if options.tablebase is not None else min(options.table_mib, SHIPPED_TABLE_MIB)
        super().__init__(variant, hash_mib=options.hash_mib, prober=prober, table_mib=most, threads=options.threads)

    def observe(self, observer: Callable[[Choice], None] | None) -> None:
        """Have somebody told what is known after each iteration."""
        self.observer = observer

    choose = Searcher.search
