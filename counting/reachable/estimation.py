"""The reachable share of the counted positions, estimated in two stages with exact intervals.

Every sample is decided: a lemma excludes it, a proof game reaches it, or its whole backward tree is
known. The lemmas cost a microsecond and may be tried on many more samples than games are
looked for; the share is then a product, and its interval holds for both factors at once.

Samples are divided into chunks. The result of a chunk depends only on the seed and on the chunk's place, so a
stopped run goes on where it was, and the number of threads changes nothing.
"""

from __future__ import annotations

from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from counting.reachable.certificates import PositionCertificate, write_file
from counting.reachable.checker import Checker
from counting.reachable.chunks import Chunk, ChunkPlan
from counting.reachable.report import ReachableEstimate, estimate_report, tally
from counting.reachable.stages import count_lemmas, settle_samples
from tablut.compilation import thread_clock
from tablut.errors import InputError, output_failure
from tablut.files import lock_folder
from tablut.variants import as_variant

if TYPE_CHECKING:
    from tablut.variants import Variant, VariantLike

__all__ = ["Progress", "estimate"]

_QUICK_TREE: Final = 200
"""Positions of the largest backward tree that is derived again at once; `tablut reachable check` derives all."""


class Progress(Protocol):
    """Hears how far a run is."""

    def advance(self, stage: str, count: int) -> None:
        """Hear that more samples went through a stage.

        Parameters
        ----------
        stage : str
            ``samples`` for both stages, ``lemmas`` for those that the lemmas alone see.
        count : int
            How many.
        """


def _settle(
    variant: Variant, seed: int, first: int, count: int
) -> tuple[dict[str, Any], list[PositionCertificate] | None]:
    began = thread_clock()
    chunk = settle_samples(variant, seed, first, count)
    result = {name: getattr(chunk, name) for name in ("lemmas", "found", "exhausted", "unknown", "plies", "digest")}
    return {**result, "cpu": thread_clock() - began}, chunk.certificates


def _count(
    variant: Variant, seed: int, first: int, count: int
) -> tuple[dict[str, Any], list[PositionCertificate] | None]:
    began = thread_clock()
    counts = count_lemmas(variant, seed, first, count)
    return {"lemmas": counts.counts, "checksum": counts.checksum, "cpu": thread_clock() - began}, None


def estimate(
    variant: VariantLike,
    samples: int,
    seed: int,
    *,
    lemma_samples: int | None = None,
    threads: int = 1,
    store: str | None = None,
    resume: bool = False,
    certificates: str | None = None,
    checks: int = 0,
    progress: Progress | None = None,
) -> ReachableEstimate:
    """Estimate the reachable share of the counted positions.

    Parameters
    ----------
    variant : Variant, str or Path
        The rule set, or its name or file.
    samples : int
        How many samples go through both stages.
    seed : int
        Of the generator.
    lemma_samples : int, optional
        How many are tried by the lemmas, those of ``samples`` among them; as many by default.
    threads : int
        Chunks at once.
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
    if wanted < samples:
        raise InputError(f"--lemma-samples {wanted}: is less than the {samples} samples that go through both stages")
    folder = None if store is None else Path(store)
    plan = ChunkPlan(variant, samples, wanted, seed, folder)
    if folder is None:
        return _run(plan, threads, progress, certificates, checks)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise output_failure(f"--store {str(folder)!r}: {error.strerror}", error) from error
    with lock_folder(folder, "store"):
        plan.open(resume)
        return _run(plan, threads, progress, certificates, checks)


def _run(
    plan: ChunkPlan, threads: int, progress: Progress | None, target: str | None, checks: int
) -> ReachableEstimate:
    """Decide every chunk, write the certificates if they are wanted, check the first, add up."""
    chunks = list(plan.games())
    work = _Work(plan, {chunk.name for chunk in chunks if target is not None or chunk.first < checks}, progress)
    work.decide(threads)
    every = [certificate for chunk in chunks for certificate in work.certificates.get(chunk.name, [])]
    if target is not None:
        write_file(Path(target), plan.header(every, tally(plan, direct=True)), every)
    checker = Checker(plan.variant)
    quick = [certificate for certificate in every if (certificate.tree or 0) <= _QUICK_TREE][:checks]
    for certificate in quick:
        if (problem := checker.certificate(certificate)) is not None:
            raise ArithmeticError(f"sample {certificate.i} of seed {plan.seed}: {problem}: {certificate.line()}")
    return estimate_report(plan, len(quick))


class _Work:
    """Decides the chunks of a plan that have no stored result, and gathers the certificates that are wanted."""

    def __init__(self, plan: ChunkPlan, wanted: set[str], progress: Progress | None) -> None:
        self.plan, self.wanted, self.progress = plan, wanted, progress
        self.certificates: dict[str, list[PositionCertificate]] = {}
        self._pending: dict[Future[Any], tuple[Chunk, str]] = {}

    def decide(self, threads: int) -> None:
        """Decide all chunks, so many at once; an error or an interrupt loses none that is done."""
        plan = self.plan
        with ThreadPoolExecutor(max_workers=threads) as pool:
            try:
                for function, stage, chunks in ((_settle, "samples", plan.games()), (_count, "lemmas", plan.lemmas())):
                    for chunk in chunks:
                        if self._is_stored(chunk, stage):
                            continue
                        if len(self._pending) >= 2 * threads:
                            self._collect()
                        future = pool.submit(function, plan.variant, plan.seed, chunk.first, chunk.count)
                        self._pending[future] = chunk, stage
                while self._pending:
                    self._collect()
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                for future, (chunk, _) in self._pending.items():
                    if future.done() and not future.cancelled() and future.exception() is None:
                        plan.keep(chunk.name, *future.result())
                raise

    def _is_stored(self, chunk: Chunk, stage: str) -> bool:
        """Take the stored result of a chunk, if there is one."""
        saved = self.plan.saved(chunk)
        if saved is None:
            return False
        self.plan.results[chunk.name] = saved
        if chunk.name in self.wanted:
            self.certificates[chunk.name] = self.plan.certificates(chunk.name)
        self._advance(chunk, stage)
        return True

    def _collect(self) -> None:
        """Wait for a chunk, and keep all that are done."""
        done, _ = wait(self._pending, return_when=FIRST_COMPLETED)
        for future in done:
            chunk, stage = self._pending.pop(future)
            result, certificates = future.result()
            self.plan.keep(chunk.name, result, certificates)
            if chunk.name in self.wanted and certificates is not None:
                self.certificates[chunk.name] = certificates
            self._advance(chunk, stage)

    def _advance(self, chunk: Chunk, stage: str) -> None:
        if self.progress:
            self.progress.advance(stage, chunk.count)
