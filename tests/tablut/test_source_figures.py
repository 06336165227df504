"""The figures of the source documents, as moves: what they show must happen.

The diagrams of the Leiden text are taken over cell by cell (two truncated rows are
completed from the sentence below the figure). The McGill paper's figures are
pictures; the positions here are built from what its text says they show.
"""

import pytest

from tablut.board import Board
from tablut.notation import square_name
from tablut.rules.outcome import Outcome


def captured_by(variant: str, position: str, move: str) -> tuple[str, Outcome | None]:
    board = Board(variant, position)
    board.push_text(move)
    return " ".join(square_name(square, board.size) for square in board.captured()), board.outcome()


LEIDEN_2 = "9/4bw3/9/8w/b2wK2b1/8w/9/9/4b4"
LEIDEN_3 = "9/4b4/2b6/2w6/bw1bK2b1/2w6/2b6/9/4b4"


def test_leiden_figure_2() -> None:
    assert captured_by("leiden", f"{LEIDEN_2} w", "d5-d8") == ("e8", None)
    # Moving in between two enemies is safe.
    assert captured_by("leiden", f"{LEIDEN_2} b", "h5-i5") == ("", None)


def test_leiden_figure_3_one_move_takes_three() -> None:
    assert captured_by("leiden", f"{LEIDEN_3} b", "d5-c5") == ("c4 b5 c6", None)


def test_mcgill_figure_2_a_capture_in_the_vertical_plane() -> None:
    assert captured_by("mcgill", "9/9/2b6/2w6/9/1b7/4K4/9/9 b", "b4-b5") == ("", None)
    assert captured_by("mcgill", "9/9/2b6/2w6/1b7/9/4K4/9/9 b", "b5-c5") == ("c6", None)


@pytest.mark.parametrize(
    ("position", "move"),
    [
        ("9/9/9/4b4/3bKb3/9/4b4/9/9 b", "e3-e4"),  # figure 3: in the centre, by four
        ("9/9/4b4/3bK4/9/5b3/9/9/9 b", "f4-f6"),  # beside it, by three
    ],
)
def test_mcgill_figure_3_the_king_falls(position: str, move: str) -> None:
    assert captured_by("mcgill", position, move) == ("", Outcome("king_captured", "black"))


def test_mcgill_a_king_in_the_centre_is_safe_from_three() -> None:
    assert captured_by("mcgill", "9/9/9/4b4/3bKb3/9/9/9/4b4 b", "e1-e3") == ("", None)


@pytest.mark.parametrize(
    ("position", "move", "captured"),
    [
        ("9/9/9/9/9/9/9/2b2K3/1w7 b", "c2-c1", "b1"),  # a corner is hostile to white …
        ("9/8b/9/9/9/9/9/2w2K3/1b7 w", "c2-c1", "b1"),  # … and to black
        ("9/9/9/9/5w3/6b2/9/9/1K7 b", "g4-g5", "f5"),  # the empty centre is hostile to white …
        ("9/9/9/9/4Kw3/6b2/9/9/9 b", "g4-g5", "f5"),  # … also with the king in it
        ("9/9/9/b8/5b3/6w2/9/9/1K7 w", "g4-g5", "f5"),  # and the empty centre to black
    ],
)
def test_mcgill_figure_4_special_squares_capture(position: str, move: str, captured: str) -> None:
    assert captured_by("mcgill", position, move) == (captured, None)
