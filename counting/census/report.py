"""The function `census`, which counts the reachable positions, and the report that it returns."""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Final

from counting.census.census_store import (
    HUNDREDTHS,
    WHOLE,
    CensusStore,
    CountRecord,
    Hundredth,
    PlyRecord,
    SealedPly,
    ended,
)
from counting.census.counted import Counted, CountRequest, count_ply
from counting.census.graph import GraphNumbers, graph_numbers, state_graph, write_graph
from counting.census.search import CensusLimits, CensusSearch, Resources, TooLargeError
from counting.census.toolbox import toolbox
from counting.spaces import spaces
from tablut.engine import engine_for
from tablut.errors import SOME, THREADS, InputError, MachineError, TablutError, numbers, numbers_of, whole_number
from tablut.results import ExactInt, Result
from tablut.variants import Variant, VariantLike, as_variant
from tablut.work.files import ARCHIVE, check_output
from tablut.work.ledger import refuse_foreign, working_folder
from tablut.work.progress import Observer, size_text
from tablut.work.run import open_scheduler


@numbers(plies=whole_number)
def census(
    variant: VariantLike,
    *,
    plies: int | None = None,
    full: bool = False,
    store: Path | str | None = None,
    count: CountRequest | None = None,
    graph: Path | str | None = None,
    resources: Resources = Resources(),  # noqa: B008
    observer: Observer | None = None,
    partial: Callable[[CensusReport], None] | None = None,
) -> CensusReport:
    """Count the positions that are reachable from the start, ply by ply.

    Parameters
    ----------
    variant : Variant, str or path-like
        The rule set.
    plies : int, optional
        Number of plies to count. The default is all plies, which is feasible only on small boards.
    full : bool
        Repeat the census without symmetry and compare the numbers.
    store : Path or str, optional
        Folder for the positions. The default is a temporary folder of at most ``resources.memory`` bytes.
    count : CountRequest, optional
        Count the last ply, or a part of it, without storing its positions.
    graph : Path or str, optional
        NumPy archive to which a complete census writes its state graph.
    resources : Resources, optional
        Memory, disk, passes and workers for the census. The results do not depend on these resources.
    observer : Observer, optional
        Receives progress reports.
    partial : callable, optional
        Function that is called with a report of the finished plies if an error or an interrupt ends the census early.

    Returns
    -------
    CensusReport
        The numbers of positions, ply by ply. All numbers are exact.

    Raises
    ------
    InputError
        If a limit is too low, or if the store is damaged or belongs to another census. The message contains a remedy.
    MachineError
        If the machine runs out of disk space or memory. Finished work is kept.

    Examples
    --------
    >>> from tablut.variants import load_variant
    >>> report = census(load_variant("ashton"), plies=3)
    >>> [ply.new for ply in report.plies], [ply.new_classes for ply in report.plies]
    ([1, 56, 4408, 128008], [1, 7, 551, 16002])
    """
    variant = as_variant(variant)
    resources = replace(resources, passes=whole_number("passes", resources.passes, 1, 4096))
    resources = numbers_of(resources, memory=SOME, disk=SOME, threads=THREADS)
    if count is not None and (not plies or full or graph is not None):
        remedy = "give `plies`, 1 or more, and neither `full` nor `graph`"
        raise InputError("counts only the last ply, and only up to symmetry", parameter="count", remedy=remedy)
    if resources.passes > 1 and plies is None:
        raise InputError("applies to the last ply only", parameter="passes", remedy="give `plies` instead of all")
    check_output(graph, ARCHIVE, "choose another file with `graph`")
    told = Observer() if observer is None else observer
    with (
        _enough_memory(),
        working_folder(store, "census") as folder,
        open_scheduler(resources.threads, resources.scheduler) as workers,
    ):
        refuse_foreign(folder, WHOLE)
        words = toolbox(variant, False).tables.words
        most = resources.memory if store is None and resources.disk is None else resources.disk
        limits = CensusLimits.from_memory(resources.memory, workers.sharing, words, most)
        limits = replace(limits, in_passes=resources.disk is not None)
        if plies is None:
            _refuse_hopeless(variant, folder, limits)

        @contextmanager
        def searching(name: str, *, full: bool) -> Iterator[CensusSearch]:
            part = folder / name
            if part.is_symlink():
                raise InputError("is a link", subject=f"store {str(part)!r}", remedy="give the folder itself")
            with closing(CensusStore(part, variant, full=full)) as place:
                yield CensusSearch(variant, full=full, store=place, scheduler=workers, limits=limits, observer=told)

        shown = None if store is None else str(store)
        with searching("classes", full=False) as search:
            try:
                stored = plies if count is None or plies is None else plies - 1
                records = search.run(stored, resources.passes if count is None else 1)
                check = numbers = counted = None
                if full:
                    told.say("counting again without symmetry")
                    with searching("full", full=True) as other:
                        check = compare_full(records, other.run(plies))
                if graph is not None:
                    told.say("building the state graph")
                    edges = state_graph(variant, search)
                    write_graph(edges, variant, Path(graph))
                    numbers = graph_numbers(edges, Path(graph))
                if count is not None and plies is not None and not ended(variant, records):
                    counted = count_ply(search, plies, count)
            except (TablutError, KeyboardInterrupt, MemoryError):
                if partial is not None:
                    partial(census_report(search, search.records, shown))
                raise
            return census_report(search, records, shown, check=check, graph=numbers, counted=counted)


@contextmanager
def _enough_memory() -> Iterator[None]:
    """Turn a `MemoryError` into a `MachineError`, which is reported as a one-line message."""
    try:
        yield
    except MemoryError as error:
        remedy = "continue with less `memory` or fewer `threads`"
        raise MachineError("the system ran out of memory", subject="census", remedy=remedy) from error


def _refuse_hopeless(variant: Variant, folder: Path, limits: CensusLimits) -> None:
    """Refuse a complete census that cannot fit on the disk, before any position is computed.

    The complete censuses so far have reached 69 to 98 % of the counted space, so a tenth of this space is a safe
    minimum.
    """
    tools = toolbox(variant, False)
    existing = next(path for path in (folder, *folder.resolve().parents) if path.exists())
    room = shutil.disk_usage(existing).free if limits.disk_bytes is None else limits.disk_bytes
    classes = 2 * spaces(variant)["no_end"].value() // tools.order
    least = classes // 10 * tools.row_bytes
    if least > room:
        way = "`plies` and `store`" if limits.disk_bytes is not None else "`plies`"
        raise TooLargeError(
            f"has up to {classes:,} classes of positions, so a complete census takes "
            f"at least {size_text(least)} of space, but only {size_text(room)} are available",
            subject=f"variant {variant.name}",
            remedy=f"count ply by ply with {way}, which also shows how much space the next ply needs",
        )


# -- the results of `tablut census`: the plies, their totals, and a comparison with the bounds


class Ply(Result):
    """The numbers of positions that are first reached at a given ply."""

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
    """The number of reached undecided positions with a given material, compared with the bounds."""

    attackers: int
    defenders: int
    reached: int
    classes: int
    bound: ExactInt
    tightened: ExactInt
    ratio: float | None


class FullCheck(Result):
    """The numbers from the same census repeated without symmetry, and whether the two censuses agree."""

    plies: list[dict[str, int]]
    agrees: bool


class NextPly(Result):
    """The disk space that the next ply would take."""

    ply: int
    children: int
    children_bytes: int
    positions_bytes: int


class Estimate(Result):
    """An estimate of one number for a whole ply, with a 95 % confidence interval.

    The estimate is based on the parts (hundredths) of the ply that were counted.
    """

    name: str
    value: int
    low: int
    high: int


class CountedPly(Result):
    """A ply, or a part of a ply, that was counted but not stored."""

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
    """The results of `tablut census`.

    Attributes
    ----------
    symmetries : list of str
        The stabiliser of the start. Classes are orbits of this group.
    total, total_classes, decided_total, decided_total_classes : int
        Sums over all plies.
    complete : bool
        Whether all positions were counted. In this case, the last ply has no new undecided position or reaches the move
        limit.
    move_limit : int or None
        The number of plies after which a game ends by rule.
    stopped_by_limit : bool
        Whether the census ended at the move limit. Further positions may then exist, but no game reaches them.
    material : list of MaterialPair
        One entry for each pair (attackers, defenders) that was reached or lies within the bound.
    bound, tightened, ratio
        The sums of ``bound`` and ``tightened`` over these pairs, and the reached share of ``bound``.
    outside, outside_classes : int
        Undecided positions outside the counted space. Any number other than zero refutes the bound.
    stored_bytes : int
        Disk space used by the positions of all plies, in bytes.
    children, cpu_seconds, children_per_cpu_second
        The number of children, the processor time and the rate. Earlier runs of a resumed census are included.
    passes : int
        The largest number of passes that any ply needed in this run.
    counted : CountedPly or None
        The last ply, if it was counted but not stored.
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
        """Whether all checks of the census succeeded."""
        again = self.counted is None or self.counted.agrees
        return self.outside == 0 and (self.full is None or self.full.agrees) and again


def compare_full(records: list[PlyRecord], full: list[PlyRecord]) -> FullCheck:
    """Compare the numbers in a census of classes with those in a census without symmetry."""
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
"""A mapping from the name of each total over plies to the counter that it sums."""


def _plies(records: Sequence[SealedPly], stored: int) -> list[Ply]:
    totals = dict.fromkeys(_TOTALS, 0)
    found = []
    for record in records:
        counters = record.counters
        if record.ply and not counters["new"] and not counters["decided"]:
            continue  # an empty ply only shows that the census is complete
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


def _next_ply(census: CensusSearch, last: SealedPly) -> NextPly:
    children, positions = census.space_needed(last)
    return NextPly(ply=last.ply + 1, children=last.next_children, children_bytes=children, positions_bytes=positions)


def census_report(
    census: CensusSearch,
    plies: Sequence[PlyRecord],
    store: str | None,
    *,
    check: FullCheck | None = None,
    graph: GraphNumbers | None = None,
    counted: Counted | None = None,
) -> CensusReport:
    """Return the report on a census."""
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


# -- a ply that was counted but not stored -----------------------------------------------


def counted_report(counted: Counted, before: PlyRecord) -> CountedPly:
    """Return the report on a counted ply. ``before`` is the previous ply's record."""
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
    """Return a ratio estimate of one number for a whole ply, given the ply's exact number of children."""
    from scipy.stats import t as student

    each = [(getattr(one, name), one.children) for one in record.hundredths]
    count = len(each)
    ratio = Fraction(sum(found for found, _ in each), max(1, sum(made for _, made in each)))
    spread = sum((found - ratio * made) ** 2 for found, made in each) / (count - 1)
    error = HUNDREDTHS * math.sqrt(float(spread) * (1 - count / HUNDREDTHS) / count)
    half = float(student.ppf(0.975, count - 1)) * error
    value = float(ratio * children)
    return Estimate(name=name, value=round(value), low=max(0, math.floor(value - half)), high=math.ceil(value + half))
