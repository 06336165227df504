"""perft with a memory gives the numbers of perft without."""

import pytest

from tablut.engine import engine_for
from tablut.engine.perft import PerftCache
from tablut.errors import InputError
from tablut.variants import load_variant, variant_names


@pytest.mark.parametrize("name", variant_names())
@pytest.mark.parametrize("cache_bytes", [40, 10_000, 1 << 20])
def test_the_same_numbers(name: str, cache_bytes: int) -> None:
    """With a single slot, with many collisions, and with hardly any."""
    engine = engine_for(load_variant(name))
    board = engine.start()
    before = board.copy()
    for depth in range(4):
        assert engine.perft(board, depth, cache_bytes=cache_bytes) == engine.perft(board, depth)
    assert (board == before).all()


def test_recurring_positions_are_found() -> None:
    engine = engine_for(load_variant("brandubh-5-4v0"))
    board = engine.start()
    assert engine.perft(board, 7, cache_bytes=1 << 22) == engine.perft(board, 7)


def test_a_cache_too_small_for_a_position_is_refused() -> None:
    with pytest.raises(InputError, match="too small for one position"):
        PerftCache(10, words=3)


def test_a_cache_is_used_by_one_thread() -> None:
    engine = engine_for(load_variant("ashton"))
    with pytest.raises(InputError, match="one thread"):
        engine.perft(engine.start(), 2, threads=2, cache_bytes=1 << 20)
