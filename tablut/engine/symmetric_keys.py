"""A Zobrist key that is the same for a whole orbit, updated move by move.

Each symmetry g of a group gives the ordinary key of g·p. The image of a position under a
symmetry has the same keys in another order, so their minimum is the same for all
positions of an orbit. A move changes each key by exclusive or, as it changes the ordinary
one: keep all of them, and take the minimum when you need the key.

Like every key it is a hash: positions of different orbits may share one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tablut.engine.layout import KING_AT, SIDE_AT, head, read_undo

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from symmetry import Symmetry
    from tablut.engine.engine import Engine

__all__ = ["SymmetricKeys"]


class SymmetricKeys:
    """The keys of a position's images under a group.

    Parameters
    ----------
    engine : Engine
        Of the variant.
    group : sequence of Symmetry, optional
        All elements of a group that keeps the rules; by default the variant's symmetries.

    Examples
    --------
    >>> from tablut.engine import engine_for
    >>> from tablut.variants import load_variant
    >>> engine = engine_for(load_variant("ashton"))
    >>> keys = SymmetricKeys(engine)
    >>> board = engine.start()
    >>> now = keys.of(board)
    >>> undo, _ = engine.make(board, int(engine.legal_moves(board)[0]))
    >>> now ^= keys.change(board, undo)
    >>> bool((now == keys.of(board)).all()), keys.key(now) == int(now.min())
    (True, True)
    """

    def __init__(self, engine: Engine, group: Sequence[Symmetry] | None = None) -> None:
        self.engine = engine
        elements = engine.variant.symmetries if group is None else group
        self._images = np.array([element.table for element in elements], dtype=np.int64)
        tables = engine.tables
        self._keys = {"b": tables.keys[0], "w": tables.keys[1], "K": tables.keys[2]}
        self._side = tables.side_key[0]

    def of(self, board: NDArray[np.uint32]) -> NDArray[np.uint64]:
        """Return the keys of all images of a position, from scratch.

        Parameters
        ----------
        board : ndarray of uint32, shape (2N + 4,)
            A board array.

        Returns
        -------
        ndarray of uint64, shape (G,)
            In the order of the group.
        """
        cells, side = self.engine.cells(board)
        keys = np.zeros(len(self._images), dtype=np.uint64)
        for cell, piece in enumerate(cells):
            if piece != ".":
                keys ^= self._keys[piece][self._images[:, cell]]
        return keys ^ self._side if side == "b" else keys

    def change(self, board: NDArray[np.uint32], undo: int) -> NDArray[np.uint64]:
        """Return what the last move changed in each key, by exclusive or.

        Parameters
        ----------
        board : ndarray of uint32, shape (2N + 4,)
            After the move.
        undo : int
            The move's undo record.

        Returns
        -------
        ndarray of uint64, shape (G,)
            In the order of the group.
        """
        start, target, _ = read_undo(undo)
        mover = "b" if head(board)[SIDE_AT] == 0 else "K" if head(board)[KING_AT] == target else "w"
        change = self._keys[mover][self._images[:, start]] ^ self._keys[mover][self._images[:, target]] ^ self._side
        for cell in self.engine.captured(undo):
            change ^= self._keys["w" if mover == "b" else "b"][self._images[:, cell]]
        return change

    @staticmethod
    def key(keys: NDArray[np.uint64]) -> int:
        """Return the one key of the orbit.

        Parameters
        ----------
        keys : ndarray of uint64, shape (G,)
            As `of` returns them.

        Returns
        -------
        int
            The least of them.
        """
        return int(keys.min())
