"""Damages of a folder of files: functions of a random generator, the folder, and the folders of other stores.

Each raises LookupError or ValueError if the folder has nothing that it can be done to.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Sequence
    from pathlib import Path

_STRINGS = ("", "0", "-1", "white", "1v0", "../../../../evil", "/dev/zero", "a\0b", "[/bold]", "x" * 5000, "²")
_NUMBERS = (-1, 0, 1, 2**31, 2**63, 2**64, 10**30, -(2**63), 0.5, 1e308)
_STRAY = (".census.json.k3j2h4.tmp", ".zarr.json.abcd1234.tmp", "notes.txt", "ply-900.json", "zarr.json.bak", "work")


def files_of(folder: Path) -> list[Path]:
    """Return the files of a folder, in order."""
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.name != "lock")


def _kind(path: Path) -> str:
    """Return the name of a file and of its folder without their numbers."""
    return re.sub(r"\d+", "#", "/".join(path.parts[-2:]))


def _pick(rng: random.Random, folder: Path, wanted: Callable[[Path], bool] = lambda _: True) -> Path:
    """Return a file; each kind of file is equally likely."""
    kinds: dict[str, list[Path]] = {}
    for path in filter(wanted, files_of(folder)):
        kinds.setdefault(_kind(path), []).append(path)
    return rng.choice(kinds[rng.choice(sorted(kinds))])


def flip(rng: random.Random, folder: Path, donors: Sequence[Path]) -> None:
    """Flip one bit of a file, or many."""
    path = _pick(rng, folder, lambda path: path.stat().st_size > 0)
    content = bytearray(path.read_bytes())
    for _ in range(rng.choice([1, 1, 100])):
        place = rng.randrange(8 * len(content))
        content[place // 8] ^= 1 << place % 8
    path.write_bytes(content)


def truncate(rng: random.Random, folder: Path, donors: Sequence[Path]) -> None:
    """Cut a file off, or empty it."""
    path = _pick(rng, folder, lambda path: path.stat().st_size > 1)
    size = path.stat().st_size
    os.truncate(path, rng.choice([0, 1, size - 1, rng.randrange(size), max(1, size - 8)]))


def extend(rng: random.Random, folder: Path, donors: Sequence[Path]) -> None:
    """Append bytes to a file."""
    path = _pick(rng, folder)
    path.write_bytes(path.read_bytes() + rng.choice([b"\0", b"\n", b"{}", b"x" * 99, path.read_bytes()[-64:]]))


def delete(rng: random.Random, folder: Path, donors: Sequence[Path]) -> None:
    """Delete a file, or all files of its kind."""
    path = _pick(rng, folder)
    for other in [path] if rng.random() < 0.8 else files_of(folder):
        if _kind(other) == _kind(path):
            other.unlink()


def delete_folder(rng: random.Random, folder: Path, donors: Sequence[Path]) -> None:
    """Delete a folder of the store."""
    shutil.rmtree(rng.choice(sorted(path for path in folder.rglob("*") if path.is_dir())))


def _two_alike(rng: random.Random, folder: Path) -> tuple[Path, Path]:
    """Return two files of a kind with different contents."""
    first = _pick(rng, folder)
    alike = [path for path in files_of(folder) if _kind(path) == _kind(first) or path.name == first.name]
    second = rng.choice(alike)
    if first.read_bytes() == second.read_bytes():
        raise LookupError
    return first, second


def swap(rng: random.Random, folder: Path, donors: Sequence[Path]) -> None:
    """Exchange two files of a kind."""
    first, second = _two_alike(rng, folder)
    content = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(content)


def copy_over(rng: random.Random, folder: Path, donors: Sequence[Path]) -> None:
    """Copy a file over another one of its kind, or into another folder of the store."""
    first, second = _two_alike(rng, folder)
    shutil.copyfile(first, second if rng.random() < 0.7 else second.parent / first.name)


def from_elsewhere(rng: random.Random, folder: Path, donors: Sequence[Path]) -> None:
    """Take a file from another store: over one of its kind, or where this store has none."""
    donor = rng.choice(list(donors))
    source = _pick(rng, donor)
    alike = [path for path in files_of(folder) if _kind(path) == _kind(source)]
    target = rng.choice(alike) if alike and rng.random() < 0.7 else folder / source.relative_to(donor)
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def edit_value(rng: random.Random, folder: Path, donors: Sequence[Path]) -> None:
    """Change, drop or add one value of a JSON file."""
    path = _pick(rng, folder, lambda path: path.suffix == ".json" and path.stat().st_size > 2)
    content = json.loads(path.read_text(encoding="utf-8"))
    places: list[tuple[Any, Any]] = []

    def walk(value: Any) -> None:
        for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
            places.append((value, key))
            walk(value[key])

    walk(content)
    holder, key = rng.choice(places)
    if rng.random() < 0.1:
        del holder[key]
    elif isinstance(holder, dict) and rng.random() < 0.1:
        holder[str(key).upper()] = holder[key]
    else:
        holder[key] = _other_value(rng, holder[key])
    path.write_text(json.dumps(content) + "\n", encoding="utf-8")


def _other_value(rng: random.Random, old: Any) -> Any:
    if isinstance(old, bool):
        return rng.choice([not old, int(old), None])
    if isinstance(old, int) and rng.random() < 0.6:
        return old + rng.choice([-1, 1, 2, 10, 1 << rng.randrange(40)])
    if isinstance(old, str) and old and rng.random() < 0.5:
        place = rng.randrange(len(old))
        return old[:place] + rng.choice("01abwK./ ") + old[place + 1 :]
    if isinstance(old, list) and old and rng.random() < 0.5:
        return rng.choice([old[:-1], [*old, old[-1]], old[::-1]])
    return rng.choice([None, True, [], {}, [1], {"a": 1}, rng.choice(_NUMBERS), rng.choice(_STRINGS)])


def replaced(rng: random.Random, folder: Path, donors: Sequence[Path]) -> None:
    """Replace a file with a folder, a pipe or a link."""
    path = _pick(rng, folder)
    outside = folder.parent / "outside"
    shutil.copyfile(path, outside)
    path.unlink()
    links = ["/dev/zero", path.name, outside]
    kind = rng.randrange(2 + len(links))
    if kind == 0:
        path.mkdir()
    elif kind == 1:
        os.mkfifo(path)
    else:
        path.symlink_to(links[kind - 2])


def stray(rng: random.Random, folder: Path, donors: Sequence[Path]) -> None:
    """Add a file or a folder that does not belong to the store."""
    target = rng.choice([folder, *(path.parent for path in files_of(folder))]) / rng.choice(_STRAY)
    if target.exists():
        raise LookupError
    if rng.random() < 0.3:
        target.mkdir()
    else:
        target.write_bytes(rng.choice([b"", b"x" * 50]))


DAMAGES = (
    flip, truncate, extend, delete, delete_folder, swap, copy_over, from_elsewhere, from_elsewhere, edit_value,
    edit_value, replaced, stray,
)  # fmt: skip
"""All damages; those that a store must know by what is written in it occur twice."""
