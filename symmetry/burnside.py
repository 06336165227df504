"""Burnside's lemma: how many orbits a group has on a counted space."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from symmetry.square import Symmetry


def count_orbits(group: Sequence[Symmetry], fixed: Callable[[Symmetry], int]) -> int:
    """Return the number of orbits: the mean number of fixed points of the group's elements.

    Parameters
    ----------
    group : sequence of Symmetry
        All elements of a group.
    fixed : callable
        The exact number of elements of the space that a symmetry leaves in place.

    Returns
    -------
    int
        The number of classes up to symmetry, exact.

    Raises
    ------
    ArithmeticError
        If the mean is no integer: then ``fixed`` miscounts, or ``group`` is not a group
        that acts on the space.

    Notes
    -----
    The Cauchy-Frobenius lemma, e.g. W. Burnside, *Theory of Groups of Finite Order*,
    2nd ed. (1911), §145.

    Examples
    --------
    The ways to mark cells of a 3 x 3 board, up to symmetry:

    >>> from symmetry import dihedral
    >>> count_orbits(dihedral(3), lambda g: 2 ** len(g.cycles()))
    102
    """
    total = sum(fixed(g) for g in group)
    classes, remainder = divmod(total, len(group))
    if remainder:
        raise ArithmeticError(f"{total} fixed points over a group of order {len(group)} do not give a whole number")
    return classes
