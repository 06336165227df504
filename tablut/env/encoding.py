"""Numbering of actions and planes, shared by all environments.

An action is a slide of a piece from one cell to another in the same row or column, with the number ``cell * 2(N - 1) +
place``. The first N - 1 places are the other cells of the cell's row, and the next N - 1 those of its column, both in
ascending order. Planes contain 0 and 1 and are indexed ``[rank, file, plane]``, as named in `PLANES`.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tablut.board import Board
from tablut.engine.jit import inlined
from tablut.errors import InputError, whole_number
from tablut.formats.reading import as_move
from tablut.position import Move
from tablut.variants import Variant
from tablut.variants.model import derived

PLANES: Final = "attackers", "defenders", "king", "black to move", "stood before", "castle", "camps", "escapes"
"""Names of the planes.

The fifth plane is 1 if the position, with its side to move, occurred earlier and the rules count repetitions.
"""
PLIES: Final = 1000
"""Default number of plies after which an OpenSpiel game is drawn."""
TO_MOVE: Final = 3
BEFORE: Final = 4


@inlined
def others(places: int, place: int) -> int:
    """Remove a piece's own place from a mask of the places on its line, because actions are numbered without it."""
    return (places & ((1 << place) - 1)) | ((places >> (place + 1)) << place)


class Encoding:
    """The actions and planes of one rule set."""

    def __init__(self, variant: Variant) -> None:
        self.variant = variant
        size = variant.size
        self.codes: NDArray[np.int32] = np.array(
            [
                Move(cell, target, size).code
                for cell in range(size * size)
                for target in [
                    *range(cell - cell % size, cell - cell % size + size),
                    *range(cell % size, size**2, size),
                ]
                if target != cell
            ],
            dtype=np.int32,
        )
        self.numbers: NDArray[np.int32] = np.full(self.codes.max() + 1, -1, dtype=np.int32)
        self.numbers[self.codes] = np.arange(len(self.codes))
        regions = variant.regions
        self.terrain: NDArray[np.uint8] = np.zeros((size * size, len(PLANES)), dtype=np.uint8)
        for plane, cells in zip((-3, -2, -1), (regions.castles, regions.camp_terrain, regions.escapes), strict=True):
            self.terrain[sorted(cells), plane] = 1

    def __reduce__(self) -> tuple[Any, ...]:
        """Support copying and pickling by storing only the variant."""
        return encoding_for, (self.variant,)

    def action(self, move: Move | str) -> int:
        """Return the action number for a move, which need not be legal."""
        said = as_move(move, self.variant.size).move
        # A `Move` is not validated when it is created. If its squares are off the board, it may have the code of
        # another move.
        number = int(self.numbers[said.code]) if 0 <= said.code < len(self.numbers) else -1
        if number < 0 or self.move(number) != said:
            raise InputError("is not along a row or column of the board", subject=f"move {said}")
        return number

    def move(self, action: int) -> Move:
        """Return the move for an action. This is the inverse of `action`."""
        action = whole_number("action", action, most=len(self.codes) - 1)
        return Move.from_code(int(self.codes[action]), self.variant.size)

    def planes(self, board: Board) -> NDArray[np.uint8]:
        """Return a board's planes, with shape (N, N, planes)."""
        size, planes = self.variant.size, self.terrain.copy()
        cells = np.frombuffer(board.position.cells.encode(), dtype="S1")
        for plane, piece in enumerate((b"b", b"w", b"K")):
            planes[:, plane] = cells == piece
        planes[:, TO_MOVE] = board.turn == "black"
        planes[:, BEFORE] = self.variant.rules.repetition.result != "none" and board.is_repetition()
        return planes.reshape(size, size, len(PLANES))

    @cached_property
    def action_images(self) -> NDArray[np.int64]:
        """For each symmetry of the start, the action number of every action's image."""
        moves = [self.move(action) for action in range(len(self.codes))]
        group = self.variant.start_symmetries
        images = np.array([[self.numbers[move.transformed(element).code] for move in moves] for element in group])
        images.flags.writeable = False  # shared by all batches of a variant
        return images


@derived
def encoding_for(variant: Variant) -> Encoding:
    """Return the encoding for a variant. Equal variants share one object."""
    return Encoding(variant)
