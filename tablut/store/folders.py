"""The folder of a store: claimed by one writer at a time, begun with a head record, and swept of what was left.

The head says what the folder is for (which game, which plan), so a folder of another store, or with somebody's own
files, is refused before anything is written there.
"""

from __future__ import annotations

import fnmatch
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, TypeVar

from tablut.errors import OutputError, output_failure
from tablut.store.files import child, lock_folder, remove_temporaries, sync_names
from tablut.store.records import Record, StoreError, read_record, write_record

Head = TypeVar("Head", bound=Record)


class Kind(NamedTuple):
    """A kind of store: what it is called, and the file of its head.

    The head may be a pattern of files, such as ``*/census.json``, for a store whose folder has no head of its own.
    """

    name: str
    head: str


@contextmanager
def claim(root: Path, kind: Kind, head: Head, *, other: Callable[[Head], str | None] | None = None) -> Iterator[Head]:
    """Claim a folder as a store while the context lasts; yield its head, the one given or the one that is there.

    ``other`` says of a head that is there what else it is for, or None if it will do; by default it must be equal.
    """
    shown = f"{kind.name} folder {str(root)!r}"
    with writing(shown, "choose another folder"):
        root.mkdir(parents=True, exist_ok=True)
        refuse_foreign(root, kind)
        child(root, "lock", f"{kind.name} file")
    with lock_folder(root, kind.name):
        # Once more, now that nobody else writes.
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
                raise StoreError(f"{shown}: {fault}", remedy="choose another folder")
        yield found


def head_of(root: Path, kind: Kind, model: type[Head]) -> Head | None:
    """Return the head of a store, or None if the folder has none."""
    return read_record(root / kind.head, model, f"{kind.name} file", "choose another folder")


def refuse_foreign(root: Path, kind: Kind) -> None:
    """Refuse a folder that holds something else than a kind of store, before anything is written there.

    A folder without files is as good as an empty one, and so is what a run leaves that was killed at once.
    """
    shown = f"{kind.name} folder {str(root)!r}"
    if root.exists() and not root.is_dir():
        raise StoreError(f"{shown}: is no folder", remedy="choose another")
    left = re.compile(rf"lock|{fnmatch.translate(f'.{Path(kind.head).name}.*.tmp')}")
    files = (path for path in root.rglob("*") if path.is_symlink() or not path.is_dir())
    with writing(shown, "choose another folder"):
        if not any(root.glob(kind.head)) and any(left.fullmatch(path.name) is None for path in files):
            raise StoreError(f"{shown}: is not empty and holds no {kind.name}", remedy="choose another folder")


def commit(path: Path, record: Record) -> None:
    """Write the record that makes finished what lies beside it: names first, then the record, then its name."""
    for folder in {path.parent, path.with_suffix("")}:
        if folder.is_dir():
            sync_names(folder)
    write_record(path, record)
    sync_names(path.parent)


def sweep(folder: Path, what: str) -> None:
    """Remove what killed writers left in a folder under temporary names; the caller holds the lock of the store."""
    with writing(f"{what} folder {str(folder)!r}"):
        if folder.is_dir() and not folder.is_symlink():
            remove_temporaries(folder)


def drop(folder: Path) -> None:
    """Remove a folder of work with all that it holds, if it is there and no link."""
    if folder.is_dir() and not folder.is_symlink():
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def writing(what: str, remedy: str = "") -> Iterator[None]:
    """Turn an error of the system into one line that names what was written."""
    try:
        yield
    except OSError as error:
        if isinstance(error, OutputError):
            raise
        raise output_failure(f"{what}: {error.strerror or error}", error, remedy) from error
