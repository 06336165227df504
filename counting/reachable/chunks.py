"""The chunks of an estimate, the folder with their results and certificates, and the exact intervals.

A chunk depends only on the seed and on which samples it contains. Its result is written after its certificates and
contains their digest, so missing or changed certificates are detected. The folder does not record the number of samples
for the lemmas, so an estimate can be continued with more of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from pathlib import Path
from typing import Any, Final, NamedTuple

from counting.reachable.certificates import (
    VERSION,
    Header,
    PositionCertificate,
    SampledSpace,
    read_file,
    write_file,
)
from counting.reachable.drawing import GENERATOR
from counting.reachable.games import surviving
from tablut.variants import Variant
from tablut.work.files import child
from tablut.work.ledger import Kind, commit
from tablut.work.records import (
    Count,
    DamagedError,
    DataFile,
    Digest,
    Record,
    StoreError,
    check_data,
    data_file,
    digest_of,
    read_record,
)


class SampleTally(NamedTuple):
    """The numbers of samples by result. ``inside`` is the share of the space that is not counted as unreachable."""

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
    """The sizes of a space: counted positions and classes, and the order of the group of symmetries."""

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
    """Return the confidence interval of the reachable share at the level ``1 - alpha`` or better.

    Unknown samples count as unreachable for the lower end and as reachable for the upper end. If the lemmas were tried
    on more samples than the rest, the share is a product of two shares: the share of samples that pass the lemmas, and
    the share of reachable ones among these. Each factor then has an interval at the level ``1 - alpha / 2``, so that
    both hold simultaneously at ``1 - alpha`` or better, even if they are not independent. Samples in the part of the
    space that is counted exactly as unreachable are left out. The exact share of the rest of the space is a further
    factor.
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
    """Return the range of the number of positions for an interval of the share, rounded outwards."""
    return floor(Fraction(interval[0]) * size), ceil(Fraction(interval[1]) * size)


def share_of_classes(interval: tuple[float, float], sizes: SpaceSizes) -> tuple[float, float]:
    """Return the interval of the reachable share of classes, given the interval for positions.

    The number of classes is the sum, over all positions, of 1 / (size of the position's class). Hence the number of
    reached classes is at least the number of reached positions divided by the order of the group. It exceeds this
    quotient by at most as much as the number of all classes exceeds the quotient for all positions.
    """
    each = Fraction(sizes.counted, sizes.symmetries * sizes.classes)
    low, high = Fraction(interval[0]) * each, Fraction(interval[1]) * each + 1 - each
    return float(low), min(1.0, float(high))


# -- chunks ------------------------------------------------------------------------------


_GAME_SAMPLES: Final = 500
_LEMMA_SAMPLES: Final = 1 << 20
_WAY_OUT: Final = "delete it and run the command again"
KIND: Final = Kind("estimate", "estimate.json")


class EstimateHead(Record):
    """The identity of the estimate to which a folder belongs. The number of samples for the lemmas may change."""

    FORMAT = "tablut-estimate"
    VERSION = 3

    variant: str
    digest: Digest
    space: SampledSpace
    generator: str
    seed: str
    samples: Count
    surviving: str
    """The result of `surviving`. Every chunk counts the samples that it excludes, so it must not change."""


class ChunkRecord(Record):
    """The stored result of a chunk, with the digest of its certificates."""

    FORMAT = "tablut-estimate-chunk"

    estimate: Digest
    name: str
    count: Count
    result: dict[str, Any]
    certificates: DataFile | None

    def fault(self) -> str | None:
        """Return a description of an inconsistency in the record, or None."""
        counts = self.result.get("lemmas")
        if not isinstance(counts, list) or not all(isinstance(count, int) for count in counts):
            return "result.lemmas: are not counts"
        return None if sum(counts) == self.count else "result.lemmas: do not add up to the samples"


@dataclass(frozen=True)
class Chunk:
    """A range of samples that are decided together."""

    stage: str
    name: str
    first: int
    count: int


Results = dict[str, dict[str, Any]]
"""The results of chunks, by name."""


@dataclass(frozen=True)
class ChunkPlan:
    """The chunks of an estimate, and the folder with their results."""

    variant: Variant
    samples: int
    lemma_samples: int
    seed: int
    store: Path | None = None
    space: SampledSpace = "undecided"

    def games(self) -> Iterator[Chunk]:
        """Yield the chunks of the samples that go through both stages."""
        for first in range(0, self.samples, _GAME_SAMPLES):
            yield Chunk("samples", f"games-{first:012d}", first, min(_GAME_SAMPLES, self.samples - first))

    def lemmas(self) -> Iterator[Chunk]:
        """Yield the chunks of the additional samples, on which only the lemmas are tried."""
        for first in range(self.samples, self.lemma_samples, _LEMMA_SAMPLES):
            yield Chunk("lemmas", f"lemmas-{first:012d}", first, min(_LEMMA_SAMPLES, self.lemma_samples - first))

    def header(self, certificates: list[PositionCertificate]) -> Header:
        """Return the header of a file of certificates."""
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
        """The identity of the estimate, as it is stored in the folder."""
        return EstimateHead(
            variant=self.variant.name,
            digest=self.variant.digest,
            space=self.space,
            generator=GENERATOR,
            seed=str(self.seed),
            samples=self.samples,
            surviving=str(surviving(self.variant)),
        )

    def saved(self, chunk: Chunk) -> dict[str, Any] | None:
        """Return the stored result of a chunk, or None; check its certificates by their digest."""
        if self.store is None:
            return None
        path = child(self.store, chunk.name + ".json", "chunk")
        record = read_record(path, ChunkRecord, "chunk", _WAY_OUT)
        if record is None:
            return None
        if (record.estimate, record.name) != (self._digest, chunk.name):
            raise StoreError("belongs to another estimate or chunk", subject=f"chunk {str(path)!r}", remedy=_WAY_OUT)
        if record.count != chunk.count and chunk.stage == "lemmas":
            return None  # the last chunk of an estimate with a different number of samples
        if record.count != chunk.count or (record.certificates is None) != (chunk.stage == "lemmas"):
            raise DamagedError(
                "is damaged: it has other samples than it should", subject=f"chunk {str(path)!r}", remedy=_WAY_OUT
            )
        if record.certificates is not None:
            check_data(
                self._lines(chunk), record.certificates, "chunk", f"delete {path.name} and run the command again"
            )
        return record.result

    def certificates(self, chunk: Chunk) -> list[PositionCertificate]:
        """Return the stored certificates of a chunk."""
        return [certificate for _, certificate in read_file(self._lines(chunk))[1]]

    def keep(self, chunk: Chunk, result: dict[str, Any], certificates: list[PositionCertificate]) -> None:
        """Write the certificates of a chunk and then its result, if there is a folder."""
        if self.store is None:
            return
        lines = None
        if chunk.stage == "samples":
            write_file(self._lines(chunk), self.header(certificates), certificates)
            lines = data_file(self._lines(chunk))
        record = ChunkRecord(
            estimate=self._digest, name=chunk.name, count=chunk.count, result=result, certificates=lines
        )
        commit(self.store / (chunk.name + ".json"), record)

    @property
    def _digest(self) -> str:
        """The digest of the head, which every chunk contains so that it belongs to one estimate."""
        return digest_of(self.head)

    def _lines(self, chunk: Chunk) -> Path:
        """Return the path of a chunk's certificates."""
        assert self.store is not None
        return child(self.store, chunk.name + ".jsonl.gz", "chunk")
