"""The folder of a census: which plies are complete, their parts, and how it is read.

``census.json`` says which game is counted. ``ply-004.json``, written last, makes ply 4
complete; its positions are the row files in ``ply-004/``. ``work/`` holds the files of
children of the ply that is being made, and goes when that is complete.

Each record holds the digest of the one before and those of its parts, so that every file
belongs to one place of one census. Names are made from numbers, never read from a
file, and links are not followed out of the folder.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

from counting.census.count_record import CountRecord
from counting.census.files import open_rows
from counting.census.record_files import read_record
from counting.census.records import PlyRecord, SealedPly, StoreAbout
from counting.census.row_head import RowFile, Source, damaged
from counting.census.row_sums import part_sums, rows_digest
from counting.census.tally_files import count_sums, tally_name, tally_owner
from tablut.errors import InputError
from tablut.store.files import child

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["ABOUT", "StoredCensus", "read_about", "stored_folders"]

ABOUT: Final = "census.json"
OfPly = TypeVar("OfPly", bound=SealedPly)


class StoredCensus:
    """The folder of one census, to be read."""

    def __init__(self, root: Path, game: str, *, full: bool) -> None:
        self.root, self.game, self.full = root, game, full

    def records(self) -> list[PlyRecord]:
        """Return the records of the complete plies, from ply 0 on, each found to follow from the one before."""
        found: list[PlyRecord] = []
        while (record := self.record(len(found), found[-1] if found else None)) is not None:
            found.append(record)
        return found

    def record(self, ply: int, before: PlyRecord | None) -> PlyRecord | None:
        """Return the record of a ply, or None if there is none."""
        return self._ply_record(f"ply-{ply:03}.json", PlyRecord, ply, before)

    def count_record(self, before: PlyRecord) -> CountRecord | None:
        """Return the record of the ply after another if it was counted and not stored, or None."""
        ply = before.ply + 1
        return self._ply_record(f"count-{ply:03}.json", CountRecord, ply, before)

    def _ply_record(self, name: str, model: type[OfPly], ply: int, before: PlyRecord | None) -> OfPly | None:
        path = _inside(self.root, name)
        hint = "delete it, and go on with --resume"
        record = read_record(path, model, hint)
        if record is None:
            return None
        fault = None
        if (record.game, record.full, record.ply) != (self.game, self.full, ply):
            fault = "it belongs to another ply, or to another census"
        elif record.before != (None if before is None else before.digest):
            fault = "it does not follow from the record of the ply before"
        elif before is not None and record.whole and not _follows(before, record):
            fault = "its parents and children are not those that the ply before has"
        if fault is not None:
            raise InputError(f"census file {str(path)!r} is damaged: {fault}; {hint}")
        return record

    def check_tallies(self, record: CountRecord) -> list[RowFile]:
        """Return the tallies of a counted ply, opened and found to be those that its record names."""
        folder, files = _inside(self.root, f"count-{record.ply:03}"), []
        for entry in record.tallies:
            file = open_rows(folder / tally_name(entry.bins), entry.digest)
            owner = tally_owner(record.game, record.full, record.ply, record.before, entry.bins)
            if (file.header.kind, file.header.owner, file.length) != ("tally", owner, entry.bytes):
                raise damaged(file.path, "it belongs elsewhere")
            files.append(file)
        if any(getattr(record, name) != value for name, value in count_sums(files).items()):
            path = self.root / f"count-{record.ply:03}.json"
            raise InputError(
                f"census file {str(path)!r} is damaged: it does not add up from its tallies; "
                "delete it, and go on with --resume"
            )
        return files

    def check_parts(self, record: PlyRecord) -> list[RowFile]:
        """Return the parts of a ply, opened and found to be those that its record names.

        Their heads and indices are read, not their rows.
        """
        files = []
        for number, (source, entry) in enumerate(zip(self.parts(record), record.parts, strict=True)):
            file = open_rows(*source)
            owner = (self.game, self.full, record.ply, number, record.plan)
            if file.header.owner != owner or (file.header.rows, file.length) != (entry.rows, entry.bytes):
                raise damaged(source.path, "it belongs elsewhere")
            files.append(file)
        path = self.root / f"ply-{record.ply:03}.json"
        try:
            sums = part_sums([file.header.stats.model_dump() for file in files])
        except (ValueError, KeyError, TypeError):  # statistics of another kind or shape
            sums = {"counters": None}
        if any(getattr(record, name) != value for name, value in sums.items()) or rows_digest(files) != record.rows:
            raise InputError(
                f"census file {str(path)!r} is damaged: it does not add up from its parts; "
                "delete it and them, and go on with --resume"
            )
        return files

    def parts(self, record: PlyRecord) -> tuple[Source, ...]:
        """Return the parts of a complete ply and the digests that they must have."""
        folder = _inside(self.root, f"ply-{record.ply:03}")
        return tuple(
            Source(folder / f"part-{number:05}.rows", entry.digest) for number, entry in enumerate(record.parts)
        )

    def taken_bytes(self, records: Sequence[PlyRecord]) -> int:
        """Return how many bytes the positions of plies take."""
        return sum(entry.bytes for record in records for entry in record.parts)


def read_about(root: Path) -> StoreAbout | None:
    """Return what the ``census.json`` of a folder says, or None if it has none."""
    return read_record(_inside(root, ABOUT), StoreAbout, "choose another folder")


def stored_folders(root: Path) -> dict[str, tuple[Path, StoreAbout]]:
    """Return the folders of a census: by classes, and without symmetry if it was counted so as well."""
    if (about := read_about(root)) is not None:
        return {".": (root, about)}
    found = {}
    for name in ("classes", "full"):
        folder = _inside(root, name)
        if (about := read_about(folder)) is not None:
            found[name] = (folder, about)
        elif folder.is_dir() and any(folder.iterdir()):
            raise InputError(f"census file {str(folder / ABOUT)!r} is missing; count again")
    return found


def _inside(root: Path, name: str) -> Path:
    """Return a file or folder of a store; it must not be a link."""
    return child(root, name, "census file")


def _follows(before: PlyRecord, record: SealedPly) -> bool:
    """Return whether the parents, moves and children of a ply are those that the ply before has."""
    due = (before.counters["new"], before.counters["moves"])
    return record.expanded[:2] == due and record.children == before.next_children
