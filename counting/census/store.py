"""The folder of a census: which plies are complete, their parts, and one writer at a time.

``census.json`` says which game is counted. ``ply-004.json``, written last, makes ply 4
complete; its positions are the row files in ``ply-004/``. ``work/`` holds the files of
children of the ply that is being made, and goes when that is complete.
"""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any, Final

from counting.census.files import FORMAT_VERSION
from tablut.errors import InputError, OutputError
from tablut.files import sync_names, write_text

if TYPE_CHECKING:
    from pathlib import Path
    from typing import IO

    from tablut.variants import Variant

__all__ = ["LEAF_BITS", "CensusStore"]

LEAF_BITS: Final = 12
"""Bits of the hash that name a leaf: 4096 leaves, so that a leaf fits into memory up to some 10^11 children."""


class CensusStore:
    """The folder of one census.

    Parameters
    ----------
    root : Path
        The folder; made if it is missing.
    variant : Variant
        The game.
    full : bool
        Whether positions are counted without symmetry.
    resume : bool
        Whether plies that are there already may be taken over.

    Raises
    ------
    InputError
        If the folder holds another census, or one that was not to be resumed, or is in use.
    OutputError
        If it cannot be written.
    """

    def __init__(self, root: Path, variant: Variant, *, full: bool, resume: bool) -> None:
        self.root = root.resolve()
        self._lock: IO[str] | None = None
        try:
            self._claim(root, variant, full=full, resume=resume)
        except BaseException:
            self.close()
            raise

    def _claim(self, root: Path, variant: Variant, *, full: bool, resume: bool) -> None:
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            self._take_lock()
        except OSError as error:
            if isinstance(error, OutputError):
                raise
            raise OutputError(f"--store {str(root)!r}: {error.strerror}; choose another folder") from error
        about = {
            "format": FORMAT_VERSION,
            "variant": variant.name,
            "terrain": list(variant.terrain),
            "start": list(variant.start),
            "rules": variant.rules.model_dump(mode="json", by_alias=True),
            "full": full,
            "leaf_bits": LEAF_BITS,
        }
        found = self._read("census.json")
        if found is None:
            if any(entry.name != "lock" for entry in self.root.iterdir()):
                raise InputError(f"--store {str(root)!r}: is not empty and holds no census; choose another folder")
            write_text(self.root / "census.json", json.dumps(about, indent=2) + "\n")
            return
        if found.get("format") != FORMAT_VERSION:
            raise InputError(
                f"--store {str(root)!r}: format version {found.get('format')}, this program reads {FORMAT_VERSION}; "
                "choose another folder"
            )
        # A user's file may have another name and still say the same game.
        if {**found, "variant": ""} != {**about, "variant": ""}:
            raise InputError(f"--store {str(root)!r}: holds a census of {found.get('variant')!r} by other rules")
        if not resume:
            raise InputError(
                f"--store {str(root)!r}: holds a census of {variant.name!r} to ply {len(self.records()) - 1}; "
                "go on with --resume, or choose another folder"
            )

    def _take_lock(self) -> None:
        try:
            import fcntl
        except ImportError:  # not a POSIX system: two writers are not kept apart
            return
        self._lock = (self.root / "lock").open("w")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise InputError(f"--store {str(self.root)!r}: another census is writing there; wait for it") from error

    def close(self) -> None:
        """Let others write."""
        if self._lock is not None:
            self._lock.close()

    def _read(self, name: str) -> dict[str, Any] | None:
        path = self.root / name
        try:
            content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise InputError(f"census file {str(path)!r} cannot be read: {error}; choose another folder") from error
        return content

    # -- plies -------------------------------------------------------------------------

    def records(self) -> list[dict[str, Any]]:
        """Return the records of the complete plies, from ply 0 on."""
        found: list[dict[str, Any]] = []
        while (record := self._read(f"ply-{len(found):03}.json")) is not None:
            found.append(record)
        return found

    def part(self, ply: int, number: int) -> Path:
        """Return where a part of a ply's positions goes; its folder is made."""
        return self._folder(f"ply-{ply:03}") / f"part-{number:05}.rows"

    def children(self, ply: int, number: int) -> Path:
        """Return where a file of children goes that a ply is merged from; its folder is made."""
        return self._folder(f"work/ply-{ply:03}") / f"children-{number:05}.rows"

    def _folder(self, name: str) -> Path:
        folder = self.root / name
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(f"census folder {str(folder)!r}: {error.strerror}") from error
        return folder

    def parts(self, record: dict[str, Any]) -> tuple[Path, ...]:
        """Return the parts of a complete ply."""
        return tuple(self.part(record["ply"], number) for number in range(record["parts"]))

    def commit(self, record: dict[str, Any]) -> None:
        """Make a ply complete and remove what it was merged from.

        The parts are on the disk already; their names must be there before the record, and the
        record before what it was made from goes.
        """
        sync_names(self.root / f"ply-{record['ply']:03}")
        write_text(self.root / f"ply-{record['ply']:03}.json", json.dumps(record) + "\n", lasting=True)
        sync_names(self.root)
        shutil.rmtree(self.root / "work", ignore_errors=True)
        named = set(self.parts(record))
        for path in (self.root / f"ply-{record['ply']:03}").iterdir():
            if path not in named:
                path.unlink()

    def free_bytes(self) -> int:
        """Return the free space of the disk."""
        return shutil.disk_usage(self.root).free
