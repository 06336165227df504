"""One tier of a tablebase: its record and its files, each verified before it is read for the first time.

Which files a tier has follows from its length, never from a list: Zarr takes a file that is not there for an array of
zeros, which here would be an answer.
"""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from retrograde.tablebase.encoding import slices, unpack_bits
from retrograde.tablebase.errors import DamagedTableError, TablebaseError
from retrograde.tablebase.ranking import Ranker
from retrograde.tablebase.schema import PARTS, TierRecord, read_record
from retrograde.tablebase.tier_files import TierFiles
from tablut.errors import TablutError
from tablut.indexing.tiers import TierIndex
from tablut.store.files import excerpt

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from retrograde.tablebase.schema import Part
    from tablut.variants import Variant

SideName = Literal["white", "black"]
SIDES: Final[tuple[SideName, SideName]] = ("white", "black")


class StoredTier:
    """One tier of a store, read chunk by chunk."""

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
        self._files = TierFiles(folder, self.record.files)
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
            if name.endswith("zarr.json"):
                self._files.compare(name)

    def check_contents(self) -> Iterator[DamagedTableError]:
        """Yield an error for every file of which the content is not what was written."""
        for name in self.record.files:
            try:
                self._files.compare(name)
            except DamagedTableError as error:
                yield error

    def values(self) -> dict[Part, str]:
        """Return the digests of the decoded values, worked out from the files; see `TierRecord.values`."""
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
        """Return one chunk, its checksum verified."""
        start = number * self.record.chunk
        return self.read(part, start, min(start + self.record.chunk, self._array(part).shape[0]))

    def read(self, part: Part, start: int, stop: int) -> NDArray[Any]:
        """Return a range of an array; all shards and chunks that it touches are verified."""
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
                array = zarr.open_array(self.folder / part, mode="r", zarr_format=3)
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
        """Return all codes with a side to move, in the stored dtype unless ``out`` is given; read shard by shard."""
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
        """What finds the entry of a single position."""
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


def little_endian(items: NDArray[Any]) -> bytes:
    """Return the bytes of items, the lowest first, on any machine."""
    return np.ascontiguousarray(items, dtype=items.dtype.newbyteorder("<")).tobytes()


def _first_line(error: Exception) -> str:
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0]
