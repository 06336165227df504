"""Numbers of several words in kernels, against Python's integers."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from counting.census.words import (
    below,
    bits_of,
    common,
    half_at,
    last_not_above,
    lowest,
    minus,
    plus,
    put_words,
    quotient,
    real_of,
    shifted,
    table_of,
    times,
    whole_of,
    words_at,
)
from tablut.engine.jit import I64, U64, advance, kernel, pointer


@kernel
def arithmetic(one, other, like, shift, found, facts):
    """Write the results for two numbers, each to a place of twice their length."""
    n = len(like)
    first, second, out = words_at(pointer(one), 0, like), words_at(pointer(other), 0, like), pointer(found)
    put_words(out, 0, plus(first, second))
    put_words(advance(out, 2 * n), 0, minus(first, second))
    put_words(advance(out, 4 * n), 0, times(first, second))
    put_words(advance(out, 6 * n), 0, common(first, second))
    put_words(advance(out, 8 * n), 0, shifted(first, shift))
    put_words(advance(out, 10 * n), 0, lowest(first, (U64(0),)))
    put_words(advance(out, 12 * n), 0, whole_of(real_of(shifted(first, I64(1))), like))
    facts[0], facts[1] = I64(below(first, second)), bits_of(first)


@kernel
def divided(number, divisor, like, found):
    """Write the quotient and the remainder for a divisor of half as many words."""
    result, rest = quotient(words_at(pointer(number), 0, like), half_at(pointer(divisor), 0, like))
    put_words(pointer(found), 0, result)
    put_words(pointer(found), 1, rest)


@kernel
def places(table, numbers, like, guess, found):
    """Write the place of each number in a table."""
    for index in range(len(found)):
        found[index] = last_not_above(pointer(table), guess, words_at(pointer(numbers), index, like))


def number(words: np.ndarray) -> int:
    return int.from_bytes(words.astype("<u8").tobytes(), "little")


def edges(bits: int) -> st.SearchStrategy[int]:
    """Generate numbers, many of them next to the boundary of a word."""
    near = [2**bit + more for bit in range(64, bits + 1, 64) for more in (-2, -1, 0, 1)]
    near = [0, 1, 2**63, *(value for value in near if value < 2**bits), 2**bits - 2**31]
    return st.one_of(st.sampled_from(near), st.integers(0, bits).flatmap(lambda length: st.integers(0, 2**length - 1)))


@pytest.mark.parametrize("words", [1, 2, 3, 4])
def test_arithmetic_is_that_of_integers(words: int) -> None:
    like, limit = (np.uint64(0),) * words, 1 << 64 * words

    @settings(deadline=None)
    @given(edges(64 * words), edges(64 * words), st.integers(0, 64 * words - 1))
    def compared(one: int, other: int, shift: int) -> None:
        found, facts = np.zeros(14 * words, dtype=np.uint64), np.zeros(2, dtype=np.int64)
        arithmetic(table_of([one], words), table_of([other], words), like, shift, found, facts)
        results = [number(row) for row in found.reshape(7, -1)]
        expected = [(one + other) % limit, (one - other) % limit, one * other, one & other, one >> shift]
        assert results[:6] == [*expected, one % 2**64]
        assert abs(results[6] - (one >> 1)) <= (one >> 1) * words * 2**-53
        assert facts.tolist() == [one < other, one.bit_length()]

    compared()


@pytest.mark.parametrize("words", [2, 4])
def test_quotients_are_those_of_integers(words: int) -> None:
    half = 32 * words

    @settings(deadline=None)
    @given(edges(half), edges(half), edges(half))
    def compared(result: int, divisor: int, rest: int) -> None:
        divisor = divisor or 1
        dividend = result * divisor + rest % divisor
        found = np.zeros(words, dtype=np.uint64)
        divided(table_of([dividend], words), table_of([divisor], words // 2), (np.uint64(0),) * words, found)
        assert (number(found[: words // 2]), number(found[words // 2 :])) == divmod(dividend, divisor)

    compared()


@pytest.mark.parametrize("words", [1, 2, 4])
def test_places_in_a_table_are_found_from_every_guess(words: int) -> None:
    steps = [0, *(2**bit + more for bit, more in product(range(62, 64 * words, 7), (0, 1))), 2 ** (64 * words) - 1]
    steps = sorted({step for step in steps if step < 2 ** (64 * words)})
    numbers = sorted({step + more for step in steps[:-1] for more in (0, 1)} - {steps[-1]})
    for guess in range(len(steps) - 1):
        found = np.zeros(len(numbers), dtype=np.int64)
        places(table_of(steps, words), table_of(numbers, words), (np.uint64(0),) * words, guess, found)
        assert found.tolist() == [sum(step <= value for step in steps) - 1 for value in numbers]


def test_numbers_that_do_not_fit_into_a_table_are_refused() -> None:
    assert table_of([2**128 - 1, 1], 2).tolist() == [2**64 - 1, 2**64 - 1, 1, 0]
    for value in (2**128, -1):
        with pytest.raises(OverflowError):
            table_of([value], 2)
