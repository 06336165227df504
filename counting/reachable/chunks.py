"""The chunks of an estimate, the folder that keeps their results and certificates, and the exact intervals.

A chunk depends only on the seed and on the place of its samples. A result is written after its certificates and
holds their digest: without them, or with others, it is damaged. A folder does not say how many samples the lemmas
shall see: an estimate can go on with more.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pydantic import ValidationError

from counting.reachable.certificates import (
    VERSION,
    Header,
    PositionCertificate,
    Space,
    digest_of,
    read_file,
    write_file,
)
from counting.reachable.drawing import GENERATOR
from counting.reachable.stages import counted_family
from tablut.errors import InputError
from tablut.store.files import child, excerpt, read_text, remove_temporaries, write_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from tablut.variants import Variant


class Tally(NamedTuple):
    """What was found of some samples."""

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
    """How large a space is."""

    counted: int
    classes: int
    symmetries: int


def clopper_pearson(successes: int, trials: int, alpha: float) -> tuple[float, float]:
    """Return the exact interval of a share at the level ``1 - alpha``."""
    from scipy.stats import beta

    if trials == 0:
        return 0.0, 1.0
    low = float(beta.ppf(alpha / 2, successes, trials - successes + 1)) if successes else 0.0
    high = float(beta.ppf(1 - alpha / 2, successes + 1, trials - successes)) if successes < trials else 1.0
    return low, high


def share_interval(tally: Tally, alpha: float) -> tuple[float, float]:
    """Return the interval of the reachable share at the level ``1 - alpha``, or better.

    What is unknown counts as unreachable for the lower end and as reachable for the upper. Where the lemmas were
    tried on more samples, the share is a product: of those that pass, and of the reachable among
    them. Each factor then has an interval at ``1 - alpha / 2``, and both hold at once at ``1 - alpha`` at least,
    whether they depend on each other or not. Samples of a part that is counted exactly tell nothing; the
    shares are of the others, and the exact share of these is a further factor.
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
    """Return the numbers of positions to which an interval of shares belongs, rounded outwards."""
    return floor(Fraction(interval[0]) * size), ceil(Fraction(interval[1]) * size)


def share_of_classes(interval: tuple[float, float], sizes: SpaceSizes) -> tuple[float, float]:
    """Return the interval of the share of classes, where that of their members is known.

    A class counts as the sum of one over its size over its members. So the reached classes are at least the reached
    members by the order of the group, and exceed that by at most what all classes do.
    """
    each = Fraction(sizes.counted, sizes.symmetries * sizes.classes)
    low, high = Fraction(interval[0]) * each, Fraction(interval[1]) * each + 1 - each
    return float(low), min(1.0, float(high))


# -- chunks ------------------------------------------------------------------------------


_GAME_SAMPLES: Final = 500
_LEMMA_SAMPLES: Final = 1 << 20
_STORE_FORMAT: Final = 2


@dataclass(frozen=True)
class Chunk:
    """Some samples that are decided together."""

    stage: str
    name: str
    first: int
    count: int


class ChunkPlan:
    """The chunks of an estimate, and where their results are kept."""

    def __init__(
        self,
        variant: Variant,
        samples: int,
        lemma_samples: int,
        seed: int,
        store: Path | None,
        space: Space = "undecided",
    ) -> None:
        self.variant, self.samples, self.seed, self.store, self.space = variant, samples, seed, store, space
        self.lemma_samples = lemma_samples
        self.results: dict[str, dict[str, Any]] = {}

    def games(self) -> Iterator[Chunk]:
        """Yield the chunks whose samples go through both stages."""
        for first in range(0, self.samples, _GAME_SAMPLES):
            yield Chunk("samples", f"games-{first:012d}", first, min(_GAME_SAMPLES, self.samples - first))

    def lemmas(self) -> Iterator[Chunk]:
        """Yield the chunks of the further samples, which only the lemmas see."""
        for first in range(self.samples, self.lemma_samples, _LEMMA_SAMPLES):
            yield Chunk("lemmas", f"lemmas-{first:012d}", first, min(_LEMMA_SAMPLES, self.lemma_samples - first))

    def decided(self, chunks: Iterable[Chunk]) -> list[tuple[Chunk, dict[str, Any]]]:
        """Return chunks and their results, up to the first that has none: what an interrupted run is sure of."""
        found = []
        for chunk in chunks:
            if chunk.name not in self.results:
                break
            found.append((chunk, self.results[chunk.name]))
        return found

    def header(self, certificates: list[PositionCertificate]) -> Header:
        """Return the header of a file of certificates."""
        n, found = len(certificates), sum(certificate.game is not None for certificate in certificates)
        unknown = sum(certificate.unknown is not None for certificate in certificates)
        tally = Tally(n, found, n - found - unknown, unknown, n, n, n)
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

    def open(self, resume: bool) -> None:
        """Claim the folder, which the caller has locked."""
        assert self.store is not None
        path = self.store / "estimate.json"
        if not path.exists():
            write_text(path, json.dumps(self._description(), indent=2) + "\n")
            return
        if not resume:
            raise InputError(f"store {str(self.store)!r}: holds an estimate; go on with --resume, or choose another")
        try:
            found = json.loads(read_text(path, "estimate", 1 << 16))
        except ValueError as error:
            raise InputError(f"estimate {str(path)!r}: is no JSON; choose another --store") from error
        if found != self._description():
            raise InputError(f"store {str(self.store)!r}: holds another estimate: {excerpt(json.dumps(found), 300)}")
        remove_temporaries(self.store)

    def saved(self, chunk: Chunk) -> dict[str, Any] | None:
        """Return the stored result of a chunk; its certificates are read and digested again."""
        if self.store is None or not (path := child(self.store, chunk.name + ".json", "chunk")).exists():
            return None
        try:
            result = json.loads(read_text(path, "chunk", 1 << 20))
            counted = sum(result["lemmas"])
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"chunk {str(path)!r}: damaged; delete it and go on with --resume") from error
        if chunk.stage == "lemmas" and counted != chunk.count:
            return None  # the last chunk of an estimate with more samples, or with fewer
        if counted != chunk.count or (chunk.stage == "samples" and not self._certified(chunk.name, result)):
            raise InputError(f"chunk {str(path)!r}: damaged; delete it and go on with --resume")
        return dict(result)

    def certificates(self, name: str) -> list[PositionCertificate]:
        """Return the stored certificates of a chunk."""
        assert self.store is not None
        _, lines = read_file(child(self.store, name + ".jsonl.gz", "chunk"))
        return [certificate for _, certificate in lines]

    def keep(self, name: str, result: dict[str, Any], certificates: list[PositionCertificate] | None) -> None:
        """Write the result of a chunk if there is a folder, its certificates first."""
        if self.store is None:
            return
        if certificates is not None:
            write_file(self.store / (name + ".jsonl.gz"), self.header(certificates), certificates)
        write_text(self.store / (name + ".json"), json.dumps(result) + "\n")

    def _description(self) -> dict[str, Any]:
        return {
            "format": _STORE_FORMAT,
            "variant": self.variant.name,
            "digest": self.variant.digest,
            "space": self.space,
            "generator": GENERATOR,
            "seed": self.seed,
            "samples": self.samples,
            # What is left out of the samples is counted in every chunk.
            "surviving": str(counted_family(self.variant).surviving),
        }

    def _certified(self, name: str, result: dict[str, Any]) -> bool:
        try:
            return bool(digest_of(self.certificates(name)) == result["digest"])
        except (InputError, ValidationError):
            return False
