"""Reading a file elsewhere segment by segment: each has a digest, is compared with it, and is kept for the next time.

Who wrote the file cut it into segments and noted the SHA-256 of each. A read fetches those that its range touches,
neighbours in one request. Nothing that does not match its digest is returned or kept: it is asked for again, a few
times, then named. What matched lies in a folder of this machine under its digest (`SegmentCache`), is compared again
when it is read from there, and goes when the folder grows too large, the longest unused first.
"""

from __future__ import annotations

import hashlib
import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Final, NamedTuple

from cachetools import LRUCache

from tablut.errors import InputError, OutputError, TablutError
from tablut.remote import NoRangesError
from tablut.store.files import read_bytes, write_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tablut.remote import Remote

_TRIES: Final = 3
"""How often bytes that do not match are asked for: the way may have spoilt them, or a cache on it may be old."""
_IN_MEMORY: Final = 32 << 20
"""Bytes of segments that are held in memory, whatever the folder takes."""
_ON_DISK: Final = 512
"""MiB of segments that the folder keeps, unless the environment says another number."""
_MOST: Final = 1 << 30
"""Most bytes that are asked for at once; a segment is that of a chunk, or a file of an older format."""
_DIGEST_LETTERS: Final = 2 * hashlib.sha256().digest_size
_SIZE_VARIABLE: Final = "TABLUT_CACHE_MIB"
_FOLDER_VARIABLE: Final = "TABLUT_CACHE_DIR"


class DamagedSegmentError(InputError):
    """Bytes that are not those of their digest, however often they are asked for."""


class Segment(NamedTuple):
    """Consecutive bytes of a file."""

    start: int
    size: int
    sha256: str


class SegmentCache:
    """Parts by digest, in memory and in a folder; whoever damages a file there loses that file, and no more."""

    def __init__(self, folder: Path | None, most: int = _ON_DISK << 20) -> None:
        self.folder, self.most = folder, most
        self._held: LRUCache[str, bytes] = LRUCache(_IN_MEMORY, getsizeof=len)
        self._lock = Lock()
        self._taken: int | None = None

    def get(self, digest: str) -> bytes | None:
        """Return a segment, compared with its digest; None if it is not there."""
        with self._lock:
            held = self._held.get(digest)
        if held is not None or self.folder is None:
            return held
        path = self.folder / digest
        try:
            content = read_bytes(path, "cached segment", self.most)
            if hashlib.sha256(content).hexdigest() != digest:
                path.unlink()
                return None
            os.utime(path)
        except (OSError, TablutError):
            return None
        self._hold(digest, content)
        return content

    def put(self, digest: str, content: bytes) -> None:
        """Keep a segment that matches its digest; a folder that takes nothing is done without."""
        self._hold(digest, content)
        if self.folder is None or len(content) > self.most:
            return
        with self._lock, suppress(OSError, OutputError):
            write_bytes(self.folder / digest, content)
            if self._taken is not None:
                self._taken += len(content)
            if self._taken is None or self._taken > self.most:
                self._taken = self._trim(self.folder)

    def _hold(self, digest: str, content: bytes) -> None:
        if len(content) <= self._held.maxsize:
            with self._lock:
                self._held[digest] = content

    def _trim(self, folder: Path) -> int:
        """Remove what was not used for longest until nine tenths of the room suffice; return what the rest takes.

        Only segments go: the folder is what the environment says, and other files in it are somebody's.
        """
        found = []
        for path in filter(_is_segment, folder.iterdir()):
            with suppress(FileNotFoundError):
                state = path.stat()
                found.append((state.st_mtime_ns, state.st_size, path))
        taken = sum(size for _, size, _ in found)
        if taken <= self.most:
            return taken
        for _, size, path in sorted(found, key=lambda one: one[0]):
            if taken <= self.most * 9 // 10:
                break
            path.unlink(missing_ok=True)
            taken -= size
        return taken


def _is_segment(path: Path) -> bool:
    """Return whether a name is a digest, or that of a file that is becoming one."""
    name = path.name.removeprefix(".").partition(".")[0]
    return len(name) == _DIGEST_LETTERS and set(name) <= set("0123456789abcdef")


_opened: dict[tuple[Path | None, int], SegmentCache] = {}


def segment_cache() -> SegmentCache:
    """Return the cache that the environment asks for, the same one as long as it asks for the same.

    ``TABLUT_CACHE_DIR`` names the folder, by default ``tablut`` in the user's folder for caches; ``TABLUT_CACHE_MIB``
    says how much it may take, by default 512, and 0 keeps segments in memory alone.
    """
    text = os.environ.get(_SIZE_VARIABLE, str(_ON_DISK))
    if not text.isdecimal() or len(text) > 9:
        raise InputError(f"environment variable {_SIZE_VARIABLE}: {text[:40]!r} is no number of MiB")
    size = int(text) << 20
    folder = _folder() if size else None
    return _opened.setdefault((folder, size), SegmentCache(folder, size))


def _folder() -> Path:
    named = os.environ.get(_FOLDER_VARIABLE)
    if named:
        return Path(named)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA")
    else:
        base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "tablut" / "segments"


@dataclass(frozen=True)
class SegmentReader:
    """A file elsewhere, cut into segments."""

    remote: Remote
    segments: Sequence[Segment]
    cache: SegmentCache
    what: str

    @property
    def size(self) -> int:
        """Bytes of the file."""
        return self.segments[-1].start + self.segments[-1].size if self.segments else 0

    def read(self, start: int, stop: int, *, anew: bool = False) -> bytes:
        """Return a range, every segment that it touches compared with its digest."""
        touched = [
            segment for segment in self.segments if segment.start < stop and segment.start + segment.size > start
        ]
        kept = {} if anew else {segment: self.cache.get(segment.sha256) for segment in touched}
        found = {segment: content for segment, content in kept.items() if content is not None}
        wanted = [segment for segment in touched if segment not in found]
        for run in _runs(wanted):
            found.update(self._fetch(run))
        if not touched:
            return b""
        whole = b"".join(found[segment] for segment in touched)
        first = touched[0].start
        return whole[start - first : stop - first]

    def _fetch(self, run: list[Segment]) -> dict[Segment, bytes]:
        """Return neighbouring segments from the store, each as its digest says."""
        found: dict[Segment, bytes] = {}
        for _ in range(_TRIES):
            start, content = self._bytes(run[0].start, run[-1].start + run[-1].size)
            for segment in run if start else self.segments:
                piece = content[segment.start - start : segment.start - start + segment.size]
                if hashlib.sha256(piece).hexdigest() == segment.sha256:
                    found[segment] = piece
                    self.cache.put(segment.sha256, piece)
            run = [segment for segment in run if segment not in found]
            if not run:
                return found
        raise DamagedSegmentError(self._why(run[0]))

    def _bytes(self, start: int, stop: int) -> tuple[int, bytes]:
        """Return bytes of the file, not compared yet, and where they begin: at 0 if the server sends files whole."""
        if stop - start > _MOST:
            raise DamagedSegmentError(f"{self.what} {str(self.remote)!r}: asks for {stop - start:,} bytes at once")
        content = None
        if self.remote.ranges:
            with suppress(NoRangesError):
                content = self.remote.read_range(start, stop, self.what)
        if not self.remote.ranges:
            start, content = 0, self.remote.read(self.what, min(self.size, _MOST))
        if content is None:
            raise DamagedSegmentError(f"{self.what} {str(self.remote)!r}: is missing")
        return start, content

    def _why(self, segment: Segment) -> str:
        """Return what is wrong with a segment that does not match."""
        shown = f"{self.what} {str(self.remote)!r}"
        there = self.remote.find(self.what)
        if there is not None and there.size != self.size:
            return f"{shown}: has {there.size} bytes, not {self.size}"
        last = segment.start + segment.size - 1
        return f"{shown}: damaged: bytes {segment.start} to {last} are not those of their SHA-256"


def _runs(segments: list[Segment]) -> list[list[Segment]]:
    """Return segments in groups of neighbours."""
    runs: list[list[Segment]] = []
    for segment in segments:
        if runs and runs[-1][-1].start + runs[-1][-1].size == segment.start:
            runs[-1].append(segment)
        else:
            runs.append([segment])
    return runs
