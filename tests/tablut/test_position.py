"""Position and move text: round trips over everything, and every way to be wrong."""

from __future__ import annotations

import pytest

from tablut.errors import InputError
from tablut.position import Move, Position, parse_square, square_name


def test_an_asymmetric_position_cell_by_cell() -> None:
    position = Position.parse("b4/4w/1K3/5/2b2 b", 5)
    assert {cell: piece for cell, piece in enumerate(position.cells) if piece != "."} == {
        20: "b",  # a5
        19: "w",  # e4
        11: "K",  # b3
        2: "b",  # c1
    }


def test_a_plain_move_names_no_captures() -> None:
    with pytest.raises(InputError):
        Move.parse("e4-e7xe8", 9)


# -- squares and positions as text, over all squares of all boards -----------------------


@pytest.mark.parametrize("size", [3, 5, 7, 9, 11])
def test_square_names_round_trip_over_all_squares(size: int) -> None:
    names = [square_name(square, size) for square in range(size * size)]
    assert [parse_square(name, size) for name in names] == list(range(size * size))
    assert [parse_square(name.upper(), size) for name in names] == list(range(size * size))
    assert names[0] == "a1"
    assert names[1] == "b1"
    assert names[size] == "a2"


@pytest.mark.parametrize("square", [-1, 81])
def test_numbers_of_no_square_are_refused(square: int) -> None:
    with pytest.raises(InputError):
        square_name(square, 9)
