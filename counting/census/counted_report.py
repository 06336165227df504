"""What `tablut census` says of a ply that was counted and not stored, and what a part of it says of the whole."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from counting.census.count_record import HUNDREDTHS, Hundredth
from tablut.results import Result

if TYPE_CHECKING:
    from counting.census.count_record import CountRecord
    from counting.census.counted import Counted
    from counting.census.records import PlyRecord


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
