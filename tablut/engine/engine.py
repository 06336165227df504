"""The engine's Python interface: single moves, whole arrays of positions, perft and Zobrist keys."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tablut.engine import kernels
from tablut.engine.jit import kernel, pointer
from tablut.engine.kernel_records import flat
from tablut.engine.layout import (
    KING_AT,
    SIDE_AT,
    BoardArray,
    captured_cells,
    head,
    new_board,
    place_soldier,
    soldiers_of,
)
from tablut.engine.packing import count_children, expand, pack_all, unpack_all
from tablut.engine.tables import build_tables
from tablut.errors import InputError
from tablut.formats.reading import BoardLike
from tablut.position import Position, diagram_cells
from tablut.rules.outcome import OUTCOMES, Outcome
from tablut.variants.model import derived

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from symmetry import Symmetry
    from tablut.engine.tables import Tables
    from tablut.variants import Variant


@kernel
def position_key(rules: Tables, board: BoardArray) -> np.uint64:
    """Compute the Zobrist key of a board from scratch, in O(C) time."""
    return kernels.position_key(flat(rules), pointer(board))


@kernel
def legal_moves(rules: Tables, board: BoardArray, moves: NDArray[np.int32]) -> int:
    """Write the legal moves of the side to move and return their number."""
    return kernels.generate(flat(rules), pointer(board), pointer(moves))


@kernel
def mobility(rules: Tables, board: BoardArray, side: int) -> int:
    """Return the number of legal moves for a side, in O(N) time."""
    return kernels.count_moves(flat(rules), pointer(board), side)


@kernel
def make_move(rules: Tables, board: BoardArray, move: int) -> tuple[int, int]:
    """Make a legal move on a board and return the undo record and the outcome code."""
    return kernels.make(flat(rules), pointer(board), move)


@kernel
def unmake_move(rules: Tables, board: BoardArray, undo: int) -> None:
    """Take back a move, given its undo record."""
    kernels.unmake(flat(rules), pointer(board), undo)


# -- `Engine`: methods that allocate memory and validate arguments before they call the kernels of one variant


# A *board array* is ``uint32[2N + 4]``, or ``uint64[2N + 4]`` on boards larger than 11×11 (see `tablut.engine.layout`).
# Operations on many positions take and return arrays of packed positions (words).


_LETTERS = ".bwK"
_ROW = 64
"""Number of array items reserved for a thread's board: at least 256 bytes, so no two boards share a cache line."""


class LeafStatistics(NamedTuple):
    """Statistics of the last plies of a perft that makes every move (an *applied* perft).

    - ``nodes``, ``captured``: Numbers of move sequences, and of soldiers captured by the last plies.
    - ``key_sum``: Sum of the Zobrist keys after the last plies, modulo 2**64.
    - ``outcomes``: Number of sequences, keyed by the outcome of the last ply, without zeros.
    """

    nodes: int
    captured: int
    key_sum: int
    outcomes: dict[Outcome | None, int]


class BoardEngine:
    """Base class of `Engine`. It provides the methods that start from a single position."""

    def __init__(self, variant: Variant) -> None:
        self.variant = variant
        self.tables = build_tables(variant)

    def board(self, cells: str, side: str) -> NDArray[np.uint32]:
        """Return a board array with the given cell letters and side to move."""
        size = self.variant.size
        if len(cells) != size * size or set(cells) - set(_LETTERS):
            raise InputError(f"expected {size * size} letters of '{_LETTERS}'", subject=f"placement {cells!r}")
        if cells.count("K") != 1:
            raise InputError(f"expected one king (K), found {cells.count('K')}", subject=f"placement {cells!r}")
        if side not in ("w", "b"):
            raise InputError("expected 'w' or 'b'", subject=f"side {side!r}")
        board = new_board(size)
        for cell, letter in enumerate(cells):
            if letter != ".":
                place_soldier(board, cell, size, white=letter != "b")
        head(board)[:] = cells.index("K"), side == "b", cells.count("b"), cells.count("w")
        return board

    def cells(self, board: BoardArray) -> tuple[str, str]:
        """Return the cell letters of a board array and its side to move. This is the inverse of `board`."""
        letters = [".bw"[kind] for kind in soldiers_of(board, self.variant.size)]
        letters[int(head(board)[KING_AT])] = "K"
        return "".join(letters), "b" if head(board)[SIDE_AT] else "w"

    def start(self) -> NDArray[np.uint32]:
        """Return the board array of the start position."""
        return self.board(diagram_cells(self.variant.start), self.variant.rules.first[0])

    def legal_moves(self, board: BoardArray) -> NDArray[np.int32]:
        """Return the legal moves of the side to move, in a fixed order."""
        moves = np.empty(4 * self.tables.cells, dtype=np.int32)
        return moves[: legal_moves(self.tables, board, moves)]

    def count_moves(self, board: BoardArray, side: int) -> int:
        """Return the number of legal moves for a side, whether or not it is that side's turn."""
        return int(mobility(self.tables, board, side))

    def make(self, board: BoardArray, move: int) -> tuple[int, int]:
        """Make a legal move on a board array in place, and return its undo record and the outcome code."""
        undo, outcome = make_move(self.tables, board, move)
        return int(undo), int(outcome)

    def unmake(self, board: BoardArray, undo: int) -> None:
        """Take back the last move made on a board array, in place, given its undo record."""
        unmake_move(self.tables, board, undo)

    def captured(self, undo: int) -> tuple[int, ...]:
        """Return the cells of the soldiers that a move captured, given its undo record."""
        return captured_cells(undo, self.variant.size)

    def key(self, board: BoardArray) -> int:
        """Return the Zobrist key of a board array."""
        return int(position_key(self.tables, board))

    # -- perft: counting the move sequences from a board, with one or more threads ---

    def perft(self, board: BoardArray, depth: int, *, threads: int = 1) -> int:
        """Return the number of sequences of exactly ``depth`` plies from an undecided position."""
        from tablut.engine.perft import perft_counted

        if depth < 2 or threads < 2:
            return int(perft_counted(self.tables, board.copy(), depth)) if depth else 1
        return sum(self.divide(board, depth, threads=threads).values())

    def perft_applied(self, board: BoardArray, depth: int, *, threads: int = 1) -> LeafStatistics:
        """Count the same sequences as `perft`, but make the last moves too, and return statistics about them."""
        from tablut.engine.perft import LEAF_COUNTERS, perft_applied

        if depth < 1:
            raise InputError("must be 1 or more for an applied perft", subject=f"depth {depth}")
        roots = [board.copy()]
        if threads > 1 and depth > 1:
            roots, depth = [child for child, outcome in self._children(board) if not outcome], depth - 1

        def _task(root: NDArray[np.uint32]) -> tuple[int, NDArray[np.uint64]]:
            counters = np.zeros(_ROW, dtype=np.uint64)[:LEAF_COUNTERS]
            return int(perft_applied(self.tables, root, depth, counters)), counters

        with ThreadPoolExecutor(max_workers=threads) as pool:
            results = list(pool.map(_task, roots))
        counters = np.zeros(LEAF_COUNTERS, dtype=np.uint64)
        for _, share in results:
            counters += share
        outcomes = {outcome: int(leaves) for outcome, leaves in zip(OUTCOMES, counters[2:], strict=True) if leaves}
        return LeafStatistics(sum(nodes for nodes, _ in results), int(counters[0]), int(counters[1]), outcomes)

    def divide(self, board: BoardArray, depth: int, *, threads: int = 1) -> dict[int, int]:
        """Return, for each legal move, the number of sequences that begin with it."""
        from tablut.engine.perft import perft_counted

        moves = self.legal_moves(board)
        children = self._children(board)

        def _task(child: tuple[NDArray[np.uint32], int]) -> int:
            if depth == 1:
                return 1
            return 0 if child[1] else int(perft_counted(self.tables, child[0], depth - 1))

        with ThreadPoolExecutor(max_workers=threads) as pool:
            return {int(move): nodes for move, nodes in zip(moves, pool.map(_task, children), strict=True)}

    def _children(self, board: BoardArray) -> list[tuple[NDArray[np.uint32], int]]:
        moves = self.legal_moves(board)
        # Rows are far apart so that threads writing to neighbouring boards do not share a cache line.
        rows = np.zeros((len(moves), _ROW), dtype=board.dtype)
        found = []
        for row, move in zip(rows, moves, strict=True):
            child = row[: len(board)]
            child[:] = board
            _, outcome = self.make(child, int(move))
            found.append((child, outcome))
        return found


class Children(NamedTuple):
    """Children of an array of positions. A child occurs once for each move that leads to it.

    - ``words``: The children, grouped by parent, as uint64 of shape (m, W).
    - ``parents``: Index of each child's parent, in ascending order, as int64 of shape (m,).
    - ``moves``: ``from | to << 7`` as int32 of shape (m,); for boards larger than 11×11 see `tablut.engine.layout`.
    - ``outcomes``: Outcome codes (`tablut.rules.OUTCOMES`), 0 for undecided children, as uint8 of shape (m,).
    """

    words: NDArray[np.uint64]
    parents: NDArray[np.int64]
    moves: NDArray[np.int32]
    outcomes: NDArray[np.uint8]


class Engine(BoardEngine):
    """Compiled rules of one ``variant``, created with ``Engine(variant)``, and the ``tables`` that its kernels use.

    `engine_for` returns a shared engine for equal variants.

    Examples
    --------
    >>> from tablut.variants import load_variant
    >>> engine = Engine(load_variant("ashton"))
    >>> board = engine.start()
    >>> [engine.perft(board, depth) for depth in (1, 2, 3)]
    [56, 4408, 248456]
    """

    def words(
        self, boards: NDArray[np.uint32] | BoardLike | Position | Iterable[BoardLike | Position]
    ) -> NDArray[np.uint64]:
        """Return positions packed into words, uint64 of shape (n, W).

        ``boards`` are board arrays, uint32 of shape (n, 2N + 4) or (2N + 4,), or a `Board`, a `Position`, or several of
        these. The history of a `Board` is ignored.

        Raises
        ------
        InputError
            If the type, dtype or shape of ``boards`` is wrong, or if a board belongs to another game.

        Examples
        --------
        >>> from tablut.board import Board
        >>> from tablut.variants import load_variant
        >>> engine = Engine(load_variant("ashton"))
        >>> bool((engine.words([Board("ashton")]) == engine.words(engine.start())).all())
        True
        """
        boards = np.atleast_2d(boards if isinstance(boards, np.ndarray) else self._arrays(boards))
        one = new_board(self.variant.size)
        if boards.dtype != one.dtype or boards.ndim != 2 or boards.shape[1] != len(one):
            raise InputError(
                f"boards of {self.variant.name!r} are {one.dtype} of shape (n, {len(one)}), not {boards.dtype} "
                f"of shape {boards.shape}"
            )
        words = np.empty((len(boards), self.tables.words), dtype=np.uint64)
        pack_all(self.tables, boards, words)
        return words

    def boards(self, words: NDArray[np.uint64]) -> NDArray[np.uint32]:
        """Return packed positions as board arrays, uint32 of shape (n, 2N + 4). This is the inverse of `words`.

        ``words`` are uint64 of shape (n, W).

        Raises
        ------
        InputError
            If the dtype or shape of ``words`` is wrong.
        """
        words = self._checked(words)
        boards = new_board(self.variant.size, len(words))
        unpack_all(self.tables, words, boards)
        return boards

    def expand(self, words: NDArray[np.uint64]) -> Children:
        """Return all children of undecided positions (``words``, uint64 of shape (n, W)).

        Raises
        ------
        InputError
            If the dtype or shape of ``words`` is wrong.

        Examples
        --------
        >>> from tablut.variants import load_variant
        >>> engine = Engine(load_variant("ashton"))
        >>> first = engine.expand(engine.words(engine.start()))
        >>> second = engine.expand(first.words)
        >>> len(first.words), len(second.words), len(np.unique(second.words, axis=0))
        (56, 4408, 4408)
        """
        words = self._checked(words)
        counts = np.empty(len(words), dtype=np.int64)
        total = int(count_children(self.tables, words, counts))
        children = Children(
            np.empty((total, self.tables.words), dtype=np.uint64),
            np.empty(total, dtype=np.int64),
            np.empty(total, dtype=np.int32),
            np.empty(total, dtype=np.uint8),
        )
        expand(self.tables, words, *children)
        return children

    def canonical(
        self, words: NDArray[np.uint64], group: Sequence[Symmetry] | None = None
    ) -> tuple[NDArray[np.uint64], NDArray[np.uint8]]:
        """Return the canonical form of each position, and the index of a symmetry that maps the position to it.

        The canonical form, uint64 of shape (n, W), is the least image of a position in ``words``, compared as a big
        integer. The index, uint8 of shape (n,), is that of the first such element of ``group``. By default, the group
        consists of the symmetries that leave the start position unchanged.

        Raises
        ------
        InputError
            If the dtype or shape of ``words`` is wrong.

        Examples
        --------
        >>> from tablut.variants import load_variant
        >>> engine = Engine(load_variant("ashton"))
        >>> first = engine.expand(engine.words(engine.start())).words
        >>> len(np.unique(engine.canonical(first)[0], axis=0))
        7
        """
        from tablut.engine.canonical import canonicalise, image_tables  # not needed for playing

        words = self._checked(words)
        result = np.empty_like(words)
        elements = np.empty(len(words), dtype=np.uint8)
        images = image_tables(tuple(group or self.group), self.variant.size)
        canonicalise(self.tables, images, words, result, elements)
        return result, elements

    def orbit_sizes(self, words: NDArray[np.uint64], group: Sequence[Symmetry] | None = None) -> NDArray[np.int64]:
        """Return the number of distinct images of each position in ``words`` under a ``group``, as int64 of shape (n,).

        Raises
        ------
        InputError
            If the dtype or shape of ``words`` is wrong.

        Examples
        --------
        >>> from tablut.variants import load_variant
        >>> engine = Engine(load_variant("ashton"))
        >>> engine.orbit_sizes(engine.words(engine.start())).tolist()
        [1]
        >>> first = engine.expand(engine.words(engine.start())).words
        >>> sorted(set(engine.orbit_sizes(first).tolist()))
        [8]
        """
        elements = tuple(group or self.group)
        kept = np.zeros(len(words), dtype=np.int64)
        for symmetry in elements:
            # With a single element, the "least" image is simply the image under that element.
            kept += (self.canonical(words, (symmetry,))[0] == words).all(axis=1)
        return len(elements) // kept

    def __reduce__(self) -> tuple[Any, ...]:
        """Reduce the engine to its variant, so that a copied or unpickled engine is the variant's shared engine."""
        return engine_for, (self.variant,)

    @property
    def group(self) -> tuple[Symmetry, ...]:
        """Symmetries of the rules that leave the start position unchanged."""
        return self.variant.start_symmetries

    def _arrays(self, boards: BoardLike | Position | Iterable[BoardLike | Position]) -> NDArray[np.uint32]:
        """Return the board arrays of boards or positions as one array of shape (n, 2N + 4)."""
        one, arrays = new_board(self.variant.size), []
        for board in [boards] if isinstance(boards, (BoardLike, Position)) else boards:
            if isinstance(board, BoardLike) and not board.variant.same_game(self.variant):
                raise InputError(f"is of {board.variant.name}, not of {self.variant.name}", subject="board")
            position = board.position if isinstance(board, BoardLike) else board
            if not isinstance(position, Position):
                raise InputError("expected a Board, a Position or an array of uint32", subject=f"board {board!r}")
            arrays.append(self.board(position.cells, position.side))
        return np.array(arrays, dtype=one.dtype).reshape(-1, len(one))

    def _checked(self, words: NDArray[np.uint64]) -> NDArray[np.uint64]:
        if words.dtype != np.uint64 or words.ndim != 2 or words.shape[1] != self.tables.words:
            raise InputError(
                f"positions of {self.variant.name!r} are uint64 of shape (n, {self.tables.words}), "
                f"not {words.dtype} of shape {words.shape}"
            )
        return np.ascontiguousarray(words)


@derived
def engine_for(variant: Variant) -> Engine:
    """Return the shared engine for a ``variant``. Equal variants get the same object."""
    return Engine(variant)


# -- packed positions as single array items ------------------------------------------------


def position_keys(words: NDArray[np.uint64]) -> NDArray[Any]:
    """Return each packed position as one array item, so that positions are sorted and compared by all their words."""
    if words.shape[1] == 1:
        return words[:, 0]
    rows = np.ascontiguousarray(words.astype(">u8"))
    return rows.view(np.dtype((np.void, rows.shape[1] * 8))).ravel()


def words_of_keys(keys: NDArray[Any]) -> NDArray[np.uint64]:
    """Convert the result of `position_keys` back to packed positions."""
    if keys.dtype == np.uint64:
        return keys[:, None]
    return keys.view(">u8").astype(np.uint64).reshape(len(keys), -1)
