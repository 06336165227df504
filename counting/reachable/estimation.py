"""The reachable share of the counted positions, estimated in two stages with exact intervals.

Every sample is decided: a lemma excludes it, a proof game reaches it, or its whole backward tree is
known. The lemmas cost a microsecond and may be tried on many more samples than games are
looked for; the share is then a product, and its interval holds for both factors at once.

Samples are divided into chunks whose results depend on nothing but the seed and their place, so a run
that was stopped goes on where it was, and threads change nothing.
"""

from __future__ import annotations

import hashlib
import json
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from pydantic import ValidationError

from counting.reachable.certificates import VERSION, Header, PositionCertificate, read_file, write_file
from counting.reachable.checker import Checker
from counting.reachable.drawing import GENERATOR, drawer_for
from counting.reachable.intervals import Tally, numbers_within, share_interval
from counting.reachable.naive import LEMMAS
from counting.reachable.stages import count_lemmas, settle_samples
from tablut.compilation import thread_clock
from tablut.errors import InputError, output_failure
from tablut.files import child, excerpt, lock_folder, read_text, remove_temporaries, write_text
from tablut.results import ExactInt, Result
from tablut.variants import as_variant

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tablut.variants import Variant, VariantLike

__all__ = ["GameStage", "LemmaStage", "Progress", "ReachableEstimate", "estimate"]

GAME_CHUNK: Final = 500
LEMMA_CHUNK: Final = 1 << 20
_QUICK_TREE: Final = 200
"""Positions of the largest backward tree that is derived again at once; `tablut reachable check` derives all."""

_STORE_FORMAT: Final = 1
_LEVELS: Final = (95, 99)


class LemmaStage(Result):
    """What the lemmas say of the first samples.

    Attributes
    ----------
    n, passed : int
        Samples tried, and those that no lemma excludes.
    excluded : dict of str to int
        How many each lemma excludes, the first that applies.
    checksum : str
        Of every single answer.
    interval95, interval99 : list of float
        Of the share that passes.
    """

    n: int
    passed: int
    excluded: dict[str, int]
    checksum: str
    interval95: list[float]
    interval99: list[float]


class GameStage(Result):
    """What became of the samples that no lemma excludes.

    Attributes
    ----------
    tried, found, exhausted, unknown : int
        Searches; games; whole backward trees without the start; neither.
    mean_plies, median_plies, longest_plies : float or int
        Of the games.
    cpu_milliseconds : float
        Processor time of both stages for each sample that was searched.
    """

    tried: int
    found: int
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


class ReachableEstimate(Result):
    """What `tablut reachable estimate` says.

    Attributes
    ----------
    n : int
        Samples that went through both stages.
    reachable, unreachable, unknown : int
        What became of them.
    interval95, interval99 : list of float
        Of the reachable share of all counted positions.
    positions : Positions
        The number of reachable positions, at 99 %.
    counted : int
        How many positions are counted: the bound without endgames, for each side to move.
    certificates : str
        SHA-256 of the digests of all chunks of certificates.
    checked : int
        Certificates that the plain rules re-checked.
    """

    variant: str
    digest: str
    generator: str
    seed: int
    n: int
    reachable: int
    unreachable: int
    unknown: int
    interval95: list[float]
    interval99: list[float]
    positions: Positions
    counted: ExactInt
    lemmas: LemmaStage
    games: GameStage
    certificates: str
    checked: int


class Progress(Protocol):
    """Whoever wants to know how far it is."""

    def advance(self, stage: str, count: int) -> None:
        """Hear that so many more samples went through a stage.

        Parameters
        ----------
        stage : str
            Which one.
        count : int
            How many more.
        """


class _Plan:
    """The chunks of a run, and where their results are kept."""

    def __init__(self, variant: Variant, samples: int, lemma_samples: int, seed: int, store: Path | None) -> None:
        self.variant, self.samples, self.seed, self.store = variant, samples, seed, store
        self.lemma_samples = lemma_samples
        self.results: dict[str, dict[str, Any]] = {}

    def games(self) -> Iterator[tuple[str, int, int]]:
        for first in range(0, self.samples, GAME_CHUNK):
            yield f"games-{first:012d}", first, min(GAME_CHUNK, self.samples - first)

    def lemmas(self) -> Iterator[tuple[str, int, int]]:
        """Yield the samples beyond those that are searched."""
        for first in range(self.samples, self.lemma_samples, LEMMA_CHUNK):
            yield f"lemmas-{first:012d}", first, min(LEMMA_CHUNK, self.lemma_samples - first)

    # -- the store ---------------------------------------------------------------------

    def description(self) -> dict[str, Any]:
        return {
            "format": _STORE_FORMAT,
            "variant": self.variant.name,
            "digest": self.variant.digest,
            "generator": GENERATOR,
            "seed": self.seed,
            "samples": self.samples,
            "lemma_samples": self.lemma_samples,
        }

    def open(self, resume: bool) -> None:
        assert self.store is not None
        path = self.store / "estimate.json"
        if path.exists():
            if not resume:
                raise InputError(
                    f"store {str(self.store)!r}: holds an estimate; go on with --resume, or choose another"
                )
            try:
                found = json.loads(read_text(path, "estimate", 1 << 16))
            except ValueError as error:
                raise InputError(f"estimate {str(path)!r}: is no JSON; choose another --store") from error
            if found != self.description():
                raise InputError(
                    f"store {str(self.store)!r}: holds another estimate: {excerpt(json.dumps(found), 300)}"
                )
            remove_temporaries(self.store)
        else:
            write_text(path, json.dumps(self.description(), indent=2) + "\n")

    def saved(self, name: str, count: int) -> dict[str, Any] | None:
        """Return the stored result of a chunk, its certificates digested again; None if it is not there."""
        if self.store is None or not (path := child(self.store, name + ".json", "chunk")).exists():
            return None
        try:
            result = json.loads(read_text(path, "chunk", 1 << 20))
            counted = sum(result["lemmas"])
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"chunk {str(path)!r}: damaged; delete it and go on with --resume") from error
        if counted != count or (name.startswith("games") and not self._certified(name, result)):
            raise InputError(f"chunk {str(path)!r}: damaged; delete it and go on with --resume")
        return dict(result)

    def _certified(self, name: str, result: dict[str, Any]) -> bool:
        try:
            return bool(_digest(self.certificates(name)) == result["digest"])
        except (InputError, ValidationError):
            return False

    def certificates(self, name: str) -> list[PositionCertificate]:
        """Return the certificates of a chunk."""
        assert self.store is not None
        _, lines = read_file(child(self.store, name + ".jsonl.gz", "chunk"))
        return [certificate for _, certificate in lines]

    def keep(self, name: str, result: dict[str, Any], certificates: list[PositionCertificate] | None) -> None:
        """Write the result of a chunk, its certificates first."""
        self.results[name] = result
        if self.store is None:
            return
        if certificates is not None:
            header = _header(self.variant, self.seed, certificates, Tally(0, 0, 0, 0, 0, 0, 0))
            write_file(self.store / (name + ".jsonl.gz"), header, certificates)
        write_text(self.store / (name + ".json"), json.dumps(result) + "\n")


def _digest(certificates: list[PositionCertificate]) -> str:
    return hashlib.sha256("\n".join(certificate.line() for certificate in certificates).encode()).hexdigest()


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
        How many certificates, the first ones but for large backward trees, the plain rules re-check.
    progress : Progress, optional
        Is told how far it is.

    Returns
    -------
    ReachableEstimate
        With its intervals and its provenance.

    Raises
    ------
    ArithmeticError
        If the plain rules do not confirm a certificate.
    InputError
        If the folder holds another estimate or a damaged chunk, or the numbers make no sense.

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
    plan = _Plan(variant, samples, wanted, seed, folder)
    if folder is None:
        return _run(plan, threads, progress, certificates, checks)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise output_failure(f"--store {str(folder)!r}: {error.strerror}", error) from error
    with lock_folder(folder, "store"):
        plan.open(resume)
        return _run(plan, threads, progress, certificates, checks)


def _run(plan: _Plan, threads: int, progress: Progress | None, target: str | None, checks: int) -> ReachableEstimate:
    """Do every chunk that is not there yet, write the certificates if they are wanted, check the first, add up."""
    work: list[tuple[str, Callable[..., Any], str, int, int]] = [
        *((name, _settle, "samples", first, count) for name, first, count in plan.games()),
        *((name, _count, "lemmas", first, count) for name, first, count in plan.lemmas()),
    ]
    wanted = {name for name, first, _ in plan.games() if target is not None or first < checks}
    kept: dict[str, list[PositionCertificate]] = {}
    pending: dict[Future[Any], tuple[str, str, int]] = {}
    with ThreadPoolExecutor(max_workers=threads) as pool:
        try:
            for name, function, stage, first, count in work:
                saved = plan.saved(name, count)
                if saved is not None:
                    plan.results[name] = saved
                    if name in wanted:
                        kept[name] = plan.certificates(name)
                    if progress:
                        progress.advance(stage, count)
                    continue
                if len(pending) >= 2 * threads:
                    _collect(plan, pending, kept, wanted, progress)
                future = pool.submit(function, plan.variant, plan.seed, first, count)
                pending[future] = name, stage, count
            while pending:
                _collect(plan, pending, kept, wanted, progress)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            # What is done is not lost.
            for future, (name, _, _) in pending.items():
                if future.done() and not future.cancelled() and future.exception() is None:
                    plan.keep(name, *future.result())
            raise
    every = [certificate for name, _, _ in plan.games() for certificate in kept.get(name, [])]
    if target is not None:
        write_file(Path(target), _header(plan.variant, plan.seed, every, _tally(plan, direct=True)), every)
    checker = Checker(plan.variant)
    quick = [certificate for certificate in every if (certificate.tree or 0) <= _QUICK_TREE][:checks]
    for certificate in quick:
        if (problem := checker.certificate(certificate)) is not None:
            raise ArithmeticError(f"sample {certificate.i} of seed {plan.seed}: {problem}: {certificate.line()}")
    return _report(plan, len(quick))


def _collect(
    plan: _Plan,
    pending: dict[Future[Any], tuple[str, str, int]],
    kept: dict[str, list[PositionCertificate]],
    wanted: set[str],
    progress: Progress | None,
) -> None:
    done, _ = wait(pending, return_when=FIRST_COMPLETED)
    for future in done:
        name, stage, count = pending.pop(future)
        result, certificates = future.result()
        plan.keep(name, result, certificates)
        if name in wanted and certificates is not None:
            kept[name] = certificates
        if progress:
            progress.advance(stage, count)


def _header(variant: Variant, seed: int, certificates: list[PositionCertificate], tally: Tally) -> Header:
    return Header(
        version=VERSION,
        variant=variant.name,
        digest=variant.digest,
        generator=GENERATOR,
        seed=seed,
        first=certificates[0].i if certificates else 0,
        count=len(certificates),
        reachable=tally.reachable,
        unreachable=tally.unreachable,
        unknown=tally.unknown,
        interval95=list(share_interval(tally, 0.05)),
        interval99=list(share_interval(tally, 0.01)),
    )


def _tally(plan: _Plan, *, direct: bool = False) -> Tally:
    """Return the sums over all chunks; ``direct`` leaves the samples of the lemmas alone out."""
    games = [plan.results[name] for name, _, _ in plan.games()]
    lemmas = [] if direct else [plan.results[name] for name, _, _ in plan.lemmas()]
    found, unknown = (sum(result[key] for result in games) for key in ("found", "unknown"))
    passed = sum(result["lemmas"][0] for result in games)
    return Tally(
        n=plan.samples,
        reachable=found,
        unreachable=plan.samples - found - unknown,
        unknown=unknown,
        lemma_samples=plan.samples if direct else plan.lemma_samples,
        lemma_passed=passed + sum(result["lemmas"][0] for result in lemmas),
        passed=passed,
    )


def _report(plan: _Plan, checked: int) -> ReachableEstimate:
    tally = _tally(plan)
    games = [plan.results[name] for name, _, _ in plan.games()]
    lemmas = [plan.results[name] for name, _, _ in plan.lemmas()]
    counts = [sum(column) for column in zip(*(result["lemmas"] for result in [*games, *lemmas]), strict=True)]
    plies = sorted(ply for result in games for ply in result["plies"])
    counted = drawer_for(plan.variant).size
    share = {level: share_interval(tally, 1 - level / 100) for level in _LEVELS}
    direct = Tally(tally.lemma_samples, tally.lemma_passed, 0, 0, tally.lemma_samples, 0, 0)
    passing = {level: list(share_interval(direct, 1 - level / 100)) for level in _LEVELS}
    low, high = numbers_within(share[99], counted)
    return ReachableEstimate(
        variant=plan.variant.name,
        digest=plan.variant.digest,
        generator=GENERATOR,
        seed=plan.seed,
        n=tally.n,
        reachable=tally.reachable,
        unreachable=tally.unreachable,
        unknown=tally.unknown,
        interval95=list(share[95]),
        interval99=list(share[99]),
        positions=Positions(low=low, high=high),
        counted=counted,
        lemmas=LemmaStage(
            n=tally.lemma_samples,
            passed=tally.lemma_passed,
            excluded=dict(zip(LEMMAS, counts[1:], strict=True)),
            checksum=f"{sum(result['checksum'] for result in lemmas) % (1 << 64):016x}",
            interval95=passing[95],
            interval99=passing[99],
        ),
        games=GameStage(
            tried=tally.passed,
            found=tally.reachable,
            exhausted=sum(result["exhausted"] for result in games),
            unknown=tally.unknown,
            mean_plies=round(sum(plies) / len(plies), 2) if plies else 0.0,
            median_plies=float(plies[len(plies) // 2]) if plies else 0.0,
            longest_plies=plies[-1] if plies else 0,
            cpu_milliseconds=round(1000 * sum(result["cpu"] for result in games) / max(1, tally.passed), 3),
        ),
        certificates=hashlib.sha256("".join(result["digest"] for result in games).encode()).hexdigest(),
        checked=checked,
    )
