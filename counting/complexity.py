"""Results of `tablut bounds`: the equations of Galassi's paper, their errors, and tighter bounds.

A *labelled state* is a placement together with a label, which states how the game ended with this placement, or that
the game continues.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import PlainSerializer

from counting.exclusions.counts import ExclusionRecord, counted_spaces, published_exclusions
from counting.findings import ComparedGame, Finding, compare, find
from counting.paper import PUBLISHED, Geometry, PaperEquations, is_rounded, latex_line
from counting.spaces import DESCRIPTIONS, FINAL, Space, classes, spaces
from tablut import __version__
from tablut.errors import InputError, did_you_mean
from tablut.results import ExactInt, Result, scientific
from tablut.variants import Rules, Variant, VariantLike, as_variant


class Term(Result):
    """One equation of the paper, or one count of a bound, with its exact value.

    The method ``doit`` of ``formula``, a sympy expression, returns this value. ``latex`` is the formula and the value;
    an equation of the paper refers to other equations by their symbols.
    """

    id: str
    equation: str
    description: str
    exact: ExactInt
    approx: str
    published: str | None
    agrees: bool | None
    formula: Annotated[Any, PlainSerializer(str, return_type=str, when_used="json")]
    latex: str


class SpaceCounts(Result):
    """Sizes of the spaces that make up a bound, and their sums."""

    no_end: ExactInt
    all_captured: ExactInt
    escaped: ExactInt
    escaped_last: ExactInt
    king_captured: ExactInt
    end: ExactInt
    total: ExactInt
    distinct: ExactInt


class SpaceCount(Result):
    """A space with its description, size and number of classes."""

    id: str
    description: str
    exact: ExactInt
    classes: ExactInt


class LockedSets(Result):
    """Minimal locked sets. Placements that contain one of them are excluded from the tightened bound."""

    pieces: int
    sets: int
    orbits: int
    factor_total: str
    factor_distinct: str
    factor_published: str | None


class Rung(NamedTuple):
    """A step from the paper's bound to the best one: a description, the bound, its unit, and how the bound is known."""

    what: str
    number: int
    unit: Literal["labelled states", "placements", "classes of placements"]
    status: Literal["computed", "proved"]


class MaterialShare(Result):
    """The number of undecided placements and the number of labelled states with a given material."""

    attackers: int
    defenders: int
    no_end: ExactInt
    total: ExactInt
    share: str


class BoundsReport(Result):
    """Results of `tablut bounds` for one variant.

    Attributes
    ----------
    digest : str
        SHA-256 of the rules, equal to `Variant.digest`.
    terms, counts : list of Term
        The paper's equations, and the numbers in the next fields as formulas, with ids such as ``corrected.no_end``.
    geometry : list of Geometry
        The numbers that describe the board and appear in the equations.
    corrected : SpaceCounts
        The paper's spaces, counted correctly: the cases that the paper omits are included, and no placement is counted
        twice for the same ending.
    tightened : SpaceCounts
        ``corrected`` minus the placements that are proved unreachable.
    with_side_to_move : dict of str to int
        ``total`` and ``distinct`` of the corrected and tightened counts, where an undecided placement is counted twice.
    classes, classes_tightened : SpaceCounts
        The same counts up to the ``symmetries``, computed by Burnside's lemma.
    excluded : list of SpaceCount
        The placements excluded from ``tightened``, by reason. No placement is in two of these spaces.
    left_in : list of str
        Conditions that end the game or make a placement unreachable, but are not excluded from any count.
    locked : LockedSets or None
        The locked sets used for the exclusions, or None if the placements with locked sets were not counted.
    """

    variant: str
    digest: str
    terms: list[Term]
    counts: list[Term]
    geometry: list[Geometry]
    corrected: SpaceCounts
    tightened: SpaceCounts
    with_side_to_move: dict[str, ExactInt]
    classes: SpaceCounts
    classes_tightened: SpaceCounts
    symmetries: list[str]
    excluded: list[SpaceCount]
    left_in: list[str]
    locked: LockedSets | None
    findings: list[Finding]
    material: list[MaterialShare]
    comparison: list[ComparedGame]

    def ladder(self) -> tuple[Rung, ...]:
        """Return the steps from the paper's bound to the best one, in the order used by the command and the report."""
        paper = self.term("eq14")
        first = "the paper's equations" + f" (it prints {paper.published})" * bool(paper.published)
        return (
            Rung(first, paper.exact, "labelled states", "computed"),
            Rung("with its errors corrected", self.corrected.total, "labelled states", "computed"),
            Rung("each counted once", self.corrected.distinct, "placements", "computed"),
            Rung("without those proved unreachable", self.tightened.distinct, "placements", "proved"),
            Rung("up to symmetry", self.classes_tightened.distinct, "classes of placements", "proved"),
        )

    def term(self, id_: str) -> Term:
        """Return the equation or the count with a given id.

        ``id_`` is ``eq1``, ``eq3`` … ``eq14``, or ``corrected``, ``tightened``, ``classes`` or ``classes_tightened``, a
        dot, and a field of that name, such as ``corrected.distinct``.

        Raises
        ------
        InputError
            If nothing has this id.

        Examples
        --------
        >>> term = bounds("ashton-5-4v0").term("corrected.escaped")
        >>> term.formula
        Sum(8*binomial(18, w)*binomial(22 - w, b), (b, 1, 4), (w, 0, 0))
        >>> int(term.formula.doit()) == term.exact
        True
        """
        known = {term.id: term for term in (*self.terms, *self.counts)}
        if id_ not in known:
            raise InputError(did_you_mean(str(id_), known, "use eq14 or corrected.total"), parameter="id_", value=id_)
        return known[id_]


def bounds(variant: VariantLike, record: ExclusionRecord | None = None) -> BoundsReport:
    """Return every bound for a ``variant``. All counts are exact.

    ``record`` contains counts of the placements without locked sets, by default the game's built-in record, if it
    exists. Findings and published values are included only for the paper's own rules.

    Raises
    ------
    ArithmeticError
        If the two evaluations of an equation differ.
    InputError
        If the record belongs to another game.

    Examples
    --------
    >>> from tablut.variants import load_variant
    >>> report = bounds(load_variant("ashton"))
    >>> report.corrected.total
    1293874976310946438745768012
    >>> [term.id for term in report.terms if not term.agrees]
    ['eq12', 'eq13', 'eq14']
    """
    variant = as_variant(variant)
    paper = PaperEquations(variant)
    all_spaces = spaces(variant)
    sizes = {id_: space.value() for id_, space in all_spaces.items()}
    orbits = {id_: classes(space) for id_, space in all_spaces.items()}
    record = record or published_exclusions(variant.digest)
    if record is not None and record.game != variant.digest:
        raise InputError(
            f"does not match the rules of the exclusion record ({record.variant})", subject=f"variant {variant.name}"
        )
    survivors = [] if record is None else record.survivors
    # Some placements with a captured king are also undecided placements, and ``distinct`` must count them only once.
    # For the tightened counts, subtract only those that are still counted as undecided placements.
    corrected, classes_ = (_sum(counts, counts["king_captured"]) for counts in (sizes, orbits))
    tightened, classes_tightened = (
        _sum(left, left["king_captured_undecided"])
        for left in (
            _left(sizes, {space.id: space.placements for space in survivors}),
            _left(orbits, {space.id: space.classes for space in survivors}),
        )
    )
    counted = dict(zip(_GROUPS, (corrected, classes_, tightened, classes_tightened), strict=True))
    excluded = [
        *(
            SpaceCount(id=id_, description=space.description, exact=sizes[id_], classes=orbits[id_])
            for id_, space in all_spaces.items()
            if id_.startswith("excluded_") and sizes[id_]
        ),
        *_locked_spaces(record, all_spaces, orbits),
    ]
    return BoundsReport(
        variant=variant.name,
        digest=variant.digest,
        terms=_terms(paper),
        counts=_count_terms(all_spaces, counted, excluded),
        geometry=paper.geometry(),
        corrected=corrected,
        tightened=tightened,
        with_side_to_move=_with_side_to_move({"corrected": corrected, "tightened": tightened}),
        classes=classes_,
        classes_tightened=classes_tightened,
        symmetries=[symmetry.name for symmetry in variant.symmetries],
        excluded=excluded,
        left_in=_left_in(variant.rules),
        locked=_locked(record, corrected, tightened, paper),
        findings=find(paper, sizes, record),
        material=_material(all_spaces),
        comparison=compare(PUBLISHED["eq14"], corrected.total, corrected.distinct) if paper.is_the_papers else [],
    )


def corrected_counts(variant: Variant) -> SpaceCounts:
    """Return the corrected bound's sizes without computing the rest of a report."""
    sizes = {id_: space.value() for id_, space in spaces(variant).items()}
    return _sum(sizes, sizes["king_captured"])


def _left(counts: Mapping[str, int], survivors: Mapping[str, int]) -> dict[str, int]:
    """Return the size of each space after the exclusions, in placements or classes.

    ``survivors`` are a record's counts. The additional key ``king_captured_undecided`` is for the placements with a
    captured king that are nevertheless undecided placements.
    """
    sizes = {name: counts[name] - counts.get(f"excluded_{name}", 0) for name in _SPACES}
    # Every placement with a besieged king belongs to the placements with a captured king and to the undecided
    # placements.
    return sizes | {"king_captured_undecided": counts["king_captured"] - counts["excluded_no_end"], **survivors}


def _left_in(rules: Rules) -> list[str]:
    """Return the conditions that end the game or make placements unreachable but are not reflected in the bounds."""
    conditions = {
        "the side to move has no legal move": True,
        "the king stands in an exit fort": rules.fort != "none",
        "white is encircled": rules.encirclement != "none",
        "a row of pieces remains that the last ply would have captured by a shieldwall": rules.shieldwall is not None,
    }
    return [what for what, applies in conditions.items() if applies]


_SPACES = ("no_end", *FINAL)
_GROUPS = ("corrected", "classes", "tightened", "classes_tightened")

_LOCKED = {
    "no_end": "undecided, with a locked set of at most {} pieces, not including placements listed above",
    "king_captured": "king captured, with a locked set of at most {} soldiers",
    "escaped": "king escaped, with a locked set of at most {} soldiers, not including placements listed above",
}


def _locked_spaces(
    record: ExclusionRecord | None, all_spaces: Mapping[str, Space], orbits: Mapping[str, int]
) -> list[SpaceCount]:
    """Return the number of placements with a locked set in each space."""
    if record is None:
        return []
    listed = []
    for id_, (signed, _) in counted_spaces(all_spaces).items():
        left = record.of(id_)
        exact = sum(count * space.value() for space, count in signed) - left.placements
        if id_ in _LOCKED and exact:
            listed.append(
                SpaceCount(
                    id=f"excluded_{id_}_locked",
                    description=_LOCKED[id_].format(record.pieces),
                    exact=exact,
                    classes=sum(count * orbits[space.id] for space, count in signed) - left.classes,
                )
            )
    return listed


def _locked(
    record: ExclusionRecord | None, corrected: SpaceCounts, tightened: SpaceCounts, paper: PaperEquations
) -> LockedSets | None:
    if record is None:
        return None
    published = _up(tightened.total, paper["eq14"].verified_value()) if paper.is_the_papers else None
    return LockedSets(
        pieces=record.pieces,
        sets=sum(size.sets for size in record.sets),
        orbits=sum(size.orbits for size in record.sets),
        factor_total=_up(tightened.total, corrected.total),
        factor_distinct=_up(tightened.distinct, corrected.distinct),
        factor_published=published,
    )


def _up(part: int, whole: int) -> str:
    """Return the quotient of two integers, rounded up to six decimals by integer arithmetic."""
    units = -(-part * 10**6 // whole)
    return f"{units // 10**6}.{units % 10**6:06d}"


def _terms(paper: PaperEquations) -> list[Term]:
    terms = []
    for one in paper.equations.values():
        exact, number = one.verified_value(), f"({one.number})"
        terms.append(_term(one.id, number, one.description, exact, one.formula(), one.latex(), one.published))
    return terms


def _term(
    id_: str, equation: str, description: str, exact: int, formula: Any, latex: str, published: str | None = None
) -> Term:
    agrees = is_rounded(exact, published) if published else None
    values = id_, equation, description, exact, scientific(exact), published, agrees, formula, latex
    return Term(**dict(zip(Term.model_fields, values, strict=True)))


def _symbol(group: str, name: str) -> str:
    """Return the symbol that stands for a count in LaTeX."""
    letter = dict(zip(_GROUPS, ("N", "n", "N'", "n'"), strict=True))[group]
    return f"{letter}_{{{name}}}".replace("_", r"\_").replace(r"\_{", "_{")


def _count_terms(
    all_spaces: Mapping[str, Space], counted: Mapping[str, SpaceCounts], excluded: list[SpaceCount]
) -> list[Term]:
    """Return the numbers of all bounds with their formulas."""
    import sympy

    from counting.formulas import class_formula, fixed_formula

    sizes = {id_: fixed_formula(space, space.variant.symmetries[0]) for id_, space in all_spaces.items()}
    orbits = {id_: class_formula(space) for id_, space in all_spaces.items()}
    terms = []
    for group, counts in counted.items():
        source = orbits if group.startswith("classes") else sizes
        parts = {name: source[name] for name in _SPACES}
        shown, both = parts, source["king_captured"]
        own = {name: sympy.Symbol(_symbol(group, name)) for name in _SPACES}
        shown_both = own["king_captured"]
        if "tightened" in group:
            locked = {space.id: space.classes if source is orbits else space.exact for space in excluded}
            base = "classes" if source is orbits else "corrected"
            shown_both = sympy.Integer(counts.total - counts.distinct)
            # A program counts the placements with locked sets, for which there is no formula.
            by_program = any(id_.endswith("_locked") for id_ in locked)
            both = shown_both if by_program else both - source["excluded_no_end"]
            parts, shown = dict(parts), {}
            for name in _SPACES:
                less = source.get(f"excluded_{name}", 0) + locked.get(f"excluded_{name}_locked", 0)
                parts[name], shown[name] = parts[name] - less, sympy.Symbol(_symbol(base, name)) - less
        formulas, lines = _with_sums(parts, both), _with_sums(own, shown_both) | shown
        for name, value in counts:
            latex = latex_line(_symbol(group, name), lines[name], value)
            description = f"{group.replace('_', ', ')}: {DESCRIPTIONS.get(name, name)}"
            terms.append(_term(f"{group}.{name}", "", description, value, formulas[name], latex))
    return terms


def _sum(parts: Mapping[str, int], both: int) -> SpaceCounts:
    """Return the sizes of spaces together with their sums (see `_with_sums`)."""
    return SpaceCounts(**_with_sums({name: parts[name] for name in _SPACES}, both))


def _with_sums(parts: Mapping[str, Any], both: Any) -> dict[str, Any]:
    """Return the sizes of spaces, or their formulas, together with their sums, keyed like `SpaceCounts`."""
    end = sum(parts[name] for name in FINAL)
    return {**parts, "end": end, "total": parts["no_end"] + end, "distinct": parts["no_end"] + end - both}


def _with_side_to_move(counted: Mapping[str, SpaceCounts]) -> dict[str, int]:
    result = {}
    for name, counts in counted.items():
        result[f"{name}_total"] = counts.total + counts.no_end
        # A placement with a captured king and white to move is also an undecided placement with white to move.
        result[f"{name}_distinct"] = counts.distinct + counts.no_end
    return result


def _material(all_spaces: Mapping[str, Space]) -> list[MaterialShare]:
    undecided = all_spaces["no_end"].material()
    everything = undecided
    for name in FINAL:
        everything += all_spaces[name].material()
    total = everything.total()
    return [
        MaterialShare(
            attackers=attackers,
            defenders=defenders,
            no_end=undecided.rows[attackers][defenders],
            total=count,
            share=_percent(count, total),
        )
        for attackers, defenders, count in everything.pairs()
    ]


def _percent(part: int, whole: int) -> str:
    """Return a share as a percentage, rounded half up to four decimals by integer arithmetic."""
    units = (part * 2_000_000 + whole) // (2 * whole)
    return f"{units // 10_000}.{units % 10_000:04d}"


# -- numbers for other programs: comma-separated tables, and b-files as used by the OEIS


def placements_by_men(report: BoundsReport) -> list[int]:
    """Return the number of labelled states for each number of men.

    The first entry counts the states where the king is the only piece.
    """
    counts = [0] * (1 + max(pair.attackers + pair.defenders for pair in report.material))
    for pair in report.material:
        counts[pair.attackers + pair.defenders] += pair.total
    return counts


class BoundNumber(Result):
    """A number in a report. ``--csv`` prints one number on each line."""

    group: str
    id: str
    description: str
    exact: ExactInt
    published: str | int | None = None
    agrees: bool | None = None
    variant: str = ""
    version: str = __version__
    formula: str = ""
    latex: str = ""


def bound_numbers(report: BoundsReport) -> Iterator[BoundNumber]:
    """Yield all numbers in a report, in the order of the ``--csv`` output."""
    rows: list[tuple[Any, ...]] = [
        ("equation", term.id, term.description, term.exact, term.published, term.agrees) for term in report.terms
    ]
    rows += [("geometry", "", fact.description, fact.derived, fact.stated) for fact in report.geometry]
    rows += [(group, name, "", value) for group in _GROUPS for name, value in getattr(report, group)]
    rows += [("excluded", space.id, space.description, space.exact) for space in report.excluded]
    rows += [("with_side_to_move", name, "", value) for name, value in report.with_side_to_move.items()]
    for pair in report.material:
        name = f"{pair.attackers}v{pair.defenders}"
        rows.append(("material", name, "attackers v defenders, labelled states", pair.total))
    lines = {term.id: (str(term.formula), term.latex) for term in (*report.terms, *report.counts)}
    for group, id_, *row in rows:
        own = lines.get(id_ if group == "equation" else f"{group}.{id_}", ("", ""))
        values = (group, id_, *row, *[None] * (4 - len(row)), report.variant, __version__, *own)
        yield BoundNumber(**dict(zip(BoundNumber.model_fields, values, strict=True)))
