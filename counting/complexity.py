"""`tablut bounds` as a value: the equations, what is wrong with them, and better bounds.

`bounds` computes everything for one variant and returns a `BoundsReport`, which is
what the command prints, what ``--json`` dumps and what the report page renders.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from counting.exclusions.record import ExclusionRecord, counted_spaces, published_exclusions
from counting.findings import ComparedGame, Finding, compare, find
from counting.paper import PUBLISHED, Geometry, PaperEquations, is_rounded
from counting.spaces import FINAL, Space, classes, spaces
from tablut import __version__
from tablut.errors import InputError
from tablut.results import ExactInt, Result, scientific
from tablut.variants import Rules, Variant, VariantLike, as_variant


class Term(Result):
    """One equation of the paper, evaluated."""

    id: str
    equation: str
    description: str
    exact: ExactInt
    approx: str
    published: str | None
    agrees: bool | None


class SpaceCounts(Result):
    """The sizes that make up a bound."""

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
    """The minimal locked sets whose placements `tightened` leaves out."""

    pieces: int
    sets: int
    orbits: int
    factor_total: str
    factor_distinct: str
    factor_published: str | None


class Rung(NamedTuple):
    """A step from the paper's bound to the best one: what is counted, how many, of what, and how that is known."""

    what: str
    number: int
    unit: Literal["labelled states", "placements", "classes of placements"]
    status: Literal["computed", "proved"]


class MaterialShare(Result):
    """How many undecided placements, and labelled states, have so many soldiers."""

    attackers: int
    defenders: int
    no_end: ExactInt
    total: ExactInt
    share: str


class BoundsReport(Result):
    """Everything that `tablut bounds` says about one variant.

    Attributes
    ----------
    digest : str
        SHA-256 of the rules, as `Variant.digest` has it.
    terms : list of Term
        The paper's equations, in its order.
    geometry : list of Geometry
        The numbers that enter them.
    corrected : SpaceCounts
        The paper's spaces counted correctly: every way in which a game ends, no placement twice for one way.
    tightened : SpaceCounts
        ``corrected`` less the placements that are proved out of reach.
    with_side_to_move : dict of str to int
        ``total`` and ``distinct`` of the corrected and the tightened counts with the
        side to move: both sides for undecided placements, one for final ones.
    classes, classes_tightened : SpaceCounts
        The same counts up to symmetry, by Burnside's lemma.
    symmetries : list of str
        The elements of the group behind ``classes``.
    excluded : list of SpaceCount
        What ``tightened`` leaves out, and why; no placement is in two of them.
    left_in : list of str
        What no count leaves out, though the game is over there or never gets there: placements in which this holds.
    locked : LockedSets or None
        The family behind the exclusions by locked sets; None if they were not counted, so that
        ``tightened`` leaves out the other exclusions only.
    """

    variant: str
    digest: str
    terms: list[Term]
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
        """Return the way from the paper's bound to the best one, a number for each step.

        Returns
        -------
        tuple of Rung
            In this order wherever the numbers are shown. A labelled state is a placement with the way in
            which the game ended with it, or goes on.
        """
        paper = self.term("eq14")
        first = "counted as the paper counts its board"
        if paper.published:
            first = f"the paper's equations, evaluated (it prints {paper.published})"
        return (
            Rung(first, paper.exact, "labelled states", "computed"),
            Rung("without their slips", self.corrected.total, "labelled states", "computed"),
            Rung("each placement once", self.corrected.distinct, "placements", "computed"),
            Rung("without what is proved to be out of reach", self.tightened.distinct, "placements", "proved"),
            Rung("up to symmetry", self.classes_tightened.distinct, "classes of placements", "proved"),
        )

    def term(self, id_: str) -> Term:
        """Return a term by its id.

        Parameters
        ----------
        id_ : str
            ``eq1``, ``eq3`` … ``eq14``.

        Returns
        -------
        Term
            The equation of this number.

        Raises
        ------
        StopIteration
            If there is none.
        """
        return next(term for term in self.terms if term.id == id_)


def bounds(variant: VariantLike, record: ExclusionRecord | None = None) -> BoundsReport:
    """Compute every bound for a variant.

    Parameters
    ----------
    variant : Variant, str or path-like
        Any rule set; findings and published values come with the paper's own only.
    record : ExclusionRecord, optional
        The count of the placements with locked sets; by default what ships for the game, if anything does.

    Returns
    -------
    BoundsReport
        Exact throughout.

    Raises
    ------
    ArithmeticError
        If two ways to evaluate an equation differ.
    InputError
        If the record is of another game.

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
    found = spaces(variant)
    sizes = {id_: space.value() for id_, space in found.items()}
    orbits = {id_: classes(space) for id_, space in found.items()}
    record = record or published_exclusions(variant.digest)
    if record is not None and record.game != variant.digest:
        raise InputError(f"variant {variant.name}: the count of its locked sets is of other rules ({record.variant})")
    survivors = [] if record is None else record.survivors
    # Captured kings' placements are undecided ones too; one that is left only as a final one counts once more.
    corrected, classes_ = (_sum(counts, counts["king_captured"]) for counts in (sizes, orbits))
    tightened, classes_tightened = (
        _sum(left, left["king_captured_undecided"])
        for left in (
            _left(sizes, {space.id: space.placements for space in survivors}),
            _left(orbits, {space.id: space.classes for space in survivors}),
        )
    )
    return BoundsReport(
        variant=variant.name,
        digest=variant.digest,
        terms=_terms(paper),
        geometry=paper.geometry(),
        corrected=corrected,
        tightened=tightened,
        with_side_to_move=_with_side_to_move({"corrected": corrected, "tightened": tightened}),
        classes=classes_,
        classes_tightened=classes_tightened,
        symmetries=[symmetry.name for symmetry in variant.symmetries],
        excluded=[
            *(
                SpaceCount(id=id_, description=space.description, exact=sizes[id_], classes=orbits[id_])
                for id_, space in found.items()
                if id_.startswith("excluded_") and sizes[id_]
            ),
            *_locked_spaces(record, found, orbits),
        ],
        left_in=_left_in(variant.rules),
        locked=_locked(record, corrected, tightened, paper),
        findings=find(paper, sizes, record),
        material=_material(found),
        comparison=compare(PUBLISHED["eq14"], corrected.total, corrected.distinct) if paper.is_the_papers else [],
    )


def corrected_counts(variant: Variant) -> SpaceCounts:
    """Return the sizes of the corrected bound alone."""
    sizes = {id_: space.value() for id_, space in spaces(variant).items()}
    return _sum(sizes, sizes["king_captured"])


def _left(counts: Mapping[str, int], survivors: Mapping[str, int]) -> dict[str, int]:
    """Return what is left of each space, in placements or in classes; ``survivors`` are those of a record, if any.

    Beside the spaces, ``king_captured_undecided`` has the captured kings whose placement is left as an undecided one.
    """
    found = {name: counts[name] - counts.get(f"excluded_{name}", 0) for name in ("no_end", *FINAL)}
    # The besieged kings are captured ones, as every placement with a captured king is an undecided one.
    return found | {"king_captured_undecided": counts["king_captured"] - counts["excluded_no_end"], **survivors}


def _left_in(rules: Rules) -> list[str]:
    """Return what decides placements or keeps games from them and is not counted, since it is seen from afar."""
    holds = {
        "the side to move has no move": True,
        "the king stands in an exit fort": rules.fort != "none",
        "white is encircled": rules.encirclement != "none",
        "a row stands that its last ply would have captured by a shieldwall": rules.shieldwall is not None,
    }
    return [what for what, said in holds.items() if said]


_LOCKED = {
    "no_end": "undecided, with a locked set of at most {} pieces; the besieged kings are not counted again",
    "king_captured": "king captured, with a locked set of at most {} soldiers",
    "escaped": "king escaped, with a locked set of at most {} soldiers; those above are not counted again",
}


def _locked_spaces(
    record: ExclusionRecord | None, found: Mapping[str, Space], orbits: Mapping[str, int]
) -> list[SpaceCount]:
    """Return the placements with a locked set, space by space."""
    if record is None:
        return []
    listed = []
    for id_, (signed, _) in counted_spaces(found).items():
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
    """Return a quotient below ten, rounded up to six decimals by integer arithmetic."""
    units = -(-part * 10**6 // whole)
    return f"{units // 10**6}.{units % 10**6:06d}"


def _terms(paper: PaperEquations) -> list[Term]:
    terms = []
    for equation in paper.equations.values():
        exact = equation.verified_value()
        published = equation.published
        terms.append(
            Term(
                id=equation.id,
                equation=f"({equation.number})",
                description=equation.description,
                exact=exact,
                approx=scientific(exact),
                published=published,
                agrees=is_rounded(exact, published) if published else None,
            )
        )
    return terms


def _sum(parts: Mapping[str, int], both: int) -> SpaceCounts:
    """Add up; ``both`` are the placements with a captured king that are undecided ones too."""
    chosen = {name: parts[name] for name in ("no_end", *FINAL)}
    end = sum(chosen[name] for name in FINAL)
    return SpaceCounts(**chosen, end=end, total=chosen["no_end"] + end, distinct=chosen["no_end"] + end - both)


def _with_side_to_move(counted: Mapping[str, SpaceCounts]) -> dict[str, int]:
    result = {}
    for name, counts in counted.items():
        result[f"{name}_total"] = counts.total + counts.no_end
        # A placement with a captured king and white to move is an undecided one with white to move.
        result[f"{name}_distinct"] = counts.distinct + counts.no_end
    return result


def _material(found: Mapping[str, Space]) -> list[MaterialShare]:
    undecided = found["no_end"].material()
    everything = undecided
    for name in FINAL:
        everything += found[name].material()
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
    """Return a share in percent, rounded half up to four decimals by integer arithmetic."""
    units = (part * 2_000_000 + whole) // (2 * whole)
    return f"{units // 10_000}.{units % 10_000:04d}"


# -- numbers for other programs: comma-separated tables, and b-files as the OEIS takes them


def placements_by_men(report: BoundsReport) -> list[int]:
    """Return the labelled states by the number of men, from the king alone on."""
    found = [0] * (1 + max(pair.attackers + pair.defenders for pair in report.material))
    for pair in report.material:
        found[pair.attackers + pair.defenders] += pair.total
    return found


class BoundNumber(Result):
    """One number of a report, as ``--csv`` lists it."""

    group: str
    id: str
    description: str
    exact: ExactInt
    published: str | int | None = None
    agrees: bool | None = None
    variant: str = ""
    version: str = __version__


_GROUPS = ("corrected", "classes", "tightened", "classes_tightened")


def bound_numbers(report: BoundsReport) -> list[BoundNumber]:
    """Return every number of a report."""
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
    return [
        BoundNumber(**dict(zip(BoundNumber.model_fields, row, strict=False)), variant=report.variant) for row in rows
    ]
