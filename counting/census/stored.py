"""The folder of a census: which plies are complete, their parts, and how it is read.

``census.json`` says which game is counted. ``ply-004.json``, written last, makes ply 4
complete; its positions are the row files in ``ply-004/``. ``work/`` holds the files of
children of the ply that is being made, and goes when that is complete.

Each record holds the digest of the one before and those of its parts, so that every file
belongs to one place of one census. Names are made from numbers, never read from a
file, and links are not followed out of the folder.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from counting.census.files import RowFile, Source, damaged, open_rows
from counting.census.records import PlyRecord, StoreAbout, read_record
from tablut.errors import InputError
from tablut.files import child

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = ["ABOUT", "StoredCensus", "part_sums", "read_about", "rows_digest"]

ABOUT: Final = "census.json"


class StoredCensus:
    """The folder of one census, to be read.

    Parameters
    ----------
    root : Path
        The folder.
    game : str
        `Variant.digest` of its game.
    full : bool
        Whether positions are counted without symmetry.
    """

    def __init__(self, root: Path, game: str, *, full: bool) -> None:
        self.root, self.game, self.full = root, game, full

    def records(self) -> list[PlyRecord]:
        """Return the records of the complete plies, from ply 0 on, each found to follow from the one before.

        Returns
        -------
        list of PlyRecord
            One a ply.

        Raises
        ------
        InputError
            Naming the first that is damaged, or belongs elsewhere.
        """
        found: list[PlyRecord] = []
        while (record := self.record(len(found), found[-1] if found else None)) is not None:
            found.append(record)
        return found

    def record(self, ply: int, before: PlyRecord | None) -> PlyRecord | None:
        """Return the record of a ply, or None if there is none.

        Parameters
        ----------
        ply : int
            Which.
        before : PlyRecord or None
            The record of the ply before; None for ply 0.

        Returns
        -------
        PlyRecord or None
            None if the folder has no such ply.

        Raises
        ------
        InputError
            If it is damaged, or is not what follows after ``before``.
        """
        path = child(self.root, f"ply-{ply:03}.json", "census file")
        if not path.exists():
            return None
        hint = "delete it, and go on with --resume"
        record = read_record(path, PlyRecord, hint)
        fault = None
        if (record.game, record.full, record.ply) != (self.game, self.full, ply):
            fault = "it belongs to another ply, or to another census"
        elif record.before != (None if before is None else before.digest):
            fault = "it does not follow from the record of the ply before"
        elif before is not None and not _follows(before, record):
            fault = "its parents and children are not those that the ply before has"
        if fault is not None:
            raise InputError(f"census file {str(path)!r} is damaged: {fault}; {hint}")
        return record

    def check_parts(self, record: PlyRecord) -> list[RowFile]:
        """Return the parts of a ply, opened and found to be those that its record names.

        Their heads and indices are read, not their rows.

        Parameters
        ----------
        record : PlyRecord
            The ply, as `record` returns it.

        Returns
        -------
        list of RowFile
            In the order of their leaves.

        Raises
        ------
        InputError
            Naming the file that is missing, damaged, or another.
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
        """Return the parts of a complete ply and the digests that they must have.

        Parameters
        ----------
        record : PlyRecord
            The ply.

        Returns
        -------
        tuple of Source
            In the order of their leaves.
        """
        folder = child(self.root, f"ply-{record.ply:03}", "census folder")
        return tuple(
            Source(folder / f"part-{number:05}.rows", entry.digest) for number, entry in enumerate(record.parts)
        )


def read_about(root: Path) -> StoreAbout | None:
    """Return what the ``census.json`` of a folder says, or None if it has none.

    Parameters
    ----------
    root : Path
        The folder.

    Returns
    -------
    StoreAbout or None
        None if the folder has no ``census.json``.

    Raises
    ------
    InputError
        If it is damaged, or of another format version.
    """
    path = child(root, ABOUT, "census file")
    return read_record(path, StoreAbout, "choose another folder") if path.exists() else None


def part_sums(stats: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return the sums of what the parts of a ply say, as `PlyRecord` has them.

    Parameters
    ----------
    stats : iterable of dict
        The fields of `PartStats`, perhaps others besides; at least one.

    Returns
    -------
    dict
        ``counters``, ``material``, ``children`` and ``next_children``.
    """
    found = list(stats)
    material = np.sum([np.array(part["material"], dtype=np.int64) for part in found], axis=0)
    return {
        "counters": {name: sum(part["counters"][name] for part in found) for name in found[0]["counters"]},
        "material": tuple(tuple(tuple(row) for row in kind) for kind in material.tolist()),
        "children": sum(part["children"] for part in found),
        "next_children": sum(part["next_children"] for part in found),
    }


def rows_digest(files: Iterable[RowFile]) -> str:
    """Return the digest of the rows of a ply in the order of leaves, however they are cut into parts.

    Parameters
    ----------
    files : iterable of RowFile
        All parts of a ply in the order of their leaves.

    Returns
    -------
    str
        SHA-256 in hexadecimal.
    """
    found = list(files)
    counts = np.sum([file.counts for file in found], axis=0, dtype=np.int64)
    content = hashlib.sha256(counts.astype("<i8").tobytes())
    for file in found:
        content.update(file.leaves)
    return content.hexdigest()


def _follows(before: PlyRecord, record: PlyRecord) -> bool:
    """Return whether the parents, moves and children of a ply are those that the ply before has."""
    due = (before.counters["new"], before.counters["moves"])
    return record.expanded[:2] == due and record.children == before.next_children
