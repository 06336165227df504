"""The files of a tablebase: a Zarr v3 hierarchy that is checked whenever it is read.

::

    STORE/zarr.json                      the game, the tiers planned (a Zarr group)
    STORE/3v1/zarr.json                  one tier: its numbers, the digests of its files (a group)
    STORE/3v1/white/  black/             codes with white and with black to move, by entry (arrays)
    STORE/3v1/representatives/           which combinations of row soldiers have rows, as bits (an array)
    STORE/provenance/3v1.json            when, by what and how fast; nothing reads it

Arrays are cut into chunks (each with a CRC-32C after Zstandard) and chunks into
shards, of which each is written once, by one writer. A tier is written under a temporary
name and renamed: it is there whole or not at all. Equal input gives equal bytes.

Zarr takes a file that is not there for an array of zeros, which here would be an answer;
so which files a tier has follows from its length, never from a list; each is looked for with its
length in the tier's record before it is read, and compared with its digest there before it is
read for the first time. Links are not followed. `retrograde.tablebase.writer` writes them.

A store may be elsewhere (`tablut.locations`): a web server has no folders, so a tier is there if its record is, and
what is read is verified segment by segment (`retrograde.tablebase.tier_files`).
"""

from __future__ import annotations

import hashlib
import re
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from retrograde.tablebase.encoding import slices, unpack_bits
from retrograde.tablebase.errors import DamagedTableError, NoRecordError, TablebaseError
from retrograde.tablebase.ranking import Ranker
from retrograde.tablebase.schema import PARTS, RootRecord, TierRecord, has_record, read_record
from retrograde.tablebase.tier_files import files_of
from tablut.errors import TablutError
from tablut.files import excerpt
from tablut.indexing.tiers import TierIndex
from tablut.locations import as_location, names_in
from tablut.prober import MissingTableError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from retrograde.tablebase.schema import Part
    from tablut.locations import Location, LocationLike
    from tablut.variants import Variant

__all__ = ["SIDES", "SideName", "Store", "StoredTier", "is_store", "little_endian", "open_store", "tier_name"]

SideName = Literal["white", "black"]
SIDES: Final[tuple[SideName, SideName]] = ("white", "black")


_TIER_NAME: Final = re.compile(r"\d+v\d+")


def tier_name(material: tuple[int, int]) -> str:
    """Return what a tier and its folder are called.

    Parameters
    ----------
    material : (int, int)
        Attackers and defenders.

    Returns
    -------
    str
        Its name.

    Examples
    --------
    >>> tier_name((3, 1))
    '3v1'
    """
    return f"{material[0]}v{material[1]}"


class Store:
    """A tablebase in a folder, of this machine or elsewhere; see `open_store`.

    Parameters
    ----------
    root : Path or Remote
        Its folder.
    record : RootRecord
        What it says about itself.

    Attributes
    ----------
    root : Path or Remote
        Its folder.
    record : RootRecord
        What it says about itself.
    variant : Variant
        The game.
    """

    def __init__(self, root: Location, record: RootRecord) -> None:
        self.root, self.record = root, record
        self.variant = record.variant.variant()
        self._tiers: dict[tuple[int, int], StoredTier] = {}
        # What is elsewhere is asked for once: a tier that is written later is there when the store is opened anew.
        self._there: dict[tuple[int, int], bool] = {}
        # Taken before anything else is read.
        folders = [root, *(self._folder(*material) for material in record.tiers)] if isinstance(root, Path) else []
        self._stamps = {folder: _stamp(folder) for folder in folders}

    @property
    def planned(self) -> tuple[tuple[int, int], ...]:
        """Attackers and defenders of the tiers that the store is to have."""
        return self.record.tiers

    def tiers(self) -> list[tuple[int, int]]:
        """Return attackers and defenders of the tiers that are there, as planned."""
        return [material for material in self.planned if self.has(*material)]

    def has(self, attackers: int, defenders: int) -> bool:
        """Return whether a tier is there.

        Parameters
        ----------
        attackers, defenders : int
            The material.

        Returns
        -------
        bool
            Whether its folder is.
        """
        if (attackers, defenders) not in self.planned:
            return False
        folder = self._folder(attackers, defenders)
        if isinstance(folder, Path):
            return folder.is_dir()
        there = self._there.get((attackers, defenders))
        if there is None:
            there = (attackers, defenders) in self._tiers or has_record(folder)
            self._there[attackers, defenders] = there
        return there

    def tier(self, attackers: int, defenders: int) -> StoredTier:
        """Return a tier, its record and the presence of its files checked; what is no folder of the store is refused.

        Parameters
        ----------
        attackers, defenders : int
            The material.

        Returns
        -------
        StoredTier
            The tier.

        Raises
        ------
        MissingTableError
            If the store does not have it.
        TablebaseError
            If it is damaged, or belongs to another game.
        """
        material = (attackers, defenders)
        found = self._tiers.get(material)
        if found is not None:
            return found
        # Elsewhere, reading the record is how one finds out.
        there = self.has(*material) if isinstance(self.root, Path) else material in self.planned
        if there and self._there.get(material, True):
            try:
                found = StoredTier(self._folder(*material), self.variant, material)
            except NoRecordError:
                if isinstance(self.root, Path):
                    raise
                self._there[material] = False
        if found is None:
            planned = "not built yet: finish the build of" if material in self.planned else "not in"
            raise MissingTableError(f"tier {attackers}v{defenders} is {planned} tablebase {str(self.root)!r}")
        self._tiers[material] = found
        return found

    def is_current(self) -> bool:
        """Return whether the records that have been read are still there as they were: else open the store anew.

        Returns
        -------
        bool
            For a folder of this machine by time, length and number of each record's file; elsewhere they are read
            again.

        Raises
        ------
        MachineError
            If a store elsewhere does not answer.
        """
        if isinstance(self.root, Path):
            return all(_stamp(folder) == stamp for folder, stamp in self._stamps.items())
        try:
            if read_record(self.root, RootRecord) != self.record:
                return False
            if any(read_record(tier.folder, TierRecord) != tier.record for tier in self._tiers.values()):
                return False
        except TablebaseError:
            return False
        missing = (self.root / tier_name(material) for material, there in self._there.items() if not there)
        return not any(has_record(folder) for folder in missing)

    def missing(self) -> list[str]:
        """Return the names of the tiers that are planned and not there."""
        return [tier_name(material) for material in self.planned if not self.has(*material)]

    def strangers(self) -> list[str]:
        """Return the names of tiers that are there and not planned: they were written under another record."""
        planned = {tier_name(material) for material in self.planned}
        found = (name for name in names_in(self.root) or [] if _TIER_NAME.fullmatch(name))
        return sorted(set(found) - planned)

    def _folder(self, attackers: int, defenders: int) -> Location:
        return self.root / tier_name((attackers, defenders))


class StoredTier:
    """One tier of a store, read chunk by chunk.

    Parameters
    ----------
    folder : Path or Remote
        Its folder.
    variant : Variant
        The game that it must belong to.
    material : (int, int)
        Attackers and defenders that it must be of.

    Raises
    ------
    TablebaseError
        If the record, or a file that it names, is not as it should be.
    """

    def __init__(self, folder: Location, variant: Variant, material: tuple[int, int]) -> None:
        self.folder, self.variant = folder, variant
        if isinstance(folder, Path) and folder.is_symlink():
            raise TablebaseError(f"tablebase folder {str(folder)!r}: is a link; a tablebase holds its files itself")
        self.record = read_record(folder, TierRecord)
        if self.record.game != variant.digest:
            raise TablebaseError(
                f"tablebase file {str(folder / 'zarr.json')!r}: is a tier of another game than {variant.name}; "
                "build it again"
            )
        if (self.record.attackers, self.record.defenders) != material:
            raise TablebaseError(
                f"tablebase file {str(folder / 'zarr.json')!r}: is tier {self.record.name}, not "
                f"{material[0]}v{material[1]}; build it again"
            )
        self._files = files_of(folder, self.record.files)
        self._check_files()
        self._arrays: dict[str, Any] = {}

    def _lengths(self) -> dict[Part, int]:
        """Return how long each array is: the record's entries, and a bit for each combination of row soldiers."""
        plain = self._plain_index
        words = -(-plain.row_space // 64)
        entries = self.record.entries
        return {
            "white": entries,
            "black": entries,
            "representatives": 8 * words * len(plain.kings.representatives),
        }

    def _check_files(self) -> None:
        if self.record.entries > self._plain_index.positions:
            raise DamagedTableError(
                f"tablebase file {str(self.folder / 'zarr.json')!r}: damaged: {self.record.entries:,} entries, more "
                "than the tier has placements; build the tier again"
            )
        needed = {f"{part}/zarr.json" for part in PARTS}
        named = self.record.files.keys()
        for part, length in self._lengths().items():
            # One more than are named says enough, however small a shard claims to be.
            shards = min(-(-length // self.record.shard), len(named) + 1)
            needed |= {f"{part}/c/{number}" for number in range(shards)}
        for wrong, what in ((needed - named, "does not name"), (named - needed, "names a file that is none of it:")):
            if wrong:
                raise DamagedTableError(
                    f"tablebase file {str(self.folder / 'zarr.json')!r}: damaged: {what} "
                    f"{excerpt(min(wrong))}; build the tier again"
                )
        for name in self.record.files:
            self._files.find(name)
            # What says how the data are to be read is small, and is checked at once.
            if name.endswith("zarr.json") and isinstance(self.folder, Path):
                self._files.compare(name)

    def check_contents(self) -> Iterator[DamagedTableError]:
        """Yield an error for every file of which the content is not what was written."""
        for name in self.record.files:
            try:
                self._files.compare(name)
            except DamagedTableError as error:
                yield error

    def content(self, name: str) -> bytes:
        """Return all of a file of the tier, compared with its digest.

        Parameters
        ----------
        name : str
            One of the record's names.

        Returns
        -------
        bytes
            As it was written.

        Raises
        ------
        TablebaseError
            If it is not, or cannot be read.
        """
        return self._files.content(name)

    def values(self) -> dict[Part, str]:
        """Return the digests of the decoded values, worked out from the files; see `TierRecord.values`.

        Returns
        -------
        dict of str to str
            By the name of the array.

        Raises
        ------
        TablebaseError
            If a file cannot be read, or the digests are not those of the record.
        """
        found: dict[Part, str] = {}
        for part, length in self._lengths().items():
            digest = hashlib.sha256()
            for start, stop in slices(length, self.record.shard):
                digest.update(little_endian(self.read(part, start, stop)))
            found[part] = digest.hexdigest()
            if self.record.values is not None and found[part] != self.record.values[part]:
                raise DamagedTableError(
                    f"tablebase folder {str(self.folder / part)!r}: damaged: its values are not those of their digest; "
                    "build the tier again"
                )
        return found

    # -- reading -----------------------------------------------------------------------

    @property
    def entries(self) -> int:
        """Length of the arrays of codes."""
        return self.record.entries

    def chunk(self, part: Part, number: int) -> NDArray[Any]:
        """Return one chunk, its checksum verified.

        Parameters
        ----------
        part : str
            The name of the array.
        number : int
            Which chunk.

        Returns
        -------
        ndarray
            Its items.

        Raises
        ------
        DamagedTableError
            Naming the file, if it cannot be read as it was written.
        """
        start = number * self.record.chunk
        return self.read(part, start, min(start + self.record.chunk, self._array(part).shape[0]))

    def read(self, part: Part, start: int, stop: int) -> NDArray[Any]:
        """Return a range of an array; all shards and chunks that it touches are verified.

        Parameters
        ----------
        part : str
            The name of the array.
        start, stop : int
            The range.

        Returns
        -------
        ndarray
            Its items.
        """
        array, shard = self._array(part), self.record.shard
        for number in range(start // shard, -(-stop // shard)):
            self._files.before_reading(f"{part}/c/{number}")
        try:
            return np.asarray(array[start:stop])
        except (MemoryError, TablutError):
            raise
        except Exception as error:
            # Whatever the codecs find wrong with the bytes, and in whatever words: the file is damaged.
            path = self.folder / part / "c" / str(start // shard)
            raise DamagedTableError(
                f"tablebase file {str(path)!r}: damaged: {_first_line(error)}; build the tier again"
            ) from error

    def _array(self, part: Part) -> Any:
        array = self._arrays.get(part)
        if array is None:
            import zarr

            try:
                array = zarr.open_array(self._files.source(part), mode="r", zarr_format=3)
            except TablutError:
                raise
            except Exception as error:
                raise DamagedTableError(
                    f"tablebase file {str(self.folder / part / 'zarr.json')!r}: damaged: {_first_line(error)}; "
                    "build the tier again"
                ) from error
            self._check_shape(part, array)
            self._arrays[part] = array
        return array

    def _check_shape(self, part: Part, array: Any) -> None:
        """Refuse an array that is not laid out as its tier's record says."""
        length = self._lengths()[part]
        chunk = min(self.record.chunk, length)
        shard = min(self.record.shard, -(-length // chunk) * chunk)
        dtype = "uint8" if part == "representatives" else getattr(self.record, part).dtype
        expected = ((length,), (chunk,), (shard,), np.dtype(dtype))
        if (array.shape, array.chunks, array.shards, array.dtype) != expected:
            raise DamagedTableError(
                f"tablebase file {str(self.folder / part / 'zarr.json')!r}: damaged: not the array of its tier's "
                "record; build the tier again"
            )

    def codes(self, side: SideName, out: NDArray[Any] | None = None) -> NDArray[Any]:
        """Return all codes with a side to move, in the stored dtype unless ``out`` is given; read shard by shard.

        Parameters
        ----------
        side : str
            ``white`` or ``black``, who is to move.
        out : ndarray, optional
            Receives the codes.

        Returns
        -------
        ndarray
            The codes, by entry.
        """
        found = out if out is not None else np.empty(self.entries, dtype=getattr(self.record, side).dtype)
        for start, stop in slices(self.entries, self.record.shard):
            found[start:stop] = self.read(side, start, stop)
        return found

    def packed_representatives(self) -> NDArray[np.uint8]:
        """Return the bits of `tablut.indexing.tiers.TierIndex.representatives`, shape (K, B); see `pack_bits`."""
        length = self._array("representatives").shape[0]
        packed: NDArray[np.uint8] = self.read("representatives", 0, length)
        return packed.reshape(len(self._plain_index.kings.representatives), -1)

    @cached_property
    def _plain_index(self) -> TierIndex:
        return TierIndex(self.variant, self.record.attackers, self.record.defenders)

    @cached_property
    def ranker(self) -> Ranker:
        """What finds the entry of a single position.

        Returns
        -------
        Ranker
            Made once.

        Raises
        ------
        DamagedTableError
            If the representatives do not make the entries that the record says.
        """
        ranker = Ranker(self.variant, self.record.attackers, self.record.defenders, self.packed_representatives())
        if ranker.size != self.entries:
            raise DamagedTableError(
                f"tablebase folder {str(self.folder)!r}: has {self.entries} entries, its representatives make "
                f"{ranker.size}; build the tier again"
            )
        return ranker

    @cached_property
    def index(self) -> TierIndex:
        """The tier's index, with the stored representatives."""
        plain = self._plain_index
        return TierIndex(
            self.variant,
            plain.attackers,
            plain.defenders,
            representatives=unpack_bits(self.packed_representatives(), plain.row_space),
        )


def _where_it_ships(named: Path) -> str:
    """Return the way out for who gives the name of a tablebase that ships in place of its folder."""
    shipped = Path(str(resources.files("retrograde"))) / "data" / named.name
    if named.parent != Path() or not shipped.is_dir():
        return ""
    return f"; that one ships: `tablut probe` takes it by itself, and its folder is {str(shipped)!r}"


def open_store(root: LocationLike) -> Store:
    """Open a tablebase.

    Parameters
    ----------
    root : Path, Remote or str
        Its folder, or its URL; see `tablut.locations.as_location`.

    Returns
    -------
    Store
        The tablebase.

    Raises
    ------
    TablebaseError
        If there is none that this program can read.
    MachineError
        If a store elsewhere does not answer.
    """
    place = as_location(root)
    if isinstance(place, Path) and not place.is_dir():
        raise TablebaseError(f"tablebase {str(place)!r}: no such folder{_where_it_ships(place)}")
    stamp = _stamp(place)
    store = Store(place, read_record(place, RootRecord))
    # What is written from now on is not what was read.
    store._stamps[place] = stamp
    return store


def _stamp(folder: Location) -> tuple[int, int, int] | None:
    """Return what tells one file with a record from another on this machine; None elsewhere, or if there is none."""
    if not isinstance(folder, Path):
        return None
    try:
        found = (folder / "zarr.json").stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def is_store(place: Location) -> bool:
    """Return whether a folder has the record that a tablebase begins with.

    Parameters
    ----------
    place : Path or Remote
        The folder; it need not be there.

    Returns
    -------
    bool
        Whether there is one.

    Raises
    ------
    MachineError
        If a store elsewhere does not answer.
    """
    return (place / "zarr.json").exists() if isinstance(place, Path) else has_record(place)


def little_endian(items: NDArray[Any]) -> bytes:
    """Return the bytes of items, the lowest first, on any machine.

    Parameters
    ----------
    items : ndarray
        The items.

    Returns
    -------
    bytes
        The bytes.
    """
    return np.ascontiguousarray(items, dtype=items.dtype.newbyteorder("<")).tobytes()


def _first_line(error: Exception) -> str:
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0]
