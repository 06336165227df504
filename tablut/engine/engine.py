"""`Engine`: the kernels of one variant behind functions that allocate, validate and explain.

Bulk work goes from arrays of words to arrays of words, here. What is done with one
position is in `tablut.engine.board_engine`, counting in `tablut.engine.perft_engine`.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from symmetry import stabiliser
from tablut.engine.canonical import ImageTables, canonicalise, image_tables
from tablut.engine.packing import count_children, expand, pack_all, unpack_all
from tablut.engine.perft_engine import PerftEngine
from tablut.errors import InputError
from tablut.notation import diagram_cells
from tablut.position import BoardLike, Position

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from symmetry import Symmetry
    from tablut.variants import Variant

__all__ = ["Children", "Engine", "engine_for"]


class Children(NamedTuple):
    """The children of an array of positions.

    Attributes
    ----------
    words : ndarray of uint64, shape (m, W)
        The children, grouped by parent; a child that several moves reach occurs as often.
    parents : ndarray of int64, shape (m,)
        The row of each child's parent, ascending.
    moves : ndarray of int32, shape (m,)
        ``from | to << 7``.
    outcomes : ndarray of uint8, shape (m,)
        Codes, see `tablut.rules.OUTCOMES`; 0 where the child is undecided.
    """

    words: NDArray[np.uint64]
    parents: NDArray[np.int64]
    moves: NDArray[np.int32]
    outcomes: NDArray[np.uint8]


class Engine(PerftEngine):
    """The compiled rules of one variant, which is all that it is made from: ``Engine(variant)``.

    Attributes
    ----------
    variant : Variant
        The rule set.
    tables : Tables
        What the kernels are given.

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
        """Pack positions into words.

        Parameters
        ----------
        boards : ndarray of uint32, shape (n, 2N + 4) or (2N + 4,), or Board, Position or some of them
            Board arrays, or what is placed like them; a `Board` is taken without its history.

        Returns
        -------
        ndarray of uint64, shape (n, W)
            Words of each.

        Raises
        ------
        InputError
            If they are none of these, or a board is of another game.

        Examples
        --------
        >>> from tablut.board import Board
        >>> from tablut.variants import load_variant
        >>> engine = Engine(load_variant("ashton"))
        >>> bool((engine.words([Board("ashton")]) == engine.words(engine.start())).all())
        True
        """
        boards = np.atleast_2d(boards if isinstance(boards, np.ndarray) else self._arrays(boards))
        width = 2 * self.variant.size + 4
        if boards.dtype != np.uint32 or boards.ndim != 2 or boards.shape[1] != width:
            raise InputError(
                f"boards of {self.variant.name!r} are uint32 of shape (n, {width}), not {boards.dtype} "
                f"of shape {boards.shape}"
            )
        words = np.empty((len(boards), self.tables.words), dtype=np.uint64)
        pack_all(self.tables, boards, words)
        return words

    def boards(self, words: NDArray[np.uint64]) -> NDArray[np.uint32]:
        """Unpack words into board arrays; the inverse of `words`.

        Parameters
        ----------
        words : ndarray of uint64, shape (n, W)
            Packed positions.

        Returns
        -------
        ndarray of uint32, shape (n, 2N + 4)
            A board array each.

        Raises
        ------
        InputError
            If dtype or shape are wrong.
        """
        words = self._checked(words)
        boards = np.empty((len(words), 2 * self.variant.size + 4), dtype=np.uint32)
        unpack_all(self.tables, words, boards)
        return boards

    def expand(self, words: NDArray[np.uint64]) -> Children:
        """Return all children of undecided positions.

        Parameters
        ----------
        words : ndarray of uint64, shape (n, W)
            Undecided positions.

        Returns
        -------
        Children
            Words, parents, moves and outcomes.

        Raises
        ------
        InputError
            If dtype or shape are wrong.

        Notes
        -----
        O(number of children); the memory for them is allocated at once.

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
        """Return the canonical form of positions under a group.

        Parameters
        ----------
        words : ndarray of uint64, shape (n, W)
            Positions.
        group : sequence of Symmetry, optional
            All elements of a group that keeps the rules; by default the stabiliser of
            the start under the variant's symmetries.

        Returns
        -------
        words : ndarray of uint64, shape (n, W)
            The least image of each position, compared as one big integer.
        elements : ndarray of uint8, shape (n,)
            The number in ``group`` of the first element that leads there.

        Raises
        ------
        InputError
            If dtype or shape are wrong.

        Examples
        --------
        >>> from tablut.variants import load_variant
        >>> engine = Engine(load_variant("ashton"))
        >>> first = engine.expand(engine.words(engine.start())).words
        >>> len(np.unique(engine.canonical(first)[0], axis=0))
        7
        """
        words = self._checked(words)
        result = np.empty_like(words)
        elements = np.empty(len(words), dtype=np.uint8)
        canonicalise(self.tables, _images(tuple(group or self.group), self.variant.size), words, result, elements)
        return result, elements

    def orbit_sizes(self, words: NDArray[np.uint64], group: Sequence[Symmetry] | None = None) -> NDArray[np.int64]:
        """Return how many images each position has under a group.

        Parameters
        ----------
        words : ndarray of uint64, shape (n, W)
            Positions.
        group : sequence of Symmetry, optional
            As for `canonical`.

        Returns
        -------
        ndarray of int64, shape (n,)
            The order of the group by the order of the position's stabiliser.

        Raises
        ------
        InputError
            If dtype or shape are wrong.

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
            # Of one element alone, the least image is the image under it.
            kept += (self.canonical(words, (symmetry,))[0] == words).all(axis=1)
        return len(elements) // kept

    @cached_property
    def group(self) -> tuple[Symmetry, ...]:
        """The symmetries of the rules that keep the start position."""
        return stabiliser(self.variant.symmetries, diagram_cells(self.variant.start))

    def _arrays(self, boards: BoardLike | Position | Iterable[BoardLike | Position]) -> NDArray[np.uint32]:
        """Return the board arrays of boards or positions, shape (n, 2N + 4)."""
        arrays = []
        for board in [boards] if isinstance(boards, (BoardLike, Position)) else boards:
            if isinstance(board, BoardLike) and not board.variant.same_game(self.variant):
                raise InputError(f"board: is of {board.variant.name}, not of {self.variant.name}")
            position = board.position if isinstance(board, BoardLike) else board
            if not isinstance(position, Position):
                raise InputError(f"board {board!r}: expected a Board, a Position or an array of uint32")
            arrays.append(self.board(position.cells, position.side))
        return np.array(arrays, dtype=np.uint32).reshape(len(arrays), 2 * self.variant.size + 4)

    def _checked(self, words: NDArray[np.uint64]) -> NDArray[np.uint64]:
        if words.dtype != np.uint64 or words.ndim != 2 or words.shape[1] != self.tables.words:
            raise InputError(
                f"positions of {self.variant.name!r} are uint64 of shape (n, {self.tables.words}), "
                f"not {words.dtype} of shape {words.shape}"
            )
        return np.ascontiguousarray(words)


@lru_cache(maxsize=64)
def engine_for(variant: Variant) -> Engine:
    """Return the engine of a variant, the same object for equal variants.

    Parameters
    ----------
    variant : Variant
        The rule set.

    Returns
    -------
    Engine
        Up to 64 are kept.
    """
    return Engine(variant)


@lru_cache(maxsize=64)
def _images(group: tuple[Symmetry, ...], size: int) -> ImageTables:
    return image_tables(group, size)
