"""The one shape of the paper's equations (2) to (12), and the equations built from it.

A subspace is a multiplicity, numbers of camp and free cells, and ranges for the
soldiers. It is evaluated three times over: by the generating function of
`counting.material`, by the paper's own triple sum of factorials, and by sympy
from the very expression that is printed as LaTeX. The three must agree.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal
from math import comb, factorial, prod
from typing import TYPE_CHECKING, Any

from counting.material import Material, soldiers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def permutations_with_repetition(cells: int, *kinds: int) -> int:
    """Return n! / (k1! k2! … r!), equation (2): the ways to put so many pieces of each kind on n cells."""
    empty = cells - sum(kinds)
    if empty < 0:
        return 0
    return factorial(cells) // prod(map(factorial, (*kinds, empty)))


@dataclass(frozen=True, slots=True)
class Subspace:
    """Placements of one shape: ``multiplicity`` times the ways to place the other soldiers."""

    description: str
    multiplicity: int
    camp_cells: int
    free_cells: int
    attackers: range
    defenders: range
    involved: int = 0

    def material(self, attackers: int, defenders: int) -> Material:
        """Return the counts by material, the involved attackers included."""
        ways = soldiers(((1, self.camp_cells),), ((1, self.free_cells),), attackers, defenders)
        return self.multiplicity * ways.within(self.attackers, self.defenders).shifted(self.involved, 0)

    def value(self) -> int:
        """Return the number of placements, by the generating function."""
        if not self.attackers or not self.defenders:
            return 0
        return self.material(self.attackers[-1] + self.involved, self.defenders[-1]).total()

    def triple_sum(self) -> int:
        """Return the number of placements by the paper's sum over b, w and c, from factorials."""
        return self.multiplicity * sum(
            permutations_with_repetition(self.camp_cells, c) * permutations_with_repetition(self.free_cells, b - c, w)
            for b in self.attackers
            for w in self.defenders
            for c in range(b + 1)
        )

    def symbolic(self) -> Any:
        """Return the paper's sum as an unevaluated sympy expression."""
        import sympy

        b, w, c = sympy.symbols("b w c", integer=True, nonnegative=True)
        camp, free = sympy.Integer(self.camp_cells), sympy.Integer(self.free_cells)
        limits: list[tuple[Any, int, int]] = [(w, self.defenders.start, self.defenders[-1])]
        in_camps = sympy.Integer(0)
        if self.camp_cells and self.attackers[-1]:
            limits.insert(0, (c, 0, b))
            in_camps = c
        outside = (b if self.attackers[-1] else 0) - in_camps
        term = sympy.binomial(free, outside) * sympy.binomial(free - outside, w)
        if in_camps:
            term = sympy.binomial(camp, c) * term
        if self.attackers[-1]:
            limits.append((b, self.attackers.start, self.attackers[-1]))
        total = sympy.Sum(term, *limits)
        return total if self.multiplicity == 1 else sympy.Mul(self.multiplicity, total, evaluate=False)

    def symbolic_value(self) -> int:
        """Return the exact value of `symbolic`, from its own summand and limits."""
        import sympy

        if not self.attackers or not self.defenders:
            return 0
        (total,) = self.symbolic().atoms(sympy.Sum)
        names = [limit[0] for limit in total.limits]
        summand = sympy.lambdify(names, total.function, modules=[{"binomial": _binomial}, "math"])
        ends = [sympy.lambdify(names, limit[1:], modules="math") for limit in total.limits]

        return self.multiplicity * sum(_summands(summand, ends, len(names) - 1, [0] * len(names)))


def _summands(
    summand: Callable[..., int], ends: list[Callable[..., tuple[int, int]]], depth: int, values: list[int]
) -> Iterator[int]:
    """Yield the summands of a nested sum: sympy lists the innermost first; walk from the outermost."""
    if depth < 0:
        yield summand(*values)
        return
    low, high = ends[depth](*values)
    for value in range(low, high + 1):
        values[depth] = value
        yield from _summands(summand, ends, depth - 1, values)


def _binomial(n: int, k: int) -> int:
    # math.comb refuses a negative n, which stands for more pieces than cells: no way.
    return comb(n, k) if 0 <= k <= n else 0


@dataclass(frozen=True, slots=True)
class Published:
    """A value as the paper prints it."""

    text: str

    def agrees(self, exact: int) -> bool:
        """Return whether the exact value, rounded to the digits printed, is the printed value."""
        printed = Decimal(self.text)
        digits = len(printed.as_tuple().digits)
        return Context(prec=digits, rounding=ROUND_HALF_UP).create_decimal(exact) == printed


@dataclass(frozen=True, slots=True)
class Product:
    """A product of powers, the shape of equation (1)."""

    factors: tuple[tuple[int, int], ...]

    def value(self) -> int:
        """Return the product."""
        return prod(base**exponent for base, exponent in self.factors)

    def check(self) -> int:
        """Return the product by sympy."""
        return int(self.symbolic().doit())

    def symbolic(self) -> Any:
        """Return the product as an unevaluated sympy expression."""
        import sympy

        powers = (sympy.Pow(base, exponent, evaluate=False) for base, exponent in self.factors if exponent)
        return sympy.Mul(*powers, evaluate=False)


@dataclass(frozen=True, slots=True)
class SubspaceSum:
    """A sum of subspaces, the shape of equations (3) to (5) and (7) to (12)."""

    parts: tuple[Subspace, ...]

    def value(self) -> int:
        """Return the sum, by generating functions."""
        return sum(part.value() for part in self.parts)

    def check(self) -> int:
        """Return the sum by sympy, having compared it with the paper's triple sum."""
        symbolic, triple = (
            sum(part.symbolic_value() for part in self.parts),
            sum(part.triple_sum() for part in self.parts),
        )
        if symbolic != triple:
            raise ArithmeticError(f"sympy gives {symbolic}, the triple sum {triple}")
        return triple

    def symbolic(self) -> Any:
        """Return the sum as an unevaluated sympy expression."""
        import sympy

        return sympy.Add(*(part.symbolic() for part in self.parts), evaluate=False)


@dataclass(frozen=True, slots=True)
class Total:
    """A sum of other equations, the shape of (6), (13) and (14)."""

    parts: tuple[Equation, ...]

    def value(self) -> int:
        """Return the sum."""
        return sum(part.body.value() for part in self.parts)

    def check(self) -> int:
        """Return the sum of what the parts' own checks give."""
        return sum(part.body.check() for part in self.parts)

    def symbolic(self) -> Any:
        """Return the sum of the parts' symbols."""
        import sympy

        return sympy.Add(*(sympy.Symbol(part.symbol) for part in self.parts), evaluate=False)


@dataclass(frozen=True, slots=True)
class Equation:
    """A numbered equation of the paper, for one variant."""

    id: str
    symbol: str
    description: str
    body: Product | SubspaceSum | Total
    published: Published | None = None

    @property
    def number(self) -> int:
        """The number in the paper."""
        return int(self.id.removeprefix("eq"))

    def verified_value(self) -> int:
        """Return the exact value after all evaluations have agreed."""
        value, check = self.body.value(), self.body.check()
        if value != check:
            raise ArithmeticError(f"{self.id}: the generating function gives {value}, the paper's sum {check}")
        return value

    def latex(self) -> str:
        """Return the equation as LaTeX, with its exact value."""
        import sympy

        return f"{self.symbol} = {sympy.latex(self.body.symbolic())} = {self.body.value()}"
