"""The ground of the kernels: bit intrinsics against Python, keys, the cache key, the word on the first compile."""

import io
from pathlib import Path

import numpy as np
import pytest

from tablut.engine import engine_for, jit
from tablut.engine.entry import position_key
from tablut.engine.jit import I64, U64, advance, kernel, pointer, popcount, scalar, trailing_zeros
from tablut.engine.lines import slide_masks
from tablut.engine.vector import transpose_rows
from tablut.engine.zobrist import zobrist_keys
from tablut.errors import InputError
from tablut.variants import load_variant


@kernel
def bits_of(values, found):
    address = pointer(values)
    for index in range(len(values)):
        found[index, 0] = popcount(address[index])
        found[index, 1] = trailing_zeros(advance(address, I64(index))[0])


@kernel
def shifted(bit):
    return U64(1) << U64(bit)


def test_bit_intrinsics_on_every_bit_and_pair():
    values = [1 << bit for bit in range(64)] + [1 << high | 1 << low for high in range(64) for low in range(high)]
    values.append(2**64 - 1)
    found = np.zeros((len(values), 2), dtype=np.int64)
    bits_of(np.array(values, dtype=np.uint64), found)
    expected = [[bin(value).count("1"), (value & -value).bit_length() - 1] for value in values]
    assert found.tolist() == expected


@kernel
def transposed(rows, size, columns):
    transpose_rows(pointer(rows), size, pointer(columns))


@kernel
def sum_of(values):
    address = pointer(values)
    total = 0
    for index in range(len(values)):
        total += scalar(I64(address[index]))
    return total


@pytest.mark.parametrize("size", [3, 5, 8, 9, 11, 16])
def test_rows_become_columns_and_nothing_beyond_them(size):
    bits = np.random.default_rng(size).integers(0, 2, (2, size, size), dtype=np.uint32)
    weights = np.uint32(1) << np.arange(size, dtype=np.uint32)
    columns = np.full(size + 1, 7, dtype=np.uint32)
    rows = bits[0] @ weights | (bits[1] @ weights) << np.uint32(16)
    transposed(rows, size, columns)
    assert columns[:size].tolist() == (bits[0].T @ weights | (bits[1].T @ weights) << np.uint32(16)).tolist()
    assert columns[size] == 7


def test_what_is_kept_out_of_vectors_is_the_same_number():
    assert sum_of(np.array([-(2**62), 3, 2**61])) == 3 - 2**61


def test_a_typed_shift_reaches_bit_63():
    assert [int(shifted(np.int64(bit))) for bit in (62, 63)] == [1 << 62, 1 << 63]


def test_keys_differ_everywhere():
    keys, side = zobrist_keys(121)
    assert len({*keys.ravel().tolist(), int(side)}) == 3 * 121 + 1


def test_the_seed_is_what_it_was():
    # A stored key must mean the same for ever; this pins the generator, the seed and the order.
    engine = engine_for(load_variant("ashton"))
    assert hex(engine.key(engine.start())) == "0x29617e980673490"


def test_another_source_is_another_cache_entry(monkeypatch):
    cache = bits_of._cache
    assert jit._source_digest(Path(__file__).parent) in cache._index_key((), _Codegen())
    monkeypatch.setattr(jit, "_source_digest", lambda folder: f"changed in {folder.name}")
    assert "changed in tablut" in cache._index_key((), _Codegen())


class _Codegen:
    def magic_tuple(self):
        return ()


class _Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(("stream", "lines"), [(_Terminal, 1), (io.StringIO, 0)])
def test_the_first_compile_says_so_on_a_terminal(monkeypatch, stream, lines):
    error = stream()
    monkeypatch.setattr("sys.stderr", error)
    announcement = jit._Announcement()

    class Event:
        data = {"dispatcher": position_key}  # noqa: RUF012

    announcement.on_start(Event)
    announcement.on_start(Event)
    assert error.getvalue().count("\n") == lines


def test_bad_input_is_named():
    engine = engine_for(load_variant("ashton"))
    with pytest.raises(InputError, match="expected one king"):
        engine.board("." * 81, "w")
    with pytest.raises(InputError, match="expected 81 letters"):
        engine.board("K", "w")
    with pytest.raises(InputError, match="expected 'w' or 'b'"):
        engine.board("K" + "." * 80, "x")
    with pytest.raises(InputError, match=r"uint64 of shape \(n, 3\)"):
        engine.expand(np.zeros((4, 2), dtype=np.uint64))
    with pytest.raises(InputError, match="at least one ply"):
        engine.perft_applied(engine.start(), 0)


def test_slides_stop_at_the_first_piece():
    masks = slide_masks(load_variant("leiden"), ".........", "attacker")
    for place in range(9):
        for occupancy in range(512):
            reached = 0
            for step in (1, -1):
                target = place + step
                while 0 <= target < 9 and not occupancy >> target & 1:
                    reached |= 1 << target
                    target += step
            assert masks[place, occupancy] == reached
