"""Folders of stores: the lock for a single writer, the head record, and the removal of leftovers.

The head record identifies the contents, for example by game and plan, so that nothing is written to another store.
"""

from __future__ import annotations

import fnmatch
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

from tablut.work.files import child, lock_folder, remove_temporaries, store_path, sync_names, writing
from tablut.work.sealed_records import DamagedError, Record, StoreError, read_record, write_record

Head = TypeVar("Head", bound=Record)
REMEDY: Final = "continuing the work makes it again"
_TRIES: Final = 20


class Kind(NamedTuple):
    """A kind of store: its name, and the file name or pattern of its head record, such as ``*/census.json``."""

    name: str
    head: str


@contextmanager
def working_folder(store: Path | str | None, name: str) -> Iterator[Path]:
    """Yield a store's folder or, if None is given, a temporary folder, which is removed at the end."""
    if store is not None:
        yield store_path(store)
        return
    folder = Path(tempfile.mkdtemp(prefix=f"tablut-{name}-"))
    try:
        yield folder
    finally:
        # An abandoned task may still be writing. Once the folder is renamed, the task no longer finds it.
        doomed = folder.with_name(folder.name + "-removed")
        folder.rename(doomed)
        for _ in range(_TRIES):
            shutil.rmtree(doomed, ignore_errors=True)
            if not doomed.exists():
                break
            # An abandoned task may still have a temporary file open in the folder.
            time.sleep(0.05)


@contextmanager
def claim(root: Path, kind: Kind, head: Head, *, other: Callable[[Head], str | None] | None = None) -> Iterator[Head]:
    """Lock a folder as a store within the context, and yield its head record.

    A new store gets the given head. An existing head must equal it or satisfy ``other``, which returns a description of
    the mismatch, or None.
    """
    shown = f"{kind.name} folder {str(root)!r}"
    with writing(shown, "choose another folder"):
        root.mkdir(parents=True, exist_ok=True)
        refuse_foreign(root, kind)
        child(root, "lock", f"{kind.name} file")
    with lock_folder(root, kind.name):
        # This is checked again, now that no other program can write to the folder.
        refuse_foreign(root, kind)
        sweep(root, kind.name)
        found = head_of(root, kind, type(head))
        if found is None:
            write_record(root / kind.head, head)
            sync_names(root)
            found = head
        else:
            fault = other(found) if other is not None else None if found == head else f"holds another {kind.name}"
            if fault is not None:
                raise StoreError(fault, subject=shown, remedy="choose another folder")
        yield found


def head_of(root: Path, kind: Kind, model: type[Head]) -> Head | None:
    """Return the head record of a store, or None if the folder has none."""
    return read_record(root / kind.head, model, f"{kind.name} file", "choose another folder")


def read_made(path: Path, model: type[Head]) -> Head | None:
    """Return a record that can be written again by continuing the work, or None if the file does not exist."""
    try:
        return read_record(path, model, "file", REMEDY)
    except DamagedError as error:
        raise error.at(path) from None


def damaged(path: Path, fault: str) -> DamagedError:
    """Return the error for a file of long work whose content differs from what was written."""
    return DamagedError(f"is damaged: {fault}", subject=f"file {str(path)!r}", remedy=REMEDY).at(path)


def refuse_foreign(root: Path, kind: Kind) -> None:
    """Raise `StoreError` if a folder contains any file that does not belong to a store of this kind."""
    shown = f"{kind.name} folder {str(root)!r}"
    if root.exists() and not root.is_dir():
        raise StoreError("is not a folder", subject=shown, remedy="choose another folder")
    left = re.compile(rf"lock|{fnmatch.translate(f'.{Path(kind.head).name}.*.tmp')}")
    files = (path for path in root.rglob("*") if path.is_symlink() or not path.is_dir())
    with writing(shown, "choose another folder"):
        if not any(root.glob(kind.head)) and any(left.fullmatch(path.name) is None for path in files):
            raise StoreError(f"is not empty, but has no {kind.name}", subject=shown, remedy="choose another folder")


def commit(path: Path, record: Record) -> None:
    """Write the record that marks the files beside it as finished.

    The file names are flushed to the disk first, so that a crash cannot leave a record without its files.
    """
    for folder in {path.parent, path.with_suffix("")}:
        if folder.is_dir():
            sync_names(folder)
    write_record(path, record)
    sync_names(path.parent)


def sweep(folder: Path, what: str) -> None:
    """Remove temporary files that killed writers left in a folder. The caller must hold the store's lock."""
    with writing(f"{what} folder {str(folder)!r}"):
        if folder.is_dir() and not folder.is_symlink():
            remove_temporaries(folder)


def drop(folder: Path) -> None:
    """Remove a working folder with all its contents. If the folder is missing or is a link, do nothing."""
    if folder.is_dir() and not folder.is_symlink():
        shutil.rmtree(folder, ignore_errors=True)


def drop_files(paths: Iterable[Path]) -> None:
    """Remove files that the work will write again."""
    for path in paths:
        with writing(f"file {str(path)!r}"):
            path.unlink(missing_ok=True)
