"""The dihedral group against sympy's own algorithms and the known cycle types."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symmetry import count_orbits, dihedral, orbits, permutation_group, stabiliser
from tests.support.strategies import squares

SIZES = [3, 5, 7, 9, 11]


@pytest.mark.parametrize("size", SIZES)
def test_the_eight_tables_are_the_group_that_sympy_generates(size: int) -> None:
    elements = {tuple(element.array_form) for element in permutation_group(size).elements}
    assert {symmetry.table for symmetry in dihedral(size)} == elements
    assert len(elements) == 8


@pytest.mark.parametrize("size", SIZES)
def test_orbits_are_those_of_sympy(size: int) -> None:
    assert {frozenset(orbit) for orbit in orbits(dihedral(size))} == {
        frozenset(orbit) for orbit in permutation_group(size).orbits()
    }


# What each name promises, on coordinates counted from the centre.
MAPS = {
    "identity": lambda f, r: (f, r),
    "rotate_90": lambda f, r: (-r, f),
    "rotate_180": lambda f, r: (-f, -r),
    "rotate_270": lambda f, r: (r, -f),
    "mirror_files": lambda f, r: (-f, r),
    "mirror_ranks": lambda f, r: (f, -r),
    "transpose": lambda f, r: (r, f),
    "antitranspose": lambda f, r: (-r, -f),
}


@pytest.mark.parametrize("size", SIZES)
def test_every_name_does_what_it_says_on_every_cell(size: int) -> None:
    half = size // 2
    for symmetry in dihedral(size):
        for cell, image in enumerate(symmetry.table):
            rank, file = divmod(cell, size)
            f, r = MAPS[symmetry.name](file - half, rank - half)
            assert image == (r + half) * size + f + half, symmetry.name


@given(squares(9))
def test_orbit_and_stabiliser_of_a_cell_multiply_to_the_order(cell: int) -> None:
    group = dihedral(9)
    fixing = [g for g in group if g.table[cell] == cell]
    (orbit,) = [orbit for orbit in orbits(group) if cell in orbit]
    assert len(orbit) * len(fixing) == 8
    assert permutation_group(9).stabilizer(cell).order() == len(fixing)


@given(st.lists(st.sampled_from("ab"), min_size=9, max_size=9))
def test_the_stabiliser_of_a_labelling_is_a_group(labels: list[str]) -> None:
    tables = {g.table for g in stabiliser(dihedral(3), labels)}
    for first in tables:
        for second in tables:
            assert tuple(second[cell] for cell in first) in tables


@pytest.mark.parametrize("size", [2, 3])
def test_burnside_counts_the_orbits_of_subsets(size: int) -> None:
    group, cells = dihedral(size), size * size
    images = [
        min(sum(1 << g.table[cell] for cell in range(cells) if subset >> cell & 1) for g in group)
        for subset in range(2**cells)
    ]
    assert count_orbits(group, lambda g: 2 ** len(g.cycles())) == len(set(images))


def test_burnside_refuses_a_miscount() -> None:
    with pytest.raises(ArithmeticError, match="do not give a whole number"):
        count_orbits(dihedral(3), lambda g: 1 if g.name == "identity" else 0)
