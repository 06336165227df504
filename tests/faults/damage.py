"""Damages of a folder of files: each is drawn from a seed, made, and described in a line.

What can happen to a file: bits flip, it is cut, lengthened, emptied or lost; it is
swapped with another or replaced by one of the same kind from elsewhere (another ply,
tier, part or side, an older state, another game); a value of its JSON is edited; it becomes a
link, a folder or a pipe; strange files appear beside it.
"""

from __future__ import annotations

import errno
import json
import os
import random
import re
import shutil
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.faults.verdict import Trial, Verdict, worst

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.faults.stores import Question, Specimen

_STRINGS = (
    "", "0", "-1", "true", "white", "1v0", "../../../../evil", "0/../../../../evil", "/tmp", "/dev/zero", "a\0b",
    "[/bold]", "x" * 5000, "²", "ashton-5-4v2",
)  # fmt: skip
_NUMBERS = (-1, 0, 1, 2**31, 2**63, 2**64, 10**30, -(2**63), 0.5, 1e308)
_STRAY = (
    ".census.json.k3j2h4.tmp", ".zarr.json.abcd1234.tmp", ".ply-004.json.zzzzzz.tmp", ".part-00000.rows.qwerty.tmp",
    "notes.txt", "ply-900.json", "ply-900", "zarr.json.bak", "work", "lock",
)  # fmt: skip


def files_of(folder: Path) -> list[Path]:
    """Return the files of a folder that hold something, in order."""
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.name != "lock")


def kind_of(path: Path) -> str:
    """Return what a file has in common with its like: its name and its folder's with the numbers left out."""
    return re.sub(r"\d+", "#", "/".join(path.parts[-2:]))


def _pick(rng: random.Random, folder: Path, wanted: Callable[[Path], bool] = lambda _: True) -> Path:
    """Return a file, each kind of file as likely as any other."""
    kinds: dict[str, list[Path]] = {}
    for path in files_of(folder):
        if wanted(path):
            kinds.setdefault(kind_of(path), []).append(path)
    return rng.choice(kinds[rng.choice(sorted(kinds))])


def _name(path: Path, folder: Path) -> str:
    return path.relative_to(folder).as_posix()


# -- bytes ---------------------------------------------------------------------------------


def flip(rng: random.Random, folder: Path, donors: Sequence[Path], *, many: bool = False) -> str:
    """Flip one bit of a file, or some."""
    count = rng.randrange(2, 200) if many else 1
    path = _pick(rng, folder, lambda path: path.stat().st_size > 0)
    content = bytearray(path.read_bytes())
    places = [rng.randrange(8 * len(content)) for _ in range(count)]
    for place in places:
        content[place // 8] ^= 1 << place % 8
    path.write_bytes(content)
    return f"{_name(path, folder)}: {count} bit(s) flipped, the first in byte {places[0] // 8} of {len(content)}"


def truncate(rng: random.Random, folder: Path, donors: Sequence[Path]) -> str:
    """Cut a file off."""
    path = _pick(rng, folder, lambda path: path.stat().st_size > 1)
    size = path.stat().st_size
    left = rng.choice([1, size - 1, rng.randrange(1, size), size // 2, max(1, size - 8)])
    os.truncate(path, left)
    return f"{_name(path, folder)}: cut to {left} of {size} bytes"


def extend(rng: random.Random, folder: Path, donors: Sequence[Path]) -> str:
    """Append bytes to a file."""
    path = _pick(rng, folder)
    extra = rng.choice([b"\0", b"\n", b" ", b"{}", rng.randbytes(rng.randrange(1, 100)), path.read_bytes()[-64:]])
    with path.open("ab") as file:
        file.write(extra)
    return f"{_name(path, folder)}: {extra[:16]!r} appended, {len(extra)} bytes"


def empty(rng: random.Random, folder: Path, donors: Sequence[Path]) -> str:
    """Empty a file."""
    path = _pick(rng, folder)
    path.write_bytes(b"")
    return f"{_name(path, folder)}: emptied"


def delete(rng: random.Random, folder: Path, donors: Sequence[Path]) -> str:
    """Delete a file, or all files of a kind."""
    path = _pick(rng, folder)
    if rng.random() < 0.15:
        lost = [other for other in files_of(folder) if kind_of(other) == kind_of(path)]
        for other in lost:
            other.unlink()
        return f"{kind_of(path)}: all {len(lost)} deleted"
    path.unlink()
    return f"{_name(path, folder)}: deleted"


def delete_folder(rng: random.Random, folder: Path, donors: Sequence[Path]) -> str:
    """Delete a folder within."""
    path = rng.choice(sorted(path for path in folder.rglob("*") if path.is_dir()))
    shutil.rmtree(path)
    return f"{_name(path, folder)}/: deleted"


# -- files in the wrong place --------------------------------------------------------------


def swap(rng: random.Random, folder: Path, donors: Sequence[Path]) -> str:
    """Swap two files of a kind."""
    first, second = _two_alike(rng, folder)
    content = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(content)
    return f"{_name(first, folder)} and {_name(second, folder)}: swapped"


def copy_over(rng: random.Random, folder: Path, donors: Sequence[Path]) -> str:
    """Copy a file over another of its kind."""
    pair = _two_alike(rng, folder)
    shutil.copyfile(*pair)
    return f"{_name(pair[0], folder)}: copied over {_name(pair[1], folder)}"


def copy_beside(rng: random.Random, folder: Path, donors: Sequence[Path]) -> str:
    """Copy a file into another folder where its like may stand, under its own name or that of its like."""
    path = _pick(rng, folder)
    others = sorted({other.parent for other in files_of(folder)} - {path.parent})
    target = rng.choice(others) / path.name
    shutil.copyfile(path, target)
    return f"{_name(path, folder)}: copied to {_name(target, folder)}"


def _two_alike(rng: random.Random, folder: Path) -> tuple[Path, Path]:
    """Return two files of a kind with different content; the kind leaves out all folders' numbers."""
    groups: dict[str, list[Path]] = {}
    for path in files_of(folder):
        groups.setdefault(rng.choice([kind_of(path), path.name]), []).append(path)
    chosen = [group for group in groups.values() if len(group) > 1]
    for _ in range(20):
        if chosen:
            first, second = rng.sample(rng.choice(chosen), 2)
            if first.read_bytes() != second.read_bytes():
                return first, second
    raise LookupError


def from_elsewhere(rng: random.Random, folder: Path, donors: Sequence[Path]) -> str:
    """Copy a file of the same kind from another store: another game, other options, an older state."""
    donor = rng.choice(list(donors))
    theirs: dict[str, list[Path]] = {}
    for path in files_of(donor):
        theirs.setdefault(kind_of(path), []).append(path)
        theirs.setdefault(_name(path, donor), []).append(path)
    path = _pick(rng, folder, lambda path: kind_of(path) in theirs)
    same_name = theirs.get(_name(path, folder), [])
    source = rng.choice(same_name) if same_name and rng.random() < 0.7 else rng.choice(theirs[kind_of(path)])
    if source.read_bytes() == path.read_bytes():
        raise LookupError
    shutil.copyfile(source, path)
    return f"{_name(path, folder)}: replaced by {_name(source, donor)} of the store {donor.name}"


def added_from_elsewhere(rng: random.Random, folder: Path, donors: Sequence[Path]) -> str:
    """Add a file that another store has and this one has not: a stale part, a later record."""
    donor = rng.choice(list(donors))
    new = [path for path in files_of(donor) if not (folder / path.relative_to(donor)).exists()]
    source = rng.choice(new)
    target = folder / source.relative_to(donor)
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    return f"{_name(target, folder)}: added from the store {donor.name}"


# -- values --------------------------------------------------------------------------------


def edit_value(rng: random.Random, folder: Path, donors: Sequence[Path]) -> str:
    """Edit one value in a JSON file."""
    path = _pick(rng, folder, lambda path: path.suffix == ".json" and path.stat().st_size > 2)
    edited, said = edit_json(rng, json.loads(path.read_text(encoding="utf-8")))
    path.write_text(json.dumps(edited) + "\n", encoding="utf-8")
    return f"{_name(path, folder)}: {said}"


def edit_json(rng: random.Random, content: Any) -> tuple[Any, str]:
    """Return JSON content with one value edited, dropped or added, and what was done."""
    places: list[tuple[Any, Any, str]] = []

    def walk(value: Any, name: str) -> None:
        items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for key, inner in items:
            places.append((value, key, f"{name}.{key}".lstrip(".")))
            walk(inner, f"{name}.{key}")

    content = json.loads(json.dumps(content))
    walk(content, "")
    if not places or rng.random() < 0.03:
        whole = rng.choice([None, [], {}, 0, "x", [content], json.loads("[" * 60 + "]" * 60)])
        return whole, f"all of it is now {json.dumps(whole)[:40]}"
    holder, key, name = rng.choice(places)
    match rng.randrange(10):
        case 0:
            del holder[key]
            return content, f"{name} dropped"
        case 1 if isinstance(holder, dict):
            new = rng.choice(["extra", "format", "ply", "digest", str(key) + " ", str(key).upper()])
            holder[new] = holder[key]
            return content, f"{name}: key {new!r} added beside it"
    old = holder[key]
    holder[key] = _other_value(rng, old)
    return content, f"{name}: {json.dumps(old)[:40]} is now {json.dumps(holder[key])[:40]}"


def _other_value(rng: random.Random, old: Any) -> Any:
    if isinstance(old, bool):
        return rng.choice([not old, int(old), str(old), None])
    if isinstance(old, int) and rng.random() < 0.6:
        return old + rng.choice([-1, 1, 2, 10, 1 << rng.randrange(40)])
    if isinstance(old, str) and old and rng.random() < 0.5:
        place = rng.randrange(len(old))
        return old[:place] + rng.choice(["0", "1", "a", "b", "w", "K", ".", "/", " ", ""]) + old[place + 1 :]
    if isinstance(old, list) and old and rng.random() < 0.5:
        return rng.choice([old[:-1], [*old, old[-1]], old[::-1], [old]])
    return rng.choice([None, True, [], {}, [1], {"a": 1}, rng.choice(_NUMBERS), rng.choice(_STRINGS)])


# -- things that are no files --------------------------------------------------------------


def replaced(rng: random.Random, folder: Path, donors: Sequence[Path]) -> str:
    """Replace a file by something that is none: a link, a folder, a pipe."""
    path = _pick(rng, folder)
    name = _name(path, folder)
    match rng.randrange(6):
        case 0:
            path.unlink()
            path.mkdir()
            return f"{name}: is now a folder"
        case 1:
            path.unlink()
            os.mkfifo(path)
            return f"{name}: is now a pipe that nobody writes to"
        case 2:
            path.unlink()
            path.symlink_to("/dev/zero")
            return f"{name}: is now a link to /dev/zero"
        case 3:
            path.unlink()
            path.symlink_to(path.name)
            return f"{name}: is now a link to itself"
        case 4:
            outside = folder.parent / "outside"
            outside.mkdir(exist_ok=True)
            shutil.move(path, outside / path.name)
            path.symlink_to(outside / path.name)
            return f"{name}: moved out of the store, a link left in its place"
        case _:
            path.chmod(0)
            return f"{name}: nobody may read it"


def stray(rng: random.Random, folder: Path, donors: Sequence[Path]) -> str:
    """Add a file or folder that does not belong there."""
    places = [folder, *sorted(path for path in folder.rglob("*") if path.is_dir())]
    target = rng.choice(places) / rng.choice(_STRAY)
    if target.exists():
        raise LookupError
    match rng.randrange(3):
        case 0:
            target.mkdir()
            return f"{_name(target, folder)}/: a folder added"
        case 1:
            target.write_bytes(rng.randbytes(50))
            return f"{_name(target, folder)}: a file of 50 bytes added"
        case _:
            target.write_bytes(b"")
            return f"{_name(target, folder)}: an empty file added"


DAMAGES: dict[str, Any] = {
    "bit flipped": flip,
    "bits flipped": partial(flip, many=True),
    "cut": truncate,
    "lengthened": extend,
    "emptied": empty,
    "deleted": delete,
    "folder deleted": delete_folder,
    "swapped": swap,
    "copied over": copy_over,
    "copied beside": copy_beside,
    "from another store": from_elsewhere,
    "added from another store": added_from_elsewhere,
    "value edited": edit_value,
    "replaced by no file": replaced,
    "stray": stray,
}
"""All damages by kind: functions of a generator, the folder and the folders of other stores."""

_WEIGHTS = {"value edited": 4, "from another store": 3, "added from another store": 2, "swapped": 2, "copied over": 2}


def damage(rng: random.Random, folder: Path, donors: Sequence[Path]) -> tuple[str, str]:
    """Damage a folder; return the kind of the damage and what was done."""
    for _ in range(100):
        kind = rng.choices(list(DAMAGES), [_WEIGHTS.get(kind, 1) for kind in DAMAGES])[0]
        try:
            return kind, DAMAGES[kind](rng, folder, donors)
        except (LookupError, ValueError):
            continue  # there is nothing that this could be done to
        except OSError as error:
            if error.errno != errno.ELOOP:
                raise
            continue  # an earlier damage made the file a link to itself, which nobody can write through
    raise RuntimeError(f"{folder}: there is nothing to damage")


# -- damaged stores: each is asked up to three questions, and must answer rightly or say what is wrong


_DEPTH = "a/b/c/d/e/f"


def damage_trial(part: str, specimens: Sequence[Specimen], run: int, number: int) -> list[Trial]:
    """Damage a copy of a store, each in turn, and ask; the verdict is the worst of the answers'."""
    specimen, seed = specimens[number % len(specimens)], f"{run}.{number}"
    rng = random.Random(f"{part} {seed}")
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="faults-") as top:
        folder = Path(top).resolve() / _DEPTH / specimen.folder.name
        (folder.parent / "tmp").mkdir(parents=True)
        shutil.copytree(specimen.folder, folder)
        said = [damage(rng, folder, specimen.donors) for _ in range(2 if rng.random() < 0.1 else 1)]
        allowed = {path.name for path in folder.parent.iterdir()}
        found = []
        for question in _drawn(rng, specimen):
            verdict, detail = specimen.judged(specimen.put(question, folder), question, folder)
            if strays := _outside(Path(top).resolve(), folder, allowed):
                verdict, detail = Verdict.WRONG, f"made outside of the store: {', '.join(strays)}"
            found.append((verdict, " ".join(question.given(folder.name)), detail))
            if verdict not in (Verdict.RIGHT, Verdict.NAMED):
                break
        final = worst([verdict for verdict, _, _ in found])
        verdict, command, detail = next(entry for entry in found if entry[0] is final)
        what = "; ".join(text for _, text in said) + f"; tablut {command}"
        kind = said[0][0] if len(said) == 1 else "two damages"
        return [Trial(part, specimen.name, kind, seed, what, verdict, detail, round(time.monotonic() - began, 3))]


def _drawn(rng: random.Random, specimen: Specimen) -> list[Question]:
    """Return what is asked: two questions that read, at most, then one that may write."""
    reading = [question for question in specimen.questions if not question.writes]
    writing = [question for question in specimen.questions if question.writes]
    return rng.sample(reading, min(2, len(reading))) + rng.sample(writing, min(1, len(writing)))


def _outside(top: Path, folder: Path, allowed: set[str]) -> list[str]:
    """Return what lies beside the store or above it and was not there before."""
    found = [path.name for path in folder.parent.iterdir() if path.name not in allowed]
    inner = folder.parent
    while inner != top:
        found += [path.name for path in inner.parent.iterdir() if path != inner]
        inner = inner.parent
    return found
