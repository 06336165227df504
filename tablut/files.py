"""Writing files so that a reader never sees half of one."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from tablut.errors import OutputError

__all__ = ["write_bytes", "write_text"]


def write_bytes(target: Path, content: bytes, hint: str = "", *, lasting: bool = False) -> None:
    """Write a file under a temporary name in its folder, then rename it.

    Parameters
    ----------
    target : Path
        Where the file goes; missing folders are made.
    content : bytes
        All of it.
    hint : str
        The way out, appended to the error message.
    lasting : bool
        Have it on the disk before it gets its name: it survives a loss of power.

    Raises
    ------
    OutputError
        Naming the file, if it cannot be written.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.is_dir():
            raise IsADirectoryError(21, "Is a directory")
        descriptor, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".tmp")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                if lasting:
                    file.flush()
                    os.fsync(file.fileno())
            Path(temporary).chmod(0o644)
            Path(temporary).replace(target)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise OutputError(f"output file {str(target)!r}: {error.strerror}{hint}") from error


def write_text(target: Path, content: str, hint: str = "", *, lasting: bool = False) -> None:
    """Write a text file in UTF-8, as `write_bytes` does."""
    write_bytes(target, content.encode(), hint, lasting=lasting)
