"""The reachable share of the counted positions, estimated in two stages with exact intervals.

Every sample is decided: a lemma excludes it, a proof game reaches it, or its whole backward tree is
known. The lemmas cost a microsecond and may be tried on many more samples than games are
looked for; the share is then a product, and its interval holds for both factors at once.

Samples are divided into chunks. The result of a chunk depends only on the seed and on the chunk's place, so a
stopped run goes on where it was, and the number of threads changes nothing.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from counting.reachable.certificates import PositionCertificate, Space, write_file
from counting.reachable.checker import Checker
from counting.reachable.chunks import Chunk, ChunkPlan
from counting.reachable.endings import settle_endings
from counting.reachable.report import ReachableEstimate, estimate_report
from counting.reachable.stages import count_lemmas, settle_samples
from tablut.errors import InputError, TablutError, output_failure
from tablut.running.clocks import thread_clock
from tablut.running.scheduling import open_scheduler
from tablut.store.files import lock_folder
from tablut.variants import as_variant

if TYPE_CHECKING:
    from collections.abc import Callable

    from tablut.running.scheduling import Scheduler
    from tablut.variants import VariantLike

_QUICK_TREE: Final = 200
"""Positions of the largest backward tree that is derived again at once; `tablut reachable check` derives all."""


class Progress(Protocol):
    """Hears how far a run is."""

    def advance(self, stage: str, count: int) -> None:
        """Hear that more samples went through a stage."""


class _Task(NamedTuple):
    """A chunk to decide, wherever that is: all that a worker needs."""

    plan: ChunkPlan
    chunk: Chunk
    wanted: bool
    """Whether its certificates are sent back."""


def _decide(task: _Task) -> dict[str, Any]:
    """Decide a chunk, keep it if there is a store, and return its result."""
    plan, chunk = task.plan, task.chunk
    variant, seed, first, count = plan.variant, plan.seed, chunk.first, chunk.count
    began, certificates = thread_clock(), None
    if chunk.stage == "lemmas":
        counts = count_lemmas(variant, seed, first, count)
        result: dict[str, Any] = {"lemmas": counts.counts, "outside": counts.outside, "checksum": counts.checksum}
    else:
        settle = settle_samples if plan.space == "undecided" else settle_endings
        found = settle(variant, seed, first, count)._asdict()
        certificates = found.pop("certificates")
        result = found
    result["cpu"] = thread_clock() - began
    plan.keep(chunk.name, result, certificates)
    sent = certificates if task.wanted else None
    return {"chunk": chunk, "result": result, "certificates": sent}


def estimate(
    variant: VariantLike,
    samples: int,
    seed: int,
    *,
    space: Space = "undecided",
    lemma_samples: int | None = None,
    threads: int = 1,
    scheduler: str | None = None,
    store: str | None = None,
    resume: bool = False,
    certificates: str | None = None,
    checks: int = 0,
    progress: Progress | None = None,
    partial: Callable[[ReachableEstimate], None] | None = None,
) -> ReachableEstimate:
    """Estimate the reachable share of the counted positions, or of the final placements.

    Parameters
    ----------
    variant : Variant, str or Path
        The rule set, or its name or file.
    samples : int
        How many samples go through both stages.
    seed : int
        Of the generator.
    space : {'undecided', 'decided'}
        What is sampled: undecided positions with the side to move, or final placements.
    lemma_samples : int, optional
        How many are tried by the lemmas, those of ``samples`` among them; as many by default.
    threads : int
        Chunks at once.
    scheduler : str, optional
        The address of a Dask cluster that decides the chunks; its workers see the folder.
    store : str, optional
        A folder in which chunks are kept as they are done.
    resume : bool
        Whether to go on with what the folder has.
    certificates : str, optional
        The file that receives the certificates; compressed if its name ends in ``.gz``.
    checks : int
        How many certificates the plain rules re-check: the first ones, without those of large backward trees.
    progress : Progress, optional
        Hears how far the run is.
    partial : callable, optional
        Receives what is certain so far when the run is interrupted or a cluster goes away.

    Returns
    -------
    ReachableEstimate
        Counts and intervals depend on rules, samples and seed alone; ``threads`` and ``store`` change nothing.

    Raises
    ------
    ArithmeticError
        If the plain rules do not confirm a certificate.
    InputError
        If the folder holds another estimate or a damaged chunk, or the numbers make no sense.
    OutputError, MachineError
        If the folder or the file cannot be written.

    Examples
    --------
    >>> found = estimate("brandubh-5-4v0", 60, 1)
    >>> found.n, found.reachable + found.unreachable, found.unknown
    (60, 60, 0)
    """
    variant = as_variant(variant)
    wanted = samples if lemma_samples is None else lemma_samples
    if space == "decided" and wanted != samples:
        raise InputError("--lemma-samples: final placements have one stage; leave it out, or --space decided")
    if wanted < samples:
        raise InputError(f"--lemma-samples {wanted}: is less than the {samples} samples that go through both stages")
    folder = None if store is None else Path(store)
    plan = ChunkPlan(variant, samples, wanted, seed, folder, space)
    with open_scheduler(threads, scheduler) as workers:
        run = _Run(plan, workers, progress, None if certificates is None else Path(certificates), checks, partial)
        if folder is None:
            return run.result()
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise output_failure(f"--store {str(folder)!r}: {error.strerror}", error) from error
        with lock_folder(folder, "store"):
            plan.open(resume)
            return run.result()


class _Run:
    """Decides the chunks of a plan that have no stored result, gathers certificates that are wanted, adds up."""

    def __init__(
        self,
        plan: ChunkPlan,
        workers: Scheduler,
        progress: Progress | None,
        target: Path | None,
        checks: int,
        partial: Callable[[ReachableEstimate], None] | None,
    ) -> None:
        self.plan, self.workers, self.progress = plan, workers, progress
        self.target, self.checks, self.partial = target, checks, partial
        self.certificates: dict[str, list[PositionCertificate]] = {}
        # What workers are sent knows no results.
        self.bare = ChunkPlan(plan.variant, plan.samples, plan.lemma_samples, plan.seed, plan.store, plan.space)

    def result(self) -> ReachableEstimate:
        """Decide every chunk, write the certificates if they are wanted, check the first, add up."""
        plan = self.plan
        try:
            for chunks in (plan.games(), plan.lemmas()):
                left = [chunk for chunk in chunks if not self._is_stored(chunk)]
                tasks = [_Task(self.bare, chunk, self._is_wanted(chunk)) for chunk in left]
                self.workers.run(_decide, tasks, self._take)
        except (TablutError, KeyboardInterrupt):
            if self.partial is not None and plan.decided(plan.games()):
                self.partial(estimate_report(plan, 0))
            raise
        every = [certificate for chunk in plan.games() for certificate in self.certificates.get(chunk.name, [])]
        if self.target is not None:
            write_file(self.target, plan.header(every), every)
        return estimate_report(plan, self._check(every))

    def _check(self, certificates: list[PositionCertificate]) -> int:
        """Check the first certificates, those of large trees left out, and return how many they are."""
        checker = Checker(self.plan.variant, self.plan.space)
        quick = [certificate for certificate in certificates if (certificate.tree or 0) <= _QUICK_TREE][: self.checks]
        for certificate in quick:
            if (problem := checker.certificate(certificate)) is not None:
                raise ArithmeticError(
                    f"sample {certificate.i} of seed {self.plan.seed}: {problem}: {certificate.line()}"
                )
        return len(quick)

    def _is_wanted(self, chunk: Chunk) -> bool:
        return chunk.stage == "samples" and (self.target is not None or chunk.first < self.checks)

    def _is_stored(self, chunk: Chunk) -> bool:
        """Take the stored result of a chunk, if there is one."""
        saved = self.plan.saved(chunk)
        if saved is None:
            return False
        self.plan.results[chunk.name] = saved
        if self._is_wanted(chunk):
            self.certificates[chunk.name] = self.plan.certificates(chunk.name)
        self._advance(chunk)
        return True

    def _take(self, answer: dict[str, Any]) -> None:
        """Take the answer of a worker."""
        chunk = answer["chunk"]
        self.plan.results[chunk.name] = answer["result"]
        if answer["certificates"] is not None:
            self.certificates[chunk.name] = answer["certificates"]
        self._advance(chunk)

    def _advance(self, chunk: Chunk) -> None:
        if self.progress:
            self.progress.advance(chunk.stage, chunk.count)
