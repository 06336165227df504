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

import re
from importlib import resources
from pathlib import Path
from typing import Final

from retrograde.tablebase.errors import TablebaseError
from retrograde.tablebase.schema import RootRecord, read_record
from retrograde.tablebase.stored_tier import StoredTier
from tablut.prober import MissingTableError
from tablut.store.files import store_path

_TIER_NAME: Final = re.compile(r"\d+v\d+")


def tier_name(material: tuple[int, int]) -> str:
    """Return what a tier and its folder are called."""
    return f"{material[0]}v{material[1]}"


class Store:
    """A tablebase in a folder; see `open_store`."""

    def __init__(self, root: Path, record: RootRecord) -> None:
        self.root, self.record = root, record
        self.variant = record.variant.variant()
        self._tiers: dict[tuple[int, int], StoredTier] = {}
        # Taken before anything else is read.
        self._stamps = {folder: _stamp(folder) for folder in (root, *map(self._folder, record.tiers))}

    @property
    def planned(self) -> tuple[tuple[int, int], ...]:
        """Attackers and defenders of the tiers that the store is to have."""
        return self.record.tiers

    def tiers(self) -> list[tuple[int, int]]:
        """Return attackers and defenders of the tiers that are there, as planned."""
        return [material for material in self.planned if self.has(*material)]

    def has(self, attackers: int, defenders: int) -> bool:
        """Return whether a tier is there."""
        return (attackers, defenders) in self.planned and self._folder((attackers, defenders)).is_dir()

    def tier(self, attackers: int, defenders: int) -> StoredTier:
        """Return a tier, its record and the presence of its files checked; refuse what is no folder of the store."""
        material = (attackers, defenders)
        found = self._tiers.get(material)
        if found is not None:
            return found
        if not self.has(*material):
            planned = "not built yet: finish the build of" if material in self.planned else "not in"
            raise MissingTableError(f"tier {attackers}v{defenders} is {planned} tablebase {str(self.root)!r}")
        return self._tiers.setdefault(material, StoredTier(self._folder(material), self.variant, material))

    def is_current(self) -> bool:
        """Return whether the records that have been read are still there as they were: else open the store anew."""
        return all(_stamp(folder) == stamp for folder, stamp in self._stamps.items())

    def missing(self) -> list[str]:
        """Return the names of the tiers that are planned and not there."""
        return [tier_name(material) for material in self.planned if not self.has(*material)]

    def check_complete(self) -> None:
        """Refuse a tablebase of which planned tiers are not there."""
        missing = self.missing()
        if missing:
            raise TablebaseError(
                f"tablebase {str(self.root)!r}: is not complete, without {', '.join(missing)}; finish it by the "
                "command that began it"
            )

    def strangers(self) -> list[str]:
        """Return the names of tiers that are there and not planned: they were written under another record."""
        planned = {tier_name(material) for material in self.planned}
        found = (name for name in (path.name for path in self.root.iterdir()) if _TIER_NAME.fullmatch(name))
        return sorted(set(found) - planned)

    def _folder(self, material: tuple[int, int]) -> Path:
        return self.root / tier_name(material)


def _where_it_ships(named: Path) -> str:
    """Return the way out for who gives the name of a tablebase that ships in place of its folder."""
    shipped = Path(str(resources.files("retrograde"))) / "data" / named.name
    if named.parent != Path() or not shipped.is_dir():
        return ""
    return f"; that one ships: `tablut probe` takes it by itself, and its folder is {str(shipped)!r}"


def open_store(root: Path | str) -> Store:
    """Open a tablebase."""
    place = store_path(root)
    if not place.is_dir():
        raise TablebaseError(f"tablebase {str(place)!r}: no such folder{_where_it_ships(place)}")
    stamp = _stamp(place)
    store = Store(place, read_record(place, RootRecord))
    # What is written from now on is not what was read.
    store._stamps[place] = stamp
    return store


def _stamp(folder: Path) -> tuple[int, int, int] | None:
    """Return what tells one file with a record from another; None if there is none."""
    try:
        found = (folder / "zarr.json").stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def is_store(place: Path) -> bool:
    """Return whether a folder has the record that a tablebase begins with."""
    return (place / "zarr.json").exists()
