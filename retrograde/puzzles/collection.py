"""The puzzles that ship: files of them, all of them, one by its id; and how a source names any of that."""

from __future__ import annotations

import difflib
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Final

from retrograde.puzzles.puzzle_file import MOST_BYTES, Puzzle, parse_puzzles
from tablut.errors import InputError
from tablut.store.files import excerpt, read_text

COLLECTION: Final = "collection"
"""The name of all puzzles that ship, taken together."""


def collection_names() -> list[str]:
    """Return the names of the puzzle files that ship."""
    folder = resources.files("retrograde.puzzles") / "data"
    return sorted(entry.name.removesuffix(".txt") for entry in folder.iterdir() if entry.name.endswith(".txt"))


def _shipped_text(name: str) -> str:
    folder = resources.files("retrograde.puzzles") / "data"
    names = collection_names() if name == COLLECTION else [name]
    return "".join((folder / f"{entry}.txt").read_text(encoding="utf-8") for entry in names)


@cache
def _lines() -> dict[str, str]:
    """Return the line of each shipped puzzle by its id."""
    puzzles = parse_puzzles(COLLECTION, _shipped_text(COLLECTION))
    return {puzzle.id: f"{puzzle}\n" for puzzle in puzzles}


def shipped_ids() -> tuple[str, ...]:
    """Return the ids of the puzzles that ship."""
    return tuple(_lines())


def read_puzzle_text(source: str) -> str:
    """Return the content of a puzzle file."""
    if _is_file(source):
        return read_text(Path(source), "puzzle file", MOST_BYTES)
    name, names = source.lower(), [COLLECTION, *collection_names()]
    if name in names:
        return _shipped_text(name)
    lines = _lines()
    if name in lines:
        return lines[name]
    if _exists(source):  # a folder, a device: the reader says what is wrong with it
        return read_text(Path(source), "puzzle file", MOST_BYTES)
    close = difflib.get_close_matches(name, [*names, *lines], n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"these ship: {', '.join(names)}, and each puzzle by its id"
    raise InputError(f"puzzle file {excerpt(source)}: no such file; {hint}")


def read_puzzles(source: str, variant: str | None = None) -> list[Puzzle]:
    """Return the puzzles that a source names; see `read_puzzle_text` and `parse_puzzles`."""
    return parse_puzzles(source, read_puzzle_text(source), variant)


def _is_file(name: str) -> bool:
    return _exists(name) and Path(name).is_file()


def _exists(name: str) -> bool:
    try:
        return Path(name).exists()
    except (OSError, ValueError):
        # Too long, or with a character that no file name has: then there is none.
        return False
