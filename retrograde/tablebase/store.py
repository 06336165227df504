"""The files of a tablebase: a Zarr v3 hierarchy that is checked whenever it is read.

::

    STORE/zarr.json                      the game, the tiers planned (a Zarr group)
    STORE/3v1/zarr.json                  one tier: its numbers, the digests of its files (a group)
    STORE/3v1/white/  black/             codes with white and with black to move, by entry (arrays)
    STORE/3v1/representatives/           which lead combinations have rows, as bits (an array)
    STORE/provenance/3v1.json            when, by what and how fast; nothing reads it

Arrays are cut into chunks (each with a CRC-32C after Zstandard) and chunks into
shards, of which each is written once, by one writer. A tier is written under a temporary
name and renamed: it is there whole or not at all. Equal input gives equal bytes.

Zarr takes a file that is not there for an array of zeros, which here would be an answer;
so every file is looked for by its name and length in the tier's record before it is read,
and compared with its digest there before it is read for the first time. `retrograde.tablebase.writer` writes them.
"""

from __future__ import annotations

import hashlib
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from retrograde.tablebase.encoding import slices, unpack_bits
from retrograde.tablebase.errors import DamagedTableError, TablebaseError
from retrograde.tablebase.ranking import Ranker
from retrograde.tablebase.schema import (
    RootRecord,
    TierRecord,
    read_record,
)
from tablut.indexing.tiers import TierIndex
from tablut.prober import MissingTableError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from tablut.variants import Variant

__all__ = ["SIDES", "SideName", "Store", "Tier", "open_store", "sha256_of"]

SideName = Literal["white", "black"]
SIDES: Final[tuple[SideName, SideName]] = ("white", "black")
Part = Literal["white", "black", "representatives"]


class Store:
    """A tablebase on disk; see `open_store`.

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
        self._tiers: dict[tuple[int, int], Tier] = {}

    @property
    def planned(self) -> tuple[tuple[int, int], ...]:
        """Attackers and defenders of the tiers that the store is to have."""
        return self.record.tiers

    def tiers(self) -> list[tuple[int, int]]:
        """Return attackers and defenders of the tiers that are there, as planned."""
        return [material for material in self.planned if self.has(*material)]

    def has(self, attackers: int, defenders: int) -> bool:
        """Return whether a tier is there."""
        return (attackers, defenders) in self.planned and self._folder(attackers, defenders).is_dir()

    def tier(self, attackers: int, defenders: int) -> Tier:
        """Return a tier, its record and the presence of its files checked.

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
            found = Tier(self._folder(attackers, defenders), self.variant, (attackers, defenders))
            self._tiers[attackers, defenders] = found
        return found

    def _folder(self, attackers: int, defenders: int) -> Path:
        return self.root / f"{attackers}v{defenders}"


class Tier:
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

    def _check_files(self) -> None:
        for name in self.record.files:
            self._check_length(name)
            # What says how the data are to be read is small, and is checked at once.
            if name.endswith("zarr.json"):
                self._check_content(name)

    def _check_length(self, name: str) -> None:
        path, expected = self.folder / name, self.record.files[name].bytes
        try:
            length = path.stat().st_size
        except FileNotFoundError:
            raise DamagedTableError(f"tablebase file {str(path)!r}: is missing; build the tier again") from None
        except OSError as error:
            raise TablebaseError(f"tablebase file {str(path)!r}: {error.strerror}") from error
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

    # -- reading -----------------------------------------------------------------------

    @property
    def entries(self) -> int:
        """Length of the arrays of codes."""
        return self.record.entries

    def chunk(self, part: Part, number: int) -> NDArray[Any]:
        """Return one chunk, its checksum verified.

        Raises
        ------
        DamagedTableError
            Naming the file, if it cannot be read as it was written.
        """
        start = number * self.record.chunk
        return self.read(part, start, min(start + self.record.chunk, self._array(part).shape[0]))

    def read(self, part: Part, start: int, stop: int) -> NDArray[Any]:
        """Return a range of an array; all shards and chunks that it touches are verified."""
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
            self._arrays[part] = array
        return array

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
        """What finds the entry of a single position.

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
            representatives=unpack_bits(self.packed_representatives(), plain.lead_space),
        )


def open_store(root: Path | str) -> Store:
    """Open a tablebase.

    Raises
    ------
    TablebaseError
        If the folder holds none that this program can read.
    """
    root = Path(root)
    if not root.is_dir():
        raise TablebaseError(f"tablebase {str(root)!r}: no such folder")
    return Store(root, read_record(root, RootRecord))


def sha256_of(path: Path) -> str:
    """Return the digest of a file's content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _first_line(error: Exception) -> str:
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0]
