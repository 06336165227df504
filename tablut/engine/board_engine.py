"""`BoardEngine`: the compiled rules on one board array, set up, read, changed and taken back.

A *board array* is ``uint32[2N + 4]`` (see `tablut.engine.layout`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tablut.engine import entry
from tablut.engine.layout import KING_AT, SIDE_AT, head, new_board, read_undo
from tablut.engine.tables import build_tables
from tablut.errors import InputError
from tablut.notation import diagram_cells

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tablut.variants import Variant

__all__ = ["BoardEngine"]

_LETTERS = ".bwK"


class BoardEngine:
    """What `tablut.engine.Engine` does with one position.

    Parameters
    ----------
    variant : Variant
        The rule set.

    Attributes
    ----------
    variant : Variant
        The rule set.
    tables : Tables
        What the kernels are given.

    Examples
    --------
    >>> from tablut.variants import load_variant
    >>> engine = BoardEngine(load_variant("ashton"))
    >>> board = engine.start()
    >>> undo, outcome = engine.make(board, int(engine.legal_moves(board)[0]))
    >>> engine.cells(board)[1], outcome, engine.captured(undo)
    ('b', 0, ())
    """

    def __init__(self, variant: Variant) -> None:
        self.variant = variant
        self.tables = build_tables(variant)

    def board(self, cells: str, side: str) -> NDArray[np.uint32]:
        """Return the board array of a placement.

        Parameters
        ----------
        cells : str
            One letter a cell in the order of cell indices: ``.``, ``b``, ``w`` or ``K``.
        side : {'w', 'b'}
            The side to move.

        Returns
        -------
        ndarray of uint32, shape (2N + 4,)
            Ready for `make`.

        Raises
        ------
        InputError
            If the number of cells is wrong, a letter is unknown, there is not exactly
            one king, or the side is none.
        """
        size = self.variant.size
        if len(cells) != size * size or set(cells) - set(_LETTERS):
            raise InputError(f"placement {cells!r}: expected {size * size} letters of '{_LETTERS}'")
        if cells.count("K") != 1:
            raise InputError(f"placement {cells!r}: expected one king (K), found {cells.count('K')}")
        if side not in ("w", "b"):
            raise InputError(f"side {side!r}: expected 'w' or 'b'")
        board = new_board(size)
        for cell, letter in enumerate(cells):
            if letter != ".":
                rank, file = divmod(cell, size)
                shift = 0 if letter == "b" else 16
                board[rank] |= np.uint32(1 << (file + shift))
                board[size + file] |= np.uint32(1 << (rank + shift))
        head(board)[:] = cells.index("K"), side == "b", cells.count("b"), cells.count("w")
        return board

    def cells(self, board: NDArray[np.uint32]) -> tuple[str, str]:
        """Return the letters and the side to move of a board array; the inverse of `board`.

        Parameters
        ----------
        board : ndarray of uint32, shape (2N + 4,)
            A board array.

        Returns
        -------
        cells : str
            One letter a cell in the order of cell indices.
        side : {'w', 'b'}
            The side to move.
        """
        size = self.variant.size
        rows = [
            [".bw"[(int(board[rank]) >> file & 1) | (int(board[rank]) >> (file + 15) & 2)] for file in range(size)]
            for rank in range(size)
        ]
        letters = [letter for row in rows for letter in row]
        letters[int(head(board)[KING_AT])] = "K"
        return "".join(letters), "b" if head(board)[SIDE_AT] else "w"

    def start(self) -> NDArray[np.uint32]:
        """Return the board array of the start position."""
        return self.board(diagram_cells(self.variant.start), self.variant.rules.first[0])

    def legal_moves(self, board: NDArray[np.uint32]) -> NDArray[np.int32]:
        """Return the legal moves of the side to move, in a fixed order.

        Parameters
        ----------
        board : ndarray of uint32, shape (2N + 4,)
            Not changed; the moves of a decided position are listed like any others.

        Returns
        -------
        ndarray of int32, shape (m,)
            ``start | target << 7``.
        """
        moves = np.empty(4 * self.tables.cells, dtype=np.int32)
        return moves[: entry.legal_moves(self.tables, board, moves)]

    def count_moves(self, board: NDArray[np.uint32], side: int) -> int:
        """Return the number of legal moves of a side, whoever is to move.

        Parameters
        ----------
        board : ndarray of uint32, shape (2N + 4,)
            Not changed.
        side : int
            0 white, 1 black.

        Returns
        -------
        int
            Without generating a move.
        """
        return int(entry.mobility(self.tables, board, side))

    def make(self, board: NDArray[np.uint32], move: int) -> tuple[int, int]:
        """Make a legal move on a board array, in place.

        Parameters
        ----------
        board : ndarray of uint32, shape (2N + 4,)
            Undecided; changed.
        move : int
            One of `legal_moves`; this is not checked.

        Returns
        -------
        undo : int
            For `unmake`; see `captured`.
        outcome : int
            Code, see `tablut.rules.OUTCOMES`.
        """
        undo, outcome = entry.make_move(self.tables, board, move)
        return int(undo), int(outcome)

    def unmake(self, board: NDArray[np.uint32], undo: int) -> None:
        """Take back the last move made on a board array, in place.

        Parameters
        ----------
        board : ndarray of uint32, shape (2N + 4,)
            After the move; changed.
        undo : int
            As `make` returned it.
        """
        entry.unmake_move(self.tables, board, undo)

    def captured(self, undo: int) -> tuple[int, ...]:
        """Return the cells of the soldiers that a move captured, by its undo record.

        Parameters
        ----------
        undo : int
            As `make` returned it.

        Returns
        -------
        tuple of int
            In ascending order.
        """
        (_, target, directions), size = read_undo(undo), self.variant.size
        steps = {1: -1, 2: -size, 4: 1, 8: size}
        return tuple(sorted(target + step for direction, step in steps.items() if directions & direction))

    def key(self, board: NDArray[np.uint32]) -> int:
        """Return the Zobrist key of a board array.

        Parameters
        ----------
        board : ndarray of uint32, shape (2N + 4,)
            A board array.

        Returns
        -------
        int
            64 bits, computed from scratch.
        """
        return int(entry.position_key(self.tables, board))

    def key_change(self, board: NDArray[np.uint32], undo: int) -> int:
        """Return what the last move changed in the Zobrist key.

        Parameters
        ----------
        board : ndarray of uint32, shape (2N + 4,)
            After the move.
        undo : int
            As `make` returned it.

        Returns
        -------
        int
            To be combined with the key by exclusive or.
        """
        return int(entry.last_key_change(self.tables, board, undo))
