"""Berkeley's and McGill's moves, over all moves of the boards."""

import pytest

from tablut.formats import berkeley, bologna, mcgill, opentafl
from tablut.formats.reading import read_move
from tablut.position import Move, MoveText


def slides(size: int) -> list[Move]:
    """Return every pair of squares in one rank or one file."""
    return [
        Move(start, target, size)
        for start in range(size * size)
        for target in range(size * size)
        if start != target and (start // size == target // size or start % size == target % size)
    ]


@pytest.mark.parametrize("size", [7, 9, 11])
def test_all_moves_round_trip_in_every_notation(size: int) -> None:
    moves = slides(size)
    assert len(moves) == size * size * 2 * (size - 1)
    short, numbers, client = set(), set(), set()
    for move in moves:
        text = berkeley.write_move(move)
        assert berkeley.read_move(text, size) == berkeley.read_move(text.upper(), size) == move
        short.add(text)
        for side in ("w", "b"):
            text = mcgill.write_move(move, side)
            assert mcgill.read_move(text, size) == (move, side)
            numbers.add(text)
            text = bologna.write_move(move, side)
            assert bologna.read_move(text, size) == (move, side)
            client.add(text)
        assert opentafl.read_move(str(move), size).move == move
    assert len(short) == len(moves)
    assert len(numbers) == len(client) == 2 * len(moves)


@pytest.mark.parametrize("size", [5, 9, 11])
def test_the_one_reader_takes_every_notation_for_what_it_is(size: int) -> None:
    for move in slides(size):
        plain = {str(move), str(move).replace("-", ""), f"K{move}", f"T{move}", f"t{move}", f"{move}+", f"{move}--"}
        plain |= {str(move).upper(), berkeley.write_move(move), berkeley.write_move(move).upper()}
        for text in plain:
            assert read_move(text, size) == (MoveText(move), None), text
        for side in ("w", "b"):
            for text in (mcgill.write_move(move, side), bologna.write_move(move, side)):
                assert read_move(text, size) == (MoveText(move), side), text


def test_captures_of_both_notations() -> None:
    for text in ("e4-e7xe8xd7", "E4-E7XE8XD7", "e4e7xe8/d7", "Ke4-e7xe8/d7", "e4-e7xte8/Td7", "e4-e7xe8/d7++"):
        assert str(read_move(text, 9).said) == "e4-e7xd7xe8", text


# The start is symmetric, so each notation is pinned on moves that no symmetry maps to themselves.
@pytest.mark.parametrize(
    ("move", "short", "numbers"),
    [
        ("a1-a2", "a1-2", "8 0 7 0 1"),
        ("a9-c9", "a9-c", "0 0 0 2 1"),
        ("i9-i1", "i9-1", "0 8 8 8 1"),
        ("b7-g7", "b7-g", "2 1 2 6 1"),
        ("g2-g6", "g2-6", "7 6 3 6 1"),
    ],
)
def test_what_the_notations_look_like(move: str, short: str, numbers: str) -> None:
    assert berkeley.write_move(Move.parse(move, 9)) == short
    assert mcgill.write_move(Move.parse(move, 9), "w") == numbers
