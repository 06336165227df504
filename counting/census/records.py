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

import json
from abc import abstractmethod
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field

from counting.census.row_head import (
    FORMAT_VERSION,
    LEAF_BITS,
    Count,
    Counters,
    Digest,
    Material,
    Model,
    Plan,
    PlyNumber,
    digest_of,
)


class Sealed(Model):
    """What is a file of its own, and carries its digest."""

    @abstractmethod
    def fault(self) -> str | None:
        """Return what is wrong with it by itself, or None."""


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
