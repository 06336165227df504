"""Estimation of the reachable share of the counted positions, in two stages with exact intervals.

Every sample is decided if possible: a lemma excludes it, a proof game reaches it, or its complete backward tree does
not contain the start. Applying the lemmas takes about a microsecond, much less than a search for a game, so they can be
applied to many more samples. The share is then a product of two factors, and its interval accounts for the uncertainty
in both. The samples are divided into chunks, whose results depend only on the seed and the sample range.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import takewhile
from pathlib import Path
from typing import Any, Final, TypeVar, get_args

from counting.reachable.certificate_checker import LEMMAS, Checker
from counting.reachable.certificates import CERTIFICATES, PositionCertificate, SampledSpace, write_file
from counting.reachable.chunks import (
    KIND,
    Chunk,
    ChunkPlan,
    ChunkStats,
    Results,
    SampleTally,
    SpaceSizes,
    certificates_in,
    numbers_within,
    open_chunk,
    share_interval,
    share_of_classes,
    write_chunk,
)
from counting.reachable.drawing import GENERATOR, drawer_for
from counting.reachable.lemmas import LAST_MOVE
from counting.reachable.proof_games import (
    EXCLUSIONS,
    EndingStats,
    GameStats,
    SettledStats,
    ending_index,
    settle_endings,
    settle_samples,
)
from counting.reachable.tallies import LemmaStats, SampleStats, count_lemmas, surviving
from counting.spaces import FINAL, classes, spaces
from tablut.engine import engine_for
from tablut.errors import SOME, THREADS, InputError, TablutError, numbers, shown_value, whole_number
from tablut.results import ExactInt, Result
from tablut.variants import Variant, VariantLike, as_variant
from tablut.variants.model import derived
from tablut.work.clocks import thread_clock
from tablut.work.files import check_output
from tablut.work.ledger import claim, working_folder
from tablut.work.parts import Owner, PartFile
from tablut.work.progress import Observer
from tablut.work.run import PartResult, PartTask, Scheduler, open_scheduler, run_parts


@derived
def space_sizes(variant: Variant, space: SampledSpace) -> SpaceSizes:
    """Return the numbers of positions and classes in a space, and the order of its symmetry group."""
    group, known = engine_for(variant).group, spaces(variant)
    if space == "undecided":
        return SpaceSizes(drawer_for(variant).size, 2 * classes(known["no_end"], group), len(group))
    return SpaceSizes(ending_index(variant).size, sum(classes(known[name], group) for name in FINAL), len(group))


# -- the report --------------------------------------------------------------------------


_LEVELS: Final = (95, 99)


class LemmaStage(Result):
    """The results of the first stage, which tries the lemmas on all samples."""

    n: int
    passed: int
    excluded: dict[str, int]
    outside: int
    checksum: str
    interval95: list[float]
    interval99: list[float]


class GameStage(Result):
    """The results of the second stage, for the samples that no lemma excludes."""

    outside: int
    tried: int
    found: int
    pockets: int
    exhausted: int
    unknown: int
    mean_plies: float
    median_plies: float
    longest_plies: int
    cpu_milliseconds: float


class Positions(Result):
    """A range for the number of reachable positions, computed from the 99 % interval."""

    low: ExactInt
    high: ExactInt


class SharedSpace(Result):
    """The reachable share of another space, estimated from the same samples."""

    counted: ExactInt
    interval95: list[float]
    interval99: list[float]
    positions: Positions


class EndingStage(Result):
    """The results for the samples with one kind of ending."""

    counted: ExactInt
    n: int
    reachable: int


class ReachableEstimate(Result):
    """The results of `tablut reachable estimate`."""

    variant: str
    digest: str
    space: str
    complete: bool
    generator: str
    seed: int
    n: int
    reachable: int
    unreachable: int
    unknown: int
    interval95: list[float]
    interval99: list[float]
    absolute99: float
    relative99: float
    positions: Positions
    counted: ExactInt
    surviving: ExactInt
    classes: SharedSpace
    placements: SharedSpace | None
    endings: dict[str, EndingStage] | None
    lemmas: LemmaStage
    games: GameStage
    certificates: str
    checked: int
    cpu_seconds: float | None = None
    """Processor time of all chunks, including those of earlier runs in the same folder. Older results lack it."""


_Stats = TypeVar("_Stats", bound=SampleStats)


def _decided(chunks: Iterable[Chunk], results: Results, kind: type[_Stats]) -> list[_Stats]:
    """Return the results of all chunks before the first undecided chunk. An interrupted run can report them."""
    found = [results[chunk.name] for chunk in takewhile(lambda chunk: chunk.name in results, chunks)]
    return [stats for stats in found if isinstance(stats, kind)]


def tally(plan: ChunkPlan, results: Results, *, placements: bool = False) -> SampleTally:
    """Return the sums of the results of all decided chunks.

    With ``placements``, a placement counts as reachable if it can be reached with either side to move.
    """
    games, lemmas = _decided(plan.games(), results, SettledStats), _decided(plan.lemmas(), results, LemmaStats)
    n, found = sum(sum(one.lemmas) for one in games), sum(one.found for one in games)
    unknown = sum(one.unknown for one in games)
    passing = [0]
    if placements:
        found += sum(one.twins[0] for one in _decided(plan.games(), results, GameStats))
        unknown += sum(one.twins[1] for one in _decided(plan.games(), results, GameStats))
        passing = [0, LAST_MOVE]
    passed = sum(one.lemmas[code] for one in games for code in passing)
    outside = sum(one.outside for one in games)
    undecided = plan.space == "undecided"
    return SampleTally(
        n=n,
        reachable=found,
        unreachable=n - found - unknown,
        unknown=unknown,
        lemma_samples=n + sum(sum(one.lemmas) for one in lemmas),
        lemma_passed=passed + sum(one.lemmas[code] for one in lemmas for code in passing),
        passed=passed,
        outside=outside,
        lemma_outside=outside + sum(one.outside for one in lemmas),
        inside=Fraction(2 * surviving(plan.variant), drawer_for(plan.variant).size) if undecided else Fraction(1),
    )


def estimate_report(plan: ChunkPlan, results: Results, checked: int) -> ReachableEstimate:
    """Return the estimate from the results of all chunks."""
    sums, sizes = tally(plan, results), space_sizes(plan.variant, plan.space)
    games, lemmas = _decided(plan.games(), results, SettledStats), _decided(plan.lemmas(), results, LemmaStats)
    shares = {level: share_interval(sums, 1 - level / 100) for level in _LEVELS}
    low, high = shares[99]
    endings = placements = None
    if plan.space == "undecided":
        both = tally(plan, results, placements=True)
        placements = _shared({level: share_interval(both, 1 - level / 100) for level in _LEVELS}, sizes.counted // 2)
    else:
        endings = {}
        for ending, size in ending_index(plan.variant).sizes.items():
            found = [one.endings[ending] for one in _decided(plan.games(), results, EndingStats)]
            n, reached = (sum(column) for column in zip(*found, strict=True))
            endings[str(ending)] = EndingStage(counted=size, n=n, reachable=reached)
    return ReachableEstimate(
        variant=plan.variant.name,
        digest=plan.variant.digest,
        space=plan.space,
        complete=(sums.n, sums.lemma_samples) == (plan.samples, plan.lemma_samples),
        generator=GENERATOR,
        seed=plan.seed,
        n=sums.n,
        reachable=sums.reachable,
        unreachable=sums.unreachable,
        unknown=sums.unknown,
        interval95=list(shares[95]),
        interval99=list(shares[99]),
        absolute99=(high - low) / 2,
        relative99=(high - low) / (high + low) if high else 0.0,
        positions=_positions(shares[99], sizes.counted),
        counted=sizes.counted,
        surviving=int(sums.inside * sizes.counted),
        classes=_shared({level: share_of_classes(ends, sizes) for level, ends in shares.items()}, sizes.classes),
        placements=placements,
        endings=endings,
        lemmas=_lemma_stage(plan.space, sums, games, lemmas),
        games=_game_stage(sums, games),
        certificates=hashlib.sha256("".join(one.digest for one in games).encode()).hexdigest(),
        checked=checked,
        cpu_seconds=round(sum(one.cpu for one in (*games, *lemmas)), 1),
    )


def _positions(interval: tuple[float, float], counted: int) -> Positions:
    low, high = numbers_within(interval, counted)
    return Positions(low=low, high=high)


def _shared(shares: Mapping[int, tuple[float, float]], counted: int) -> SharedSpace:
    return SharedSpace(
        counted=counted,
        interval95=list(shares[95]),
        interval99=list(shares[99]),
        positions=_positions(shares[99], counted),
    )


def _lemma_stage(
    space: SampledSpace, sums: SampleTally, games: Sequence[SettledStats], lemmas: Sequence[LemmaStats]
) -> LemmaStage:
    counts = [sum(column) for column in zip(*(one.lemmas for one in (*games, *lemmas)), strict=True)]
    outside = sums.lemma_outside
    direct = SampleTally(
        sums.lemma_samples, sums.lemma_passed, 0, 0, sums.lemma_samples, 0, 0, outside, outside, sums.inside
    )
    return LemmaStage(
        n=sums.lemma_samples,
        passed=sums.lemma_passed,
        excluded=dict(zip(LEMMAS if space == "undecided" else EXCLUSIONS, counts[1:], strict=True)),
        outside=outside,
        checksum=f"{sum(one.checksum for one in lemmas) % (1 << 64):016x}",
        interval95=list(share_interval(direct, 0.05)),
        interval99=list(share_interval(direct, 0.01)),
    )


def _game_stage(sums: SampleTally, games: Sequence[SettledStats]) -> GameStage:
    plies = sorted(ply for one in games for ply in one.plies)
    return GameStage(
        outside=sums.outside,
        tried=sums.passed,
        found=sums.reachable,
        pockets=sum(one.pockets for one in games if isinstance(one, GameStats)),
        exhausted=sum(one.exhausted for one in games),
        unknown=sums.unknown,
        mean_plies=round(sum(plies) / len(plies), 2) if plies else 0.0,
        median_plies=float(plies[len(plies) // 2]) if plies else 0.0,
        longest_plies=plies[-1] if plies else 0,
        cpu_milliseconds=round(1000 * sum(one.cpu for one in games) / max(1, sums.passed), 3),
    )


# -- the run -----------------------------------------------------------------------------


_QUICK_TREE: Final = 200
"""Size of the largest backward tree that is checked during an estimate.

`tablut reachable check` also checks larger trees.
"""


@dataclass(frozen=True)
class _Task(PartTask):
    """A chunk to be decided and stored, including all data that a worker needs."""

    plan: ChunkPlan
    chunk: Chunk
    owner: Owner
    target: Path

    def opened(self) -> PartFile[Any]:
        """Open the chunk's file."""
        return open_chunk(self.target)

    def make(self, began: float) -> PartFile[Any]:
        """Decide the chunk, and write its result and its certificates."""
        plan, chunk = self.plan, self.chunk
        samples, certificates = (plan.variant, plan.seed, chunk.first, chunk.count), list[PositionCertificate]()
        result: LemmaStats | GameStats | EndingStats
        if chunk.stage == "lemmas":
            result = count_lemmas(*samples)
        else:
            result, certificates = settle_samples(*samples) if plan.space == "undecided" else settle_endings(*samples)
        cpu = thread_clock() - began
        stats = ChunkStats(count=chunk.count, result=result.model_copy(update={"cpu": cpu}))
        return write_chunk(self.target, self.owner, stats, certificates, cpu)


@numbers(samples=SOME, seed=whole_number, lemma_samples=SOME, threads=THREADS, checks=whole_number)
def estimate(
    variant: VariantLike,
    samples: int,
    seed: int,
    *,
    space: SampledSpace = "undecided",
    lemma_samples: int | None = None,
    threads: int = 1,
    scheduler: str | None = None,
    store: str | None = None,
    certificates: str | None = None,
    checks: int = 0,
    observer: Observer | None = None,
    partial: Callable[[ReachableEstimate], None] | None = None,
) -> ReachableEstimate:
    """Return an estimate of the reachable share of the counted positions, or of the final placements.

    The counts and intervals depend only on the rules, the samples and the seed, not on ``threads`` or ``store``.

    Parameters
    ----------
    variant : Variant, str or Path
        The rule set, or its name or file.
    samples : int
        Number of samples that pass through both stages.
    seed : int
        Seed of the random generator.
    space : {'undecided', 'decided'}
        The space to sample: undecided positions with the side to move, or final placements.
    lemma_samples : int, optional
        Total number of samples on which the lemmas are tried. The first ``samples`` of them also pass through the
        second stage. The default is ``samples``.
    threads : int
        Number of chunks that are decided concurrently.
    scheduler : str, optional
        Address of a Dask cluster that decides the chunks. Its workers must have access to the folder ``store``.
    store : str, optional
        Folder where each chunk is stored as soon as it is decided. The default is a temporary folder.
    certificates : str, optional
        Output file for the certificates. It is compressed if the name ends in ``.gz``.
    checks : int
        Number of certificates that are checked with the naive rules, beginning with the first sample. Certificates with
        large backward trees are skipped.
    observer : Observer, optional
        Receives progress reports.
    partial : callable, optional
        Function that is called with the estimate so far if the run is interrupted or the cluster is lost.

    Raises
    ------
    ArithmeticError
        If the naive rules do not confirm a certificate.
    InputError
        If the folder belongs to another estimate or contains a damaged chunk, or if an argument is invalid.
    OutputError, MachineError
        If the folder or the file cannot be written.

    Examples
    --------
    >>> found = estimate("brandubh-5-4v0", 60, 1)
    >>> found.n, found.reachable + found.unreachable, found.unknown
    (60, 60, 0)
    """
    variant = as_variant(variant)
    engine_for(variant)  # refuses rules that cannot be compiled, before the space is counted
    if space not in get_args(SampledSpace):
        raise InputError(f"expected {' or '.join(get_args(SampledSpace))}", parameter="space", value=shown_value(space))
    wanted = samples if lemma_samples is None else lemma_samples
    if space == "decided" and wanted != samples:
        remedy = "omit it or `space`"
        raise InputError("applies only to undecided positions", parameter="lemma_samples", remedy=remedy)
    if wanted < samples:
        why = f"must be {samples} or more, the number of samples"
        raise InputError(why, parameter="lemma_samples", value=wanted)
    target = None if certificates is None else Path(certificates)
    check_output(target, CERTIFICATES, "choose another name with `certificates`")
    with working_folder(store, "estimate") as folder, open_scheduler(threads, scheduler) as workers:
        plan = ChunkPlan(variant, samples, wanted, seed, folder, space)
        with claim(folder, KIND, plan.head):
            return _Run(plan, target, checks, observer or Observer()).result(workers, partial)


class _Run:
    """One run of an estimate. It decides the chunks without a stored result, and collects results and certificates."""

    def __init__(self, plan: ChunkPlan, target: Path | None, checks: int, observer: Observer) -> None:
        self.plan, self.target, self.checks, self.observer = plan, target, checks, observer
        self.results: Results = {}

    def result(
        self, workers: Scheduler, partial: Callable[[ReachableEstimate], None] | None = None
    ) -> ReachableEstimate:
        """Decide all chunks, write and check the certificates as requested, and return the estimate."""
        plan = self.plan
        try:
            for stage, chunks in (("samples", [*plan.games()]), ("lemmas", [*plan.lemmas()])):
                self._decide(stage, chunks, workers)
        except (TablutError, KeyboardInterrupt):
            if partial is not None and _decided(plan.games(), self.results, SettledStats):
                partial(estimate_report(plan, self.results, 0))
            raise
        wanted = (chunk for chunk in plan.games() if self.target is not None or chunk.first < self.checks)
        every = [certificate for chunk in wanted for certificate in certificates_in(plan.place(chunk)[1])]
        if self.target is not None:
            write_file(self.target, plan.header(every), every)
        return estimate_report(plan, self.results, self._check(every))

    def _check(self, certificates: list[PositionCertificate]) -> int:
        """Check the first certificates, except those with large trees. Return the number of certificates checked."""
        checker = Checker(self.plan.variant, self.plan.space)
        quick = [certificate for certificate in certificates if (certificate.tree or 0) <= _QUICK_TREE][: self.checks]
        for certificate in quick:
            if (problem := checker.certificate(certificate)) is not None:
                raise ArithmeticError(
                    f"sample {certificate.i} of seed {self.plan.seed}: {problem}: {certificate.line()}"
                )
        return len(quick)

    def _decide(self, stage: str, chunks: Sequence[Chunk], workers: Scheduler) -> None:
        """Decide the stage's chunks that have no stored result, and keep all results."""
        tasks = {task.owner.number: task for task in (_Task(self.plan, one, *self.plan.place(one)) for one in chunks)}

        def took(answer: PartResult) -> None:
            chunk = tasks[answer.number].chunk
            self.results[chunk.name] = answer.stats.result
            self.observer.advance(chunk.count)

        self.observer.begin(stage, sum(chunk.count for chunk in chunks))
        run_parts(workers, [*tasks.values()], self.observer.say, took)
