"""File operations: bounded reads, atomic writes, locks, reserved disk space, and removal of temporary files.

A file *from outside* is one that the toolkit has not written itself, such as a user's file.
"""

from __future__ import annotations

import errno
import gzip
import math
import os
import re
import reprlib
import stat
import tempfile
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice, repeat
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

from tablut.errors import InputError, OutputError, input_failure, output_failure

Kind = TypeVar("Kind")

TEXT_BYTES: Final = 64 << 20
"""Default limit on the size of a text file from outside, in bytes."""

ABANDONED: Final = 3600
"""Age in seconds after which a temporary file is considered a leftover of a killed process."""
_GZIP: Final = b"\x1f\x8b"
_STEP = 1 << 20
_WITHOUT_WAITING = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def read_bytes(path: Path, what: str, most: int = TEXT_BYTES, *, pipes: bool = False) -> bytes:
    """Return the content of a file from outside, which has at most ``most`` bytes.

    It must be an ordinary file, because a pipe in a store would make the reader wait forever. With ``pipes``, it may be
    a pipe that the user has named.
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
    return as_text(read_bytes(path, what, most, pipes=pipes), f"{what} {excerpt(str(path))}")


def as_text(content: bytes, shown: str) -> str:
    """Decode the content of a UTF-8 file, converting all line endings to line feeds. Errors name it as ``shown``."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError("is not a UTF-8 text file", subject=shown) from error
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_lines(path: Path, shown: str, most: int) -> Iterator[str]:
    """Yield the lines of a UTF-8 file from outside, which may be compressed, without blank lines at the end.

    A line of more than ``most`` characters is yielded in pieces, the first of which is longer than that.
    """
    blank = 0
    try:
        if path.exists() and not path.is_file():
            raise InputError("is not an ordinary file", subject=shown)
        with path.open("rb") as file:
            opener: Any = gzip.open if file.read(2) == _GZIP else open
        with opener(path, "rt", encoding="utf-8-sig") as lines:
            while line := lines.readline(most + 2):
                if line.isspace():
                    blank += 1
                    continue
                yield from repeat("\n", blank)
                yield line
                blank = 0
    except UnicodeDecodeError as error:
        raise InputError("is not a UTF-8 text file", subject=shown) from error
    except (EOFError, ValueError, zlib.error, gzip.BadGzipFile) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"cannot be read: {error}", subject=shown) from error
    except OSError as error:
        raise input_failure(shown, error) from error


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
            remedy=("download it with rsync, rclone or `aws s3 sync`, and name the folder"),
        )
    return Path(named)


def child(folder: Path, name: str, what: str) -> Path:
    """Return the path of an entry in a folder. Its name must be plain, and the entry must not be a link."""
    path = folder / name
    if re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,254}", name) is None:
        raise InputError(f"is not a valid file name in {str(folder)!r}", subject=f"{what} {excerpt(name)}")
    if path.is_symlink():
        raise InputError(
            "is a link", subject=f"{what} {excerpt(name)}", remedy=f"put the file itself into {str(folder)!r}"
        )
    return path


# -- writing -------------------------------------------------------------------------------


@contextmanager
def writing(what: str, remedy: str = "") -> Iterator[None]:
    """Convert system errors within the context into one-line errors that name what was being written."""
    try:
        yield
    except OSError as error:
        if isinstance(error, OutputError):
            raise
        raise output_failure(what, error, remedy) from error


class FileKind(NamedTuple):
    """A kind of output file: its name in messages, a test of whether a file is of this kind, and its ending."""

    name: str
    fits: Callable[[Path], bool]
    ending: str = ""


def beginning(pattern: bytes) -> Callable[[Path], bool]:
    """Return a test of whether a file, or its uncompressed content, begins with a match of a regular expression."""

    def fits(path: Path) -> bool:
        with path.open("rb") as file:
            head = file.read(4096)
        plain = zlib.decompressobj(31).decompress(head, 4096) if head.startswith(_GZIP) else head
        return re.match(pattern, plain) is not None

    return fits


OWN: Final = FileKind("a file of the toolkit", lambda _: True)
"""The kind of a file whose name was not chosen by a user, and which is therefore always replaced."""
ARCHIVE: Final = FileKind("an archive of NumPy arrays", beginning(b"PK\x03\x04"))


def write_bytes(
    target: Path, content: bytes | Iterable[bytes], remedy: str = "", *, lasting: bool = False, kind: FileKind = OWN
) -> None:
    """Write a file atomically: it gets a temporary name in its folder, and is then renamed.

    If ``lasting`` is true, the content is flushed to disk first. An existing file is replaced only if it is of the
    given ``kind``; see `check_output`.
    """
    parts = [content] if isinstance(content, bytes) else content
    with writing(f"output file {str(target)!r}", remedy):
        if target.exists() and not target.is_file() and not target.is_dir():
            # A device or a pipe is written to directly, since it must not be replaced by a file.
            with target.open("wb") as device:
                device.writelines(parts)
            return
        with replacing(target, kind, remedy) as temporary, temporary.open("wb") as file:
            file.writelines(parts)
            if lasting:
                file.flush()
                os.fsync(file.fileno())


@contextmanager
def replacing(target: Path, kind: FileKind, remedy: str = "") -> Iterator[Path]:
    """Yield an empty temporary file, which replaces the target at the end of the context, or is removed on an error."""
    with writing(f"output file {str(target)!r}", remedy):
        target.parent.mkdir(parents=True, exist_ok=True)
        if kind is not OWN:  # stores remove their temporary files themselves
            remove_temporaries(target.parent, rf"\.{re.escape(target.name)}\.[a-z0-9_]{{8}}\.tmp", ABANDONED)
        check_output(target, kind, remedy)
        descriptor, name = temporary_beside(target)
        os.close(descriptor)
    temporary = Path(name)
    try:
        yield temporary
        with writing(f"output file {str(target)!r}", remedy):
            temporary.chmod(0o644)
            temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def temporary_beside(target: Path) -> tuple[int, str]:
    """Create a temporary file in the folder of a file that will be written. Return its descriptor and its path."""
    return tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".tmp")


def check_output(named: Path | str | None, kind: FileKind = OWN, remedy: str = "") -> None:
    """Raise an error if a file cannot be written. Call this function before computing what the file will contain.

    An existing file is replaced only if it is empty or of the given kind, so that a mistyped name cannot destroy a
    user's file.
    """
    if named is None:
        return
    code, target, shown = 0, Path(named), f"output file {str(named)!r}"
    if str(target) == "-" or target.suffix.lower() not in ("", kind.ending or target.suffix.lower()):
        way = f"name a file{f' that ends in {kind.ending}' * bool(kind.ending)}"
        raise InputError(f"is not a name for {kind.name}", subject=shown, remedy=way)
    if target.is_dir():
        code = errno.EISDIR
    else:
        folder = next(parent for parent in target.absolute().parents if os.path.lexists(parent))
        if not folder.is_dir():
            code = errno.EEXIST if folder == target.absolute().parent else errno.ENOTDIR  # the error of `mkdir`
        elif not os.access(folder, os.W_OK | os.X_OK):
            code = errno.EACCES
    with writing(shown, remedy):
        if code:
            raise OSError(code, os.strerror(code))
        try:
            fits = not target.is_file() or not target.stat().st_size or kind.fits(target)
        except (ValueError, zlib.error):  # not even a text, or not in this format
            fits = False
    if not fits:
        way = "choose another name, or delete the file first"
        raise InputError(f"exists and is not {kind.name}", subject=shown, remedy=way)


def write_text(target: Path, content: str, remedy: str = "", **options: Any) -> None:
    """Write a text file in UTF-8. The options are those of `write_bytes`."""
    write_bytes(target, content.encode(), remedy, **options)


def remove_temporaries(folder: Path, names: str = r"\..+\.[A-Za-z0-9_]+\.tmp", age: float = -math.inf) -> None:
    """Remove temporary files that a killed process left in a folder and that are at least ``age`` seconds old.

    Without an age, the caller must hold the folder's lock.
    """
    for path in folder.iterdir():
        with suppress(FileNotFoundError):  # another process may have removed it
            if re.fullmatch(names, path.name) and path.is_file() and time.time() - path.stat().st_mtime >= age:
                path.unlink()


def reserve(path: Path, length: int) -> None:
    """Create a file filled with zeros and allocate its space on the disk, so that it can be memory-mapped.

    If the space were not allocated, a full disk would kill the process that writes to the mapped file.
    """
    with writing(f"scratch file {str(path)!r}: cannot reserve {length:,} bytes"), path.open("wb") as file:
        try:
            if hasattr(os, "posix_fallocate") and length:
                os.posix_fallocate(file.fileno(), 0, length)
            else:
                for start in range(0, length, _STEP):
                    file.write(bytes(min(_STEP, length - start)))
        except BaseException:
            path.unlink(missing_ok=True)
            raise


def sync_names(folder: Path) -> None:
    """Flush the directory entries of a folder to the disk, if the system supports this."""
    if os.name != "posix":
        return
    with writing(f"folder {str(folder)!r}"):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def lock_folder(folder: Path, what: str) -> Iterator[None]:
    """Lock a folder against other writers within the context. The lock is released if the process ends earlier."""
    from filelock import FileLock, Timeout

    lock = FileLock(folder / "lock", blocking=False, thread_local=False)
    shown = f"{what} {str(folder)!r}"
    with writing(f"{shown}: cannot be locked", "choose another folder"):
        try:
            lock.acquire()
        except Timeout as error:
            raise InputError("is in use by another program", subject=shown, remedy="wait until it ends") from error
    try:
        yield
    finally:
        lock.release()
