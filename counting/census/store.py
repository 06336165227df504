"""The folder of a census to be written: by one process at a time, ply by ply; see `counting.census.stored`."""

from __future__ import annotations

import re
import shutil
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from counting.census.files import open_rows
from counting.census.record_files import dump
from counting.census.records import PlyRecord, StoreAbout
from counting.census.stored import ABOUT, StoredCensus, read_about
from counting.census.tally_files import bins_of, tally_name, tally_owner
from tablut.errors import InputError, OutputError, output_failure
from tablut.store.files import child, lock_folder, remove_temporaries, sync_names, write_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from counting.census.count_record import CountRecord
    from counting.census.row_head import RowFile
    from tablut.variants import Variant

_LEFT_OVER = re.compile(r"lock|\.census\.json\..+\.tmp")
"""What a census may leave that was killed before it had written anything."""


class CensusStore(StoredCensus):
    """The folder of one census, to be written by this process alone."""

    root: Path

    def __init__(self, root: Path, variant: Variant, *, full: bool, resume: bool) -> None:
        super().__init__(root.resolve(), variant.digest, full=full)
        self._stack = ExitStack()
        try:
            self._claim(root, variant, resume=resume)
        except BaseException:
            self.close()
            raise

    def _claim(self, root: Path, variant: Variant, *, resume: bool) -> None:
        with _writing(f"--store {str(root)!r}", "; choose another folder"):
            self.root.mkdir(parents=True, exist_ok=True)
            self._refuse_foreign(root)
            child(self.root, "lock", "census file")
            self._stack.enter_context(lock_folder(self.root, "census"))
            self._refuse_foreign(root)
            remove_temporaries(self.root)
        about = read_about(self.root)
        if about is None:
            content = dump(StoreAbout.make(variant.name, self.game, full=self.full))
            write_bytes(self.root / ABOUT, content, lasting=True)
            return
        refuse_other(str(root), about, self.game, full=self.full)
        if not resume:
            raise InputError(
                f"--store {str(root)!r}: holds a census of {variant.name!r} to ply {len(self.records()) - 1}; "
                "go on with --resume, or choose another folder"
            )

    def _refuse_foreign(self, root: Path) -> None:
        """Refuse a folder that holds something else, before anything is written there."""
        names = {entry.name for entry in self.root.iterdir()}
        if ABOUT not in names and any(_LEFT_OVER.fullmatch(name) is None for name in names):
            raise InputError(f"--store {str(root)!r}: is not empty and holds no census; choose another folder")

    def close(self) -> None:
        """Release the lock."""
        self._stack.close()

    def part(self, ply: int, number: int) -> Path:
        """Return where a part of a ply's positions goes; its folder is made."""
        return self._folder(self.root, f"ply-{ply:03}") / f"part-{number:05}.rows"

    def work_file(self, ply: int, name: str, number: int) -> Path:
        """Return where a file goes from which a ply is made; its folder is made."""
        return self._folder(self._folder(self.root, "work"), f"ply-{ply:03}") / f"{name}-{number:05}.rows"

    def tally(self, folder: Path, bins: tuple[int, int]) -> Path:
        """Return where the tally of some bins goes; its folder is made."""
        return self._folder(folder.parent, folder.name) / tally_name(bins)

    def count_folder(self, ply: int, *, again: bool = False) -> Path:
        """Return where the tallies of a ply are that was counted and not stored."""
        return child(self.root, f"{'again' if again else 'count'}-{ply:03}", "census folder")

    def tallies(self, ply: int, before: str, folder: Path) -> tuple[list[RowFile], list[str]]:
        """Return the tallies of a ply in a folder that belong to it and do not overlap."""
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

    def commit_count(self, record: CountRecord) -> None:
        """Write the record of a ply that is counted and not stored, and remove what it was made from."""
        sync_names(self.count_folder(record.ply))
        write_bytes(self.root / f"count-{record.ply:03}.json", dump(record), lasting=True)
        sync_names(self.root)
        shutil.rmtree(self.root / "work", ignore_errors=True)

    def _folder(self, parent: Path, name: str) -> Path:
        folder = child(parent, name, "census folder")
        with _writing(f"census folder {str(folder)!r}"):
            folder.mkdir(exist_ok=True)
        return folder

    def commit(self, content: dict[str, Any]) -> PlyRecord:
        """Make a ply complete and remove what it was merged from; return its record.

        The parts are on the disk already; their names must be there before the record, and the
        record before what it was made from goes.
        """
        record = PlyRecord.make({**content, "game": self.game, "full": self.full})
        folder = self.root / f"ply-{record.ply:03}"
        sync_names(folder)
        write_bytes(self.root / f"ply-{record.ply:03}.json", dump(record), lasting=True)
        sync_names(self.root)
        shutil.rmtree(self.root / "work", ignore_errors=True)
        named = {source.path for source in self.parts(record)}
        with _writing(f"census folder {str(folder)!r}"):
            remove_temporaries(folder)
            for path in folder.glob("part-*.rows"):
                if path not in named:
                    path.unlink()
        return record

    def sweep(self, ply: int | None) -> None:
        """Remove what killed tasks left: temporary names, and all of ``work/`` that the next ply does not need."""
        work = child(self.root, "work", "census folder")
        with _writing(f"census folder {str(work)!r}"):
            for folder in (
                self.root,
                *self.root.glob("ply-*"),
                *self.root.glob("count-*"),
                *self.root.glob("again-*"),
                *work.glob("*"),
            ):
                if not folder.is_dir() or folder.is_symlink():
                    continue
                if folder.parent == work and (ply is None or folder.name != f"ply-{ply:03}"):
                    shutil.rmtree(folder, ignore_errors=True)
                else:
                    remove_temporaries(folder)
            if work.is_dir() and not any(work.iterdir()):
                work.rmdir()

    def taken_bytes(self, _: Sequence[PlyRecord] = ()) -> int:
        """Return how many bytes the folder takes, whatever its files are for."""
        return sum(path.stat().st_size for path in self.root.rglob("*.rows"))

    def free_bytes(self) -> int:
        """Return the free space of the disk."""
        return shutil.disk_usage(self.root).free


def refuse_other(store: str, about: StoreAbout, game: str, *, full: bool) -> None:
    """Refuse a store that holds another census than the one that is to be counted."""
    if (about.game, about.full) != (game, full):
        other = "in another way" if about.game == game else "by other rules"
        raise InputError(f"--store {store!r}: holds a census of {about.variant[:80]!r} {other}")


@contextmanager
def _writing(what: str, hint: str = "") -> Iterator[None]:
    """Turn an error of the system into one line."""
    try:
        yield
    except OSError as error:
        if isinstance(error, OutputError):
            raise
        raise output_failure(f"{what}: {error.strerror or error}{hint}", error) from error
