"""OpenTafl's positions and moves."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablut.errors import InputError
from tablut.formats import opentafl
from tablut.notation import square_name
from tablut.position import Position
from tablut.variants import load_variant, variant_names

# Nothing maps this position to itself: a flipped or turned reader cannot pass.
ASYMMETRIC = "/1t7/2T6/K8/9/9/9/9/8t/6T1t/"


def test_rows_go_up_from_rank_1() -> None:
    position = opentafl.read_position(ASYMMETRIC, "w")
    pieces = {square_name(square, 9): piece for square, piece in enumerate(position.cells) if piece != "."}
    assert pieces == {"b1": "b", "c2": "w", "a3": "K", "i8": "b", "g9": "w", "i9": "b"}
    assert str(position) == "6w1b/8b/9/9/9/9/K8/2w6/1b7 w"
    assert opentafl.write_position(position) == ASYMMETRIC


@pytest.mark.parametrize("name", variant_names())
def test_the_starts_of_all_variants_round_trip(name: str) -> None:
    variant = load_variant(name)
    start = Position.parse(variant.start_position, variant.size)
    text = opentafl.write_position(start)
    assert text.startswith("/")
    assert opentafl.read_position(text, start.side, variant.size) == start


@pytest.mark.parametrize("size", [3, 5, 7, 9, 11])
def test_a_piece_on_every_square_round_trips(size: int) -> None:
    texts = set()
    for square in range(size * size):
        for piece in "bwK":
            cells = "." * square + piece + "." * (size * size - square - 1)
            text = opentafl.write_position(Position(cells, "b"))
            assert opentafl.read_position(text, "b") == Position(cells, "b")
            texts.add(text)
    assert len(texts) == 3 * size * size


@given(st.data(), st.sampled_from([3, 5, 7, 9, 11]), st.sampled_from(["w", "b"]))
def test_any_placement_round_trips(data: st.DataObject, size: int, side: str) -> None:
    cells = data.draw(st.text("....bwK", min_size=size * size, max_size=size * size))
    position = Position(cells, side)  # type: ignore[arg-type]
    assert opentafl.read_position(opentafl.write_position(position), position.side) == position


def test_runs_of_two_digits() -> None:
    text = "/11/10t/t10/11/11/5K5/11/11/11/11/T10/"
    position = opentafl.read_position(text, "b")
    assert opentafl.write_position(position) == text
    assert position.rows()[-2] == "." * 10 + "b"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected an OpenTafl string"),
        ("/4/4/4/4/", "has 4 rows; boards have an odd side from 3 to 11"),
        ("/3/4/3/", r"row '4' \(rank 2\) has 4 cells; the board has 3"),
        ("/3/99999999999999999999/3/", r"\(rank 2\) has 4 cells"),
        ("/3/b2/3/", r"row 'b2' \(rank 2\) has 'b'; expected t T K and numbers"),
        ("/3/03/3/", "has '03'; expected"),
        ("/3/n2/3/", r"row 'n2' \(rank 2\) has knights, 'n'; known: t T K"),
    ],
)
def test_what_is_no_position(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        opentafl.read_position(text, "w")
    assert repr(text) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_position_for_another_board() -> None:
    with pytest.raises(InputError, match="has 3 rows; the board has 9"):
        opentafl.read_position("/3/3/3/", "w", 9)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("e4-e7", "e4-e7"),
        ("Ke5-e1--", "e5-e1"),
        ("Ke5-e1-", "e5-e1"),
        ("a3-e3+", "a3-e3"),
        ("e3-e4++", "e3-e4"),
        ("te8-e4xe3", "e8-e4xe3"),
        ("g2-g3xf3/h3", "g2-g3xf3xh3"),
        ("Te2-e6xe7/td6/f6++", "e2-e6xd6xe7xf6"),
        ("c2-c3xKc4", "c2-c3xc4"),
    ],
)
def test_moves(text: str, read: str) -> None:
    move = opentafl.read_move(text, 9)
    assert str(move) == read
    assert (move.captures is None) == ("x" not in text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected two squares such as d4-d6"),
        ("e4-e7x", "expected two squares"),
        ("e4-z7", "square 'z7': expected a1 to i9"),
        ("ce6^e8", r"'\^' is a jump or a berserk move"),
        ("Ne6^=e8", r"'\^=' is a jump"),
        ("e6-e8xce7", "commanders, 'c'"),
    ],
)
def test_what_is_no_move(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        opentafl.read_move(text, 9)
    assert str(caught.value).startswith(f"move {text!r}: ")
