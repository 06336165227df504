"""The equations of "An Upper Bound on the Complexity of Tablut" for any variant.

A. Galassi divides the undecided placements according to whether the king stands on the castle, and the final placements
according to how the game ended. A subspace has a multiplicity, a number of camp cells, a number of free cells, and
ranges for the numbers of soldiers. Every number in an equation is derived from the variant's terrain, and for the
paper's own rules compared with the numbers stated in the paper (`PaperEquations.geometry`, `PUBLISHED`).

Each value is computed with generating functions, and with sympy from the expression that is printed as LaTeX. The
equations are reproduced as the paper states them, including their omissions. `counting.spaces` contains the corrected
counts, and `counting.findings` describes the errors.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import cached_property
from math import prod
from typing import Any

from counting.spaces import CountsByMaterial, soldiers
from tablut.results import Result
from tablut.variants import VariantLike, as_variant, load_variant
from tablut.variants.model import KingPattern


@dataclass(frozen=True, slots=True)
class Subspace:
    """Placements of one kind, counted by one term of an equation.

    Their number is ``multiplicity`` times the number of ways to place the soldiers that do not take part in a capture
    of the king. The cells of the ``involved`` attackers are fixed, and ``attackers`` does not include them.
    """

    description: str
    multiplicity: int
    camp_cells: int
    free_cells: int
    attackers: range
    defenders: range
    involved: int = 0

    def material(self, attackers: int, defenders: int) -> CountsByMaterial:
        """Return the counts by material, including the involved attackers."""
        ways = soldiers(((1, self.camp_cells),), ((1, self.free_cells),), attackers, defenders)
        return self.multiplicity * ways.within(self.attackers, self.defenders).shifted(self.involved, 0)

    def value(self) -> int:
        """Return the number of placements, computed with the generating function."""
        if not self.attackers or not self.defenders:
            return 0
        return self.material(self.attackers[-1] + self.involved, self.defenders[-1]).total()

    def symbolic(self) -> Any:
        """Return the paper's sum as an unevaluated sympy expression."""
        import sympy

        from counting.formulas import ExactSum, number

        if not self.attackers or not self.defenders:
            return sympy.Integer(0)
        b, w, c = map(number, "bwc")
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
        total = ExactSum(term, *limits)
        return total if self.multiplicity == 1 else sympy.Mul(self.multiplicity, total, evaluate=False)

    formula = symbolic


def is_rounded(exact: int, printed: str) -> bool:
    """Return whether an exact value, rounded to the precision of a printed one, equals the printed one."""
    value = Decimal(printed)
    return Context(prec=len(value.as_tuple().digits), rounding=ROUND_HALF_UP).create_decimal(exact) == value


@dataclass(frozen=True, slots=True)
class Product:
    """A product of powers, given as pairs (base, exponent). Equation (1) has this form."""

    factors: tuple[tuple[int, int], ...]

    def value(self) -> int:
        """Return the product."""
        return prod(base**exponent for base, exponent in self.factors)

    def formula(self) -> Any:
        """Return the product as an expression that copies do not evaluate; equal bases are combined."""
        import sympy

        return sympy.Mul(*(sympy.UnevaluatedExpr(base) ** exponent for base, exponent in self.factors))

    def symbolic(self) -> Any:
        """Return the product as an unevaluated sympy expression."""
        import sympy

        powers = (sympy.Pow(base, exponent, evaluate=False) for base, exponent in self.factors if exponent)
        return sympy.Mul(*powers, evaluate=False)


def latex_line(symbol: str, formula: Any, value: int, order: str | None = None) -> str:
    """Return a symbol, its formula and its value, with grouped digits, as LaTeX."""
    import sympy

    return f"{symbol} = {sympy.latex(formula, order=order)} = {value:,}".replace(",", r"\,")


@dataclass(frozen=True, slots=True)
class Equation:
    """A numbered equation from the paper, evaluated for one variant.

    Its value is the sum of its parts, which are subspaces, other equations, or the single product of equation (1).
    """

    id: str
    symbol: str
    description: str
    parts: tuple[Product | Subspace | Equation, ...]
    published: str | None = None

    @property
    def number(self) -> int:
        """The equation's number in the paper."""
        return int(self.id.removeprefix("eq"))

    def value(self) -> int:
        """Return the exact value."""
        return sum(part.value() for part in self.parts)

    def symbolic(self) -> Any:
        """Return the symbol that represents this equation in other equations."""
        import sympy

        return sympy.Symbol(self.symbol)

    def formula(self) -> Any:
        """Return the equation's right-hand side, in which other equations are replaced by theirs."""
        import sympy

        return sympy.Add(*(part.formula() for part in self.parts))

    def verified_value(self) -> int:
        """Return the exact value; raise an error unless both evaluations agree."""
        value, check = self.value(), self.formula().doit()
        if value != check:
            raise ArithmeticError(f"{self.id}: the generating function gives {value}, sympy {check}")
        return value

    def latex(self) -> str:
        """Return the equation and its exact value as LaTeX."""
        import sympy

        body = sympy.Add(*(part.symbolic() for part in self.parts), evaluate=False)
        return latex_line(self.symbol, body, self.value(), "none")


# -- the paper's equations ---------------------------------------------------------------


PUBLISHED = {
    "eq1": "1e41",
    "eq3": "6.1e27",
    "eq4": "3e25",
    "eq5": "9.2e26",
    "eq6": "9.5e26",
    "eq7": "2.0e11",
    "eq8": "2.3e26",
    "eq9": "2.8e22",
    "eq10": "5.1e23",
    "eq11": "8.0e25",
    "eq12": "1.6e26",
    "eq13": "4.6e26",
    "eq14": "1.4e27",
}
"""The equations' values, exactly as printed in the paper."""


class Geometry(Result):
    """A number that describes the board, as derived from the terrain and as stated in the paper."""

    description: str
    derived: int
    stated: int | None
    agrees: bool | None


class PaperEquations:
    """Equations (1) and (3) to (14) for one variant."""

    def __init__(self, variant: VariantLike) -> None:
        variant = as_variant(variant)
        self.variant = variant
        self.is_the_papers = variant.same_game(load_variant("ashton"))
        self._attackers = range(1, variant.attackers + 1)
        self._defenders = range(variant.defenders + 1)
        regions = variant.regions
        self.camp, self.free = len(regions.camp_cells), len(regions.free_cells)
        self.castle_kings = int(regions.castle in regions.king_cells)
        self.other_kings = len(regions.king_cells) - self.castle_kings

    def __getitem__(self, equation: str) -> Equation:
        return self.equations[equation]

    @cached_property
    def equations(self) -> dict[str, Equation]:
        """All equations by id, in the paper's order."""
        anywhere = self._kings(0, self.camp + self.free, self._attackers)
        undecided = self._kings(self.camp, self.free, self._attackers)
        listed: list[tuple[str, str, str, tuple[Product | Subspace | str, ...]]] = [
            ("eq1", r"UB_{naive}", "naive, cell by cell", (self._naive(),)),
            ("eq3", r"UB_{no\_end}", "undecided, camps ignored", anywhere),
            ("eq4", r"UB_{no\_end}^{castle}", "undecided, king on castle", undecided[:1]),
            ("eq5", r"UB_{no\_end}^{no\_castle}", "undecided, king elsewhere", undecided[1:]),
            ("eq6", r"UB'_{no\_end}", "undecided", ("eq4", "eq5")),
            ("eq7", r"UB_{\alpha}", "all attackers captured", self._kings(0, self.free, range(1))),
            ("eq8", r"UB_{\beta}", "king escaped", self._escaped()),
            ("eq9", r"UB_{\gamma}", "king taken on the castle", self.captured(self.patterns["castle"])),
            ("eq10", r"UB_{\delta}", "king taken beside it", self.captured(self.patterns["beside_castle"])),
            ("eq11", r"UB_{\epsilon}", "king taken at a camp", self.captured(self.patterns["against_terrain"])),
            ("eq12", r"UB_{\zeta}", "king taken elsewhere", self.captured(self.patterns["elsewhere"])),
            ("eq13", r"UB_{end}", "all final placements", ("eq7", "eq8", "eq9", "eq10", "eq11", "eq12")),
            ("eq14", r"UB", "all placements", ("eq6", "eq13")),
        ]
        by_id: dict[str, Equation] = {}
        for id_, symbol, description, body in listed:
            parts = tuple(by_id[part] if isinstance(part, str) else part for part in body)
            by_id[id_] = Equation(id_, symbol, description, parts, PUBLISHED[id_] if self.is_the_papers else None)
        return by_id

    def _naive(self) -> Product:
        regions = self.variant.regions
        soldiers_only = len(regions.free_cells - regions.king_cells)
        return Product(((2, self.castle_kings), (2, self.camp), (3, soldiers_only), (4, self.other_kings)))

    def _kings(self, camp: int, free: int, attackers: range) -> tuple[Subspace, Subspace]:
        """Return two subspaces: the placements with the king on the castle, and those with the king elsewhere."""
        return (
            Subspace("king on the castle", self.castle_kings, camp, free, attackers, self._defenders),
            Subspace("king elsewhere", self.other_kings, camp, free - 1, attackers, self._defenders),
        )

    def _escaped(self) -> tuple[Subspace, ...]:
        """Return the subspaces with the king on an escape cell and at least one empty path to it.

        Inclusion–exclusion over the paths produces positive and negative multiplicities.
        """
        regions = self.variant.regions
        shapes: Counter[int] = Counter()
        for escape, ways in regions.approaches.items():
            free = self.free - (escape in regions.free_cells)
            for chosen in range(1, 2 ** len(ways)):
                union = frozenset().union(*(way for i, way in enumerate(ways) if chosen >> i & 1))
                shapes[free - len(union)] += -1 if chosen.bit_count() % 2 == 0 else 1
        return tuple(
            Subspace("king on an escape cell", count, self.camp, free, self._attackers, self._defenders)
            for free, count in sorted(shapes.items(), reverse=True)
            if count
        )

    @cached_property
    def patterns(self) -> dict[str, list[tuple[int, KingPattern]]]:
        """King cells with their capture patterns, grouped into the paper's classes and the class that the paper omits.

        For a king next to a camp or a hostile corner, the patterns that use that terrain are in the class
        ``against_terrain``, and those of two soldiers on opposite sides in ``past_terrain``, which no equation in the
        paper counts.
        """
        regions = self.variant.regions
        classes: dict[str, list[tuple[int, KingPattern]]] = {
            name: [] for name in ("castle", "beside_castle", "against_terrain", "past_terrain", "elsewhere")
        }
        for king, patterns in regions.king_patterns.items():
            by_terrain = any(pattern.terrain for pattern in patterns)
            for pattern in patterns:
                if king == regions.castle:
                    name = "castle"
                elif regions.castle in regions.neighbours(king):
                    name = "beside_castle"
                elif by_terrain:
                    name = "against_terrain" if pattern.terrain else "past_terrain"
                else:
                    name = "elsewhere"
                classes[name].append((king, pattern))
        return classes

    def captured(self, patterns: list[tuple[int, KingPattern]]) -> tuple[Subspace, ...]:
        """Return the subspaces with a captured king, counted pattern by pattern as in the paper.

        A placement that matches two patterns is therefore counted twice.
        """
        regions = self.variant.regions
        shapes = Counter(
            (
                len(pattern.attackers & regions.camp_cells),
                len(pattern.attackers & regions.free_cells) + (king in regions.free_cells),
                len(pattern.attackers),
            )
            for king, pattern in patterns
        )
        return tuple(
            Subspace(
                f"king taken by {involved}",
                count,
                self.camp - in_camp,
                self.free - in_free,
                range(self.variant.attackers - involved + 1),
                self._defenders,
                involved,
            )
            for (in_camp, in_free, involved), count in sorted(shapes.items())
            if involved <= self.variant.attackers
        )

    def geometry(self) -> list[Geometry]:
        """Return the numbers that describe the board and enter the equations."""
        regions = self.variant.regions
        cells = {name: Counter(king for king, _ in patterns) for name, patterns in self.patterns.items()}
        against = cells["against_terrain"]
        open_edge = sum(len(regions.neighbours(cell)) < 4 for cell in regions.free_cells)
        beside_castle = sum(regions.castle in regions.neighbours(king) for king in regions.king_cells)
        facts = [
            ("cells", regions.size**2, 81),
            ("camp cells", self.camp, 16),
            ("cells open to soldiers of both sides", self.free, 64),
            ("edge cells that are neither camp nor castle", open_edge, 20),
            ("escape cells that a king can reach", len(regions.approaches), 16),
            ("cells of an undecided king", len(regions.king_cells), 45),
            ("… of these beside the castle", beside_castle, 4),
            ("… next to a camp or hostile corner", len(against), 12),
            ("… … with two capturing sides", sum(count == 2 for count in against.values()), 8),
            ("… … with one", sum(count == 1 for count in against.values()), 4),
            ("… … ways to capture there", against.total(), 20),
            ("… with neither as a neighbour", len(cells["elsewhere"]), 28),
            ("… … ways to capture there", cells["elsewhere"].total(), 56),
        ]
        if not self.is_the_papers:
            return [Geometry(description=text, derived=derived, stated=None, agrees=None) for text, derived, _ in facts]
        return [
            Geometry(description=text, derived=derived, stated=stated, agrees=derived == stated)
            for text, derived, stated in facts
        ]
