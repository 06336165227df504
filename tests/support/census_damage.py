"""What can happen to the files of a census: random damages, and machines that fail at any call."""

import errno
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

Draw = Callable[[int], int]
"""A number from 0 to below the argument."""

VALUES = (0, -1, 1, 7, 10**30, 1.5, True, None, "x", "", "0/../../../../evil", [], {}, [[1]], "0" * 64)


def files_of(store: Path) -> list[Path]:
    """Return the files of a store that count, in a fixed order."""
    return sorted(path for path in store.rglob("*") if path.suffix in (".json", ".rows") and path.is_file())


def _flip(path: Path, draw: Draw, _: Path) -> None:
    content = bytearray(path.read_bytes())
    # The head, the index and the rows alike, whatever their lengths: one of some zones, then a place in it.
    if not content:
        path.write_bytes(b"{")
        return
    zones = [(0, min(60, len(content))), (0, len(content)), (max(0, len(content) - 400), len(content))]
    first, last = zones[draw(3)]
    content[first + draw(last - first)] ^= 1 << draw(8)
    path.write_bytes(bytes(content))


def _truncate(path: Path, draw: Draw, _: Path) -> None:
    os.truncate(path, draw(1 + path.stat().st_size))


def _extend(path: Path, draw: Draw, _: Path) -> None:
    path.write_bytes(path.read_bytes() + b"}" * (1 + draw(20)))


def _delete(path: Path, draw: Draw, _: Path) -> None:
    path.unlink()


def _swap(path: Path, draw: Draw, _: Path) -> None:
    others = [other for other in files_of(_root(path)) if other.suffix == path.suffix and other != path]
    other = others[draw(len(others))]
    one, two = path.read_bytes(), other.read_bytes()
    path.write_bytes(two)
    other.write_bytes(one)


def _copy_within(path: Path, draw: Draw, _: Path) -> None:
    others = [other for other in files_of(_root(path)) if other.suffix == path.suffix and other != path]
    shutil.copy(others[draw(len(others))], path)


def _copy_foreign(path: Path, draw: Draw, foreign: Path) -> None:
    same = foreign / path.relative_to(_root(path))
    others = [other for other in files_of(foreign) if other.suffix == path.suffix]
    shutil.copy(same if same.exists() and draw(2) else others[draw(len(others))], path)


def _link(path: Path, draw: Draw, _: Path) -> None:
    moved = _root(path).parent / f"outside{path.suffix}"
    path.rename(moved)
    path.symlink_to(moved)


def _folder(path: Path, draw: Draw, _: Path) -> None:
    path.unlink()
    path.mkdir()


def _edit(path: Path, draw: Draw, _: Path) -> None:
    try:
        content = json.loads(path.read_bytes())
    except ValueError:  # no JSON, or not any more
        _flip(path, draw, path)
        return
    places: list[tuple[Any, Any]] = []

    def walk(node: Any) -> None:
        for key, value in node.items() if isinstance(node, dict) else enumerate(node):
            places.append((node, key))
            if isinstance(value, (dict, list)):
                walk(value)

    walk(content)
    node, key = places[draw(len(places))]
    old = node[key]
    node[key] = next(value for value in (*VALUES[draw(len(VALUES)) :], *VALUES) if repr(value) != repr(old))
    path.write_text(json.dumps(content))


def _root(path: Path) -> Path:
    return next(parent for parent in path.parents if (parent / "classes").is_dir())


DAMAGES = (_flip, _truncate, _extend, _delete, _swap, _copy_within, _copy_foreign, _link, _folder, _edit)


def _says_the_same(path: Path, before: bytes) -> bool:
    """Return whether a file is as before; a record without the line feed at its end is."""
    after = path.read_bytes()
    return after == before or (path.suffix == ".json" and after == before.rstrip(b"\n"))


def damage(store: Path, foreign: Path, draw: Draw) -> str:
    """Damage a file of a store, and say what was done."""
    paths = files_of(store)
    path = paths[draw(len(paths))]
    kind = DAMAGES[draw(len(DAMAGES))]
    before = path.read_bytes()
    kind(path, draw, foreign)
    same = path.is_file() and not path.is_symlink() and _says_the_same(path, before)
    return "nothing" if same else f"{kind.__name__} {path.relative_to(store)}"


class Faults:
    """Counts the calls that write, and lets one of them fail.

    Parameters
    ----------
    at : int or None
        Which call fails, from 0 on.
    error : exception
        How. Of bytes to be written half are written first, as a full disk does it.
    """

    def __init__(self, at: int | None, error: BaseException) -> None:
        self.at, self.error, self.calls = at, error, 0

    def call(self) -> bool:
        """Count a call; return whether it is the one that fails."""
        self.calls += 1
        return self.calls - 1 == self.at

    def failing(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that fails when its turn comes."""

        def replaced(*arguments: Any, **keywords: Any) -> Any:
            if self.call():
                raise self.error
            return function(*arguments, **keywords)

        return replaced

    @contextmanager
    def injected(self) -> Iterator[None]:
        """Put the faults into every call of the system by which a census writes."""
        real = os.fdopen

        def opened(descriptor: int, mode: str = "r", *arguments: Any, **keywords: Any) -> Any:
            file = real(descriptor, mode, *arguments, **keywords)
            return _Stream(file, self) if "w" in mode else file

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, "fdopen", opened)
            patch.setattr(os, "fsync", self.failing(os.fsync))
            patch.setattr(tempfile, "mkstemp", self.failing(tempfile.mkstemp))
            for name in ("mkdir", "replace", "unlink", "chmod"):
                patch.setattr(Path, name, self.failing(getattr(Path, name)))
            yield


class _Stream:
    def __init__(self, file: Any, faults: Faults) -> None:
        self.file, self.faults = file, faults

    def __getattr__(self, name: str) -> Any:
        return getattr(self.file, name)

    def __enter__(self) -> "_Stream":
        return self

    def __exit__(self, *arguments: object) -> None:
        self.file.close()

    def write(self, content: Any) -> Any:
        if self.faults.call():
            self.file.write(content[: len(content) // 2])
            raise self.faults.error
        return self.file.write(content)


ERRORS = (OSError(errno.ENOSPC, "No space left on device"), OSError(errno.EIO, "Input/output error"), MemoryError())
