"""Files of an object store or a web server: bounded reads of a whole or of a range, and writes where they are allowed.

obstore (the Rust crate object_store) does the talking: connections, signatures, credentials from the environment,
and bounded repeats of what failed on the way. Nothing here trusts what arrives: `tablut.segments` compares it with
digests. A `Remote` joins names as a `Path` does, with ``/``, and pickles as its URL.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn

from tablut.errors import InputError, MachineError, OutputError
from tablut.store.files import excerpt

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from obstore import GetOptions
    from obstore.store import ObjectStore


@dataclass(frozen=True)
class Patience:
    """How long a server is waited for."""

    request: float = 20.0
    repeats: int = 3
    whole: float = 60.0


PATIENCE: Patience = Patience()
"""What every connection is made with."""

_MESSAGE: Final = 200
"""Most characters that are shown of what a server or the library says."""


class NoRangesError(Exception):
    """The server sends whole files only."""


class Found(NamedTuple):
    """What a store says of a file."""

    size: int
    tag: str


class _Connection:
    """What the files below one URL share; connected when it is first used."""

    def __init__(self, url: str) -> None:
        self.url, self.ranges = url, True
        self._lock = Lock()
        self._store: ObjectStore | None = None

    @property
    def store(self) -> ObjectStore:
        with self._lock:
            if self._store is None:
                self._store = _connected(self.url)
            return self._store


@cache
def _memory() -> ObjectStore:
    """Return what ``memory://`` names lie in, one for the process."""
    from obstore.store import MemoryStore

    return MemoryStore()


def _connected(url: str) -> ObjectStore:
    from obstore.store import HTTPStore, S3Store

    scheme = url.partition(":")[0]
    client: Any = {"timeout": timedelta(seconds=PATIENCE.request), "connect_timeout": timedelta(seconds=10)}
    retry: Any = {
        "max_retries": PATIENCE.repeats,
        "retry_timeout": timedelta(seconds=PATIENCE.whole),
        "backoff": {"init_backoff": timedelta(milliseconds=100), "max_backoff": timedelta(seconds=2), "base": 2},
    }
    try:
        if scheme == "memory":
            return _memory()
        if scheme == "s3":
            ends = (os.environ.get(name, "") for name in ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"))
            # An endpoint that the environment names with http:// is meant so.
            client["allow_http"] = any(end.startswith("http://") for end in ends)
            return S3Store.from_url(url, client_options=client, retry_config=retry)
        client["allow_http"] = scheme == "http"
        return HTTPStore.from_url(url, client_options=client, retry_config=retry)
    except Exception as error:
        raise InputError(f"store {excerpt(url)}: cannot be opened: {_first_line(error)}") from error


class Remote:
    """A file or folder elsewhere; see `tablut.locations.as_location`, which checks the URL."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._connection = _Connection(url)
        # A store in memory is one for all names, so its keys begin with the name.
        self._key = url.removeprefix("memory://") if self.scheme == "memory" else ""

    def __truediv__(self, name: str) -> Remote:
        child = object.__new__(Remote)
        child.url, child._connection = f"{self.url}/{name}", self._connection
        child._key = f"{self._key}/{name}" if self._key else name
        return child

    def __str__(self) -> str:
        return self.url

    def __repr__(self) -> str:
        return f"Remote({self.url!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Remote) and other.url == self.url

    def __hash__(self) -> int:
        return hash(self.url)

    def __reduce__(self) -> tuple[type[Remote], tuple[str]]:
        return Remote, (self.url,)

    @property
    def scheme(self) -> str:
        """The kind of the store, such as ``s3``."""
        return self.url.partition(":")[0]

    @property
    def name(self) -> str:
        """The last step of the URL."""
        return self.url.rpartition("/")[2]

    @property
    def writable(self) -> bool:
        """Whether the kind of store takes files at all."""
        return self.scheme in ("s3", "memory")

    @property
    def ranges(self) -> bool:
        """Whether the server has not refused to send a part of a file."""
        return self._connection.ranges

    # -- reading -----------------------------------------------------------------------

    def find(self, what: str = "file") -> Found | None:
        """Return what the store says of the file; None if there is none."""
        import obstore

        try:
            meta = obstore.head(self._connection.store, self._key)
        except FileNotFoundError:
            return None
        except Exception as error:
            self._fail(what, error)
        return Found(int(meta["size"]), meta["e_tag"] or f"{meta['last_modified'].isoformat()} {meta['size']}")

    def read(self, what: str, most: int) -> bytes | None:
        """Return the content of the file, not verified; None if there is no such file."""
        return self._get(what, most, {})

    def read_range(self, start: int, stop: int, what: str) -> bytes | None:
        """Return bytes of the file, not verified; None if there is no such file."""
        return self._get(what, stop - start, {"range": (start, stop)})

    def _get(self, what: str, most: int, options: GetOptions) -> bytes | None:
        import obstore

        try:
            answer = obstore.get(self._connection.store, self._key, options=options)
            size = answer.meta["size"]
            if options or size <= most:
                return _bounded(iter(answer), most)
        except FileNotFoundError:
            return None
        except Exception as error:
            if options and _refuses_ranges(error):
                self._connection.ranges = False
                raise NoRangesError(str(self)) from error
            self._fail(what, error)
        raise InputError(f"{what} {excerpt(self.url)}: has {size:,} bytes; {most:,} are the most that is read")

    def names(self) -> list[str] | None:
        """Return the names in the folder, sorted; None if this kind of store has no lists."""
        import obstore

        if not self.writable:
            return None
        try:
            found = obstore.list_with_delimiter(self._connection.store, self._key)
        except FileNotFoundError:
            return []
        except Exception as error:
            self._fail("folder", error)
        paths = [*found["common_prefixes"], *(meta["path"] for meta in found["objects"])]
        return sorted(path.rstrip("/").rpartition("/")[2] for path in paths)

    # -- writing -----------------------------------------------------------------------

    def write(self, content: bytes | Path, *, instead_of: Found | None = None, new: bool = False) -> None:
        """Write the file, whole or not at all."""
        import obstore
        from obstore.exceptions import AlreadyExistsError, PreconditionError

        self._check_writable()
        mode: Any = "create" if new else {"e_tag": instead_of.tag} if instead_of is not None else "overwrite"
        try:
            obstore.put(self._connection.store, self._key, content, mode=mode)
        except (AlreadyExistsError, PreconditionError) as error:
            raise FileExistsError(str(self)) from error
        except Exception as error:
            self._fail("output file", error)

    def remove(self) -> None:
        """Remove the file, if it is there."""
        import obstore

        self._check_writable()
        try:
            obstore.delete(self._connection.store, self._key)
        except FileNotFoundError:
            return
        except Exception as error:
            self._fail("output file", error)

    def _check_writable(self) -> None:
        if not self.writable:
            raise OutputError(
                f"store {excerpt(self.url)}: can be read only; write to a folder or an s3:// URL, and publish that"
            )

    def _fail(self, what: str, error: Exception) -> NoReturn:
        """Raise what a command ends with: the store, its answer, and the way out."""
        from obstore.exceptions import PermissionDeniedError, UnauthenticatedError

        shown = f"{what} {excerpt(self.url)}"
        if isinstance(error, PermissionDeniedError | UnauthenticatedError):
            raise MachineError(f"{shown}: permission denied; credentials come from the environment") from error
        raise MachineError(f"{shown}: no good answer: {_first_line(error)}; try again later") from error


def _bounded(blocks: Iterator[Any], most: int) -> bytes:
    """Return what arrives, without going on beyond the most that can be right."""
    content = bytearray()
    for block in blocks:
        content += memoryview(block)
        if len(content) > most:
            break
    return bytes(content)


def _refuses_ranges(error: Exception) -> bool:
    from obstore.exceptions import NotSupportedError

    return isinstance(error, NotSupportedError) or "non-partial response" in str(error)


def _first_line(error: Exception) -> str:
    """Return the gist of what the library says, which names no credentials: its last clause, without the URL."""
    text = (str(error).strip() or type(error).__name__).splitlines()[0].rpartition(" - ")[2].strip()
    return text if len(text) <= _MESSAGE else text[:_MESSAGE] + "..."
