"""The reachable share of the counted positions, estimated in two stages with exact intervals.

Every sample is decided: a lemma excludes it, a proof game reaches it, or its whole backward tree is
known. The lemmas cost a microsecond and may be tried on many more samples than games are
looked for; the share is then a product, and its interval holds for both factors at once.

Samples are divided into chunks. The result of a chunk depends only on the seed and on the chunk's place, so a
stopped run goes on where it was, and the number of threads changes nothing.
"""

from __future__ import annotations

import hashlib
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from counting.reachable.certificates import PositionCertificate, Space, write_file
from counting.reachable.checker import LEMMAS, Checker
from counting.reachable.chunks import (
    KIND,
    Chunk,
    ChunkPlan,
    SpaceSizes,
    Tally,
    numbers_within,
    share_interval,
    share_of_classes,
)
from counting.reachable.drawing import GENERATOR, drawer_for
from counting.reachable.endings import EXCLUSIONS, ending_index, settle_endings
from counting.reachable.games import count_lemmas, counted_family, settle_samples
from counting.reachable.lemmas import LAST_MOVE
from counting.spaces import FINAL, fixed_material, spaces
from symmetry import count_orbits
from tablut.engine import engine_for
from tablut.errors import InputError, TablutError
from tablut.results import ExactInt, Result
from tablut.running.clocks import thread_clock
from tablut.running.scheduling import open_scheduler
from tablut.store.files import store_path
from tablut.store.folders import claim
from tablut.variants import as_variant

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from counting.reachable.certificates import Space
    from tablut.running.scheduling import Scheduler
    from tablut.variants import Variant, VariantLike


@lru_cache(maxsize=32)
def space_sizes(variant: Variant, space: Space) -> SpaceSizes:
    """Return the sizes of a space."""
    group, known = engine_for(variant).group, spaces(variant)
    names = ("no_end",) if space == "undecided" else FINAL
    classes = sum(
        count_orbits(group, lambda symmetry, name=name: fixed_material(known[name], symmetry).total())  # type: ignore[misc]
        for name in names
    )
    if space == "undecided":
        return SpaceSizes(drawer_for(variant).size, 2 * classes, len(group))
    return SpaceSizes(ending_index(variant).size, classes, len(group))


# -- the report --------------------------------------------------------------------------


_LEVELS: Final = (95, 99)


class LemmaStage(Result):
    """What the lemmas say of the first samples."""

    n: int
    passed: int
    excluded: dict[str, int]
    outside: int
    checksum: str
    interval95: list[float]
    interval99: list[float]


class GameStage(Result):
    """What became of the samples that no lemma excludes."""

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
    """How many positions the 99 % interval allows."""

    low: ExactInt
    high: ExactInt


class SharedSpace(Result):
    """The reachable share of another space, from the same samples."""

    counted: ExactInt
    interval95: list[float]
    interval99: list[float]
    positions: Positions


class EndingStage(Result):
    """Samples of one way of ending."""

    counted: ExactInt
    n: int
    reachable: int


class ReachableEstimate(Result):
    """What `tablut reachable estimate` says."""

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


def tally(plan: ChunkPlan, *, placements: bool = False) -> Tally:
    """Return the sums over all chunks that are decided."""
    games = plan.decided(plan.games())
    lemmas = plan.decided(plan.lemmas())
    n = sum(chunk.count for chunk, _ in games)
    found, unknown = (sum(result[key] for _, result in games) for key in ("found", "unknown"))
    if placements:
        found += sum(result["twins"][0] for _, result in games)
        unknown += sum(result["twins"][1] for _, result in games)
    passing = [0, LAST_MOVE] if placements else [0]
    passed = sum(result["lemmas"][code] for _, result in games for code in passing)
    outside = sum(result["outside"] for _, result in games)
    family = counted_family(plan.variant)
    return Tally(
        n=n,
        reachable=found,
        unreachable=n - found - unknown,
        unknown=unknown,
        lemma_samples=n + sum(chunk.count for chunk, _ in lemmas),
        lemma_passed=passed + sum(result["lemmas"][code] for _, result in lemmas for code in passing),
        passed=passed,
        outside=outside,
        lemma_outside=outside + sum(result["outside"] for _, result in lemmas),
        inside=Fraction(family.surviving, family.placements) if plan.space == "undecided" else Fraction(1),
    )


def estimate_report(plan: ChunkPlan, checked: int) -> ReachableEstimate:
    """Add all chunks up."""
    sums, sizes = tally(plan), space_sizes(plan.variant, plan.space)
    games = [result for _, result in plan.decided(plan.games())]
    lemmas = [result for _, result in plan.decided(plan.lemmas())]
    share = {level: list(share_interval(sums, 1 - level / 100)) for level in _LEVELS}
    low, high = share[99]
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
        interval95=share[95],
        interval99=share[99],
        absolute99=(high - low) / 2,
        relative99=(high - low) / (high + low) if high else 0.0,
        positions=_positions(share[99], sizes.counted),
        counted=sizes.counted,
        surviving=int(sums.inside * sizes.counted),
        classes=_shared(
            {level: share_of_classes((ends[0], ends[1]), sizes) for level, ends in share.items()}, sizes.classes
        ),
        placements=_placements(plan) if plan.space == "undecided" else None,
        endings=_endings(plan, games) if plan.space == "decided" else None,
        lemmas=_lemma_stage(plan.space, sums, [*games, *lemmas]),
        games=_game_stage(sums, games),
        certificates=hashlib.sha256("".join(result["digest"] for result in games).encode()).hexdigest(),
        checked=checked,
    )


def _positions(interval: list[float], counted: int) -> Positions:
    low, high = numbers_within((interval[0], interval[1]), counted)
    return Positions(low=low, high=high)


def _shared(shares: Mapping[int, tuple[float, float]], counted: int) -> SharedSpace:
    return SharedSpace(
        counted=counted,
        interval95=list(shares[95]),
        interval99=list(shares[99]),
        positions=_positions(list(shares[99]), counted),
    )


def _placements(plan: ChunkPlan) -> SharedSpace:
    """Return what the samples say of undecided placements without the side to move."""
    sums = tally(plan, placements=True)
    shares = {level: share_interval(sums, 1 - level / 100) for level in _LEVELS}
    return _shared(shares, space_sizes(plan.variant, plan.space).counted // 2)


def _endings(plan: ChunkPlan, games: list[dict[str, Any]]) -> dict[str, EndingStage]:
    sizes = ending_index(plan.variant).sizes
    return {
        ending: EndingStage(
            counted=size,
            n=sum(result["endings"][ending][0] for result in games),
            reachable=sum(result["endings"][ending][1] for result in games),
        )
        for ending, size in sizes.items()
    }


def _lemma_stage(space: Space, sums: Tally, results: list[dict[str, Any]]) -> LemmaStage:
    counts = [sum(column) for column in zip(*(result["lemmas"] for result in results), strict=True)]
    outside = sums.lemma_outside
    direct = Tally(sums.lemma_samples, sums.lemma_passed, 0, 0, sums.lemma_samples, 0, 0, outside, outside, sums.inside)
    return LemmaStage(
        n=sums.lemma_samples,
        passed=sums.lemma_passed,
        excluded=dict(zip(LEMMAS if space == "undecided" else EXCLUSIONS, counts[1:], strict=True)),
        outside=outside,
        checksum=f"{sum(result.get('checksum', 0) for result in results) % (1 << 64):016x}",
        interval95=list(share_interval(direct, 0.05)),
        interval99=list(share_interval(direct, 0.01)),
    )


def _game_stage(sums: Tally, games: list[dict[str, Any]]) -> GameStage:
    plies = sorted(ply for result in games for ply in result["plies"])
    return GameStage(
        outside=sums.outside,
        tried=sums.passed,
        found=sums.reachable,
        pockets=sum(result.get("pockets", 0) for result in games),
        exhausted=sum(result["exhausted"] for result in games),
        unknown=sums.unknown,
        mean_plies=round(sum(plies) / len(plies), 2) if plies else 0.0,
        median_plies=float(plies[len(plies) // 2]) if plies else 0.0,
        longest_plies=plies[-1] if plies else 0,
        cpu_milliseconds=round(1000 * sum(result["cpu"] for result in games) / max(1, sums.passed), 3),
    )


# -- the run -----------------------------------------------------------------------------


_QUICK_TREE: Final = 200
"""Positions of the largest backward tree that is derived again at once; `tablut reachable check` derives all."""


class Progress(Protocol):
    """Shows how far a run is."""

    def advance(self, stage: str, count: int) -> None:
        """Take note that more samples went through a stage."""


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
    plan.keep(chunk, result, certificates)
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
        Shows how far the run is.
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
    folder = None if store is None else store_path(store)
    plan = ChunkPlan(variant, samples, wanted, seed, folder, space)
    with open_scheduler(threads, scheduler) as workers:
        run = _Run(plan, workers, progress, None if certificates is None else Path(certificates), checks, partial)
        if folder is None:
            return run.result()
        with claim(folder, KIND, plan.head(), resume=resume):
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
