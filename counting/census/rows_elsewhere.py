"""Row files in an object store or on a web server: every byte compared with a digest before anything looks into it.

A record of the store names the digest of a part. That covers the beginning of the file, which holds the SHA-256 of the
rows of each leaf. So the beginning is fetched and compared first, then the leaves that are asked for, those that lie
together in one request (`tablut.segments`). What does not match is asked for again, a few times, then named.

Non-guarantee: rows are not kept on the disk, because a census is read from one end to the other, and is larger than
the cache. A server that sends whole files only sends a part anew for every 8 MiB of its positions.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

from counting.census.row_head import damaged, parse_beginning
from tablut.errors import InputError
from tablut.remote import NoRangesError, Remote
from tablut.segments import SegmentCache, SegmentReader

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from counting.census.row_head import RowFile
    from tablut.remote import Found

_WHAT: Final = "census file"
_TRIES: Final = 3
"""How often bytes that do not match are asked for."""
_STEP: Final = 1 << 18
"""What is fetched at once of a beginning: all of it, but for boards with much material."""
_MOST_WHOLE: Final = 1 << 30
"""Most bytes of a file from a server that sends whole files only."""


def open_elsewhere(path: Remote, digest: str | None) -> RowFile:
    """Return a row file elsewhere with its index."""
    if digest is None:
        raise damaged(path, "no record says what it must be")
    found = path.find(_WHAT)
    if found is None:
        raise damaged(path, "it is missing")
    return _opened(path, digest, found)


@lru_cache(maxsize=128)
def _opened(path: Remote, digest: str, found: Found) -> RowFile:
    for left in reversed(range(_TRIES)):
        try:
            file = parse_beginning(path, _Beginning(path, found.size), found.size)
            if file.digest != digest:
                raise damaged(path, "it is another file than the census has written there")
        except InputError:
            # The way may have spoilt it.
            if not left:
                raise
            continue
        return file
    raise AssertionError("the loop ends by a file or an error")


class _Beginning:
    """The bytes of a file from its first on, fetched as they are asked for."""

    def __init__(self, path: Remote, size: int) -> None:
        self._path, self._size = path, size
        self._held, self._at = b"", 0

    def read(self, count: int, /) -> bytes:
        """Return the next bytes."""
        end = min(self._at + count, self._size)
        if end > len(self._held):
            start = len(self._held)
            self._held += fetch(self._path, start, min(self._size, max(end, start + _STEP)))
        piece = self._held[self._at : end]
        self._at = end
        return piece


def fetch(path: Remote, start: int, stop: int) -> bytes:
    """Return bytes of a file elsewhere, not verified."""
    content = None
    try:
        if path.ranges:
            content = path.read_range(start, stop, _WHAT)
    except NoRangesError:
        pass
    if not path.ranges:
        content = path.read(_WHAT, _MOST_WHOLE)
        content = None if content is None else content[start:stop]
    if content is None:
        raise damaged(path, "it is missing")
    return content


def leaves_elsewhere(file: RowFile, first: int, last: int) -> tuple[int, NDArray[np.uint8]]:
    """Return the rows of some leaves as they are stored, every leaf compared with its SHA-256."""
    if not isinstance(file.path, Remote):
        raise TypeError(f"{file.path} lies on this machine")
    segments, (before, after) = file.segments(), (int(np.count_nonzero(file.counts[:leaf])) for leaf in (first, last))
    if before == after:
        return 0, np.empty(0, dtype=np.uint8)
    start, stop = segments[before].start, segments[after - 1].start + segments[after - 1].size
    # Of this machine's memory nothing is taken for what the store has.
    content = SegmentReader(file.path, segments, SegmentCache(None), _WHAT).read(start, stop, anew=True)
    return start, np.frombuffer(content, dtype=np.uint8)
