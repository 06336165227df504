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
from counting.census.files import RowFile, Source, damaged, open_rows
from counting.census.record_files import read_record
from counting.census.records import PlyRecord, SealedPly, StoreAbout
from counting.census.row_sums import part_sums, rows_digest
from counting.census.tally_files import bins_of, count_sums, tally_name, tally_owner
from tablut.errors import InputError
from tablut.files import child

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["ABOUT", "StoredCensus", "read_about"]

ABOUT: Final = "census.json"
OfPly = TypeVar("OfPly", bound=SealedPly)


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
        return self._ply_record(f"ply-{ply:03}.json", PlyRecord, ply, before)

    def count_folder(self, ply: int, *, again: bool = False) -> Path:
        """Return where the tallies of a ply are that was counted and not stored.

        Parameters
        ----------
        ply : int
            Which.
        again : bool
            Those of a count that is compared with an earlier one.

        Returns
        -------
        Path
            The folder, which need not be there.
        """
        return child(self.root, f"{'again' if again else 'count'}-{ply:03}", "census folder")

    def count_record(self, before: PlyRecord) -> CountRecord | None:
        """Return the record of the ply after another if it was counted and not stored, or None.

        Parameters
        ----------
        before : PlyRecord
            The ply before.

        Returns
        -------
        CountRecord or None
            None if the folder has none.

        Raises
        ------
        InputError
            If it is damaged, or does not follow after ``before``.
        """
        ply = before.ply + 1
        return self._ply_record(f"count-{ply:03}.json", CountRecord, ply, before)

    def _ply_record(self, name: str, model: type[OfPly], ply: int, before: PlyRecord | None) -> OfPly | None:
        path = child(self.root, name, "census file")
        if not path.exists():
            return None
        hint = "delete it, and go on with --resume"
        record = read_record(path, model, hint)
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

    def tallies(self, ply: int, before: str, folder: Path) -> tuple[list[RowFile], list[str]]:
        """Return the tallies of a ply in a folder that belong to it and do not overlap.

        Parameters
        ----------
        ply : int
            The ply.
        before : str
            The digest of the ply before.
        folder : Path
            Where they are.

        Returns
        -------
        files : list of RowFile
            In the order of bins.
        faults : list of str
            A line for each file that is damaged, or belongs elsewhere.
        """
        files: list[RowFile] = []
        faults = []
        for path in sorted(folder.glob("tally-*.rows")) if folder.is_dir() else []:
            try:
                file = open_rows(path)
            except InputError as error:
                faults.append(str(error))
                continue
            bins = bins_of(file)
            fits = file.header.owner == tally_owner(self.game, self.full, ply, before, bins)
            if file.header.kind != "tally" or not fits or path.name != tally_name(bins):
                faults.append(f"census file {str(path)!r} belongs elsewhere")
            elif files and bins[0] < bins_of(files[-1])[1]:
                faults.append(f"census file {str(path)!r}: the same bins as {files[-1].path.name} has")
            else:
                files.append(file)
        return files, faults

    def check_tallies(self, record: CountRecord) -> list[RowFile]:
        """Return the tallies of a counted ply, opened and found to be those that its record names.

        Parameters
        ----------
        record : CountRecord
            As `count_record` returns it.

        Returns
        -------
        list of RowFile
            In the order of bins.

        Raises
        ------
        InputError
            Naming the file that is missing, damaged, or another.
        """
        folder, files = self.count_folder(record.ply), []
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


def _follows(before: PlyRecord, record: SealedPly) -> bool:
    """Return whether the parents, moves and children of a ply are those that the ply before has."""
    due = (before.counters["new"], before.counters["moves"])
    return record.expanded[:2] == due and record.children == before.next_children
