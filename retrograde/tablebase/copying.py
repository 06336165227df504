"""Copies of tablebases, and building one that is to be in an object store: folders of this machine stand in between.

Whatever is copied is compared with its digests on the way, and gets a record of the present format.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from retrograde.tablebase.elsewhere import plan_tiers, send_tier
from retrograde.tablebase.errors import DamagedTableError, TablebaseError, TooOldError
from retrograde.tablebase.schema import FORMAT_VERSION, TierRecord, read_record, write_record
from retrograde.tablebase.shards import file_records
from retrograde.tablebase.store import Store, open_store, tier_name
from retrograde.tablebase.writer import create, writing
from tablut.errors import output_failure
from tablut.locations import as_location, resolved
from tablut.prober import MissingTableError
from tablut.store.files import sync_names, write_bytes

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from tablut.locations import LocationLike
    from tablut.remote import Remote


def copy_store(source: LocationLike, target: LocationLike, advanced: Callable[[str], None] = lambda _: None) -> Store:
    """Copy the tiers of a tablebase to another place, every file compared with its digest."""
    store, place = open_store(source), as_location(target)
    if resolved(store.root) == resolved(place):
        raise TablebaseError(f"tablebase {str(place)!r}: is what is to be copied; choose another place")
    if isinstance(place, Path):
        create(place, store.variant, store.planned)
        with writing(place):
            for material in store.tiers():
                _fetch_tier(store, material, place)
                advanced(tier_name(material))
        return open_store(place)
    there = plan_tiers(place, store.variant, store.planned)
    with tempfile.TemporaryDirectory(prefix="tablut-copy-") as folder:
        for material in store.tiers():
            _fetch_tier(store, material, Path(folder))
            # A copy that was interrupted goes on.
            if not _is_there(there, material, Path(folder, tier_name(material))):
                send_tier(Path(folder, tier_name(material)), place)
            shutil.rmtree(Path(folder, tier_name(material)))
            advanced(tier_name(material))
    return open_store(place)


def _is_there(store: Store, material: tuple[int, int], folder: Path) -> bool:
    """Return whether a store elsewhere has a tier just as it lies in a folder, every byte compared."""
    try:
        tier = store.tier(*material)
        return tier.record == read_record(folder, TierRecord) and not any(tier.check_contents())
    except (MissingTableError, DamagedTableError, TooOldError):
        return False


def _fetch_tier(store: Store, material: tuple[int, int], root: Path) -> None:
    """Copy a tier to a folder, whole or not at all; the record is of the present format."""
    tier, name = store.tier(*material), tier_name(material)
    folder, target = root / f".{name}.tmp", root / name
    try:
        shutil.rmtree(folder, ignore_errors=True)
        for file in tier.record.files:
            write_bytes(folder / file, tier.content(file), lasting=True)
        body = tier.record.model_dump() | {
            "version": FORMAT_VERSION,
            "values": tier.record.values or tier.values(),
            "files": file_records(folder),
        }
        write_record(folder, TierRecord.model_validate(body))
        shutil.rmtree(target, ignore_errors=True)
        folder.rename(target)
        sync_names(root)
    except OSError as error:
        raise output_failure(f"tablebase folder {str(target)!r}: {error.strerror}", error) from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Staging:
    """A folder of this machine in which a tablebase is built that is to be elsewhere; it goes when the context ends.

    It begins with the tiers that are there already. Each tier that is finished is sent as soon as a step is told, so
    a build that is killed loses no more than one in a folder would.
    """

    def __init__(self, root: Remote, advanced: Callable[[str], None] = lambda _: None) -> None:
        self._root, self._advanced = root, advanced
        self._held = tempfile.TemporaryDirectory(prefix="tablut-build-")
        self.folder = Path(self._held.name)
        self._sent: set[str] = set()

    def __enter__(self) -> Staging:
        if (self._root / "zarr.json").find("tablebase file") is not None:
            store = open_store(self._root)
            create(self.folder, store.variant, store.planned)
            for material in store.tiers():
                try:
                    _fetch_tier(store, material, self.folder)
                    self._sent.add(tier_name(material))
                except (DamagedTableError, TooOldError) as error:
                    # It is built again, as one in a folder would be.
                    self._advanced(f"{tier_name(material)}: {error}")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None or issubclass(kind, KeyboardInterrupt):
                self.send()
        finally:
            self._held.cleanup()

    def tell(self, step: str) -> None:
        """Pass a step on, after what is finished has been sent."""
        self.send()
        self._advanced(step)

    def send(self) -> None:
        """Send the tiers that have been finished since the last time."""
        if not (self.folder / "zarr.json").exists():
            return
        store = open_store(self.folder)
        due = [material for material in store.tiers() if tier_name(material) not in self._sent]
        if due or not self._sent:
            plan_tiers(self._root, store.variant, store.planned)
        for material in due:
            send_tier(self.folder / tier_name(material), self._root)
            self._sent.add(tier_name(material))
