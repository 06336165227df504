"""Copies of a census, and counting one that is to be in an object store: a folder of this machine stands in between.

Every byte is compared with the digests of the store that it comes from. The files of a ply come first and its record
last, so without the record there is no ply. A ply that is there already, with the same digest, is left as it is.

Non-guarantee: two programs that write one ply of one store at once, cut into other parts, may leave a record whose
parts are the other's. That is named as damage by whoever reads it.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from contextlib import contextmanager, suppress
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from counting.census.files import spans
from counting.census.record_files import dump
from counting.census.records import LEAF_BITS, StoreAbout
from counting.census.row_head import damaged, parse_beginning, reported
from counting.census.rows_elsewhere import fetch, leaves_elsewhere
from counting.census.stored import ABOUT, StoredCensus, read_about, stored_folders
from tablut.errors import InputError, output_failure
from tablut.locations import as_location, names_in, resolved
from tablut.remote import Remote
from tablut.results import Result
from tablut.store.files import sync_names, write_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from counting.census.count_record import CountRecord
    from counting.census.observer import Observer
    from counting.census.records import PlyRecord, Sealed
    from counting.census.row_head import RowFile
    from tablut.locations import Location, LocationLike

_TRIES: Final = 3


class CensusCopy(Result):
    """What ``tablut census copy`` has done."""

    variant: str
    store: str
    target: str
    plies: int
    files: int
    bytes: int


def copy_census(
    source: LocationLike, target: LocationLike, advanced: Callable[[str], None] = lambda _: None
) -> CensusCopy:
    """Copy a stored census to another place, every byte compared with its digest."""
    here, there = as_location(source), as_location(target)
    if resolved(here) == resolved(there):
        raise InputError(f"census copy {str(there)!r}: is what is to be copied; choose another place")
    copying = _Copying(here, there, advanced)
    copying.run()
    if copying.about is None:
        raise InputError(f"census copy {str(here)!r}: holds no census; name what was given with --store")
    return CensusCopy(
        variant=copying.about.variant,
        store=str(here),
        target=str(there),
        plies=copying.plies,
        files=copying.files,
        bytes=copying.bytes,
    )


@contextmanager
def staged(place: Remote, folder: Path, observer: Observer) -> Iterator[Observer]:
    """Let a census be counted in a folder that is to be elsewhere; it begins with what is there.

    Each ply that is finished is sent before the next step begins, and at the end, also of one that an interrupt or a
    limit has ended.
    """
    if read_about(place) is not None:
        raise InputError(f"--store {str(place)!r}: is a folder of a census; name the place above it")
    fetching = _Copying(place, folder, lambda name: observer.say(f"fetches {name}"))
    fetching.run()
    sending = _Copying(folder, place, lambda name: observer.say(f"sends {name}"))
    sending.done = dict(fetching.done)
    try:
        yield _Sending(observer, sending.run)
    except (KeyboardInterrupt, InputError):
        sending.run()
        raise
    sending.run()


class _Sending:
    """An observer that sends what is finished before it passes the next step on."""

    def __init__(self, observer: Observer, send: Callable[[], None]) -> None:
        self._observer, self._send = observer, send
        self.advance, self.say, self.announce = observer.advance, observer.say, observer.announce

    def begin(self, ply: int, step: str, total: int) -> None:
        """Send what is finished."""
        self._send()
        self._observer.begin(ply, step, total)


class _Copying:
    """A copy that can go on: ``done`` holds what the target is known to have, by place and digest."""

    def __init__(self, source: Location, target: Location, advanced: Callable[[str], None]) -> None:
        self.source, self.target, self.advanced = source, target, advanced
        self.done: dict[str, str] = {}
        self.about: StoreAbout | None = None
        self.plies = self.files = self.bytes = 0

    def run(self) -> None:
        """Copy what the target is not known to have."""
        for name, (folder, about) in stored_folders(self.source).items():
            self.about = about if self.about is None else self.about
            self._folder(name, folder, about)

    def _folder(self, name: str, folder: Location, about: StoreAbout) -> None:
        target = self.target if name == "." else self.target / name
        if self.done.get(f"{name}/{ABOUT}") != about.checksum:
            self._begin(target, about)
            self.done[f"{name}/{ABOUT}"] = about.checksum
        stored = StoredCensus(folder, about.game, full=about.full)
        other = StoredCensus(target, about.game, full=about.full)
        before: PlyRecord | None = None
        for record in stored.records():
            key = f"{name}/ply-{record.ply:03}"
            if self.done.get(key) != record.digest:
                self._ply(stored, other, record, before)
                self.done[key] = record.digest
            counted = stored.count_record(record)
            key = f"{name}/count-{record.ply + 1:03}"
            if counted is not None and self.done.get(key) != counted.checksum:
                self._counted(stored, other, counted, record)
                self.done[key] = counted.checksum
            before = record
        if not about.full:
            self.plies = 0 if before is None else before.ply + 1

    def _begin(self, target: Location, about: StoreAbout) -> None:
        there = read_about(target)
        if there is None:
            names = names_in(target) if isinstance(target, Remote) or target.is_dir() else []
            if names:
                raise InputError(f"census copy {str(target)!r}: holds other files; choose another place")
            self._write(target / ABOUT, about)
        elif (there.game, there.full) != (about.game, about.full):
            raise InputError(
                f"census copy {str(target)!r}: holds a census of {there.variant[:80]!r}, another than "
                f"{about.variant[:80]!r}; choose another place"
            )

    def _ply(self, stored: StoredCensus, other: StoredCensus, record: PlyRecord, before: PlyRecord | None) -> None:
        there = other.record(record.ply, before)
        if there is not None:
            if there.digest != record.digest:
                raise InputError(
                    f"census copy {str(other.root)!r}: its ply {record.ply} is another than that of "
                    f"{str(stored.root)!r}; verify both with `tablut census verify`"
                )
            with suppress(InputError):
                other.check_parts(there)
                return
        name = f"ply-{record.ply:03}"
        self.advanced(name)
        for number, file in enumerate(stored.check_parts(record)):
            self._file(file, other.root / name / f"part-{number:05}.rows")
        self._write(other.root / f"{name}.json", record)

    def _counted(self, stored: StoredCensus, other: StoredCensus, record: CountRecord, before: PlyRecord) -> None:
        there = other.count_record(before)
        name = f"count-{record.ply:03}"
        if there is not None:
            if there.checksum == record.checksum:
                return
            if not set(there.hundredths) <= set(record.hundredths):
                raise InputError(
                    f"census copy {str(other.root)!r}: its {name}.json has hundredths that {str(stored.root)!r} has "
                    "not, or other numbers; choose another place"
                )
        self.advanced(name)
        for file in stored.check_tallies(record):
            self._file(file, other.root / name / Path(str(file.path)).name)
        self._write(other.root / f"{name}.json", record)

    # -- files -------------------------------------------------------------------------

    def _write(self, target: Location, record: Sealed) -> None:
        content = dump(record)
        if isinstance(target, Remote):
            target.write(content)
        else:
            if target.parent.is_dir():
                sync_names(target.parent)
            write_bytes(target, content, lasting=True)
        self.files, self.bytes = self.files + 1, self.bytes + len(content)

    def _file(self, file: RowFile, target: Location) -> None:
        if isinstance(target, Remote):
            with tempfile.TemporaryDirectory(prefix="tablut-copy-") as folder:
                held = Path(folder, "rows")
                _fetch(file, held)
                target.write(held)
        else:
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise output_failure(f"census folder {str(target.parent)!r}: {error.strerror}", error) from error
            _fetch(file, target)
            sync_names(target.parent)
        self.files, self.bytes = self.files + 1, self.bytes + file.length


def _fetch(file: RowFile, target: Path) -> None:
    """Write a row file to this machine, every byte compared with its digest."""
    beginning = _beginning(file)
    descriptor, name = -1, ""
    with reported(target, "write it"):
        descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".tmp")
    try:
        with os.fdopen(descriptor, "wb") as out:
            with reported(target, "write it"):
                out.write(beginning)
            for first, last in spans(file, 0, 1 << LEAF_BITS) if file.header.kind == "part" else ():
                rows = _leaves(file, first, last)
                with reported(target, "write it"):
                    out.write(rows)
            with reported(target, "write it"):
                out.flush()
                os.fsync(out.fileno())
        with reported(target, "write it"):
            Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _beginning(file: RowFile) -> bytes:
    """Return everything of a row file but its rows, as it is stored."""
    for _ in range(_TRIES):
        if isinstance(file.path, Remote):
            content = fetch(file.path, 0, file.begin)
        else:
            with reported(file.path, "read it"), file.path.open("rb") as stream:
                content = stream.read(file.begin)
        with suppress(InputError):
            if parse_beginning(file.path, BytesIO(content), file.length).digest == file.digest:
                return content
    raise damaged(file.path, "header or index have another digest")


def _leaves(file: RowFile, first: int, last: int) -> bytes:
    """Return the rows of some leaves as they are stored, compared with the SHA-256 of each leaf."""
    if isinstance(file.path, Remote):
        return leaves_elsewhere(file, first, last)[1].tobytes()
    before, after = (int(np.count_nonzero(file.counts[:leaf])) for leaf in (first, last))
    content = bytearray()
    with reported(file.path, "read it"), file.path.open("rb") as stream:
        for segment in file.segments()[before:after]:
            stream.seek(segment.start)
            rows = stream.read(segment.size)
            if hashlib.sha256(rows).hexdigest() != segment.sha256:
                raise damaged(file.path, "its rows have other digests")
            content += rows
    return bytes(content)
