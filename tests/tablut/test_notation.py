"""Squares and positions as text, over all squares of all boards."""

import pytest

from tablut.notation import diagram_cells, parse_square, position_text, square_name


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
    with pytest.raises(ValueError, match="no square number"):
        square_name(square, 9)


def test_a_diagram_is_read_from_the_bottom_left() -> None:
    rows = ("b.", "wK")
    assert diagram_cells(rows) == "wKb."


def test_runs_of_ten_and_more_are_written_with_two_digits() -> None:
    rows = ["." * 11] * 10 + ["." * 10 + "K"]
    assert position_text(rows, "b") == "11/" * 10 + "10K b"
