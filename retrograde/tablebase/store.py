"""The files of a tablebase: a Zarr v3 hierarchy that is verified whenever it is read.

::

    STORE/zarr.json                      the game, the tiers planned (a Zarr group)
    STORE/3v1/zarr.json                  one tier: its numbers, the digests of its files (a group)
    STORE/3v1/white/  black/             codes with white and with black to move, by entry (arrays)
    STORE/3v1/representatives/           which combinations of row soldiers have rows, as bits (an array)
    STORE/provenance/3v1.json            program version and cost of the build (not read by the program)

Arrays are cut into chunks (compressed with Zstandard, each with a CRC-32C), which are grouped into
shards. Each shard is written once, by one writer. A tier is written under a temporary
name and renamed, so it exists completely or not at all. The same input always produces the same bytes.

Zarr reads a missing file as zeros, which would be valid values here. The list of files that a tier needs therefore
follows from its length, never from a directory listing. Before a file is read, it must be present with the length given
in the tier's record, and before it is read for the first time, its digest is compared. Links are not followed. The
files are written by `retrograde.tablebase.writer`.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from functools import cache, cached_property
from importlib import resources
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from retrograde.tablebase.encoding import slices
from retrograde.tablebase.records import (
    PARTS,
    DamagedTableError,
    RootRecord,
    TablebaseError,
    TierPart,
    TierRecord,
    read_record,
)
from tablut.errors import TablutError, did_you_mean
from tablut.indexing.tiers import TierIndex
from tablut.position import SideName
from tablut.prober import MissingTableError
from tablut.variants import Variant
from tablut.work.files import beside, excerpt, store_path
from tablut.work.records import check_data

_TIER_NAME: Final = re.compile(r"\d+v\d+")


def tier_name(material: tuple[int, int]) -> str:
    """Return the name of a tier and of its folder, such as ``3v1``."""
    return f"{material[0]}v{material[1]}"


class Store:
    """A tablebase in a folder; see `open_store`."""

    def __init__(self, root: Path, record: RootRecord) -> None:
        self.root, self.record = root, record
        self.variant = record.variant.variant()
        self._tiers: dict[tuple[int, int], StoredTier] = {}
        # Take the stamps before anything else is read, so that later changes are noticed.
        self._stamps = {folder: _stamp(folder) for folder in (root, *map(self._folder, record.tiers))}

    @property
    def planned(self) -> tuple[tuple[int, int], ...]:
        """Attackers and defenders of the planned tiers, whether or not they are already stored."""
        return self.record.tiers

    def tiers(self) -> list[tuple[int, int]]:
        """Return attackers and defenders of the planned tiers that are stored."""
        return [material for material in self.planned if self.has(*material)]

    def has(self, attackers: int, defenders: int) -> bool:
        """Return whether a tier is planned and stored."""
        return (attackers, defenders) in self.planned and self._folder((attackers, defenders)).is_dir()

    def tier(self, attackers: int, defenders: int) -> StoredTier:
        """Return a tier after verifying its record and checking that its files exist.

        Raise `MissingTableError` if the tier is not stored.
        """
        material = (attackers, defenders)
        found = self._tiers.get(material)
        if found is not None:
            return found
        if not self.has(*material):
            self.check_not_gone(material)
            planned = "not built yet: finish the build of" if material in self.planned else "not in"
            raise MissingTableError(f"tier {attackers}v{defenders} is {planned} tablebase {str(self.root)!r}")
        return self._tiers.setdefault(material, StoredTier(self._folder(material), self.variant, material))

    def check_not_gone(self, material: tuple[int, int]) -> None:
        """Raise an error if a planned tier is missing although a tier built from it exists: it has been deleted."""
        attackers, defenders = material
        above = [tier for tier in ((attackers + 1, defenders), (attackers, defenders + 1)) if self.has(*tier)]
        if material in self.planned and above:
            raise DamagedTableError(
                f"tablebase {str(self.root)!r}: tier {tier_name(material)} is missing, although "
                f"{tier_name(above[0])} was built from it; build it again or copy it again"
            )

    def is_current(self) -> bool:
        """Return whether the records on disk are still those that were read; if not, the store must be opened again."""
        return all(_stamp(folder) == stamp for folder, stamp in self._stamps.items())

    def missing(self) -> list[str]:
        """Return the names of the planned tiers that are not stored."""
        return [tier_name(material) for material in self.planned if not self.has(*material)]

    def check_complete(self) -> None:
        """Raise `TablebaseError` if planned tiers are not stored."""
        missing = self.missing()
        if missing:
            raise TablebaseError(
                f"is not complete: it lacks {', '.join(missing)}",
                subject=f"tablebase {str(self.root)!r}",
                remedy="finish it with the command that began it",
            )

    def strangers(self) -> list[str]:
        """Return the names of tiers that are stored but not planned, because they were written under another record."""
        planned = {tier_name(material) for material in self.planned}
        found = (name for name in (path.name for path in self.root.iterdir()) if _TIER_NAME.fullmatch(name))
        return sorted(set(found) - planned)

    def _folder(self, material: tuple[int, int]) -> Path:
        return self.root / tier_name(material)


def _way_out(named: Path) -> str:
    """Return a hint for the name of a missing folder: a built-in tablebase, or one with a similar name."""
    shipped = Path(str(resources.files("retrograde"))) / "data" / named.name
    if named.parent == Path() and shipped.is_dir():
        return f"; it is shipped: `tablut probe` uses it by default, and its folder is {str(shipped)!r}"
    stores = [entry.name for folder in (named, shipped) for entry in beside(folder) if is_store(entry)]
    hint = did_you_mean(named.name, stores)
    return hint and f"; {hint}"


def open_store(root: Path | str) -> Store:
    """Open a tablebase."""
    place = store_path(root)
    if not place.is_dir():
        raise TablebaseError(f"no such folder{_way_out(place)}", subject=f"tablebase {str(place)!r}")
    stamp = _stamp(place)
    store = Store(place, read_record(place, RootRecord))
    # Files written from now on differ from those that were read, so keep the earlier stamp.
    store._stamps[place] = stamp
    return store


def _stamp(folder: Path) -> tuple[int, int, int] | None:
    """Return time, size and inode of a folder's record, which identify the file; None if there is no record."""
    try:
        found = (folder / "zarr.json").stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def is_store(place: Path) -> bool:
    """Return whether a folder contains the record of a tablebase."""
    return (place / "zarr.json").exists()


# -- one tier ----------------------------------------------------------------------------


class StoredTier:
    """One tier of a store, read chunk by chunk."""

    def __init__(self, folder: Path, variant: Variant, material: tuple[int, int]) -> None:
        self.folder, self.variant = folder, variant
        _refuse_links(folder)
        self.record = read_record(folder, TierRecord)
        what = f"tablebase file {str(folder / 'zarr.json')!r}"
        if self.record.game != variant.digest:
            raise TablebaseError(
                f"is a tier of another game than {variant.name}", subject=what, remedy="build it again"
            )
        if (self.record.attackers, self.record.defenders) != material:
            raise TablebaseError(
                f"is tier {self.record.name}, not {tier_name(material)}", subject=what, remedy="build it again"
            )
        self._compared: set[str] = set()
        self._check_files()
        self._arrays: dict[str, Any] = {}

    def _lengths(self) -> dict[TierPart, int]:
        """Return the length of each array: the record's entries, and one bit for each combination of row soldiers."""
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
            # One file more than are named is enough to show the error, even if a forged record claims tiny shards.
            shards = min(-(-length // self.record.shard), len(named) + 1)
            needed |= {f"{part}/c/{number}" for number in range(shards)}
        for wrong, what in ((needed - named, "does not name"), (named - needed, "names the foreign file")):
            if wrong:
                raise _damaged(self.folder / "zarr.json", f"{what} {excerpt(min(wrong))}")
        _refuse_links(*(self.folder / part / step for part in PARTS for step in (".", "c")))
        for name in self.record.files:
            # The metadata files, which define how the data are read, are small: compare their contents now.
            self._check(name, content=name.endswith("zarr.json"))

    def _check(self, name: str, *, content: bool) -> None:
        """Raise an error if a file is missing, or if its length or digest differs from its record."""
        check_data(
            self.folder / name, self.record.files[name], "tablebase file", "build the tier again", content=content
        )

    def check_contents(self) -> Iterator[DamagedTableError]:
        """Yield an error for every file whose content differs from what was written."""
        for name in self.record.files:
            try:
                self._check(name, content=True)
            except DamagedTableError as error:
                yield error

    def values(self) -> dict[TierPart, str]:
        """Compute the digests of the decoded values from the files, and compare them with `TierRecord.values`."""
        found: dict[TierPart, str] = {}
        for part, length in self._lengths().items():
            digest = hashlib.sha256()
            for start, stop in slices(length, self.record.shard):
                digest.update(little_endian(self.read(part, start, stop)))
            found[part] = digest.hexdigest()
            if found[part] != self.record.values[part]:
                raise _damaged(self.folder / part, "its values do not match their digest", "folder")
        return found

    # -- reading -----------------------------------------------------------------------

    @property
    def entries(self) -> int:
        """Length of the arrays of codes."""
        return self.record.entries

    def chunk(self, part: TierPart, number: int) -> NDArray[Any]:
        """Read and verify one chunk."""
        start = number * self.record.chunk
        return self.read(part, start, min(start + self.record.chunk, self._array(part).shape[0]))

    def read(self, part: TierPart, start: int, stop: int) -> NDArray[Any]:
        """Read a range of an array; all shards and chunks that it touches are verified."""
        array, shard = self._array(part), self.record.shard
        for number in range(start // shard, -(-stop // shard)):
            # Zarr reads a missing file as zeros, and the checksums of chunks would not reveal swapped shards.
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
        """Raise an error if the layout of an array differs from its tier's record."""
        length = self._lengths()[part]
        chunk = min(self.record.chunk, length)
        shard = min(self.record.shard, -(-length // chunk) * chunk)
        dtype = "uint8" if part == "representatives" else getattr(self.record, part).dtype
        expected = ((length,), (chunk,), (shard,), np.dtype(dtype))
        if (array.shape, array.chunks, array.shards, array.dtype) != expected:
            raise _damaged(self.folder / part / "zarr.json", "is not the array in its tier's record")

    def codes(self, side: SideName, out: NDArray[Any] | None = None) -> NDArray[Any]:
        """Read all codes with a side to move, shard by shard, into ``out`` or a new array of the stored dtype."""
        found = out if out is not None else np.empty(self.entries, dtype=getattr(self.record, side).dtype)
        for start, stop in slices(self.entries, self.record.shard):
            found[start:stop] = self.read(side, start, stop)
        return found

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
        """Raise an error if a tier is not as long as its index. Kernels do not check the ranks that an index gives."""
        if self.entries != size:
            raise _damaged(self.folder, f"has {self.entries:,} entries, but the index has {size:,}", "folder")


def _refuse_links(*folders: Path) -> None:
    for folder in folders:
        if folder.is_symlink():
            raise TablebaseError(
                "is a link", subject=f"tablebase folder {str(folder)!r}", remedy="replace it by the folder itself"
            )


def _damaged(path: Path, what: str, kind: str = "file") -> DamagedTableError:
    return DamagedTableError(f"tablebase {kind} {str(path)!r}: damaged: {what}; build the tier again")


def little_endian(items: NDArray[Any]) -> bytes:
    """Return the bytes of items in little-endian order, on any machine."""
    return np.ascontiguousarray(items, dtype=items.dtype.newbyteorder("<")).tobytes()


def _first_line(error: Exception) -> str:
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0]


# -- published tables --------------------------------------------------------------------
# ``published.json`` contains, by the digest of each game, the game's name and a digest of the decoded values of each of
# its tiers. With it, any tables can be compared with the published ones. It is written by `python -m
# reports.studies.sources`.


Standing = Literal["same", "unknown", "different"]
STANDINGS: Final[tuple[Standing, ...]] = ("same", "unknown", "different")


@cache
def _published() -> dict[str, Any]:
    text = (resources.files("retrograde.tablebase") / "published.json").read_text(encoding="utf-8")
    body: dict[str, Any] = json.loads(text)
    return body


def standing_of(variant: Variant, material: tuple[int, int], digest: str) -> Standing:
    """Compare the digest of a tier's values with the published one; the result is ``unknown`` if none is published."""
    game = _published()["games"].get(variant.digest)
    expected = None if game is None else game["tiers"].get(f"{material[0]}v{material[1]}")
    if expected is None:
        return "unknown"
    return "same" if expected == digest else "different"
