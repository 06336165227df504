"""`census`: the front door of the census, and what surrounds a count: folder, limits, signals.

Non-guarantee: SIGKILL leaves a temporary folder behind.
"""

from __future__ import annotations

import shutil
import signal
import tempfile
import threading
import time
from contextlib import closing, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from counting.census.counted import count_ply
from counting.census.graph import graph_numbers, state_graph, write_graph
from counting.census.report import CensusReport, census_report, compare_full
from counting.census.search import CensusLimits, Search, TooLargeError, size_text
from counting.census.store import CensusStore, ended
from counting.census.toolbox import toolbox
from counting.spaces import spaces
from tablut.errors import InputError, MachineError, TablutError
from tablut.running.progress import Observer
from tablut.running.scheduling import open_scheduler
from tablut.store.files import store_path
from tablut.variants import as_variant

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from counting.census.counted import CountWish
    from tablut.variants import Variant, VariantLike

__all__ = ["census"]

_DEFAULT_MEMORY: Final = 4 << 30
_TRIES: Final = 20


def census(
    variant: VariantLike,
    *,
    plies: int | None = None,
    full: bool = False,
    store: Path | str | None = None,
    resume: bool = False,
    memory: int = _DEFAULT_MEMORY,
    disk: int | None = None,
    passes: int = 1,
    count: CountWish | None = None,
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
        How many plies; all by default, which only small boards allow.
    full : bool
        Count once more without symmetry and compare.
    store : Path or str, optional
        Folder for the positions, kept; without it a temporary folder of at most ``memory`` bytes.
    resume : bool
        Go on with what the folder has.
    memory : int
        Most bytes of memory of this process; of each worker where there is a cluster.
    disk : int, optional
        Most bytes that the folder may take; a ply whose children do not fit is made in passes. What the disk has by
        default, without ``store`` ``memory``.
    passes : int
        Make the last of the plies in so many passes at least.
    count : CountWish, optional
        Count the last of the plies, in part perhaps, without storing its positions.
    threads : int
        Tasks at once.
    scheduler : str, optional
        Address of a running Dask cluster whose workers see ``store`` under the same
        name; then ``threads`` is not used.
    observer : Observer, optional
        Told of the progress.
    graph : Path or str, optional
        Parquet file for the edges of the state graph of a complete census.
    partial : callable, optional
        Called with the plies that are done, if an error or an interrupt ends the census early.

    Returns
    -------
    CensusReport
        Exact.

    Raises
    ------
    InputError
        If a limit does not suffice, or the store is another one or damaged; the message says what to do.
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
    if count is not None and (not plies or full or graph is not None):
        raise InputError("--count-last: needs --plies N from 1 on, and neither --full nor --graph")
    if passes > 1 and plies is None:
        raise InputError("--passes: are those of the last ply; name it with --plies N")
    if resume and store is None:
        raise InputError("--resume: needs the folder of the census, --store DIR")
    told = Observer() if observer is None else observer
    with (
        _enough_memory(),
        _temporary_folder() if store is None else nullcontext(store_path(store)) as folder,
        open_scheduler(threads, scheduler) as workers,
    ):
        words = toolbox(variant, False).tables.words
        most = memory if store is None and disk is None else disk
        limits = CensusLimits.from_memory(memory, workers.sharing, words, most)
        limits = replace(limits, in_passes=disk is not None)
        if plies is None:
            _refuse_hopeless(variant, folder, limits)

        @contextmanager
        def searching(name: str, *, full: bool) -> Iterator[Search]:
            part = folder / name
            if part.is_symlink():
                raise InputError(f"--store {str(part)!r}: is a link; name the folder itself with --store")
            with closing(CensusStore(part, variant, full=full, resume=resume)) as place:
                yield Search(variant, full=full, store=place, scheduler=workers, limits=limits, observer=told)

        shown = None if store is None else str(store)
        with searching("classes", full=False) as search:
            try:
                stored = plies if count is None or plies is None else plies - 1
                records = search.run(stored, passes if count is None else 1)
                check = numbers = counted = None
                if full:
                    told.say("once more without symmetry")
                    with searching("full", full=True) as other:
                        check = compare_full(records, other.run(plies))
                if graph is not None:
                    told.say("the state graph")
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
    """Turn a lack of memory into one line."""
    try:
        yield
    except MemoryError as error:
        raise MachineError(
            "census: the system has no more memory; what is done is kept: go on with less --memory or --threads"
        ) from error


def _refuse_hopeless(variant: Variant, folder: Path, limits: CensusLimits) -> None:
    """Refuse a complete census that cannot fit, before anything is computed.

    Complete censuses have reached 69 to 98 % of the counted space; a tenth is taken as the least.
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
def _temporary_folder() -> Iterator[Path]:
    """Yield a folder that any end but SIGKILL removes."""
    folder = Path(tempfile.mkdtemp(prefix="tablut-census-"))
    try:
        with _ending_orderly():
            yield folder
    finally:
        # An abandoned task may still write: under the old name it no longer finds a folder.
        doomed = folder.with_name(folder.name + "-removed")
        folder.rename(doomed)
        for _ in range(_TRIES):
            shutil.rmtree(doomed, ignore_errors=True)
            if not doomed.exists():
                break
            # The task holds a file open that it has not named yet.
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
