"""File operations: bounded reads, atomic writes, locks, reserved disk space, and removal of temporary files.

These functions are used for the toolkit's own files and for users' files. Other modules define the file formats. A file
*from outside* is one that the toolkit has not written itself, such as a user's file.
"""

from __future__ import annotations

import errno
import os
import re
import reprlib
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, Final, TypeVar

from tablut.errors import InputError, OutputError, input_failure, output_failure

Kind = TypeVar("Kind")

TEXT_BYTES: Final = 64 << 20
"""Default limit on the size of a text file from outside, in bytes."""

_TEMPORARY = re.compile(r"\..+\.[A-Za-z0-9_]+\.tmp")
_STEP = 1 << 20
_WITHOUT_WAITING = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def read_bytes(path: Path, what: str, most: int = TEXT_BYTES, *, pipes: bool = False) -> bytes:
    """Return the content of a file from outside, which has at most ``most`` bytes.

    With ``pipes``, it may be a pipe that the user has named, such as a process substitution of the shell. Otherwise it
    must be an ordinary file: in a store, a pipe would make the reader wait forever.
    """
    shown = f"{what} {excerpt(str(path))}"
    try:
        # The file is opened in non-blocking mode, because `open` would otherwise wait forever for a pipe's writer.
        with os.fdopen(os.open(path, os.O_RDONLY | _WITHOUT_WAITING), "rb") as file:
            found = os.fstat(file.fileno())
            if pipes and stat.S_ISFIFO(found.st_mode):
                os.set_blocking(file.fileno(), True)
            elif not stat.S_ISREG(found.st_mode):
                raise InputError("is not an ordinary file", subject=shown)
            # At most one byte more than the limit is read, even if the file grows in the meantime.
            content = file.read(found.st_size + 1) if found.st_size <= most else b""
            if len(content) > found.st_size:  # the file has grown, or has no known length
                content += file.read(most + 1 - len(content))
    except OSError as error:
        raise input_failure(shown, error) from error
    except ValueError as error:  # a name with a null character
        if isinstance(error, InputError):
            raise
        raise InputError(str(error), subject=shown) from error
    if max(found.st_size, len(content)) > most:
        raise InputError(f"is larger than {most:,} bytes, the maximum", subject=shown)
    return content


def read_text(path: Path, what: str, most: int = TEXT_BYTES, *, pipes: bool = False) -> str:
    """Return the contents of a UTF-8 file from outside, converting all line endings to line feeds."""
    try:
        text = read_bytes(path, what, most, pipes=pipes).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError("is not a UTF-8 text file", subject=f"{what} {excerpt(str(path))}") from error
    return text.replace("\r\n", "\n").replace("\r", "\n")


def excerpt(text: str, most: int = 80) -> str:
    """Quote a text on one line, for an error message. The middle of a long text is left out."""
    if len(text) <= most and len(quoted := repr(text)) <= 2 * most:
        return quoted
    half = most // 2
    # In a quotation, each control character takes four characters.
    while len(quoted := repr(text[:half] + "..." + text[-half:])) > 2 * most:
        half //= 2
    return f"{quoted} ({len(text):,} characters)"


def beside(path: Path) -> list[Path]:
    """Return up to a thousand files and folders next to a path, for suggestions in error messages."""
    try:
        return list(islice(path.parent.iterdir(), 1000))
    except OSError:
        # The folder is missing too, or cannot be read, so there is nothing to suggest.
        return []


_SHORT: Final = reprlib.Repr()
_SHORT.maxstring, _SHORT.maxother, _SHORT.maxlong = 160, 80, 60


def brief(kind: type[Kind]) -> type[Kind]:
    """Give a dataclass, named tuple or model a repr that shortens long values."""

    def shown(value: Any) -> str:
        names = getattr(value, "__match_args__", None) or type(value).model_fields
        told = ", ".join(f"{name}={_SHORT.repr(getattr(value, name))}" for name in names)
        return f"{type(value).__name__}({told if len(told) <= 300 else told[:300] + '...'})"

    kind.__repr__ = shown  # type: ignore[method-assign]
    return kind


def store_path(named: Path | str) -> Path:
    """Return the path of a store's folder. Raise `InputError` for an empty name or a URL, which is not supported."""
    if not str(named).strip():
        raise InputError("is empty", subject="store ''", remedy="name a folder, or . for the current one")
    if "://" in str(named):
        raise InputError(
            "is a URL, but a store must be a local folder",
            subject=f"store {excerpt(str(named))}",
            remedy=(
                "download it with rsync, rclone or `aws s3 sync`, and name the folder (docs/howto/move-a-store.md)"
            ),
        )
    return Path(named)


def child(folder: Path, name: str, what: str) -> Path:
    """Return the path of an entry in a folder, after checking its name.

    The name must consist of letters, digits, ``_``, ``.`` and ``-``, so that the entry lies directly in the folder. The
    entry must not be a link.
    """
    path = folder / name
    if re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,254}", name) is None:
        raise InputError(f"is not a valid file name in {str(folder)!r}", subject=f"{what} {excerpt(name)}")
    if path.is_symlink():
        raise InputError(
            "is a link", subject=f"{what} {excerpt(name)}", remedy=f"put the file itself into {str(folder)!r}"
        )
    return path


# -- writing -------------------------------------------------------------------------------


def write_bytes(target: Path, content: bytes | Iterable[bytes], remedy: str = "", *, lasting: bool = False) -> None:
    """Write a file atomically: it gets a temporary name in its folder, and is then renamed.

    If ``lasting`` is true, the content is flushed to disk before the file is renamed.
    """
    parts = [content] if isinstance(content, bytes) else content
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.is_dir():
            raise IsADirectoryError(21, "Is a directory")
        if target.exists() and not target.is_file():
            # A device or a pipe is written to directly, since it must not be replaced by a file.
            with target.open("wb") as device:
                device.writelines(parts)
            return
        descriptor, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".tmp")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.writelines(parts)
                if lasting:
                    file.flush()
                    os.fsync(file.fileno())
            Path(temporary).chmod(0o644)
            Path(temporary).replace(target)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise output_failure(f"output file {str(target)!r}", error, remedy) from error


def check_output(target: Path) -> None:
    """Raise an error if a file cannot be written. Call this function before computing what the file will contain."""
    code = 0
    if target.is_dir():
        code = errno.EISDIR
    else:
        folder = next(parent for parent in target.absolute().parents if os.path.lexists(parent))
        if not folder.is_dir():
            code = errno.EEXIST if folder == target.absolute().parent else errno.ENOTDIR  # the error of `mkdir`
        elif not os.access(folder, os.W_OK | os.X_OK):
            code = errno.EACCES
    if code:
        error = OSError(code, os.strerror(code))
        raise output_failure(f"output file {str(target)!r}", error) from error


def write_text(target: Path, content: str, remedy: str = "", *, lasting: bool = False) -> None:
    """Write a text file in UTF-8. The options are those of `write_bytes`."""
    write_bytes(target, content.encode(), remedy, lasting=lasting)


def remove_temporaries(folder: Path) -> None:
    """Remove temporary files that a killed process left in a folder. The caller must hold the folder's lock."""
    for path in folder.iterdir():
        if _TEMPORARY.fullmatch(path.name) and path.is_file():
            path.unlink(missing_ok=True)


def reserve(path: Path, length: int) -> None:
    """Create a file filled with zeros and allocate its space on the disk, so that it can be memory-mapped.

    If the space were not allocated and the disk filled up later, writing to the mapped file would kill the process with
    SIGBUS, without a message.
    """
    try:
        with path.open("wb") as file:
            try:
                if hasattr(os, "posix_fallocate") and length:
                    os.posix_fallocate(file.fileno(), 0, length)
                else:
                    for start in range(0, length, _STEP):
                        file.write(bytes(min(_STEP, length - start)))
            except BaseException:
                path.unlink(missing_ok=True)
                raise
    except OSError as error:
        raise output_failure(f"scratch file {str(path)!r}: cannot reserve {length:,} bytes", error) from error


def sync_names(folder: Path) -> None:
    """Flush the directory entries of a folder to the disk, if the system supports this."""
    if os.name != "posix":
        return
    try:
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise output_failure(f"folder {str(folder)!r}", error) from error


@contextmanager
def lock_folder(folder: Path, what: str) -> Iterator[None]:
    """Lock a folder against other writers within the context. The lock is released if the process ends earlier."""
    from filelock import FileLock, Timeout

    lock = FileLock(folder / "lock", blocking=False, thread_local=False)
    try:
        lock.acquire()
    except Timeout as error:
        raise InputError(
            "is in use by another program", subject=f"{what} {str(folder)!r}", remedy="wait until it ends"
        ) from error
    except OSError as error:
        if isinstance(error, OutputError):
            raise
        raise output_failure(f"{what} {str(folder)!r}: cannot be locked", error, "choose another folder") from error
    try:
        yield
    finally:
        lock.release()
