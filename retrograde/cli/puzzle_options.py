"""Options that the commands of ``tablut puzzle`` share."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Annotated

import typer

from tablut.errors import InputError
from tablut.store.files import excerpt

if TYPE_CHECKING:
    from retrograde.puzzles.puzzle_file import Puzzle

FileOption = Annotated[
    str, typer.Option("--file", "-f", metavar="FILE", help="The puzzle file that has it, or one that ships.")
]

NodesOption = Annotated[
    int, typer.Option("--nodes", min=1, max=10**15, help="Moves to be made on the board, for each position.")
]
SecondsOption = Annotated[
    float | None, typer.Option("--seconds", min=0.0, max=1e9, help="Wall time for each position.")
]
MemoryOption = Annotated[
    int, typer.Option("--memory", metavar="MIB", min=1, max=1 << 24, help="For the transposition tables.")
]
PositionsOption = Annotated[
    int,
    typer.Option(
        "--positions",
        min=0,
        max=10**9,
        help="Most positions of an exhaustive listing, which can prove a draw; 0: none.",
    ),
]
StoreOption = Annotated[
    str | None,
    typer.Option("--tablebase", metavar="STORE", help="A folder. [default: what ships, if anything]"),
]


def puzzle_ids_from(incomplete: str) -> list[str]:
    """Return the ids of the puzzles that ship and begin so, for the shell's completion."""
    from retrograde.puzzles.collection import shipped_ids

    return [id_ for id_ in shipped_ids() if id_.startswith(incomplete)]


def read_one(name: str, file: str, variant: str | None) -> Puzzle:
    """Return one puzzle of a file."""
    from retrograde.puzzles.collection import read_puzzles

    puzzles = {puzzle.id: puzzle for puzzle in read_puzzles(file, variant)}
    if name in puzzles or name.lower() in puzzles:
        return puzzles.get(name) or puzzles[name.lower()]
    close = get_close_matches(name[:40].lower(), puzzles, n=1)
    hint = f"did you mean {close[0]!r}?" if close else "`tablut puzzle list` lists them; --file names another file"
    raise InputError(f"puzzle {excerpt(name)}: is not in {excerpt(file)}; {hint}")
