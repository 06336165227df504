"""A tablebase's files, which form a Zarr v3 hierarchy and are verified whenever they are read.

::

    STORE/zarr.json                      the game and the planned tiers (a Zarr group)
    STORE/3v1/zarr.json                  one tier: its counts and the digests of its files (a group)
    STORE/3v1/white/  black/             codes with white and with black to move, by entry (arrays)
    STORE/3v1/representatives/           which combinations of row soldiers have rows, as bits (an array)
    STORE/provenance/3v1.json            program version and cost of the build (not read by the program)

Arrays are cut into chunks. Each chunk is compressed with Zstandard and protected by a CRC-32C checksum. Chunks are
grouped into shards, and each shard is written once, by one writer. A tier is written under a temporary name and then
renamed, so a tier folder is always complete. The same input always produces the same bytes. The files are written by
`retrograde.tablebase.writer`.

Each group has a sealed record (`tablut.work.sealed_records`) as its attributes. Two layers protect a store's integrity.
A tier's record contains the length and the SHA-256 of each of its files, and a digest of the record reveals any change
to the record itself. Digests of decoded values serve another purpose: they allow a table to be compared with the
published one, no matter how its files were compressed.

Zarr reads a missing file as zeros, which would be valid values here. The list of files that a tier needs is therefore
derived from the tier's length, never from a directory listing. Before a file is read, the program checks that the file
exists with the length given in the tier's record. Before a file is read for the first time, its digest is also
compared. Links are not followed.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from tablut.errors import TablutError, did_you_mean
from tablut.indexing.tiers import TierIndex
from tablut.indexing.values import ALIAS_CODE, Wdl, is_loss, plies_of
from tablut.position import WIDEST, SideName
from tablut.prober import MissingTableError
from tablut.variants import Variant
from tablut.variants.model import CAMP_LETTERS, Rules
from tablut.work import sealed_records as records
from tablut.work.files import beside, excerpt, store_path
from tablut.work.sealed_records import Count, DataFile, Digest, Part, Record, check_data

TierPart = Literal["white", "black", "representatives"]
TablebaseError = records.StoreError
DamagedTableError = records.DamagedError

PARTS: Final[tuple[TierPart, ...]] = ("white", "black", "representatives")
"""Names of a tier's arrays."""

_VERSION: Final = 4
"""Version of the layout, which is increased whenever an older program would misread a store."""
_SIZES: Final = range(3, WIDEST + 1, 2)
_TIER_NAME: Final = re.compile(r"\d+v\d+")


def tier_name(material: tuple[int, int]) -> str:
    """Return the name of a tier and its folder, such as ``3v1``."""
    return f"{material[0]}v{material[1]}"


def slices(length: int, step: int) -> Iterator[tuple[int, int]]:
    """Divide ``length`` items into consecutive parts of at most ``step`` items, and yield each part's bounds."""
    for start in range(0, length, step):
        yield start, min(start + step, length)


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
                raise ValueError(f"a diagram is not a square with an odd side length from 3 to {WIDEST}")
            if unknown := {letter for row in rows for letter in row} - set(letters):
                raise ValueError(f"a diagram contains the unknown letter {min(unknown)!r}")
        if "".join(self.start).count("K") != 1:
            raise ValueError("the start does not have exactly one king")
        return self

    @classmethod
    def of(cls, variant: Variant) -> RulesRecord:
        """Return the record that describes a variant."""
        return cls.model_validate({name: getattr(variant, name) for name in cls.model_fields})

    def variant(self) -> Variant:
        """Return the variant that the record describes."""
        return Variant(**{name: getattr(self, name) for name in type(self).model_fields})


class RootRecord(Record):
    """The whole store's record: the game, and the tiers that are stored or planned."""

    FORMAT: ClassVar[str] = "tablut-tablebase"
    VERSION: ClassVar[int] = _VERSION
    GROUP: ClassVar[bool] = True

    variant: RulesRecord
    tiers: tuple[tuple[Annotated[int, Field(ge=1)], Count], ...]

    @model_validator(mode="after")
    def _tiers_of_the_game(self) -> RootRecord:
        if list(self.tiers) != sorted(set(self.tiers)):
            raise ValueError("the tiers are not in strictly ascending order")
        soldiers = ["".join(self.variant.start).count(letter) for letter in "bw"]
        for attackers, defenders in self.tiers:
            if attackers > soldiers[0] or defenders > soldiers[1]:
                raise ValueError(f"the game has no tier {attackers}v{defenders}")
        return self


class SideRecord(Part):
    """The record of a tier's codes with one side to move: their data type, and the number of classes with each code."""

    dtype: Literal["uint8", "uint16"]
    classes: dict[Annotated[int, Field(ge=0, lt=ALIAS_CODE)], Count]


class TierRecord(Record):
    """One tier's record."""

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
        return tier_name((self.attackers, self.defenders))

    @property
    def bytes(self) -> int:
        """Size of all files except the record itself, in bytes."""
        return sum(file.bytes for file in self.files.values())

    def longest(self, move_limit: int | None = None) -> int:
        """Return the greatest distance of a win or loss within a move limit, in plies, or 0 if there is none."""
        plies = (plies_of(code) for side in (self.white, self.black) for code in side.classes)
        return max((count for count in plies if move_limit is None or count <= move_limit), default=0)

    def tally(self, unforced: Wdl = "draw", move_limit: int | None = None) -> dict[Wdl, int]:
        """Return the number of classes with each value for the side to move, summed over both sides to move."""
        tally: dict[Wdl, int] = dict.fromkeys(("win", "draw", "unresolved", "loss"), 0)
        for side in (self.white, self.black):
            for code, count in side.classes.items():
                forced = code != 0 and (move_limit is None or plies_of(code) <= move_limit)
                tally["loss" if forced and is_loss(code) else "win" if forced else unforced] += count
        return tally


def values_digest(values: Mapping[TierPart, str]) -> str:
    """Return one digest that combines those of a tier's arrays."""
    return hashlib.sha256("\n".join(values[part] for part in PARTS).encode()).hexdigest()


Model = TypeVar("Model", RootRecord, TierRecord)


def write_record(folder: Path, record: RootRecord | TierRecord) -> None:
    """Write a record to a folder's Zarr group attributes."""
    records.write_record(folder / "zarr.json", record)


def read_record(folder: Path, model: type[Model]) -> Model:
    """Read the record from a folder's Zarr group attributes."""
    record = records.read_record(folder / "zarr.json", model, "tablebase file", "build it again")
    if record is None:
        way = "name the folder of a tablebase"
        raise TablebaseError("is not a tablebase (it has no zarr.json)", subject=f"folder {str(folder)!r}", remedy=way)
    return record


# -- a store -----------------------------------------------------------------------------


class Store:
    """A tablebase in a folder; see `open_store`."""

    def __init__(self, root: Path, record: RootRecord, variant: Variant | None = None) -> None:
        self.root, self.record = root, record
        self.variant = record.variant.variant() if variant is None else variant
        self._tiers: dict[tuple[int, int], StoredTier] = {}
        # Note the records' stamps before anything else is read, so that later changes are noticed.
        self._stamps = {folder: _stamp(folder) for folder in (root, *map(self._folder, record.tiers))}

    def __str__(self) -> str:
        return f"tablebase {str(self.root)!r}"

    @property
    def planned(self) -> tuple[tuple[int, int], ...]:
        """Numbers of attackers and defenders of all planned tiers, stored or not."""
        return self.record.tiers

    def tiers(self) -> list[tuple[int, int]]:
        """Return the numbers of attackers and defenders of all planned tiers that are stored."""
        return [material for material in self.planned if self.has(*material)]

    def has(self, attackers: int, defenders: int) -> bool:
        """Return whether a tier is planned and stored."""
        return (attackers, defenders) in self.planned and self._folder((attackers, defenders)).is_dir()

    def tier(self, attackers: int, defenders: int) -> StoredTier:
        """Return a tier after verifying its record and checking that its files exist.

        Raise `MissingTableError` if the tier is not stored.
        """
        material = (attackers, defenders)
        tier = self._tiers.get(material)
        if tier is not None:
            return tier
        if not self.has(*material):
            self.check_not_deleted(material)
            planned = "not built yet: finish the build of" if material in self.planned else "not in"
            raise MissingTableError(f"tier {tier_name(material)} is {planned} {self}")
        return self._tiers.setdefault(material, StoredTier(self._folder(material), self.variant, material))

    def check_not_deleted(self, material: tuple[int, int]) -> None:
        """Raise an error if a planned tier has been deleted: it is missing, but a tier built from it exists."""
        attackers, defenders = material
        above = [tier for tier in ((attackers + 1, defenders), (attackers, defenders + 1)) if self.has(*tier)]
        if material in self.planned and above:
            raise DamagedTableError(
                f"lacks tier {tier_name(material)}, although {tier_name(above[0])} was built from it",
                subject=str(self),
                remedy="build or copy the tier again",
            )

    def is_current(self) -> bool:
        """Return whether the records on disk are unchanged since they were read. A changed store must be reopened."""
        return all(_stamp(folder) == stamp for folder, stamp in self._stamps.items())

    @cached_property
    def max_men(self) -> int:
        """Greatest n such that all tiers with up to n men, including the king, are stored; 1 if no tier is stored."""
        men = 1
        while True:
            tiers = [
                (attackers, men - attackers)
                for attackers in range(1, men + 1)
                if attackers <= self.variant.attackers and men - attackers <= self.variant.defenders
            ]
            if not tiers or not all(self.has(*tier) for tier in tiers):
                return men
            men += 1

    def missing(self) -> list[str]:
        """Return the names of planned tiers that are not stored."""
        return [tier_name(material) for material in self.planned if not self.has(*material)]

    def check_complete(self) -> None:
        """Raise `TablebaseError` if any planned tiers are not stored."""
        missing = self.missing()
        if missing:
            lacks, remedy = ", ".join(missing), "finish it with the command that began it"
            raise TablebaseError(f"is not complete: it lacks {lacks}", subject=str(self), remedy=remedy)

    def unplanned(self) -> list[str]:
        """Return the names of tiers that are stored but not planned, because they were written under another record."""
        planned = {tier_name(material) for material in self.planned}
        names = (name for name in (path.name for path in self.root.iterdir()) if _TIER_NAME.fullmatch(name))
        return sorted(set(names) - planned)

    def _folder(self, material: tuple[int, int]) -> Path:
        return self.root / tier_name(material)


def _hint(named: Path) -> str:
    """Return a hint for a missing folder: the built-in tablebase of this name, or tablebases with similar names."""
    shipped = Path(str(resources.files("retrograde"))) / "data" / named.name
    if named.parent == Path() and shipped.is_dir():
        return f"it is built in, and its folder is {str(shipped)!r}"
    stores = [entry.name for folder in (named, shipped) for entry in beside(folder) if is_store(entry)]
    return did_you_mean(named.name, stores)


def open_store(root: Path | str) -> Store:
    """Open a tablebase."""
    place = store_path(root)
    if not place.is_dir():
        raise TablebaseError("no such folder", subject=f"tablebase {str(place)!r}", remedy=_hint(place))
    stamp = _stamp(place)
    store = Store(place, read_record(place, RootRecord))
    # Keep the earlier stamp. A record written in the meantime then counts as changed.
    store._stamps[place] = stamp
    return store


def _stamp(folder: Path) -> tuple[int, int, int] | None:
    """Return the time, size and inode of a folder's record, which identify its version, or None if it has no record."""
    try:
        status = (folder / "zarr.json").stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def is_store(place: Path) -> bool:
    """Return whether a folder contains a tablebase's record."""
    return (place / "zarr.json").exists()


# -- one tier ----------------------------------------------------------------------------


class StoredTier:
    """One tier of a store. The tier is read chunk by chunk."""

    def __init__(self, folder: Path, variant: Variant, material: tuple[int, int]) -> None:
        self.folder, self.variant = folder, variant
        _refuse_links(folder)
        self.record = read_record(folder, TierRecord)
        what = f"tablebase file {str(folder / 'zarr.json')!r}"
        if self.record.game != variant.digest:
            raise TablebaseError(
                f"is a tier of a different game from {variant.name}", subject=what, remedy="build it again"
            )
        if (self.record.attackers, self.record.defenders) != material:
            raise TablebaseError(
                f"is tier {self.record.name}, not {tier_name(material)}", subject=what, remedy="build it again"
            )
        self._compared: set[str] = set()
        self._check_files()
        self._arrays: dict[str, Any] = {}

    def _lengths(self) -> dict[TierPart, int]:
        """Return the length of each array: the number of entries, or the number of bytes for the representatives."""
        plain = self._plain_index
        words = -(-plain.row_space // 64)
        entries = self.record.entries
        return {"white": entries, "black": entries, "representatives": 8 * words * len(plain.kings.representatives)}

    def _check_files(self) -> None:
        if self.record.entries > self._plain_index.positions:
            what = f"has {self.record.entries:,} entries, more than the tier has placements"
            raise _damaged(self.folder / "zarr.json", what)
        needed = {f"{part}/zarr.json" for part in PARTS}
        named = self.record.files.keys()
        for part, length in self._lengths().items():
            # Expecting one shard more than there are named files suffices to reveal an error, even if a forged record
            # claims many shards.
            shards = min(-(-length // self.record.shard), len(named) + 1)
            needed |= {f"{part}/c/{number}" for number in range(shards)}
        for wrong, what in ((needed - named, "does not name"), (named - needed, "names the foreign file")):
            if wrong:
                raise _damaged(self.folder / "zarr.json", f"{what} {excerpt(min(wrong))}")
        _refuse_links(*(self.folder / part / step for part in PARTS for step in (".", "c")))
        for name in self.record.files:
            # Compare the contents of the metadata files now, because they are small and define how data are read.
            self._check(name, content=name.endswith("zarr.json"))

    def _check(self, name: str, *, content: bool) -> None:
        """Raise an error if a file is missing, or if its length or digest differs from the record."""
        check_data(
            self.folder / name, self.record.files[name], "tablebase file", "build the tier again", content=content
        )

    def check_contents(self) -> Iterator[DamagedTableError]:
        """Yield an error for every file whose content differs from the content that was written."""
        for name in self.record.files:
            try:
                self._check(name, content=True)
            except DamagedTableError as error:
                yield error

    def values(self) -> dict[TierPart, str]:
        """Compute digests of the decoded values from the files, and compare them with `TierRecord.values`."""
        digests: dict[TierPart, str] = {}
        for part, length in self._lengths().items():
            digest = hashlib.sha256()
            for start, stop in slices(length, self.record.shard):
                digest.update(little_endian(self.read(part, start, stop)))
            digests[part] = digest.hexdigest()
            if digests[part] != self.record.values[part]:
                raise _damaged(self.folder / part, "its values do not match their digest", "folder")
        return digests

    # -- reading -----------------------------------------------------------------------

    @property
    def entries(self) -> int:
        """Length of the code arrays."""
        return self.record.entries

    def chunk(self, part: TierPart, number: int) -> NDArray[Any]:
        """Read and verify one chunk."""
        start = number * self.record.chunk
        return self.read(part, start, min(start + self.record.chunk, self._array(part).shape[0]))

    def read(self, part: TierPart, start: int, stop: int) -> NDArray[Any]:
        """Read a range of an array, after verifying the shards and chunks that contain it."""
        array, shard = self._array(part), self.record.shard
        for number in range(start // shard, -(-stop // shard)):
            # Zarr reads a missing file as zeros, and the checksums of chunks do not reveal that shards were swapped.
            name = f"{part}/c/{number}"
            self._check(name, content=name not in self._compared)
            self._compared.add(name)
        try:
            return np.asarray(array[start:stop])
        except (MemoryError, TablutError):
            raise
        except Exception as error:
            # Any error that the codecs raise, whatever its text, means that the file is damaged.
            raise _damaged(self.folder / part / "c" / str(start // shard), _first_line(error)) from error

    def _array(self, part: TierPart) -> Any:
        array = self._arrays.get(part)
        if array is None:
            import zarr

            try:
                array = zarr.open_array(self.folder / part, mode="r", zarr_format=3)
            except TablutError:
                raise
            except Exception as error:
                raise _damaged(self.folder / part / "zarr.json", _first_line(error)) from error
            self._check_shape(part, array)
            self._arrays[part] = array
        return array

    def _check_shape(self, part: TierPart, array: Any) -> None:
        """Raise an error if an array's layout differs from its tier's record."""
        length = self._lengths()[part]
        chunk = min(self.record.chunk, length)
        shard = min(self.record.shard, -(-length // chunk) * chunk)
        dtype = "uint8" if part == "representatives" else getattr(self.record, part).dtype
        expected = ((length,), (chunk,), (shard,), np.dtype(dtype))
        if (array.shape, array.chunks, array.shards, array.dtype) != expected:
            raise _damaged(self.folder / part / "zarr.json", "is not the array in its tier's record")

    def codes(self, side: SideName, out: NDArray[Any] | None = None) -> NDArray[Any]:
        """Read all codes with one side to move, shard by shard, into ``out`` or a new array of the stored dtype."""
        codes = out if out is not None else np.empty(self.entries, dtype=getattr(self.record, side).dtype)
        for start, stop in slices(self.entries, self.record.shard):
            codes[start:stop] = self.read(side, start, stop)
        return codes

    @cached_property
    def _plain_index(self) -> TierIndex:
        return TierIndex(self.variant, self.record.attackers, self.record.defenders)

    @cached_property
    def index(self) -> TierIndex:
        """Index of the tier, with the stored representatives."""
        length = self._array("representatives").shape[0]
        packed = self.read("representatives", 0, length).reshape(len(self._plain_index.kings.representatives), -1)
        index = TierIndex(self.variant, self.record.attackers, self.record.defenders, packed=packed)
        self.check_entries(index.size)
        return index

    def check_entries(self, size: int) -> None:
        """Raise an error if a tier and its index differ in length. Kernels do not check ranks against the length."""
        if self.entries != size:
            raise _damaged(self.folder, f"has {self.entries:,} entries, but the index has {size:,}", "folder")


def _refuse_links(*folders: Path) -> None:
    for folder in folders:
        if folder.is_symlink():
            raise TablebaseError(
                "is a link", subject=f"tablebase folder {str(folder)!r}", remedy="replace it with the folder itself"
            )


def _damaged(path: Path, what: str, kind: str = "file") -> DamagedTableError:
    subject = f"tablebase {kind} {str(path)!r}"
    return DamagedTableError(f"is damaged: {what}", subject=subject, remedy="build the tier again")


def little_endian(items: NDArray[Any]) -> bytes:
    """Return an array's bytes in little-endian order on any machine."""
    return np.ascontiguousarray(items, dtype=items.dtype.newbyteorder("<")).tobytes()


def _first_line(error: Exception) -> str:
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0]
