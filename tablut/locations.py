"""Where a store is: a folder, or a URL of an object store or a web server.

`as_location` is the one place that reads what a user names: it returns a `Path` for this machine's files, also for
``file://``, and a `tablut.remote.Remote` for ``s3://``, ``https://``, ``http://`` and ``memory://``. What talks to
servers is loaded when it is asked for something, so that naming a place costs nothing.

Credentials come from the environment, as the library reads them, never from a URL: one that holds a user name, a
password or a query is refused, and is not repeated in the message.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

from tablut.errors import InputError
from tablut.store.files import excerpt

if TYPE_CHECKING:
    from tablut.remote import Remote

Location: TypeAlias = "Path | Remote"
"""A folder of this machine, or one elsewhere."""
LocationLike: TypeAlias = "Path | Remote | str"
"""What functions take for a location: also its text."""

_URL: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_REMOTE: Final = ("s3", "https", "http", "memory")
_CONTROL: Final = re.compile(r"[\x00-\x20\x7f\\]")


def as_location(named: LocationLike) -> Location:
    """Return what a path or a URL names; nothing is looked up."""
    if not isinstance(named, str):
        return named
    found = _URL.match(named)
    if found is None:
        return Path(named)
    scheme = found[1].lower()
    try:
        parts = urlsplit(named)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise InputError(f"store URL of kind {scheme!r}: cannot be read: {excerpt(str(error))}") from None
    if "@" in parts.netloc or parts.query or parts.fragment or "?" in named or "#" in named:
        raise InputError(
            f"store URL of kind {scheme!r} on host {excerpt(host or '')}: holds a user name, a query or a fragment; "
            "give the plain URL, and credentials in the environment (docs/tablebases.md)"
        )
    shown = f"store {excerpt(named)}"
    if scheme == "file":
        if host not in (None, "", "localhost"):
            raise InputError(f"{shown}: names another machine; write file:///PATH")
        return Path(url2pathname(parts.path))
    if scheme not in _REMOTE:
        raise InputError(f"{shown}: unknown kind {scheme!r}; known: a path, file, {', '.join(_REMOTE)}")
    if not parts.netloc:
        raise InputError(f"{shown}: has no {'bucket' if scheme == 's3' else 'name'} after ://")
    steps = [step for step in parts.path.split("/") if step]
    if _CONTROL.search(unquote(named)) or any(unquote(step) in (".", "..") for step in steps):
        raise InputError(f"{shown}: has a space, a control character, a backslash or a step '..' in it")
    from tablut.remote import Remote

    return Remote("/".join([f"{scheme}://{parts.netloc}", *steps]))


def resolved(named: LocationLike) -> str:
    """Return the text of a location that means the same in any working directory."""
    place = as_location(named)
    return str(place.resolve()) if isinstance(place, Path) else str(place)


def names_in(place: Location) -> list[str] | None:
    """Return the names in a folder, sorted; None if the place cannot say, as a web server cannot."""
    return sorted(path.name for path in place.iterdir()) if isinstance(place, Path) else place.names()
