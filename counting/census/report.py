"""`tablut census` as a value: the plies, their sums, and how they compare with the counted bounds."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from counting.census.graph import GraphNumbers
from counting.census.store import HUNDREDTHS, Hundredth, ended
from counting.spaces import spaces
from tablut.engine import engine_for
from tablut.results import ExactInt, Result

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counting.census.counted import Counted
    from counting.census.search import Search
    from counting.census.store import CountRecord, PlyRecord, SealedPly
    from tablut.variants import Variant


class Ply(Result):
    """What is first reached at one ply."""

    ply: int
    new: int
    new_classes: int
    decided: int
    decided_classes: int
    white_wins: int
    black_wins: int
    moves: int
    branching: float | None
    immobile: int
    immobile_classes: int
    captures: int
    captured: int
    children: int
    total: int
    total_classes: int
    decided_total: int
    decided_total_classes: int
    cpu_seconds: float
    digest: str | None = None
    stored: bool = True


class MaterialPair(Result):
    """Reached undecided positions with so many soldiers, beside the counted space."""

    attackers: int
    defenders: int
    reached: int
    classes: int
    bound: ExactInt
    tightened: ExactInt
    ratio: float | None


class FullCheck(Result):
    """The same census without symmetry."""

    plies: list[dict[str, int]]
    agrees: bool


class NextPly(Result):
    """What one more ply would take."""

    ply: int
    children: int
    children_bytes: int
    positions_bytes: int


class Estimate(Result):
    """An estimate for a whole ply from the hundredths that were counted."""

    name: str
    value: int
    low: int
    high: int


class CountedPly(Result):
    """A ply that was counted and not stored, or the part of it that was."""

    ply: int
    whole: bool
    passes: int
    children: int
    new: int
    new_classes: int
    decided: int
    decided_classes: int
    cpu_seconds: float
    digest: str
    hundredths: list[Hundredth]
    estimates: list[Estimate]
    counted_again: list[int]
    agrees: bool


class CensusReport(Result):
    """Everything that `tablut census` says.

    Attributes
    ----------
    symmetries : list of str
        The stabiliser of the start, under which classes are taken.
    total, total_classes, decided_total, decided_total_classes : int
        Sums over all plies.
    complete : bool
        Whether these are all: the last ply found nothing undecided that is new, or the game ends with it.
    move_limit : int or None
        After how many plies the rules end a game.
    stopped_by_limit : bool
        Whether the last ply is the last that the rules allow: further positions exist, no game reaches them.
    material : list of MaterialPair
        Pairs of which something was reached, or could be.
    bound, tightened, ratio
        The sums of the pairs'.
    outside, outside_classes : int
        Undecided positions that the counted space lacks; anything but zero refutes the counting.
    stored_bytes : int
        What the positions of all plies take on the disk.
    children, cpu_seconds, children_per_cpu_second
        The work, and its rate; work of earlier runs of a resumed census included.
    passes : int
        In how many passes a ply was made, at most, in this run.
    counted : CountedPly or None
        The last ply if it was counted and not stored.
    """

    variant: str
    position: str
    symmetries: list[str]
    plies: list[Ply]
    total: int
    total_classes: int
    decided_total: int
    decided_total_classes: int
    complete: bool
    move_limit: int | None = None
    stopped_by_limit: bool = False
    material: list[MaterialPair]
    bound: ExactInt
    tightened: ExactInt
    ratio: float
    outside: int
    outside_classes: int
    full: FullCheck | None
    graph: GraphNumbers | None
    next_ply: NextPly | None
    store: str | None
    stored_bytes: int
    children: int
    cpu_seconds: float
    children_per_cpu_second: float | None
    passes: int = 1
    counted: CountedPly | None = None

    @property
    def holds(self) -> bool:
        """Whether every check that was made came out right."""
        again = self.counted is None or self.counted.agrees
        return self.outside == 0 and (self.full is None or self.full.agrees) and again


def compare_full(records: list[PlyRecord], full: list[PlyRecord]) -> FullCheck:
    """Compare a census by classes with the same one without symmetry."""
    plies = [_numbers(record) for record in full]
    return FullCheck(plies=plies, agrees=plies == [_numbers(record) for record in records])


def _numbers(record: PlyRecord) -> dict[str, int]:
    return {"ply": record.ply, **{name: record.counters[name] for name in ("new", "decided", "moves")}}


_TOTALS: Final = {
    "total": "new",
    "total_classes": "new_classes",
    "decided_total": "decided",
    "decided_total_classes": "decided_classes",
}
"""The sums over plies, and what they add up."""


def _plies(records: Sequence[SealedPly], stored: int) -> list[Ply]:
    totals = dict.fromkeys(_TOTALS, 0)
    found = []
    for record in records:
        counters = record.counters
        if record.ply and not counters["new"] and not counters["decided"]:
            continue  # the ply that shows the census to be complete
        totals = {name: total + counters[_TOTALS[name]] for name, total in totals.items()}
        found.append(
            Ply(
                ply=record.ply,
                **{name: count for name, count in counters.items() if name in Ply.model_fields},
                **totals,
                white_wins=counters["decided"] - counters["black_wins"],
                branching=round(counters["moves"] / counters["new"], 6) if counters["new"] else None,
                captures=record.expanded[2],
                captured=record.expanded[3],
                children=record.children,
                cpu_seconds=round(record.cpu, 3),
                digest=record.digest,
                stored=record.ply < stored,
            )
        )
    return found


def _material(variant: Variant, records: Sequence[SealedPly]) -> list[MaterialPair]:
    found = spaces(variant)
    bound = found["no_end"].material()
    tightened = bound - found["excluded_no_end"].material()
    pairs = []
    for attackers, defenders, placements in bound.pairs():
        reached, classes = (sum(record.material[kind][attackers][defenders] for record in records) for kind in (0, 1))
        if placements or reached:
            pairs.append(
                MaterialPair(
                    attackers=attackers,
                    defenders=defenders,
                    reached=reached,
                    classes=classes,
                    bound=2 * placements,
                    tightened=2 * tightened.rows[attackers][defenders],
                    ratio=reached / (2 * placements) if placements else None,
                )
            )
    return pairs


def _next_ply(census: Search, last: SealedPly) -> NextPly:
    children, positions = census.space_needed(last)
    return NextPly(ply=last.ply + 1, children=last.next_children, children_bytes=children, positions_bytes=positions)


def census_report(
    census: Search,
    plies: Sequence[PlyRecord],
    store: str | None,
    *,
    check: FullCheck | None = None,
    graph: GraphNumbers | None = None,
    counted: Counted | None = None,
) -> CensusReport:
    """Sum a census up."""
    variant = census.variant
    records: list[SealedPly] = list(plies)
    if counted is not None and counted.record.whole:
        records.append(counted.record)
    shown, material = _plies(records, len(census.records)), _material(variant, records)
    complete = ended(variant, records)
    outside, outside_classes = (
        sum(record.counters[name] for record in records) for name in ("outside", "outside_classes")
    )
    last = shown[-1]
    if sum(pair.reached for pair in material) + outside != last.total:
        raise ArithmeticError(f"{variant.name}: the material pairs do not add up to {last.total} positions")
    bound = sum(pair.bound for pair in material)
    children = sum(record.children for record in records)
    seconds = sum(record.cpu for record in records)
    more = not complete and len(records) >= len(census.records)
    return CensusReport(
        variant=variant.name,
        position=variant.start_position,
        symmetries=[symmetry.name for symmetry in engine_for(variant).group],
        plies=shown,
        **{name: getattr(last, name) for name in _TOTALS},
        complete=complete,
        move_limit=variant.rules.move_limit,
        stopped_by_limit=complete and records[-1].counters["new_classes"] > 0,
        material=material,
        bound=bound,
        tightened=sum(pair.tightened for pair in material),
        ratio=last.total / bound,
        outside=outside,
        outside_classes=outside_classes,
        full=check,
        graph=graph,
        next_ply=_next_ply(census, records[-1]) if more else None,
        store=store,
        stored_bytes=census.store.taken_bytes(),
        children=children,
        cpu_seconds=round(seconds, 3),
        children_per_cpu_second=round(children / seconds, 1) if seconds else None,
        passes=max(census.passes, 0 if counted is None else counted.passes),
        counted=None if counted is None else counted_report(counted, plies[counted.record.ply - 1]),
    )


# -- a ply that was counted --------------------------------------------------------------


def counted_report(counted: Counted, before: PlyRecord) -> CountedPly:
    """Return what was counted of the ply after another."""
    record = counted.record
    names = ("new", "new_classes", "decided", "decided_classes")
    return CountedPly(
        ply=record.ply,
        whole=record.whole,
        passes=record.passes,
        children=record.children,
        **{name: record.counters[name] for name in names},
        cpu_seconds=round(record.cpu, 3),
        digest=record.digest,
        hundredths=list(record.hundredths),
        estimates=[]
        if record.whole or len(record.hundredths) < 2
        else [_estimate(record, name, before.next_children) for name in names],
        counted_again=[each.number for each in counted.again],
        agrees=counted.agrees,
    )


def _estimate(record: CountRecord, name: str, children: int) -> Estimate:
    """Return the ratio estimate of a number of the whole ply."""
    from scipy.stats import t as student

    each = [(getattr(one, name), one.children) for one in record.hundredths]
    count = len(each)
    ratio = Fraction(sum(found for found, _ in each), max(1, sum(made for _, made in each)))
    spread = sum((found - ratio * made) ** 2 for found, made in each) / (count - 1)
    error = HUNDREDTHS * math.sqrt(float(spread) * (1 - count / HUNDREDTHS) / count)
    half = float(student.ppf(0.975, count - 1)) * error
    value = float(ratio * children)
    return Estimate(name=name, value=round(value), low=max(0, math.floor(value - half)), high=math.ceil(value + half))
