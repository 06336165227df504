"""`tablut census` as a value: the plies, their sums, and how they compare with the counted bounds."""

from __future__ import annotations

import shutil
import signal
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from counting.census.graph import GraphNumbers, graph_numbers, state_graph, write_graph
from counting.census.search import CensusLimits, Observer, Search, Silent, TooLargeError, ended, size_text
from counting.census.store import CensusStore
from counting.census.tasks import toolbox
from counting.spaces import spaces
from tablut.engine import engine_for
from tablut.errors import InputError, MachineError, TablutError
from tablut.results import ExactInt, Result
from tablut.scheduling import open_scheduler
from tablut.variants import as_variant

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from counting.census.records import PlyRecord
    from tablut.variants import Variant, VariantLike

__all__ = ["CensusReport", "FullCheck", "MaterialPair", "NextPly", "Ply", "census"]

DEFAULT_MEMORY: Final = 4 << 30


class Ply(Result):
    """What is first reached at one ply.

    Attributes
    ----------
    new, new_classes : int
        Undecided positions, and their classes.
    decided, decided_classes : int
        Decided positions: (placement, side to move, winner).
    white_wins, black_wins : int
        The decided positions by winner.
    moves : int
        Legal moves of all new undecided positions.
    branching : float or None
        ``moves / new``, rounded; None where nothing is new.
    immobile, immobile_classes : int
        Undecided positions whose side to move has no legal move.
    captures, captured : int
        Of the moves that led here from the ply before: how many captured soldiers, and how many soldiers.
    children : int
        Children of the classes of the ply before, from which this ply was sifted.
    total, total_classes, decided_total, decided_total_classes : int
        The sums up to here.
    cpu_seconds : float
        Processor time of the tasks that made the ply.
    digest : str or None
        SHA-256 of the ply and of all before it: of game, counts and positions, whatever made them. None in results
        that were stored before there were digests.
    """

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


class MaterialPair(Result):
    """Reached undecided positions with so many soldiers, beside the counted space.

    Attributes
    ----------
    reached, classes : int
        Positions and classes reached so far.
    bound : int
        Undecided placements of this material in the counted space, once for each side to move.
    tightened : int
        The same without the placements that are proved out of reach.
    ratio : float or None
        ``reached / bound``; None where the bound is zero.
    """

    attackers: int
    defenders: int
    reached: int
    classes: int
    bound: ExactInt
    tightened: ExactInt
    ratio: float | None


class FullCheck(Result):
    """The same census without symmetry.

    Attributes
    ----------
    plies : list of dict
        ``ply``, ``new``, ``decided``, ``moves``.
    agrees : bool
        Whether every one of these numbers is that of the census by classes.
    """

    plies: list[dict[str, int]]
    agrees: bool


class NextPly(Result):
    """What one more ply would take.

    Attributes
    ----------
    children : int
        Children to canonicalise; exact.
    children_bytes : int
        What they take on the disk while the ply is made.
    positions_bytes : int
        An estimate of what the new positions take for good.
    """

    ply: int
    children: int
    children_bytes: int
    positions_bytes: int


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

    @property
    def holds(self) -> bool:
        """Whether every check that was made came out right."""
        return self.outside == 0 and (self.full is None or self.full.agrees)


def census(
    variant: VariantLike,
    *,
    plies: int | None = None,
    full: bool = False,
    store: Path | str | None = None,
    resume: bool = False,
    memory: int = DEFAULT_MEMORY,
    threads: int = 1,
    scheduler: str | None = None,
    observer: Observer | None = None,
    graph: Path | str | None = None,
    partial: Callable[[CensusReport], None] | None = None,
) -> CensusReport:
    """Count the positions that are reachable from the start, ply by ply.

    Parameters
    ----------
    variant : Variant, str or path-like
        Any rule set.
    plies : int, optional
        How many plies; all by default, which small boards alone allow.
    full : bool
        Count once more without symmetry and compare.
    store : Path or str, optional
        Folder for the positions, kept; without it a temporary folder of at most
        ``memory`` bytes.
    resume : bool
        Go on with what the folder has.
    memory : int
        Most bytes of memory of this process; of each worker where there is a cluster.
    threads : int
        Tasks at once.
    scheduler : str, optional
        Address of a running Dask cluster whose workers see ``store`` under the same
        name; then ``threads`` is not used.
    observer : Observer, optional
        Is told of the progress.
    graph : Path or str, optional
        Parquet file for the edges of the state graph of a complete census.
    partial : callable, optional
        Is handed the plies that are done, if the census ends early by an error or an interrupt.

    Returns
    -------
    CensusReport
        Exact.

    Raises
    ------
    InputError
        If a limit does not suffice, or the store does not fit or is damaged; it names the way out.
    MachineError
        If the machine fails: no space, no memory. What is done is kept.

    Examples
    --------
    >>> from tablut.variants import load_variant
    >>> report = census(load_variant("ashton"), plies=3)
    >>> [ply.new for ply in report.plies], [ply.new_classes for ply in report.plies]
    ([1, 56, 4408, 128008], [1, 7, 551, 16002])
    """
    variant = as_variant(variant)
    if resume and store is None:
        raise InputError("--resume: needs the folder of the census, --store DIR")
    watcher = Silent() if observer is None else observer
    with _enough_memory(), _folder(store) as folder, open_scheduler(threads, scheduler) as workers:
        tools = toolbox(variant, False)
        limits = CensusLimits.from_memory(
            memory, workers.sharing, tools.tables.words, None if store is not None else memory
        )
        if plies is None:
            _refuse_hopeless(variant, folder, limits)

        @contextmanager
        def opened(name: str, full_search: bool) -> Iterator[Search]:
            part = folder / name
            if part.is_symlink():
                raise InputError(f"--store {str(part)!r}: is a link; name the folder itself with --store")
            place = CensusStore(part, variant, full=full_search, resume=resume)
            try:
                yield Search(variant, full=full_search, store=place, scheduler=workers, limits=limits, observer=watcher)
            finally:
                place.close()

        shown = None if store is None else str(store)
        with opened("classes", False) as search:
            try:
                records, check, numbers = search.run(plies), None, None
                if full:
                    watcher.say("once more without symmetry")
                    with opened("full", True) as other:
                        check = _compare(records, other.run(plies))
                if graph is not None:
                    watcher.say("the state graph")
                    edges = state_graph(variant, search)
                    write_graph(edges, variant, Path(graph))
                    numbers = graph_numbers(edges, Path(graph))
            except (TablutError, KeyboardInterrupt, MemoryError):
                if partial is not None:
                    partial(_report(variant, search, search.records, None, None, shown))
                raise
            return _report(variant, search, records, check, numbers, shown)


_TRIES = 20


@contextmanager
def _enough_memory() -> Iterator[None]:
    """Turn a lack of memory into one line."""
    try:
        yield
    except MemoryError as error:
        raise MachineError(
            "census: the system has no more memory; what is done is kept: go on with less --memory or --threads"
        ) from error


def _refuse_hopeless(variant: Variant, folder: Path, limits: CensusLimits) -> None:
    """Refuse a complete census that cannot fit, before anything is computed.

    Complete censuses have reached 69 to 98 % of the counted space; a tenth of it is taken as the least.
    """
    tools = toolbox(variant, False)
    existing = next(path for path in (folder, *folder.resolve().parents) if path.exists())
    room = shutil.disk_usage(existing).free if limits.disk_bytes is None else limits.disk_bytes
    classes = 2 * spaces(variant)["no_end"].value() // tools.order
    least = classes // 10 * tools.row_bytes
    if least > room:
        way = "with --store DIR, " if limits.disk_bytes is not None else ""
        raise TooLargeError(
            f"--all: {variant.name} has up to {classes:,} classes of positions, so a complete census takes "
            f"{size_text(least)} at least, and {size_text(room)} are there; count ply by ply instead: {way}--plies N "
            "goes as far as there is room, and says what the next ply takes"
        )


@contextmanager
def _folder(store: Path | str | None) -> Iterator[Path]:
    """Return the folder of a census, or one that goes with the context, whatever ends it but SIGKILL."""
    if store is not None:
        yield Path(store)
        return
    folder = Path(tempfile.mkdtemp(prefix="tablut-census-"))
    try:
        with _ending_orderly():
            yield folder
    finally:
        # An abandoned task may still write: under the old name it finds no folder any more.
        doomed = folder.with_name(folder.name + "-removed")
        folder.rename(doomed)
        for _ in range(_TRIES):
            shutil.rmtree(doomed, ignore_errors=True)
            if not doomed.exists():
                break
            # It holds a file open that it has yet to name.
            time.sleep(0.05)


@contextmanager
def _ending_orderly() -> Iterator[None]:
    """Let the signals that end a process raise `SystemExit`, so that what is temporary is removed."""

    def leave(number: int, _: object) -> None:
        raise SystemExit(128 + number)

    kinds = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    # Somebody else's handler, or none outside the main thread, stays as it is.
    kinds = [kind for kind in kinds if signal.getsignal(kind) is signal.SIG_DFL]
    if threading.current_thread() is not threading.main_thread():
        kinds = []
    for kind in kinds:
        signal.signal(kind, leave)
    try:
        yield
    finally:
        for kind in kinds:
            signal.signal(kind, signal.SIG_DFL)


def _compare(records: list[PlyRecord], full: list[PlyRecord]) -> FullCheck:
    def numbers(record: PlyRecord) -> dict[str, int]:
        return {"ply": record.ply, **{name: record.counters[name] for name in ("new", "decided", "moves")}}

    plies = [numbers(record) for record in full]
    return FullCheck(plies=plies, agrees=plies == [numbers(record) for record in records])


def _plies(records: list[PlyRecord]) -> list[Ply]:
    sums = dict.fromkeys(("new", "new_classes", "decided", "decided_classes"), 0)
    found = []
    for record in records:
        counters = record.counters
        if record.ply and not counters["new"] and not counters["decided"]:
            continue  # the ply that shows the census to be complete
        for name in sums:
            sums[name] += counters[name]
        found.append(
            Ply(
                ply=record.ply,
                **{name: counters[name] for name in sums},
                white_wins=counters["decided"] - counters["black_wins"],
                black_wins=counters["black_wins"],
                moves=counters["moves"],
                branching=round(counters["moves"] / counters["new"], 6) if counters["new"] else None,
                immobile=counters["immobile"],
                immobile_classes=counters["immobile_classes"],
                captures=record.expanded[2],
                captured=record.expanded[3],
                children=record.children,
                total=sums["new"],
                total_classes=sums["new_classes"],
                decided_total=sums["decided"],
                decided_total_classes=sums["decided_classes"],
                cpu_seconds=round(record.cpu, 3),
                digest=record.digest,
            )
        )
    return found


def _material(variant: Variant, records: list[PlyRecord]) -> list[MaterialPair]:
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


def _report(
    variant: Variant,
    search: Search,
    records: list[PlyRecord],
    check: FullCheck | None,
    graph: GraphNumbers | None,
    store: str | None,
) -> CensusReport:
    plies, material = _plies(records), _material(variant, records)
    complete = ended(variant, records)
    limit = variant.rules.move_limit
    outside, outside_classes = (
        sum(record.counters[name] for record in records) for name in ("outside", "outside_classes")
    )
    last = plies[-1]
    if sum(pair.reached for pair in material) + outside != last.total:
        raise ArithmeticError(f"{variant.name}: the material pairs do not add up to {last.total} positions")
    bound = sum(pair.bound for pair in material)
    children = sum(record.children for record in records)
    seconds = sum(record.cpu for record in records)
    next_ply = None
    if not complete and len(records) == len(search.records):
        wanted = search.space_needed()
        next_ply = NextPly(
            ply=len(records),
            children=records[-1].next_children,
            children_bytes=wanted[0],
            positions_bytes=wanted[1],
        )
    return CensusReport(
        variant=variant.name,
        position=variant.start_position,
        symmetries=[symmetry.name for symmetry in engine_for(variant).group],
        plies=plies,
        total=last.total,
        total_classes=last.total_classes,
        decided_total=last.decided_total,
        decided_total_classes=last.decided_total_classes,
        complete=complete,
        move_limit=limit,
        stopped_by_limit=complete and records[-1].counters["new_classes"] > 0,
        material=material,
        bound=bound,
        tightened=sum(pair.tightened for pair in material),
        ratio=last.total / bound,
        outside=outside,
        outside_classes=outside_classes,
        full=check,
        graph=graph,
        next_ply=next_ply,
        store=store,
        stored_bytes=search.stored_bytes(),
        children=children,
        cpu_seconds=round(seconds, 3),
        children_per_cpu_second=round(children / seconds, 1) if seconds else None,
    )
