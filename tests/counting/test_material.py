"""Polynomials by material against direct enumeration."""

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from counting.spaces import Material, soldiers


def enumerate_soldiers(camp: dict[int, int], free: dict[int, int], attackers: int, defenders: int) -> Material:
    """Fill every cycle of cells in every way, one by one."""
    camps = [length for length, count in camp.items() for _ in range(count)]
    frees = [length for length, count in free.items() for _ in range(count)]
    rows = [[0] * (defenders + 1) for _ in range(attackers + 1)]
    for filling in product(*["eb"] * len(camps), *["ebw"] * len(frees)):
        black = sum(length for length, content in zip(camps + frees, filling, strict=True) if content == "b")
        white = sum(length for length, content in zip(camps + frees, filling, strict=True) if content == "w")
        if black <= attackers and white <= defenders:
            rows[black][white] += 1
    return Material(tuple(map(tuple, rows)))


cycle_types = st.dictionaries(st.sampled_from([1, 2, 4]), st.integers(0, 2), max_size=3)


@given(cycle_types, cycle_types, st.integers(0, 5), st.integers(0, 4))
def test_soldiers_are_what_enumeration_finds(
    camp: dict[int, int], free: dict[int, int], attackers: int, defenders: int
) -> None:
    counted = soldiers(tuple(sorted(camp.items())), tuple(sorted(free.items())), attackers, defenders)
    assert counted == enumerate_soldiers(camp, free, attackers, defenders)


def test_products_sums_and_shifts_by_hand() -> None:
    x = Material(((0, 0), (1, 0), (0, 0)))  # one attacker
    y = Material(((0, 1), (0, 0), (0, 0)))  # one defender
    assert x @ x == Material(((0, 0), (0, 0), (1, 0)))
    assert x @ x @ x == Material.zero(2, 1)  # cut off
    assert x @ y == x.shifted(0, 1) == y.shifted(1, 0) == Material(((0, 0), (0, 1), (0, 0)))
    assert x.shifted(2, 0) == y.shifted(0, 1) == Material.zero(2, 1)
    assert (3 * x + y - x).rows == ((0, 1), (2, 0), (0, 0))
    assert (x + y).within(range(1, 3), range(2)) == x
    assert list(y.pairs())[1] == (0, 1, 1)
