"""Codes of positions: a bijection, the same compiled and plain, with every cell and label."""

from random import Random

import numpy as np
import pytest

from counting.census.codes import PositionCodes, decode_rows, encode_rows, position_codes
from tablut.engine import engine_for
from tablut.rules import NaivePosition
from tablut.variants import Variant, load_variant
from tests.support.games import OLDER
from tests.support.placements import letters
from tests.support.strategies import placement
from tests.twins.codes import decode, encode


def pieces(position: NaivePosition, size: int) -> tuple[int, list[int], list[int]]:
    cells: dict[str, list[int]] = {letter: [] for letter in "bwK"}
    for (file, rank), letter in position.pieces.items():
        cells[letter].append(rank * size + file)
    return cells["K"][0], sorted(cells["b"]), sorted(cells["w"])


def test_every_code_of_a_small_board_is_a_position_and_back() -> None:
    codes = PositionCodes(9, attackers=2, defenders=1)
    found = [decode(codes, code) for code in range(codes.size)]
    assert len({str(position) for position in found}) == codes.size
    assert [encode(codes, *position) for position in found] == list(range(codes.size))


@pytest.mark.parametrize("variant", OLDER, ids=lambda variant: variant.name)
def test_the_compiled_codes_are_the_plain_ones(variant: Variant) -> None:
    engine, random = engine_for(variant), Random(3)
    codes, tables = position_codes(variant.size**2, variant.attackers, variant.defenders)
    assert codes.fits
    drawn = [placement(variant, random, soldiers=random.randint(0, variant.attackers)) for _ in range(300)]
    positions = [
        position
        for position in drawn
        if len(pieces(position, variant.size)[1]) <= variant.attackers
        and len(pieces(position, variant.size)[2]) <= variant.defenders
    ]
    assert len(positions) > 50
    for side, number in (("w", 0), ("b", 1)):
        rows = engine.words(np.stack([engine.board(letters(variant.size, p), side) for p in positions]))
        labels = [random.randrange(3) for _ in rows]
        rows[:, -1] |= np.array([0 if label == 0 else label + 1 for label in labels], dtype=np.uint64) << np.uint64(62)
        found = np.empty((len(rows), codes.bytes), dtype=np.uint8)
        encode_rows(tables, rows, found)
        king_black_white = [pieces(position, variant.size) for position in positions]
        assert [int.from_bytes(code.tobytes(), "little") for code in found] == [
            encode(codes, *parts, label) for parts, label in zip(king_black_white, labels, strict=True)
        ]
        back = np.empty_like(rows)
        decode_rows(tables, found, number, back)
        assert np.array_equal(back, rows)


@pytest.mark.parametrize("name", ["ashton", "brandubh-5-4v0"])
def test_random_codes_and_the_ends_of_every_prefix(name: str) -> None:
    variant, random = load_variant(name), Random(5)
    codes, tables = position_codes(variant.size**2, variant.attackers, variant.defenders)
    step = codes.size // (3 * variant.size**2)
    wanted = [k * step + more for k in range(3 * variant.size**2) for more in (0, step - 1)]
    wanted += [random.randrange(codes.size) for _ in range(500)]
    stored = np.array([list(code.to_bytes(codes.bytes, "little")) for code in wanted], dtype=np.uint8)
    rows = np.empty((len(wanted), engine_for(variant).tables.words), dtype=np.uint64)
    decode_rows(tables, stored, 1, rows)
    again = np.empty_like(stored)
    encode_rows(tables, rows, again)
    assert np.array_equal(stored, again)


def test_what_is_no_code_gives_an_empty_row() -> None:
    codes, tables = position_codes(81, 16, 8)
    beyond = np.full((2, codes.bytes), 0xFF, dtype=np.uint8)
    beyond[1] = list(codes.size.to_bytes(codes.bytes, "little"))
    rows = np.ones((2, 3), dtype=np.uint64)
    decode_rows(tables, beyond, 1, rows)
    assert not rows.any()
