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
"""

from __future__ import annotations

import hashlib
import re
import stat
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from retrograde.tablebase.encoding import slices, unpack_bits
from retrograde.tablebase.errors import DamagedTableError, TablebaseError
from retrograde.tablebase.ranking import Ranker
from retrograde.tablebase.schema import PARTS, RootRecord, TierRecord, read_record
from tablut.files import excerpt
from tablut.indexing.tiers import TierIndex
from tablut.prober import MissingTableError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from retrograde.tablebase.schema import Part
    from tablut.variants import Variant

__all__ = ["SIDES", "SideName", "Store", "StoredTier", "little_endian", "open_store", "sha256_of", "tier_name"]

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
    """A tablebase on disk; see `open_store`.

    Parameters
    ----------
    root : Path
        Its folder.
    record : RootRecord
        What it says about itself.

    Attributes
    ----------
    root : Path
        Its folder.
    record : RootRecord
        What it says about itself.
    variant : Variant
        The game.
    """

    def __init__(self, root: Path, record: RootRecord) -> None:
        self.root, self.record = root, record
        self.variant = record.variant.variant()
        self._tiers: dict[tuple[int, int], StoredTier] = {}

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
        return (attackers, defenders) in self.planned and self._folder(attackers, defenders).is_dir()

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
        found = self._tiers.get((attackers, defenders))
        if found is None:
            if not self.has(attackers, defenders):
                planned = "is to have it: finish its build" if (attackers, defenders) in self.planned else "has not it"
                raise MissingTableError(f"tier {attackers}v{defenders}: tablebase {str(self.root)!r} {planned}")
            found = StoredTier(self._folder(attackers, defenders), self.variant, (attackers, defenders))
            self._tiers[attackers, defenders] = found
        return found

    def missing(self) -> list[str]:
        """Return the names of the tiers that are planned and not there."""
        return [tier_name(material) for material in self.planned if not self.has(*material)]

    def strangers(self) -> list[str]:
        """Return the names of tiers that are there and not planned: they were written under another record."""
        planned = {tier_name(material) for material in self.planned}
        found = (path.name for path in self.root.iterdir() if _TIER_NAME.fullmatch(path.name))
        return sorted(set(found) - planned)

    def _folder(self, attackers: int, defenders: int) -> Path:
        return self.root / tier_name((attackers, defenders))


class StoredTier:
    """One tier of a store, read chunk by chunk.

    Parameters
    ----------
    folder : Path
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

    def __init__(self, folder: Path, variant: Variant, material: tuple[int, int]) -> None:
        self.folder, self.variant = folder, variant
        if folder.is_symlink():
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
        self._check_files()
        self._arrays: dict[str, Any] = {}
        self._compared: set[str] = set()

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
            self._check_length(name)
            # What says how the data are to be read is small, and is checked at once.
            if name.endswith("zarr.json"):
                self._check_content(name)

    def _check_length(self, name: str) -> None:
        path, expected = self.folder, self.record.files[name].bytes
        try:
            for step in name.split("/"):
                path /= step
                found = path.lstat()
                if stat.S_ISLNK(found.st_mode):
                    raise TablebaseError(f"tablebase file {str(path)!r}: is a link; a tablebase holds its files itself")
        except FileNotFoundError:
            path = self.folder / name
            raise DamagedTableError(f"tablebase file {str(path)!r}: is missing; build the tier again") from None
        except OSError as error:
            raise TablebaseError(f"tablebase file {str(path)!r}: {error.strerror}") from error
        if not stat.S_ISREG(found.st_mode):
            raise DamagedTableError(f"tablebase file {str(path)!r}: is no ordinary file; build the tier again")
        length = found.st_size
        if length != expected:
            raise DamagedTableError(
                f"tablebase file {str(path)!r}: has {length} bytes, not {expected}; build the tier again"
            )

    def _check_content(self, name: str) -> None:
        path = self.folder / name
        try:
            digest = sha256_of(path)
        except OSError as error:
            raise TablebaseError(f"tablebase file {str(path)!r}: {error.strerror}") from error
        if digest != self.record.files[name].sha256:
            raise DamagedTableError(f"tablebase file {str(path)!r}: damaged: not its SHA-256; build the tier again")

    def check_contents(self) -> Iterator[DamagedTableError]:
        """Yield an error for every file of which the content is not what was written."""
        for name in self.record.files:
            try:
                self._check_content(name)
            except DamagedTableError as error:
                yield error

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
            name = f"{part}/c/{number}"
            # Also a file that has gone since the tier was opened must not read as zeros.
            self._check_length(name)
            if name not in self._compared:
                # Checksums of chunks do not tell whether the shard is this one or another.
                self._check_content(name)
                self._compared.add(name)
        try:
            return np.asarray(array[start:stop])
        except MemoryError:
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
                array = zarr.open_array(self.folder / part, mode="r")
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


def open_store(root: Path | str) -> Store:
    """Open a tablebase.

    Parameters
    ----------
    root : Path or str
        Its folder.

    Returns
    -------
    Store
        The tablebase.

    Raises
    ------
    TablebaseError
        If the folder holds none that this program can read.
    """
    root = Path(root)
    if not root.is_dir():
        raise TablebaseError(f"tablebase {str(root)!r}: no such folder")
    return Store(root, read_record(root, RootRecord))


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


def sha256_of(path: Path) -> str:
    """Return the digest of a file's content.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    str
        Hexadecimal digits.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _first_line(error: Exception) -> str:
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0]
