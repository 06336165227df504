"""Random positions with an almost complete fort, ring or shieldwall, and detection of these shapes in lines of play."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Final, Literal

from tablut.board import Board
from tablut.errors import InputError
from tablut.position import Move, Position, Side

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np

    from tablut.variants import Variant

Theme = Literal["exit fort", "encirclement", "shieldwall"]

_FORTS: Final = (
    ((-2, 0), (-1, 1), (0, 2), (1, 1), (2, 0)),
    ((-1, 0), (-1, 1), (0, 2), (1, 1), (1, 0)),
    ((-2, 0), (-1, 1), (0, 1), (1, 1), (2, 0)),
    ((-2, 0), (-2, 1), (-1, 2), (0, 2), (1, 1), (2, 0)),
)
"""Walls around a king on an edge. Each cell is given by its steps from the king along the edge and away from it."""
_RINGS: Final = (
    ((-2, 0), (-1, 1), (0, 2), (1, 1), (2, 0), (1, -1), (0, -2), (-1, -1)),
    ((-2, 0), (-2, 1), (-1, 2), (0, 2), (1, 1), (2, 0), (1, -1), (0, -2), (-1, -1)),
    ((-3, 0), (-2, 1), (-1, 2), (0, 2), (1, 2), (2, 1), (3, 0), (2, -1), (1, -2), (0, -2), (-1, -2), (-2, -1)),
)
_SMALLEST: Final[dict[Theme, int]] = {"exit fort": 5, "encirclement": 7, "shieldwall": 7}
"""Side lengths of the smallest boards on which the shapes fit."""
_Pieces = dict[tuple[int, int], str]


def theme_of(variant: Variant, position: Position, line: Sequence[Move]) -> str:
    """Return the shapes that occur in a line of play: a shieldwall capture, and a final exit fort or encirclement."""
    board, wall = Board(variant, position), False
    for move in line:
        wall = wall or _is_wall(board, move)
        board.push(move)
    outcome = board.outcome()
    afar = outcome is not None and outcome.termination in ("exit_fort", "encirclement")
    return " and ".join(["shieldwall"] * wall + ([outcome.how] if outcome is not None and afar else []))


def _is_wall(board: Board, move: Move) -> bool:
    """Return whether a move makes a shieldwall capture, that is, whether the shieldwall rule affects its captures."""
    if board.variant.rules.shieldwall is None:
        return False
    after, without = board.copy(), Board(_custodial(board.variant), board.position)
    after.push(move)
    without.push(move)
    return after.captured() != without.captured()


@cache
def _custodial(variant: Variant) -> Variant:
    """Return a game without its shieldwall rule."""
    return replace(variant, rules=variant.rules.model_copy(update={"shieldwall": None}))


def from_shapes(variant: Variant, theme: Theme, rng: np.random.Generator, number: int) -> Iterator[Position]:
    """Yield random positions with a shape that lacks one or two pieces, and with other men.

    Impossible and decided positions are discarded, so fewer than `number` positions may be yielded.
    """
    rules = variant.rules
    has = {"exit fort": rules.fort != "none", "encirclement": rules.encirclement != "none"}
    if not has.get(theme, rules.shieldwall is not None):
        raise InputError(f"is not a rule of {variant.name}", parameter="theme", value=theme)
    if variant.size < _SMALLEST[theme]:
        why = f"needs a board of side {_SMALLEST[theme]} or more, but {variant.name} has side {variant.size}"
        raise InputError(why, parameter="theme", value=theme)
    make = {"exit fort": _fort, "encirclement": _ring, "shieldwall": _wall}[theme]
    for _ in range(number):
        pieces, side = make(variant.size, rng)
        cells = [pieces.get((file, rank), ".") for rank in range(variant.size) for file in range(variant.size)]
        position = Position("".join(cells), side)
        board = Board(variant, position.transformed(variant.symmetries[rng.integers(len(variant.symmetries))]))
        if board.status() or board.outcome() is not None:
            continue
        if theme != "shieldwall" or any(_is_wall(board, move) for move in list(board.legal_moves)):
            yield board.position


def _scatter(pieces: _Pieces, piece: str, number: int, size: int, rng: np.random.Generator, low: int = 0) -> None:
    """Put pieces on random cells of rank `low` and above. Occupied cells are left unchanged."""
    for _ in range(number):
        pieces.setdefault((int(rng.integers(size)), int(rng.integers(low, size))), piece)


def _leave_out(
    cells: Sequence[tuple[int, int]], pieces: _Pieces, piece: str, size: int, rng: np.random.Generator
) -> None:
    """Put pieces on all but one or two of the cells, and the remaining pieces on other cells in line with the gaps."""
    order = rng.permutation(len(cells))
    gone = int(rng.integers(1, 3))
    for number in order[gone:]:
        pieces.setdefault(cells[number], piece)
    for number in order[:gone]:
        file, rank = cells[number]
        away = int(rng.integers(size))
        pieces.setdefault((away, rank) if rng.random() < 0.5 else (file, away), piece)


def _fort(size: int, rng: np.random.Generator) -> tuple[_Pieces, Side]:
    file, shape = int(rng.integers(2, size - 2)), _FORTS[rng.integers(len(_FORTS))]
    pieces = {(file, int(rng.random() < 0.2)): "K"}
    _leave_out([(file + along, up) for along, up in shape], pieces, "w", size, rng)
    _scatter(pieces, "w", int(rng.integers(3)), size, rng)
    _scatter(pieces, "b", int(rng.integers(6, 16)), size, rng, int(rng.integers(4)))
    return pieces, "w"


def _ring(size: int, rng: np.random.Generator) -> tuple[_Pieces, Side]:
    file, rank = (int(place) for place in rng.integers(3, size - 3, 2))
    pieces = {(file, rank): "K"}
    for along, up in rng.integers(-1, 2, (int(rng.integers(3)), 2)):
        pieces.setdefault((file + int(along), rank + int(up)), "w")
    shape = _RINGS[rng.integers(len(_RINGS) if size > 7 else 1)]
    _leave_out([(file + along, rank + up) for along, up in shape], pieces, "b", size, rng)
    _scatter(pieces, "b", int(rng.integers(4)), size, rng)
    return pieces, "b"


def _wall(size: int, rng: np.random.Generator) -> tuple[_Pieces, Side]:
    side: Side = ("w", "b")[rng.integers(2)]
    length = int(rng.integers(2, 5))
    first = 1 if rng.random() < 0.6 or size - length < 4 else int(rng.integers(2, size - length - 1))
    pieces = dict.fromkeys([(file, 0) for file in range(first, first + length)], "b" if side == "w" else "w")
    pieces |= dict.fromkeys([(file, 1) for file in range(first, first + length)] + [(first - 1, 0)] * (first > 1), side)
    # This piece can close the wall at its other end; it may be the king.
    pieces[first + length, int(rng.integers(1, size))] = "K" if side == "w" and rng.random() < 0.5 else side
    if "K" not in pieces.values():
        near = int(rng.integers(size)), int(rng.integers(4))
        pieces[near if near not in pieces else (size // 2, size - 2)] = "K"
    _scatter(pieces, "b", int(rng.integers(3, 12)), size, rng)
    _scatter(pieces, "w", int(rng.integers(6)), size, rng)
    return pieces, side
