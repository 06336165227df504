"""Records reach kernels by their declarations alone: every field arrives, as itself, whatever its neighbours are."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pytest

from counting.census.codes import position_codes
from counting.reachable.beam import make_room
from retrograde.proofs.table import new_proof_workspace
from retrograde.solver.kernels.workspace import new_workspace
from tablut.engine import build_tables
from tablut.engine.jit import keep, kernel, pointer
from tablut.engine.records import directory, field_kinds, flat, record_at
from tablut.indexing.tier_tables import tier_tables
from tablut.play.search.evaluation import evaluation_tables_for
from tablut.play.search.state import new_state
from tablut.play.search.transposition import empty_table
from tablut.variants import load_variant

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Inner(NamedTuple):
    """A record within a record."""

    small: NDArray[np.uint8]
    number: int


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


@kernel
def through_directory(items, record):
    found = record_at(pointer(items), Pair)
    inner = found.inner
    answer = found.first, found.left[0], inner.small[0], inner.number, found.right[0], found.last
    keep(record.left)
    keep(record.right)
    keep(record.inner.small)
    return answer


def pair() -> Pair:
    return Pair(1, np.array([2, 20]), Inner(np.array([5], dtype=np.uint8), 6), np.array([3, 30]), 4)


def test_every_field_arrives_as_itself() -> None:
    assert through_flat(pair()) == (1, 2, 5, 6, 3, 4)
    assert through_directory(directory(pair()), pair()) == (1, 2, 5, 6, 3, 4)


def test_a_field_of_another_type_is_refused() -> None:
    with pytest.raises(TypeError, match="left"):
        directory(pair()._replace(left=np.array([2], dtype=np.int32)))
    with pytest.raises(TypeError, match="right"):
        directory(pair()._replace(right=np.arange(6)[::2]))
    with pytest.raises(TypeError, match="small"):
        directory(pair()._replace(inner=Inner(np.array([5]), 6)))

    class Odd(NamedTuple):
        text: str

    with pytest.raises(TypeError, match="text"):
        field_kinds(Odd)


def records():
    variant = load_variant("brandubh-5-4v4")
    yield build_tables(variant)
    yield tier_tables(variant, [(2, 1), (1, 1)])
    yield new_workspace(variant, 2)
    yield evaluation_tables_for(variant)
    yield new_state(variant.size, empty_table(1), evaluation_tables_for(variant))
    yield position_codes(25, 4, 4)[1]
    yield new_proof_workspace(build_tables(variant), 1, 1 << 16)
    yield make_room(5, 4, 20)


@pytest.mark.parametrize("record", list(records()), ids=lambda record: type(record).__name__)
def test_records_are_what_they_declare(record) -> None:
    assert len(directory(record)) == leaves(record)


def leaves(record) -> int:
    """How many numbers and arrays a record holds, with those of records within it; each must be what is declared."""
    found = 0
    for (name, kind), value in zip(field_kinds(type(record)).items(), record, strict=True):
        if isinstance(value, tuple):
            assert type(value) is kind, name
            found += leaves(value)
            continue
        if kind is int:
            assert isinstance(value, (int, np.integer)), name
        found += 1
    return found
