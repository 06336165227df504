"""The ground of the kernels: bit intrinsics against Python, keys, the cache key, parts and records."""

import json
import os
import subprocess
import sys
from typing import NamedTuple

import numpy as np
import pytest
from numba.core import types

from tablut import Board
from tablut.engine import engine_for
from tablut.engine.jit import I64, advance, called, kernel, pointer, popcount, trailing_zeros
from tablut.engine.packing import transpose_rows
from tablut.engine.records import Record, flat
from tablut.errors import InputError
from tablut.variants import load_variant


@kernel
def bits_of(values, found):
    address = pointer(values)
    for index in range(len(values)):
        found[index, 0] = popcount(address[index])
        found[index, 1] = trailing_zeros(advance(address, I64(index))[0])


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


@pytest.mark.parametrize("size", [3, 5, 8, 9, 11, 16])
def test_rows_become_columns_and_nothing_beyond_them(size):
    bits = np.random.default_rng(size).integers(0, 2, (2, size, size), dtype=np.uint32)
    weights = np.uint32(1) << np.arange(size, dtype=np.uint32)
    columns = np.full(size + 1, 7, dtype=np.uint32)
    rows = bits[0] @ weights | (bits[1] @ weights) << np.uint32(16)
    transposed(rows, size, columns)
    assert columns[:size].tolist() == (bits[0].T @ weights | (bits[1].T @ weights) << np.uint32(16)).tolist()
    assert columns[size] == 7


def test_the_seed_is_what_it_was():
    # A stored key must mean the same for ever; this pins the generator, the seed and the order.
    engine = engine_for(load_variant("ashton"))
    assert hex(engine.key(engine.start())) == "0x29617e980673490"


@called
def summed(pair):
    return pair.left + pair.right[0] + pair.right[1]


@kernel
def sum_of_pair(pair):
    return summed(flat(pair))


class _Pair(NamedTuple):
    left: int
    right: object


def test_a_part_is_linked_and_a_record_is_its_tuple():
    assert sum_of_pair(_Pair(3, np.array([4, 5]))) == 12
    assert len(summed.overloads) <= 1
    for (argument,) in summed.overloads:
        # One word, and not the same for other types.
        assert isinstance(argument, Record)
        assert argument.fields == ("left", "right")
        other = Record(types.NamedTuple([types.int64, types.CPointer(types.uint8)], _Pair))
        assert argument.name != other.name
        assert argument != other


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


PUBLIC = """
import json
from tablut import Board
from tablut.engine import jit
print(json.dumps([jit.PRIVATE, sorted(map(str, Board("brandubh").legal_moves))]))
"""


@pytest.mark.slow
def test_without_numbas_inner_parts_the_answers_are_the_same(tmp_path):
    """As under a numba that is not tested: its public decorator compiles, and nothing is kept."""
    environment = {**os.environ, "TABLUT_PUBLIC_NUMBA": "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", PUBLIC], env=environment, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [False, sorted(map(str, Board("brandubh").legal_moves))]
    assert list(tmp_path.iterdir()) == []
