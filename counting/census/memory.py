"""Memory that is kept from task to task, and large reads and writes that bypass the system's cache.

A file of children is written once, read once and removed. In the system's cache it costs
more than the work in it: a page that nobody has used before is found, cleared and
mapped first, 2.4 seconds a gigabyte on a virtual machine. Whole pages of large arrays
therefore go straight between memory and disk where the system can do that (``O_DIRECT``, 0.05
seconds a gigabyte); small ones, the ends of large ones, and all of them elsewhere
go through the cache. The bytes are the same.
"""

from __future__ import annotations

import errno
import os
import threading
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from typing import IO

    from numpy.typing import NDArray

PAGE: Final = 4096
"""Bytes of a page; disks want addresses, places and lengths that are multiples of their blocks, which are no larger."""

DIRECT_BYTES: Final = 1 << 18
"""What is shorter is read and written through the cache."""

_held = threading.local()


def aligned(count: int) -> NDArray[np.uint8]:
    """Return uninitialised bytes that begin at a page."""
    memory = np.empty(count + PAGE, dtype=np.uint8)
    first = -memory.ctypes.data % PAGE
    return memory[first : first + count]


def room(name: str, count: int) -> NDArray[np.uint8]:
    """Return uninitialised bytes of this thread; the same memory for the same name.

    New memory costs as much as the work in it.
    """
    held: NDArray[np.uint8] | None = getattr(_held, name, None)
    if held is None or len(held) < count:
        held = None
        setattr(_held, name, None)  # what was there must go before more is asked for
        held = aligned(count)
        setattr(_held, name, held)
    return held[:count]


def _set_direct(stream: IO[bytes], direct: bool) -> bool:
    """Switch the way past the cache on or off; return whether that could be done."""
    flag = getattr(os, "O_DIRECT", 0)
    if not flag:
        return False
    import fcntl

    flags = fcntl.fcntl(stream, fcntl.F_GETFL)
    try:
        fcntl.fcntl(stream, fcntl.F_SETFL, flags | flag if direct else flags & ~flag)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        return False  # this file system has no direct access
    return True


def write_span(stream: IO[bytes], content: NDArray[np.uint8]) -> None:
    """Write bytes at the place where an unbuffered file is; whole pages past the cache if they are many."""
    pending = content.data
    whole = len(pending) - len(pending) % PAGE
    at_pages = content.ctypes.data % PAGE == 0 and stream.tell() % PAGE == 0
    if len(pending) >= DIRECT_BYTES and at_pages and _set_direct(stream, True):
        rest = pending[whole:]
        try:
            pending = _write(stream, pending[:whole])
        finally:
            _set_direct(stream, False)
        _written(stream, pending)
        pending = rest
    _written(stream, pending)


def _write(stream: IO[bytes], pending: memoryview) -> memoryview:
    """Write past the cache as much as the system takes, and return what it did not take."""
    while pending:
        try:
            count = stream.write(pending[: 1 << 30])
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
            break  # larger blocks than a page, or a place between them after a short write
        pending = pending[count:]
    return pending


def _written(stream: IO[bytes], pending: memoryview) -> None:
    while pending:  # one call writes 2 GiB at most
        pending = pending[stream.write(pending[: 1 << 30]) :]


def read_span(stream: Any, offset: int, length: int, name: str | None = None) -> NDArray[np.uint8]:
    """Return bytes of an unbuffered file; past the cache if they are many."""
    lead = offset % PAGE
    space = lead + length + -(lead + length) % PAGE
    memory = aligned(space) if name is None else room(name, space)
    found = lead
    if length >= DIRECT_BYTES and _set_direct(stream, True):
        # From the page in which they begin to the end of that in which they end, or of the file.
        found = _read(stream, offset - lead, memory)
        _set_direct(stream, False)
    while found < lead + length:
        stream.seek(offset - lead + found)
        count = stream.readinto(memory[found : lead + length].data)
        if not count:
            raise EOFError(f"{length} bytes from {offset} on")
        found += count
    return memory[lead : lead + length]


def _read(stream: Any, offset: int, memory: NDArray[np.uint8]) -> int:
    """Read past the cache as much as the system gives, and return how many bytes that is."""
    found = 0
    while found < len(memory):
        stream.seek(offset + found)
        try:
            count = stream.readinto(memory[found:].data)
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
            break  # larger blocks than a page, or a place between them at the end of the file
        if not count:
            break
        found += count
    return found
