"""Formulas of the counts, as sympy expressions whose method ``doit`` returns the exact numbers.

In every formula, b and w are the numbers of attackers and defenders, and c is the number of attackers in camps. In a
formula for a symmetry, b2 and w2 are the numbers of pairs of cells that the symmetry exchanges and that contain
attackers or defenders, and b4 and w4 are the same for cycles of four cells.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from math import comb
from typing import Any

import sympy

from counting.spaces import Space, king_groups
from symmetry import Symmetry


class ExactSum(sympy.Sum):  # type: ignore[misc]
    """Sum that `doit` evaluates term by term, in integers. Sympy's own summation takes very long for nested limits."""

    def doit(self, **_hints: Any) -> Any:
        """Return the value of the sum."""
        names = [limit[0] for limit in self.limits]
        summand = sympy.lambdify(names, self.function, modules=[{"binomial": _binomial}, "math"])
        ends = [sympy.lambdify(names, limit[1:], modules="math") for limit in self.limits]
        return sympy.Integer(sum(_summands(summand, ends, len(names) - 1, [0] * len(names))))


def _summands(
    summand: Callable[..., int], ends: list[Callable[..., tuple[int, int]]], depth: int, values: list[int]
) -> Iterator[int]:
    """Yield a nested sum's summands, with the outermost index first. Sympy lists the innermost index first."""
    if depth < 0:
        yield summand(*values)
        return
    low, high = ends[depth](*values)
    for value in range(low, high + 1):
        values[depth] = value
        yield from _summands(summand, ends, depth - 1, values)


def _binomial(n: int, k: int) -> int:
    # If n is negative, there are more pieces than cells and hence 0 ways to place them, but math.comb would raise an
    # error.
    return comb(n, k) if 0 <= k <= n else 0


def number(name: str) -> Any:
    """Return the symbol of a number of pieces."""
    return sympy.Symbol(name, integer=True, nonnegative=True)


def fixed_formula(space: Space, symmetry: Symmetry) -> Any:
    """Return the number of placements in a space that a symmetry preserves.

    The cells near a king are summed up by their numbers of attackers and defenders, and the others by binomial
    coefficients.
    """
    b, w = number("b"), number("w")
    summands: dict[tuple[int, ...], Counter[Any]] = {}
    for (camp, free), held in king_groups(space, symmetry).items():
        camps, frees = dict(camp), dict(free)
        lengths = tuple(sorted({*camps, *frees} - {1}))
        for (attackers, defenders), count in held.items():
            left_b, left_w, ways = b - attackers, w - defenders, sympy.Integer(1)
            for length in lengths:
                many_b, many_w = number(f"b{length}"), number(f"w{length}")
                left_b, left_w = left_b - length * many_b, left_w - length * many_w
                ways *= _ways(camps.get(length, 0), frees.get(length, 0), many_b, many_w)
            summands.setdefault(lengths, Counter())[ways * _ways(camps.get(1, 0), frees.get(1, 0), left_b, left_w)] += (
                count
            )
    total = sympy.Integer(0)
    for lengths, terms in summands.items():
        limits = [
            (number(f"{name}{length}"), 0, sympy.floor(whole / length))
            for length in lengths
            for name, whole in (("b", b), ("w", w))
        ]
        limits += [(b, space.attackers.start, space.attackers[-1]), (w, space.defenders.start, space.defenders[-1])]
        total += ExactSum(sympy.Add(*(count * ways for ways, count in terms.items())), *limits)
    return total


def _ways(camp: int, free: int, attackers: Any, defenders: Any) -> Any:
    both = sympy.binomial(free, defenders, evaluate=False)
    return both * sympy.binomial(camp + free - defenders, attackers, evaluate=False)


def class_formula(space: Space) -> Any:
    """Return the number of classes of a space's placements, as Burnside's lemma computes it."""
    group = space.variant.symmetries
    fixed = sympy.Add(*(fixed_formula(space, symmetry) for symmetry in group))
    return sympy.UnevaluatedExpr(fixed) / len(group)
