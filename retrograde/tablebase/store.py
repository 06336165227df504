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

import re
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Final

from retrograde.tablebase.errors import NoRecordError, TablebaseError
from retrograde.tablebase.schema import RootRecord, TierRecord, has_record, read_record
from retrograde.tablebase.stored_tier import StoredTier
from tablut.locations import as_location, names_in
from tablut.prober import MissingTableError

if TYPE_CHECKING:
    from tablut.locations import Location, LocationLike

_TIER_NAME: Final = re.compile(r"\d+v\d+")


def tier_name(material: tuple[int, int]) -> str:
    """Return what a tier and its folder are called."""
    return f"{material[0]}v{material[1]}"


class Store:
    """A tablebase in a folder, of this machine or elsewhere; see `open_store`."""

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
        """Return whether a tier is there."""
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
        """Return a tier, its record and the presence of its files checked; refuse what is no folder of the store."""
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
        """Return whether the records that have been read are still there as they were: else open the store anew."""
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
        found = (name for name in names_in(self.root) or [] if _TIER_NAME.fullmatch(name))
        return sorted(set(found) - planned)

    def _folder(self, attackers: int, defenders: int) -> Location:
        return self.root / tier_name((attackers, defenders))


def _where_it_ships(named: Path) -> str:
    """Return the way out for who gives the name of a tablebase that ships in place of its folder."""
    shipped = Path(str(resources.files("retrograde"))) / "data" / named.name
    if named.parent != Path() or not shipped.is_dir():
        return ""
    return f"; that one ships: `tablut probe` takes it by itself, and its folder is {str(shipped)!r}"


def open_store(root: LocationLike) -> Store:
    """Open a tablebase."""
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
    """Return whether a folder has the record that a tablebase begins with."""
    return (place / "zarr.json").exists() if isinstance(place, Path) else has_record(place)
