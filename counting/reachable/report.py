"""What `tablut reachable estimate` says, added up from the chunks of a plan."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

from counting.reachable.drawing import GENERATOR, drawer_for
from counting.reachable.intervals import Tally, numbers_within, share_interval
from counting.reachable.naive import LEMMAS
from tablut.results import ExactInt, Result

if TYPE_CHECKING:
    from counting.reachable.chunks import ChunkPlan

__all__ = ["GameStage", "LemmaStage", "Positions", "ReachableEstimate", "estimate_report", "tally"]

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


def tally(plan: ChunkPlan, *, direct: bool = False) -> Tally:
    """Return the sums over all chunks.

    Parameters
    ----------
    plan : ChunkPlan
        With the results of all its chunks.
    direct : bool
        Leave out the samples that only the lemmas have seen.

    Returns
    -------
    Tally
        What the intervals are taken from.
    """
    games = [plan.results[chunk.name] for chunk in plan.games()]
    lemmas = [] if direct else [plan.results[chunk.name] for chunk in plan.lemmas()]
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


def estimate_report(plan: ChunkPlan, checked: int) -> ReachableEstimate:
    """Add all chunks up.

    Parameters
    ----------
    plan : ChunkPlan
        With the results of all its chunks.
    checked : int
        Certificates that the plain rules re-checked.

    Returns
    -------
    ReachableEstimate
        What ``tablut reachable estimate`` says.
    """
    sums = tally(plan)
    games = [plan.results[chunk.name] for chunk in plan.games()]
    lemmas = [plan.results[chunk.name] for chunk in plan.lemmas()]
    counts = [sum(column) for column in zip(*(result["lemmas"] for result in [*games, *lemmas]), strict=True)]
    plies = sorted(ply for result in games for ply in result["plies"])
    counted = drawer_for(plan.variant).size
    share = {level: share_interval(sums, 1 - level / 100) for level in _LEVELS}
    direct = Tally(sums.lemma_samples, sums.lemma_passed, 0, 0, sums.lemma_samples, 0, 0)
    passing = {level: list(share_interval(direct, 1 - level / 100)) for level in _LEVELS}
    low, high = numbers_within(share[99], counted)
    return ReachableEstimate(
        variant=plan.variant.name,
        digest=plan.variant.digest,
        generator=GENERATOR,
        seed=plan.seed,
        n=sums.n,
        reachable=sums.reachable,
        unreachable=sums.unreachable,
        unknown=sums.unknown,
        interval95=list(share[95]),
        interval99=list(share[99]),
        positions=Positions(low=low, high=high),
        counted=counted,
        lemmas=LemmaStage(
            n=sums.lemma_samples,
            passed=sums.lemma_passed,
            excluded=dict(zip(LEMMAS, counts[1:], strict=True)),
            checksum=f"{sum(result['checksum'] for result in lemmas) % (1 << 64):016x}",
            interval95=passing[95],
            interval99=passing[99],
        ),
        games=GameStage(
            tried=sums.passed,
            found=sums.reachable,
            exhausted=sum(result["exhausted"] for result in games),
            unknown=sums.unknown,
            mean_plies=round(sum(plies) / len(plies), 2) if plies else 0.0,
            median_plies=float(plies[len(plies) // 2]) if plies else 0.0,
            longest_plies=plies[-1] if plies else 0,
            cpu_milliseconds=round(1000 * sum(result["cpu"] for result in games) / max(1, sums.passed), 3),
        ),
        certificates=hashlib.sha256("".join(result["digest"] for result in games).encode()).hexdigest(),
        checked=checked,
    )
