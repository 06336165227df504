"""What a census says of itself in JSON: the store, its plies, the heads of its row files; each bound by digests.

The record of a ply has two. Its ``digest`` covers what was counted: the game, the ply, the
digest of the ply before, the counts, and the rows in the order of their leaves. It is the
same for any memory, any number of threads and any interruptions, so it can be published. Its
``checksum`` covers all the rest too: how the ply is cut into parts, the digest of
each, and the processor time. Any changed value changes one of the two.

A model here checks the types and ranges of everything that is read. File names are never
read from a file.
"""

from __future__ import annotations

import hashlib
import json
from abc import abstractmethod
from typing import Annotated, Any, ClassVar, Final, NamedTuple, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from counting.census.survey import COUNTERS

__all__ = [
    "BINS",
    "FORMAT_VERSION",
    "LEAF_BITS",
    "Owner",
    "PartEntry",
    "PlyRecord",
    "RowHeader",
    "SealedPly",
    "StoreAbout",
    "digest_of",
    "plan_name",
]

FORMAT_VERSION: Final = 4
BINS: Final = 1 << 12
"""Ranges of the hash of families; see `counting.census.families`."""
LEAF_BITS: Final = 12
"""Bits of the hash that name a leaf: 4096 leaves, so a leaf fits into memory up to about 10^11 children."""


def digest_of(content: Any) -> str:
    """Return the SHA-256 of JSON content in hexadecimal, whatever the order of its keys."""
    return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def plan_name(*content: Any) -> str:
    """Return a name that is the same for equal plans, in any run, and differs otherwise."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:32]


def _all_counters(found: dict[str, int]) -> dict[str, int]:
    if set(found) != set(COUNTERS):
        raise ValueError("these are not the counters of a census")
    return found


Count = Annotated[int, Field(ge=0, lt=1 << 63)]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Bins = tuple[Annotated[int, Field(ge=0, lt=BINS)], Annotated[int, Field(gt=0, le=BINS)]]
Plan = Annotated[str, Field(pattern=r"^[0-9a-z]{1,32}$")]
PlyNumber = Annotated[int, Field(ge=0, le=9999)]
Number = Annotated[int, Field(ge=0, le=99_999)]
Counters = Annotated[dict[str, Count], AfterValidator(_all_counters)]
Few = Annotated[tuple[Count, ...], Field(max_length=128)]
Material = Annotated[tuple[Annotated[tuple[Few, ...], Field(max_length=128)], ...], Field(min_length=2, max_length=2)]


class Model(BaseModel):
    """What is read from a store: no field is missing, of another type, or unknown."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")


class Sealed(Model):
    """What is a file of its own, and carries its digest."""

    @abstractmethod
    def fault(self) -> str | None:
        """Return what is wrong with it by itself, or None."""


class Owner(NamedTuple):
    """What a row file belongs to."""

    game: str
    full: bool
    ply: int
    number: int
    plan: str


class ExpansionStats(Model):
    """What a file of children says: how many, and the four counters of `expand_canonical`."""

    children: Count
    counters: tuple[Count, Count, Count, Count]


class PartStats(Model):
    """What a part says: children it was sifted from, counters and material of `survey`, and its own children."""

    children: Count
    counters: Counters
    material: Material
    next_children: Count


class TallyStats(Model):
    """What a tally says: as a part, and of which bins it is, and the counters of `expand_canonical`."""

    children: Count
    counters: Counters
    material: Material
    next_children: Count
    bins: Bins
    expanded: tuple[Count, Count, Count, Count]


class RowHeader(Model):
    """The head of a row file; see `counting.census.files`."""

    kind: Annotated[str, Field(pattern="^(part|children|sorted|tally)$")]
    game: Digest
    full: bool
    ply: PlyNumber
    number: Number
    plan: Plan
    words: Annotated[int, Field(ge=1, le=4)]
    leaf_bits: Annotated[int, Field(ge=LEAF_BITS, le=LEAF_BITS)]
    rows: Count
    codes: (
        tuple[
            Annotated[int, Field(ge=1, le=121)],
            Annotated[int, Field(ge=0, le=120)],
            Annotated[int, Field(ge=0, le=120)],
            Annotated[int, Field(ge=0, le=1)],
        ]
        | None
    )
    stats: PartStats | ExpansionStats | TallyStats

    @property
    def owner(self) -> Owner:
        """What the file belongs to."""
        return Owner(self.game, self.full, self.ply, self.number, self.plan)


class StoreAbout(Sealed):
    """``census.json``: which census a folder holds; ``variant`` is a name for people, ``game`` decides."""

    format: int
    variant: str
    game: Digest
    full: bool
    leaf_bits: int
    checksum: Digest

    @classmethod
    def make(cls, variant: str, game: str, *, full: bool) -> StoreAbout:
        """Return what a new folder says."""
        content = {
            "format": FORMAT_VERSION,
            "variant": variant,
            "game": game,
            "full": full,
            "leaf_bits": LEAF_BITS,
        }
        return cls.model_validate_json(json.dumps({**content, "checksum": digest_of(content)}))

    def fault(self) -> str | None:
        """Return what is wrong with it, or None."""
        if self.leaf_bits != LEAF_BITS:
            return f"leaf_bits is {self.leaf_bits}, not {LEAF_BITS}"
        content = self.model_dump(mode="json", exclude={"checksum"})
        return None if digest_of(content) == self.checksum else "its checksum is another"


class PartEntry(Model):
    """A part of a ply: rows, bytes of the file, and the digest that the file must have."""

    rows: Count
    bytes: Count
    digest: Digest


class SealedPly(Sealed):
    """What the records of plies have in common, whether their positions are stored or were only counted."""

    counted: ClassVar[frozenset[str]] = frozenset(
        {"game", "full", "ply", "before", "counters", "material", "children", "next_children", "expanded"}
    )
    """The fields that `digest` covers."""

    format: int
    game: Digest
    full: bool
    ply: PlyNumber
    before: Digest | None
    counters: Counters
    material: Material
    children: Count
    next_children: Count
    expanded: tuple[Count, Count, Count, Count]
    digest: Digest
    cpu: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    checksum: Digest

    @property
    def whole(self) -> bool:
        """Whether all of the ply is in it."""
        return True

    @classmethod
    def make(cls, content: dict[str, Any]) -> Self:
        """Return a record with its digests, from all its other fields but the format."""
        counted = {name: content[name] for name in cls.counted}
        whole = {**content, "format": FORMAT_VERSION, "digest": digest_of(counted)}
        return cls.model_validate_json(json.dumps({**whole, "checksum": digest_of(whole)}))

    def fault(self) -> str | None:
        """Return what is wrong with the record by itself, or None."""
        if self.format != FORMAT_VERSION:
            return f"format version {self.format}, not {FORMAT_VERSION}"
        content = self.model_dump(mode="json", exclude={"checksum"})
        if digest_of(content) != self.checksum:
            return "its checksum is another"
        if digest_of({name: content[name] for name in self.counted}) != self.digest:
            return "its digest is another"
        return None


class PlyRecord(SealedPly):
    """``ply-004.json``: what one complete ply holds; see `SealedPly`."""

    counted: ClassVar[frozenset[str]] = SealedPly.counted | {"rows"}

    rows: Digest
    plan: Plan
    parts: Annotated[tuple[PartEntry, ...], Field(min_length=1, max_length=1 << LEAF_BITS)]
