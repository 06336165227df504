"""What a position is worth, in four notations: each conversion against its meaning, for numbers, arrays and kernels."""

from __future__ import annotations

import numpy as np

from tablut.engine.jit import kernel
from tablut.indexing import tier_tables, values
from tablut.indexing.values import ALIAS, CAPTURES, CODES, COUNTER, DECIDED, SAFE, value_of_code, verdict_of

CODES_OF_ITEMS = np.arange(CODES - 1)


def meaning(code: int) -> tuple[str, int | None]:
    """Say what a code is, by words alone."""
    if code == 0:
        return "draw", None
    return ("loss" if code % 2 else "win"), code // 2


def test_every_code_and_value_are_of_one_verdict() -> None:
    for code in range(4000):
        value = value_of_code(code)
        assert verdict_of(value) == meaning(code)
        assert values.value_of(verdict_of(value)) == value
        assert values.code_of_value(value) == code
    assert value_of_code(CODES_OF_ITEMS).tolist() == [value_of_code(code) for code in range(CODES - 1)]


def test_every_item_is_decided_open_or_an_alias() -> None:
    items = np.arange(1 << 16).astype(np.uint16)
    for item in range(1 << 16):
        decided = item >= DECIDED
        assert values.is_decided(item) == decided
        assert values.code_of(item) == (item - DECIDED if decided else 0)
    assert values.code_of(items).dtype == np.uint16
    assert values.code_of(items).tolist() == [values.code_of(item) for item in range(1 << 16)]
    assert values.is_decided(items).tolist() == [item >= DECIDED for item in range(1 << 16)]
    assert values.code_of(ALIAS) == 0
    # The flags and the counter fill an open item, and an alias is none that a tier can have: its counter is full.
    assert (CAPTURES | SAFE | COUNTER, CAPTURES & SAFE, COUNTER & (CAPTURES | SAFE)) == (DECIDED - 1, 0, 0)
    for plies in range(1000):
        for made, wdl in ((values.won_in(plies), "win"), (values.lost_in(plies), "loss")):
            if made != DECIDED:
                assert meaning(values.code_of(made)) == (wdl, plies)
                assert (values.is_loss(made), values.plies_of(made)) == (wdl == "loss", plies)


def test_a_ply_earlier_is_what_the_mover_has() -> None:
    for value in range(-500, 500):
        wdl, plies = verdict_of(value)
        if value:
            assert verdict_of(values.a_ply_earlier(value)) == ("loss" if wdl == "win" else "win", plies + 1)
    assert values.a_ply_earlier(0) == 0


@kernel
def compiled(items, found):
    for number in range(len(items)):
        item = np.int64(items[number])
        found[number, 0] = tier_tables.is_decided(item)
        found[number, 1] = tier_tables.is_loss(item)
        found[number, 2] = tier_tables.plies_of(item)
        found[number, 3] = tier_tables.code_of(item)
        found[number, 4] = tier_tables.won_in(item >> 2)
        found[number, 5] = tier_tables.lost_in(item >> 2)


def test_kernels_have_the_same_functions() -> None:
    items = np.arange(1 << 16)
    found = np.zeros((len(items), 6), dtype=np.int64)
    compiled(items, found)
    for number, function in enumerate((values.is_decided, values.is_loss, values.plies_of, values.code_of)):
        assert found[:, number].tolist() == [function(item) for item in items.tolist()]
    assert found[:, 4].tolist() == [values.won_in(item >> 2) for item in items.tolist()]
    assert found[:, 5].tolist() == [values.lost_in(item >> 2) for item in items.tolist()]
