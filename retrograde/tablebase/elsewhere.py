"""Writing to a tablebase in an object store: what it is to have, and tiers, each there whole or not at all.

There are no folders to rename and no locks that end with their process. So a tier's files come first and its record
last, and without the record there is no tier. Two programs that write the same tier at once write the same bytes; if
they do not, because they pack differently, what is left is named as damaged and made again. The record of the whole
store is only ever replaced if it is still the one that was read.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

from retrograde.tablebase.errors import TablebaseError
from retrograde.tablebase.schema import RootRecord, RulesRecord, TierRecord, read_record, record_text
from retrograde.tablebase.store import Store, tier_name
from tablut.errors import MachineError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tablut.remote import Remote
    from tablut.variants import Variant

_TRIES: Final = 8
"""How often the record of the store is read again because another program has just replaced it."""


def plan_tiers(root: Remote, variant: Variant, tiers: Sequence[tuple[int, int]]) -> Store:
    """Write what a store elsewhere is to have, or add to it."""
    path = root / "zarr.json"
    for _ in range(_TRIES):
        there = path.find("tablebase file")
        planned, game = set(tiers), RulesRecord.of(variant)
        if there is None:
            if root.names():
                raise TablebaseError(f"tablebase {str(root)!r}: holds other files; choose another place")
        else:
            record = read_record(root, RootRecord)
            if not record.variant.variant().same_game(variant):
                raise TablebaseError(
                    f"tablebase {str(root)!r}: is of {record.variant.name!r}, another game than {variant.name!r}; "
                    "choose another place"
                )
            if planned <= set(record.tiers):
                return Store(root, record)
            planned, game = planned | set(record.tiers), record.variant
        record = RootRecord(variant=game, tiers=tuple(sorted(planned)))
        with suppress(FileExistsError):
            path.write(record_text(record).encode(), instead_of=there, new=there is None)
            return Store(root, record)
    raise MachineError(f"tablebase {str(root)!r}: other programs keep replacing its record; try again later")


def send_tier(folder: Path, root: Remote) -> None:
    """Write a tier that lies in a folder to a store elsewhere; one that is there is replaced."""
    record, place = read_record(folder, TierRecord), root / folder.name
    if folder.name != tier_name((record.attackers, record.defenders)):
        raise TablebaseError(f"tablebase folder {str(folder)!r}: holds tier {record.name}; build it again")
    # From here on there is no tier, until all of it is there.
    (place / "zarr.json").remove()
    for name in record.files:
        file = place
        for step in name.split("/"):
            file /= step
        file.write((folder / name).read_bytes())
    (place / "zarr.json").write(record_text(record).encode())
