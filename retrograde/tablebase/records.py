"""What a store says about itself: pydantic models, kept as attributes of Zarr groups, with a digest over each.

The digest is what makes a changed byte in the description detectable, as the
checksums of the chunks do for the data.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from tablut.errors import InputError
from tablut.indexing.values import ALIAS_CODE, is_loss, plies_of
from tablut.store.files import read_bytes, write_text
from tablut.variants import Variant
from tablut.variants.model import CAMP_LETTERS, Rules

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tablut.indexing.values import Wdl

FORMAT_NAME: Final = "tablut-tablebase"
FORMAT_VERSION: Final = 3
"""Version of the layout; goes up whenever an older program would misread a newer store.

1: without the digests of decoded values. 2: with them, required. 3: with the segments of each shard, so that a chunk
can be read from afar and verified without the rest of its shard.
"""

PARTS: Final = ("white", "black", "representatives")
"""The arrays of a tier."""

_OLDEST: Final = 1
_SIZES: Final = range(3, 12, 2)
_TEXT_BYTES: Final = 64 << 20
_ATTRIBUTE: Final = "tablut"

Part = Literal["white", "black", "representatives"]
Count = Annotated[int, Field(ge=0)]
Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class RulesRecord(_Record):
    """A variant, whole: what it is called, its diagrams and its rules."""

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
                raise ValueError("a diagram is not square, or not of an odd side from 3 to 11")
            if unknown := {letter for row in rows for letter in row} - set(letters):
                raise ValueError(f"a diagram has the unknown letter {min(unknown)!r}")
        if "".join(self.start).count("K") != 1:
            raise ValueError("the start has not one king")
        return self

    @classmethod
    def of(cls, variant: Variant) -> RulesRecord:
        """Return the record of a variant."""
        return cls.model_validate({name: getattr(variant, name) for name in cls.model_fields})

    def variant(self) -> Variant:
        """Return the variant of the record."""
        return Variant(**{name: getattr(self, name) for name in type(self).model_fields})


class RootRecord(_Record):
    """The whole store: the game, and the tiers that it has or is to have."""

    format: str = FORMAT_NAME
    version: int = FORMAT_VERSION
    variant: RulesRecord
    tiers: tuple[tuple[Annotated[int, Field(ge=1)], Count], ...]

    @model_validator(mode="after")
    def _tiers_of_the_game(self) -> RootRecord:
        if list(self.tiers) != sorted(set(self.tiers)):
            raise ValueError("the tiers are not ascending, each once")
        soldiers = ["".join(self.variant.start).count(letter) for letter in "bw"]
        for attackers, defenders in self.tiers:
            if attackers > soldiers[0] or defenders > soldiers[1]:
                raise ValueError(f"tier {attackers}v{defenders} is none of the game")
        return self


class SideRecord(_Record):
    """The values with one side to move."""

    dtype: Literal["uint8", "uint16"]
    classes: dict[Annotated[int, Field(ge=0, lt=ALIAS_CODE)], Count]


class FileRecord(_Record):
    """A file of a tier: its length in bytes and the SHA-256 digest of its content."""

    bytes: Count
    sha256: Digest
    segments: tuple[tuple[Annotated[int, Field(gt=0)], Digest], ...] | None = None

    @model_validator(mode="after")
    def _segments_are_the_whole(self) -> FileRecord:
        if self.segments is not None and sum(size for size, _ in self.segments) != self.bytes:
            raise ValueError("the segments of a file are not as long as the file")
        return self


class TierRecord(_Record):
    """One tier."""

    format: str = FORMAT_NAME
    version: int = FORMAT_VERSION
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
    values: dict[Part, Digest] | None = None
    files: dict[str, FileRecord]

    @model_validator(mode="after")
    def _of_its_version(self) -> TierRecord:
        if (self.version == 1) != (self.values is None):
            raise ValueError("the digests of its values are not those of its format version")
        if self.values is not None and set(self.values) != set(PARTS):
            raise ValueError("not every array has a digest of its values")
        cut = [file.segments is not None for name, file in self.files.items() if not name.endswith("zarr.json")]
        if any(cut) if self.version < 3 else not all(cut):
            raise ValueError("the segments of its shards are not those of its format version")
        if self.shard % self.chunk:
            raise ValueError("a shard is not a number of chunks")
        return self

    @property
    def digest(self) -> str | None:
        """One digest of all decoded values; None in version 1."""
        return None if self.values is None else digest_of(self.values)

    @property
    def name(self) -> str:
        """The tier's name, such as ``3v1``."""
        return f"{self.attackers}v{self.defenders}"

    @property
    def bytes(self) -> int:
        """Bytes of all files, without the record itself."""
        return sum(file.bytes for file in self.files.values())

    def longest(self, move_limit: int | None = None) -> int:
        """Return the longest distance of a forced win, in plies, of those that fit into a move limit."""
        plies = (plies_of(code) for side in (self.white, self.black) for code in side.classes)
        return max((count for count in plies if move_limit is None or count <= move_limit), default=0)

    def tally(self, unforced: Wdl = "draw", move_limit: int | None = None) -> dict[Wdl, int]:
        """Return how many classes, of both sides to move, are worth what to the side to move."""
        tally: dict[Wdl, int] = dict.fromkeys(("win", "draw", "unresolved", "loss"), 0)
        for side in (self.white, self.black):
            for code, count in side.classes.items():
                forced = code != 0 and (move_limit is None or plies_of(code) <= move_limit)
                tally["loss" if forced and is_loss(code) else "win" if forced else unforced] += count
        return tally


def digest_of(values: Mapping[Part, str]) -> str:
    """Return one digest of those of a tier's arrays."""
    return hashlib.sha256("\n".join(values[part] for part in PARTS).encode()).hexdigest()


Model = TypeVar("Model", RootRecord, TierRecord)


def _digest(body: Any) -> str:
    text = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _group_text(body: Any) -> str:
    """Return the one text that a group with a record has."""
    attributes = {_ATTRIBUTE: body, f"{_ATTRIBUTE}_sha256": _digest(body)}
    group = {"zarr_format": 3, "node_type": "group", "attributes": attributes}
    return json.dumps(group, indent=1, sort_keys=True) + "\n"


def write_record(folder: Path, record: RootRecord | TierRecord) -> None:
    """Write a record as the attributes of a folder's Zarr group, with its digest."""
    write_text(folder / "zarr.json", record_text(record), lasting=True)


def record_text(record: RootRecord | TierRecord) -> str:
    """Return the text of the Zarr group that has a record."""
    return _group_text(record.model_dump(mode="json", by_alias=True, exclude_none=False))


def read_record(folder: Path, model: type[Model]) -> Model:
    """Return the record of a folder's Zarr group."""
    path = folder / "zarr.json"
    shown = repr(str(path))
    if path.is_symlink():
        raise TablebaseError(f"tablebase file {shown}: is a link; a tablebase holds its files itself")
    if not path.exists():
        raise NoRecordError(f"tablebase {str(folder)!r}: has no zarr.json; is it a tablebase?")
    try:
        return _parsed(read_bytes(path, "tablebase file", _TEXT_BYTES), shown, model)
    except DamagedTableError:
        raise
    except InputError as error:
        if isinstance(error, TablebaseError):
            raise
        raise DamagedTableError(f"{error}; build it again") from error


def _parsed(content: bytes, shown: str, model: type[Model]) -> Model:
    """Return the record that a group's text holds, everything about it checked."""
    try:
        text = content.decode()
        group = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DamagedTableError(f"tablebase file {shown}: damaged: {error}; build it again") from error
    attributes = group.get("attributes") if isinstance(group, dict) else None
    body = attributes.get(_ATTRIBUTE) if isinstance(attributes, dict) else None
    if not isinstance(body, dict) or not isinstance(attributes, dict) or body.get("format") != FORMAT_NAME:
        raise TablebaseError(f"tablebase file {shown}: is no record of a tablebase of this program")
    version = body.get("version")
    if not isinstance(version, int):
        raise DamagedTableError(f"tablebase file {shown}: damaged: version {version!r}; build it again")
    if version > FORMAT_VERSION:
        raise TooNewError(
            f"tablebase file {shown}: format version {version}; this program reads up to {FORMAT_VERSION}: update it"
        )
    if version < _OLDEST:
        raise TooOldError(
            f"tablebase file {shown}: format version {version}; this program reads from {_OLDEST} on: build it again"
        )
    if text != _group_text(body):
        raise DamagedTableError(f"tablebase file {shown}: damaged: not what its digest says; build it again")
    try:
        return model.model_validate(body)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise DamagedTableError(
            f"tablebase file {shown}: damaged: {where + ': ' if where else ''}"
            f"{first['msg'].removeprefix('Value error, ')}; build it again"
        ) from error


# -- what can be wrong with a tablebase, each kind with a name of its own ----------------


class TablebaseError(InputError):
    """A tablebase that cannot be used as it is; the message names the file or folder."""


class DamagedTableError(TablebaseError):
    """A file that is missing, cut short, or holds other bytes than were written."""


class NoRecordError(TablebaseError):
    """A folder without the record that a tablebase, or a tier, begins with."""


class TooOldError(TablebaseError):
    """A format version that this program no longer reads."""


class TooNewError(TablebaseError):
    """A format version that only a later program reads."""
