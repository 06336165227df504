"""The dihedral group D4 acting on the cells of an N x N board.

The eight elements are generated from a quarter turn and a reflection. `permutation_group` passes the same two
generators to sympy, whose algorithms serve as an independent check.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

# Names of the elements. A key is a pair: the number of quarter turns, and whether the reflection is applied before
# them.
_NAMES = {
    (0, False): "identity",
    (1, False): "rotate_90",
    (2, False): "rotate_180",
    (3, False): "rotate_270",
    (0, True): "mirror_files",
    (1, True): "antitranspose",
    (2, True): "mirror_ranks",
    (3, True): "transpose",
}


@dataclass(frozen=True, slots=True)
class Symmetry:
    """A permutation of the cells of a square board.

    - ``name``: ``identity``, ``rotate_90`` (counter-clockwise), ``rotate_180``, ``rotate_270``, ``mirror_files`` (a↔i),
      ``mirror_ranks`` (1↔9), ``transpose`` (the diagonal a1-i9 is fixed) or ``antitranspose`` (the diagonal a9-i1 is
      fixed).
    - ``table``: Table with N² entries; ``table[cell]`` is the image of ``cell``.

    Examples
    --------
    >>> turn = dihedral(9)[1]
    >>> turn.name, turn.table[0]  # a1 goes to i1
    ('rotate_90', 8)
    >>> sorted(turn.cycle_type().items())
    [(1, 1), (4, 20)]
    """

    name: str
    table: tuple[int, ...]

    def cycles(self, cells: Iterable[int] | None = None) -> list[tuple[int, ...]]:
        """Return the disjoint cycles of the symmetry on a set of ``cells``, by default all cells.

        The symmetry must map the set to itself. The cycles are ordered by their least cells, and each one starts with
        its least cell.

        Raises
        ------
        ValueError
            If the symmetry maps a cell of the set to a cell outside it.

        Examples
        --------
        >>> dihedral(3)[2].cycles([0, 4, 8])
        [(0, 8), (4,)]
        """
        pending = set(range(len(self.table)) if cells is None else cells)
        found: list[tuple[int, ...]] = []
        for start in sorted(pending):
            if start not in pending:
                continue
            cycle = []
            cell = start
            while cell in pending:
                pending.remove(cell)
                cycle.append(cell)
                cell = self.table[cell]
            if cell != start:
                raise ValueError(f"{self.name} moves cell {cycle[-1]} to {cell}, which is outside the set to permute")
            found.append(tuple(cycle))
        return found

    def cycle_type(self, cells: Iterable[int] | None = None) -> dict[int, int]:
        """Return the number of cycles of each length that the symmetry has on a set of ``cells``, by default all.

        Raises
        ------
        ValueError
            If the symmetry maps a cell of the set to a cell outside it.

        Examples
        --------
        >>> dihedral(9)[4].cycle_type()  # the reflection a↔i
        {2: 36, 1: 9}
        """
        counts: dict[int, int] = {}
        for cycle in self.cycles(cells):
            counts[len(cycle)] = counts.get(len(cycle), 0) + 1
        return counts


def _quarter_turn(size: int) -> tuple[int, ...]:
    """Return the lookup table for the quarter turn (file, rank) -> (size - 1 - rank, file)."""
    return tuple(file * size + (size - 1 - rank) for rank in range(size) for file in range(size))


def _mirror_files(size: int) -> tuple[int, ...]:
    """Return the lookup table for the reflection (file, rank) -> (size - 1 - file, rank)."""
    return tuple(rank * size + (size - 1 - file) for rank in range(size) for file in range(size))


@cache
def dihedral(size: int) -> tuple[Symmetry, ...]:
    """Return the eight symmetries of the square on a board of ``size`` x ``size`` cells.

    These are the identity, the rotations by 90°, 180° and 270°, and the four reflections, in this order.

    Raises
    ------
    ValueError
        If ``size`` is below 2. The eight symmetries are not distinct on such small boards.

    Examples
    --------
    >>> [g.name for g in dihedral(9)][:3]
    ['identity', 'rotate_90', 'rotate_180']
    """
    if size < 2:
        raise ValueError(f"a board of size {size} does not have eight distinct symmetries; the smallest size is 2")
    turn, mirror = _quarter_turn(size), _mirror_files(size)
    elements = []
    for reflected in (False, True):
        table = mirror if reflected else tuple(range(size * size))
        for turns in range(4):
            elements.append(Symmetry(_NAMES[turns, reflected], table))
            table = tuple(turn[cell] for cell in table)
    return tuple(elements)


def permutation_group(size: int) -> Any:
    """Return D4 on the cells of a board as a sympy ``PermutationGroup`` with two generators.

    ``size`` is the number of cells along a side of the board.

    Examples
    --------
    >>> group = permutation_group(9)
    >>> group.order(), len(group.orbits())
    (8, 15)
    """
    from sympy.combinatorics import Permutation, PermutationGroup

    return PermutationGroup(Permutation(_quarter_turn(size)), Permutation(_mirror_files(size)))


def orbits(group: Sequence[Symmetry], cells: Iterable[int] | None = None) -> list[tuple[int, ...]]:
    """Return the orbits of a ``group`` on a set of ``cells``, by default all, ordered by their least cells.

    The group must contain all its elements; generators alone would produce wrong orbits.

    Examples
    --------
    >>> len(orbits(dihedral(9)))
    15
    >>> orbits(dihedral(3))
    [(0, 2, 6, 8), (1, 3, 5, 7), (4,)]
    """
    pending = set(range(len(group[0].table)) if cells is None else cells)
    found = []
    for cell in sorted(pending):
        if cell in pending:
            orbit = {g.table[cell] for g in group}
            pending -= orbit
            found.append(tuple(sorted(orbit)))
    return found


def stabiliser(group: Sequence[Symmetry], labels: Sequence[Hashable]) -> tuple[Symmetry, ...]:
    """Return the subgroup of a ``group`` whose elements map every cell to a cell with the same label.

    There is one of the ``labels`` for each cell, such as its terrain or its contents.

    Raises
    ------
    ValueError
        If the number of labels differs from the number of cells.

    Examples
    --------
    >>> [g.name for g in stabiliser(dihedral(3), "..." ".x." ".x.")]
    ['identity', 'mirror_files']
    """
    if len(labels) != len(group[0].table):
        raise ValueError(f"there are {len(labels)} labels for {len(group[0].table)} cells")
    return tuple(g for g in group if all(labels[cell] == labels[image] for cell, image in enumerate(g.table)))


# -- Burnside's lemma: the number of orbits of a group acting on a finite space ----------


def count_orbits(group: Sequence[Symmetry], fixed: Callable[[Symmetry], int]) -> int:
    """Return a group's number of orbits, computed by Burnside's lemma.

    It is the mean, over all elements of the ``group``, of the number of elements of the space that one leaves
    unchanged, which ``fixed`` returns.

    Raises
    ------
    ArithmeticError
        If the mean is not an integer. In that case, ``fixed`` returns a wrong number, or ``group`` is not a group that
        acts on the space.

    Notes
    -----
    The lemma is also known as the Cauchy-Frobenius lemma; see W. Burnside, *Theory of Groups of Finite Order*,
    2nd ed. (1911), §145.

    Examples
    --------
    Count the ways to mark cells of a 3 x 3 board, up to symmetry:

    >>> from symmetry import dihedral
    >>> count_orbits(dihedral(3), lambda g: 2 ** len(g.cycles()))
    102
    """
    total = sum(fixed(g) for g in group)
    classes, remainder = divmod(total, len(group))
    if remainder:
        raise ArithmeticError(f"{total} fixed points over a group of order {len(group)} do not give a whole number")
    return classes
