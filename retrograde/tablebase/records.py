"""The metadata of a tablebase, as sealed records (`tablut.work.records`) in the attributes of Zarr groups.

Integrity has two layers: the record of a tier contains the length and the SHA-256 of each of its files, and a digest of
the record itself reveals any change to the record. The digests of decoded values serve another purpose: with them, a
table can be compared with the published one, regardless of how its files were compressed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, ClassVar, Final, Literal, TypeVar

from pydantic import Field, model_validator

from tablut.indexing.values import ALIAS_CODE, Wdl, is_loss, plies_of
from tablut.position import WIDEST
from tablut.variants import Variant
from tablut.variants.model import CAMP_LETTERS, Rules
from tablut.work import records
from tablut.work.records import Count, DataFile, Digest, Part, Record, TooOldError

__all__ = ["TooOldError"]

TablebaseError = records.StoreError
DamagedTableError = records.DamagedError

PARTS: Final = ("white", "black", "representatives")
"""Names of the arrays of a tier."""

_VERSION: Final = 4
"""Version of the layout, increased whenever an older program would misread a store."""
_SIZES: Final = range(3, WIDEST + 1, 2)

TierPart = Literal["white", "black", "representatives"]


class RulesRecord(Part):
    """A complete variant: its name, diagrams and rules."""

    name: str
    title: str
    source: str
    terrain: tuple[str, ...]
    start: tuple[str, ...]
    rules: Rules

    @model_validator(mode="after")
    def _is_a_board(self) -> RulesRecord:
        for rows, letters in ((self.terrain, ".T*+X" + CAMP_LETTERS), (self.start, ".bwK")):
            size = len(self.terrain)
            if size not in _SIZES or len(rows) != size or any(len(row) != size for row in rows):
                raise ValueError(f"a diagram is not a square with an odd side from 3 to {WIDEST}")
            if unknown := {letter for row in rows for letter in row} - set(letters):
                raise ValueError(f"a diagram contains the unknown letter {min(unknown)!r}")
        if "".join(self.start).count("K") != 1:
            raise ValueError("the start does not have exactly one king")
        return self

    @classmethod
    def of(cls, variant: Variant) -> RulesRecord:
        """Return the record of a variant."""
        return cls.model_validate({name: getattr(variant, name) for name in cls.model_fields})

    def variant(self) -> Variant:
        """Return the variant of the record."""
        return Variant(**{name: getattr(self, name) for name in type(self).model_fields})


class RootRecord(Record):
    """Record of the whole store: the game, and the tiers that are stored or planned."""

    FORMAT: ClassVar[str] = "tablut-tablebase"
    VERSION: ClassVar[int] = _VERSION
    GROUP: ClassVar[bool] = True

    variant: RulesRecord
    tiers: tuple[tuple[Annotated[int, Field(ge=1)], Count], ...]

    @model_validator(mode="after")
    def _tiers_of_the_game(self) -> RootRecord:
        if list(self.tiers) != sorted(set(self.tiers)):
            raise ValueError("the tiers are not in ascending order without repetition")
        soldiers = ["".join(self.variant.start).count(letter) for letter in "bw"]
        for attackers, defenders in self.tiers:
            if attackers > soldiers[0] or defenders > soldiers[1]:
                raise ValueError(f"the game has no tier {attackers}v{defenders}")
        return self


class SideRecord(Part):
    """Values with one side to move: their data type, and the number of classes with each code."""

    dtype: Literal["uint8", "uint16"]
    classes: dict[Annotated[int, Field(ge=0, lt=ALIAS_CODE)], Count]


class TierRecord(Record):
    """Record of one tier."""

    FORMAT: ClassVar[str] = "tablut-tablebase-tier"
    VERSION: ClassVar[int] = _VERSION
    GROUP: ClassVar[bool] = True

    game: Digest
    attackers: int
    defenders: int
    placements: Count
    entries: Annotated[int, Field(gt=0)]
    classes: Count
    chunk: Annotated[int, Field(gt=0)]
    shard: Annotated[int, Field(gt=0)]
    white: SideRecord
    black: SideRecord
    values: dict[TierPart, Digest]
    files: dict[str, DataFile]

    @model_validator(mode="after")
    def _of_its_parts(self) -> TierRecord:
        if set(self.values) != set(PARTS):
            raise ValueError("an array has no digest of its values")
        if self.shard % self.chunk:
            raise ValueError("a shard is not a whole number of chunks")
        return self

    @property
    def digest(self) -> str:
        """Digest of all decoded values."""
        return values_digest(self.values)

    @property
    def name(self) -> str:
        """Name of the tier, such as ``3v1``."""
        return f"{self.attackers}v{self.defenders}"

    @property
    def bytes(self) -> int:
        """Size in bytes of all files, without the record itself."""
        return sum(file.bytes for file in self.files.values())

    def longest(self, move_limit: int | None = None) -> int:
        """Return the longest distance of a win or loss, in plies, within a move limit; 0 if there is none."""
        plies = (plies_of(code) for side in (self.white, self.black) for code in side.classes)
        return max((count for count in plies if move_limit is None or count <= move_limit), default=0)

    def tally(self, unforced: Wdl = "draw", move_limit: int | None = None) -> dict[Wdl, int]:
        """Return the numbers of classes, for both sides to move, by their value for the side to move."""
        tally: dict[Wdl, int] = dict.fromkeys(("win", "draw", "unresolved", "loss"), 0)
        for side in (self.white, self.black):
            for code, count in side.classes.items():
                forced = code != 0 and (move_limit is None or plies_of(code) <= move_limit)
                tally["loss" if forced and is_loss(code) else "win" if forced else unforced] += count
        return tally


def values_digest(values: Mapping[TierPart, str]) -> str:
    """Combine the digests of a tier's arrays into one."""
    return hashlib.sha256("\n".join(values[part] for part in PARTS).encode()).hexdigest()


Model = TypeVar("Model", RootRecord, TierRecord)


def write_record(folder: Path, record: RootRecord | TierRecord) -> None:
    """Write a record as the attributes of a folder's Zarr group."""
    records.write_record(folder / "zarr.json", record)


def read_record(folder: Path, model: type[Model]) -> Model:
    """Read the record from the attributes of a folder's Zarr group."""
    found = records.read_record(folder / "zarr.json", model, "tablebase file", "build it again")
    if found is None:
        raise TablebaseError("has no zarr.json", subject=f"tablebase {str(folder)!r}", remedy="choose a tablebase")
    return found
