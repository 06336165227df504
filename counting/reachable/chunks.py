"""The chunks of an estimate, the folder for their results and certificates, and the exact intervals.

A chunk is a range of samples that are decided together. Its result depends only on the seed and on the range, and is
stored in one file with its certificates (`tablut.work.parts`). More samples for the lemmas can be added later.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

import numpy as np
from pydantic import model_validator

from counting.reachable.certificates import VERSION, Header, PositionCertificate, SampledSpace
from counting.reachable.drawing import GENERATOR
from counting.reachable.proof_games import EndingStats, GameStats
from counting.reachable.tallies import LemmaStats, surviving
from tablut.position import NARROW
from tablut.variants import Variant
from tablut.work.files import child
from tablut.work.ledger import Kind
from tablut.work.parts import Owner, PartFile, PartWriter, open_part
from tablut.work.sealed_records import Count, Digest, Part, Record, digest_of, read_model


class SampleTally(NamedTuple):
    """Sample counts by result. ``inside`` is the share of the space that remains after the exact exclusions."""

    n: int
    reachable: int
    unreachable: int
    unknown: int
    lemma_samples: int
    lemma_passed: int
    passed: int
    outside: int = 0
    lemma_outside: int = 0
    inside: Fraction = Fraction(1)


class SpaceSizes(NamedTuple):
    """The numbers of counted positions and classes in a space, and the order of its symmetry group."""

    counted: int
    classes: int
    symmetries: int


def clopper_pearson(successes: int, trials: int, alpha: float) -> tuple[float, float]:
    """Return the exact (Clopper-Pearson) confidence interval of a share at the level ``1 - alpha``."""
    from scipy.stats import beta

    if trials == 0:
        return 0.0, 1.0
    low = float(beta.ppf(alpha / 2, successes, trials - successes + 1)) if successes else 0.0
    high = float(beta.ppf(1 - alpha / 2, successes + 1, trials - successes)) if successes < trials else 1.0
    return low, high


def share_interval(tally: SampleTally, alpha: float) -> tuple[float, float]:
    """Return the confidence interval for the reachable share at the level ``1 - alpha`` or better.

    Unknown samples count as unreachable for the lower end and as reachable for the upper end. If more samples were used
    for the lemmas, the share is a product of two factors: the share of samples that pass the lemmas, and the share of
    reachable samples among them. Each has an interval at the level ``1 - alpha / 2``, so both hold simultaneously, even
    if they are not independent. The exact share of the space that is not known to be unreachable is a further factor.
    """
    inside = float(tally.inside)
    if tally.lemma_samples == tally.n:
        n = tally.n - tally.outside
        low, _ = clopper_pearson(tally.reachable, n, alpha)
        _, high = clopper_pearson(tally.reachable + tally.unknown, n, alpha)
        return inside * low, inside * high
    few, many = clopper_pearson(tally.lemma_passed, tally.lemma_samples - tally.lemma_outside, alpha / 2)
    low, _ = clopper_pearson(tally.reachable, tally.passed, alpha / 2)
    _, high = clopper_pearson(tally.reachable + tally.unknown, tally.passed, alpha / 2)
    return inside * few * low, inside * many * high


def numbers_within(interval: tuple[float, float], size: int) -> tuple[int, int]:
    """Return the range for the number of positions, given the interval for the share. The range is rounded outwards."""
    return floor(Fraction(interval[0]) * size), ceil(Fraction(interval[1]) * size)


def share_of_classes(interval: tuple[float, float], sizes: SpaceSizes) -> tuple[float, float]:
    """Return the confidence interval for the reachable share of classes, given the interval for positions.

    The number of reached classes is at least the number of reached positions divided by the group order. The excess is
    at most the total number of classes minus the total number of positions divided by the group order.
    """
    each = Fraction(sizes.counted, sizes.symmetries * sizes.classes)
    low, high = Fraction(interval[0]) * each, Fraction(interval[1]) * each + 1 - each
    return float(low), min(1.0, float(high))


# -- chunks ------------------------------------------------------------------------------


_GAME_SAMPLES: Final = 500
_LEMMA_SAMPLES: Final = 1 << 20
_WIDE_LEMMA_SAMPLES: Final = 1 << 15
"""Numbers of samples in a chunk. On boards of more than 11×11, the lemmas take a thousand times as long per sample."""
KIND: Final = Kind("estimate", "estimate.json")


class EstimateHead(Record):
    """The identity of the estimate stored in a folder. The number of samples for the lemmas may change."""

    FORMAT = "tablut-estimate"
    VERSION = 4

    variant: str
    digest: Digest
    space: SampledSpace
    generator: str
    seed: str
    samples: Count
    surviving: str
    """The result of `surviving`. Every chunk depends on the locked sets behind this number, so it must not change."""


class ChunkStats(Part):
    """The stored result of a chunk."""

    count: Count
    result: GameStats | EndingStats | LemmaStats

    @model_validator(mode="after")
    def _counts_add_up(self) -> Self:
        if sum(self.result.lemmas) != self.count:
            raise ValueError("result.lemmas: does not add up to the number of samples")
        return self


@dataclass(frozen=True)
class Chunk:
    """A range of samples that are decided together."""

    stage: str
    name: str
    first: int
    count: int


Results = dict[str, GameStats | EndingStats | LemmaStats]
"""The results of chunks, keyed by chunk name."""


@dataclass(frozen=True)
class ChunkPlan:
    """The chunks of an estimate, and the folder for their results."""

    variant: Variant
    samples: int
    lemma_samples: int
    seed: int
    store: Path
    space: SampledSpace

    def games(self) -> Iterator[Chunk]:
        """Yield the chunks of samples that pass through both stages."""
        for first in range(0, self.samples, _GAME_SAMPLES):
            yield Chunk("samples", f"games-{first:012d}", first, min(_GAME_SAMPLES, self.samples - first))

    def lemmas(self) -> Iterator[Chunk]:
        """Yield the chunks of additional samples, on which only the lemmas are tried."""
        many = self._lemma_samples
        for first in range(self.samples, self.lemma_samples, many):
            yield Chunk("lemmas", f"lemmas-{first:012d}", first, min(many, self.lemma_samples - first))

    @property
    def _lemma_samples(self) -> int:
        return _LEMMA_SAMPLES if self.variant.size <= NARROW else _WIDE_LEMMA_SAMPLES

    def header(self, certificates: list[PositionCertificate]) -> Header:
        """Return the header of a certificate file."""
        n, found = len(certificates), sum(certificate.game is not None for certificate in certificates)
        unknown = sum(certificate.unknown is not None for certificate in certificates)
        tally = SampleTally(n, found, n - found - unknown, unknown, n, n, n)
        return Header(
            version=VERSION,
            variant=self.variant.name,
            digest=self.variant.digest,
            space=self.space,
            generator=GENERATOR,
            seed=self.seed,
            first=certificates[0].i if certificates else 0,
            count=n,
            reachable=tally.reachable,
            unreachable=tally.unreachable,
            unknown=tally.unknown,
            interval95=list(share_interval(tally, 0.05)),
            interval99=list(share_interval(tally, 0.01)),
        )

    # -- the store ---------------------------------------------------------------------

    @property
    def head(self) -> EstimateHead:
        """The identity of the estimate, as stored in the folder."""
        return EstimateHead(
            variant=self.variant.name,
            digest=self.variant.digest,
            space=self.space,
            generator=GENERATOR,
            seed=str(self.seed),
            samples=self.samples,
            surviving=str(surviving(self.variant)),
        )

    def place(self, chunk: Chunk) -> tuple[Owner, Path]:
        """Return the owner and path of a chunk's file. The owner depends on the number of samples in the chunk."""
        size = _GAME_SAMPLES if chunk.stage == "samples" else self._lemma_samples
        plan = digest_of([self.head, chunk.name, chunk.count])
        owner = Owner(plan=plan, step=int(chunk.stage == "lemmas"), number=chunk.first // size)
        return owner, child(self.store, f"{chunk.name}.part", "chunk")


def open_chunk(path: Path) -> PartFile[Any]:
    """Open a chunk's file, and check its entire contents."""
    part = open_part(path, ChunkStats)
    part.check()
    return part


def certificates_in(path: Path) -> list[PositionCertificate]:
    """Return a stored chunk's certificates."""
    content = b"".join(items.tobytes() for _, items in open_chunk(path).blocks("certificates"))
    return [read_model(PositionCertificate, line) for line in content.split(b"\n") if line]


def write_chunk(
    path: Path, owner: Owner, stats: ChunkStats, certificates: list[PositionCertificate], cpu: float
) -> PartFile[Any]:
    """Write a chunk's file."""
    lines = "\n".join(certificate.line() for certificate in certificates)
    with PartWriter(path) as writer:
        writer.add("certificates", np.frombuffer(lines.encode(), dtype=np.uint8))
        return writer.finish(owner, stats, cpu=cpu, lasting=True)
