"""The ground of the kernels: bit intrinsics against Python, keys, parts, and records that reach kernels as declared."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pytest
from numba.core import types

from tablut import Board
from tablut.engine import engine_for
from tablut.engine.jit import I64, PRIVATE, advance, by_type, called, keep, kernel, pointer, popcount, trailing_zeros
from tablut.engine.kernel_records import RecordType, directory, flat, record_at
from tablut.variants import load_variant

if TYPE_CHECKING:
    from numpy.typing import NDArray


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


is_text = by_type(lambda value: isinstance(value, types.UnicodeType))


@called
def doubled(value):
    if is_text(value):
        return I64(len(value))
    return I64(value * 2)


@kernel
def doubled_and_length(number, text):
    return doubled(number), doubled(text)


@pytest.mark.skipif(not PRIVATE, reason="numba's public decorator types every branch")
def test_a_branch_that_a_type_rules_out_is_not_typed():
    assert doubled_and_length(21, "four") == (42, 4)


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
        assert isinstance(argument, RecordType)
        assert argument.fields == ("left", "right")
        other = RecordType(types.NamedTuple([types.int64, types.CPointer(types.uint8)], _Pair))
        assert argument.name != other.name
        assert argument != other


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


# -- records reach kernels by their declarations alone: every field arrives, as itself, whatever its neighbours are


class Inner(NamedTuple):
    """A record within a record."""

    small: NDArray[np.uint8]
    number: int


class Less(Inner):
    """The same, for those who need less."""

    __annotations__ = Inner.__annotations__


class Pair(NamedTuple):
    """Two arrays of one type between two numbers: what a hand-written list could swap."""

    first: int
    left: NDArray[np.int64]
    inner: Inner
    right: NDArray[np.int64]
    last: int


@kernel
def through_flat(record):
    flattened = flat(record)
    inner = flattened.inner
    return flattened.first, flattened.left[0], inner.small[0], inner.number, flattened.right[0], flattened.last


is_less = by_type(lambda record: record.instance_class is Less)


@kernel
def through_directory(items, record):
    found = record_at(pointer(items), Pair)
    inner = found.inner
    last = -found.last if is_less(inner) else found.last
    answer = found.first, found.left[0], inner.small[0], inner.number, found.right[0], last
    keep(record.left)
    keep(record.right)
    keep(record.inner.small)
    return answer


def pair() -> Pair:
    return Pair(1, np.array([2, 20]), Inner(np.array([5], dtype=np.uint8), 6), np.array([3, 30]), 4)


def test_every_field_arrives_as_itself() -> None:
    assert through_flat(pair()) == (1, 2, 5, 6, 3, 4)
    assert through_directory(directory(pair()), pair()) == (1, 2, 5, 6, 3, 4)
    less = pair()._replace(inner=Less(np.array([5], dtype=np.uint8), 6))
    assert through_directory(directory(less), less) == (1, 2, 5, 6, 3, -4)
