"""What `tablut reachable estimate` says, added up from the chunks of a plan."""

from __future__ import annotations

import hashlib
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from counting.reachable.drawing import GENERATOR
from counting.reachable.endings import EXCLUSIONS, ending_index
from counting.reachable.families import counted_family
from counting.reachable.intervals import Tally, numbers_within, share_interval, share_of_classes
from counting.reachable.lemmas import LAST_MOVE
from counting.reachable.naive import LEMMAS
from counting.reachable.sizes import space_sizes
from tablut.results import ExactInt, Result

if TYPE_CHECKING:
    from collections.abc import Mapping

    from counting.reachable.certificates import Space
    from counting.reachable.chunks import ChunkPlan

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
    """The reachable share of another space of which the same samples tell."""

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
