"""Functions that read and write long arrays without the operating system's cache, and buffers for this purpose.

A file of a census is written once, read once and removed. Passing it through the system's cache takes longer than
processing it (2.4 seconds per gigabyte on a virtual machine). Whole pages of large arrays are therefore transferred
directly between memory and disk if the system supports this (``O_DIRECT``, 0.05 seconds per gigabyte).
"""

from __future__ import annotations

import errno
import os
from typing import IO, Any, Final

import numpy as np
from numpy.typing import NDArray

PAGE: Final = 4096
"""Size of a page in bytes. Direct access requires multiples of the disk's block size, which is at most a page."""
DIRECT_BYTES: Final = 1 << 18
"""Minimum number of bytes for direct access. Shorter spans are read and written through the cache."""


def aligned(count: int) -> NDArray[np.uint8]:
    """Return uninitialised bytes that begin at a page boundary."""
    memory = np.empty(count + PAGE, dtype=np.uint8)
    first = -memory.ctypes.data % PAGE
    return memory[first : first + count]


class Buffer:
    """Memory that is reused from task to task. Each array that it returns overwrites the previous one."""

    def __init__(self) -> None:
        self._held = aligned(0)

    def bytes(self, count: int) -> NDArray[np.uint8]:
        """Return an array of uninitialised bytes."""
        if len(self._held) < count:
            self._held = aligned(0)  # release the old memory before allocating more
            self._held = aligned(count)
        return self._held[:count]

    def rows(self, count: int, width: int) -> NDArray[np.uint64]:
        """Return an array of uninitialised rows."""
        return self.bytes(8 * count * width).view(np.uint64).reshape(count, width)

    def zeros(self, count: int, kind: type[np.generic]) -> NDArray[Any]:
        """Return an array of zeros."""
        array = self.bytes(count * np.dtype(kind).itemsize).view(kind)
        array.fill(0)
        return array


def _set_direct(stream: IO[bytes], direct: bool) -> bool:
    """Switch direct access, which bypasses the cache, on or off; return whether the system supports it."""
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
        return False  # this file system does not support direct access
    return True


def write_span(stream: IO[bytes], content: NDArray[np.uint8]) -> None:
    """Write bytes at the current position of an unbuffered file. Whole pages of long spans bypass the cache."""
    pending, rest = content.data, memoryview(b"")
    at_pages = content.ctypes.data % PAGE == 0 and stream.tell() % PAGE == 0
    if len(pending) >= DIRECT_BYTES and at_pages and _set_direct(stream, True):
        whole = len(pending) - len(pending) % PAGE
        pending, rest = pending[:whole], pending[whole:]
        try:
            while pending:
                try:
                    count = stream.write(pending[: 1 << 30])
                except OSError as error:
                    if error.errno != errno.EINVAL:
                        raise
                    break  # blocks are larger than a page, or a short write ended inside a block
                pending = pending[count:]
        finally:
            _set_direct(stream, False)
    for left in (pending, rest):
        while left:  # a call writes at most 2 GiB
            left = left[stream.write(left[: 1 << 30]) :]


def read_span(stream: Any, offset: int, length: int, into: Buffer) -> NDArray[np.uint8]:
    """Return a span of bytes from an unbuffered file. Long spans bypass the cache."""
    lead = offset % PAGE
    memory = into.bytes(lead + length + -(lead + length) % PAGE)
    found = lead
    if length >= DIRECT_BYTES and _set_direct(stream, True):
        # Whole pages are read, from the start of the first page to the end of the last page or the end of the file.
        found = _read_direct(stream, offset - lead, memory)
        _set_direct(stream, False)
    while found < lead + length:
        stream.seek(offset - lead + found)
        count = stream.readinto(memory[found : lead + length].data)
        if not count:
            raise EOFError(f"{length} bytes from {offset} on")
        found += count
    return memory[lead : lead + length]


def _read_direct(stream: Any, offset: int, memory: NDArray[np.uint8]) -> int:
    """Read as many bytes as the system returns, bypassing its cache (direct I/O), and return their number."""
    found = 0
    while found < len(memory):
        stream.seek(offset + found)
        try:
            count = stream.readinto(memory[found:].data)
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
            break  # blocks are larger than a page, or the file ends inside a block
        if not count:
            break
        found += count
    return found
