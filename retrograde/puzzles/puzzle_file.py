"""Puzzle files: text, one position a line, with tags; and the stipulations that are to be shown.

A line is the one-line text of a position, then tags, each after a semicolon::

    7/7/2bb3/b2Kw1w/6w/7/1b1b3 w; id=b-07; variant=brandubh; stipulation=white wins in 7; first=e4-e1

A value may contain spaces, not semicolons. Tags that the program does not know are
kept. Empty lines and lines that begin with ``#`` are comments.

Known tags: ``id``, ``variant`` (a name or a path), ``stipulation``, ``first`` (all first
moves that attain the distance, separated by spaces), ``grade`` (1 to 5), ``source``.
Stipulations: ``white wins in N``, ``black wins in N`` (N plies, the shortest),
``white wins``, ``black wins``, ``draw``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from tablut.errors import InputError
from tablut.position import Move, Position
from tablut.variants import load_variant

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from retrograde.puzzles.solution import Solution

__all__ = [
    "COLLECTION",
    "Puzzle",
    "Stipulation",
    "collection_names",
    "format_puzzles",
    "judge",
    "parse_puzzles",
    "read_puzzle_text",
]

COLLECTION = "collection"
"""The name of all puzzles that ship, taken together."""

_STIPULATION = re.compile(r"(?:(white|black) wins(?: in ([1-9]\d*))?|draw)")
_TAG = re.compile(r"([a-z][a-z0-9_-]*)=(.*)")
_OWN = ("id", "variant", "stipulation", "first")


class Stipulation(NamedTuple):
    """What is to be shown of a position.

    Attributes
    ----------
    winner : {'white', 'black'} or None
        None for a draw.
    plies : int or None
        The shortest distance; None if none is claimed.

    Examples
    --------
    >>> str(Stipulation.parse("white wins in 5")), Stipulation.parse("draw")
    ('white wins in 5', Stipulation(winner=None, plies=None))
    """

    winner: Literal["white", "black"] | None
    plies: int | None = None

    @classmethod
    def parse(cls, text: str) -> Stipulation:
        """Return the stipulation of a text.

        Raises
        ------
        InputError
            If the text is none.
        """
        found = _STIPULATION.fullmatch(text)
        if found is None:
            raise InputError(f"stipulation {text!r}: expected 'white wins in 5', 'black wins' or 'draw'")
        if found[1] is None:
            return cls(None)
        return cls("white" if found[1] == "white" else "black", int(found[2]) if found[2] else None)

    def __str__(self) -> str:
        if self.winner is None:
            return "draw"
        return f"{self.winner} wins" + (f" in {self.plies}" if self.plies else "")


@dataclass(frozen=True)
class Puzzle:
    """A position with what is claimed of it.

    Attributes
    ----------
    position : Position
        The position.
    variant : str
        Name or path of its rule set.
    stipulation : Stipulation or None
        None if the puzzle only asks.
    id : str
        A name within its file.
    first : tuple of Move or None
        All first moves that attain the distance, as claimed; None if nothing is claimed.
    tags : mapping of str to str
        All other tags.
    """

    position: Position
    variant: str
    stipulation: Stipulation | None = None
    id: str = ""
    first: tuple[Move, ...] | None = None
    tags: Mapping[str, str] = field(default_factory=dict, hash=False)

    def __str__(self) -> str:
        parts = {"id": self.id, "variant": self.variant}
        if self.stipulation is not None:
            parts["stipulation"] = str(self.stipulation)
        if self.first is not None:
            parts["first"] = " ".join(map(str, self.first))
        parts |= self.tags
        return str(self.position) + "".join(f"; {name}={value}" for name, value in parts.items() if value)


def parse_puzzles(name: str, text: str, variant: str = "ashton") -> list[Puzzle]:
    """Return the puzzles of a file's content.

    Parameters
    ----------
    name : str
        Of the file, for messages.
    text : str
        Its content.
    variant : str
        Rule set of the lines that name none.

    Returns
    -------
    list of Puzzle
        In order; a puzzle without an id gets its line number.

    Raises
    ------
    InputError
        Naming file and line, if a line is no puzzle or an id occurs twice.

    Examples
    --------
    >>> (puzzle,) = parse_puzzles("mine", "2b2/5/b1K1b/5/2b2 w; stipulation=white wins in 3", "ashton-5-4v0")
    >>> puzzle.stipulation, puzzle.id
    (Stipulation(winner='white', plies=3), '1')
    """
    found: dict[str, Puzzle] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            puzzle = _parse(line, str(number), variant)
        except InputError as error:
            raise InputError(f"puzzle file {name!r}, line {number}: {error}") from error
        if puzzle.id in found:
            raise InputError(f"puzzle file {name!r}, line {number}: the id {puzzle.id!r} occurs twice")
        found[puzzle.id] = puzzle
    return list(found.values())


def _parse(line: str, number: str, variant: str) -> Puzzle:
    text, *entries = (part.strip() for part in line.split(";"))
    tags: dict[str, str] = {}
    for entry in entries:
        tag = _TAG.fullmatch(entry)
        if tag is None:
            raise InputError(f"tag {entry!r}: expected name=value, such as id=7 or stipulation=white wins in 5")
        if tag[1] in tags:
            raise InputError(f"tag {tag[1]!r}: occurs twice")
        tags[tag[1]] = tag[2].strip()
    rules = load_variant(tags.get("variant", variant))
    first = None
    if "first" in tags:
        first = tuple(Move.parse(move, rules.size) for move in tags["first"].split())
    return Puzzle(
        position=Position.parse(text, rules.size),
        variant=tags.get("variant", variant),
        stipulation=Stipulation.parse(tags["stipulation"]) if "stipulation" in tags else None,
        id=tags.get("id", number),
        first=first,
        tags={name: value for name, value in tags.items() if name not in _OWN},
    )


def format_puzzles(puzzles: Sequence[Puzzle], header: str = "") -> str:
    r"""Return the content of a puzzle file; the inverse of `parse_puzzles`.

    Parameters
    ----------
    puzzles : sequence of Puzzle
        What to write, a line each.
    header : str
        Comment at the top, line by line.

    Examples
    --------
    >>> line = "2b2/5/b1K1b/5/2b2 w; id=one; variant=ashton-5-4v0; stipulation=white wins in 3; grade=1"
    >>> format_puzzles(parse_puzzles("mine", line)) == line + "\n"
    True
    """
    lines = [f"# {line}".rstrip() for line in header.splitlines()]
    return "".join(f"{line}\n" for line in [*lines, *map(str, puzzles)])


def judge(puzzle: Puzzle, solution: Solution) -> Literal["holds", "refuted", "unknown", "none"]:
    """Return what a solution says of a puzzle's claims; ``none`` if nothing is claimed.

    A claim is refuted as soon as what is proved contradicts it, even if the solution is
    not complete.
    """
    verdicts = []
    if puzzle.stipulation is not None:
        verdicts.append(_judge_stipulation(puzzle.stipulation, solution))
    if puzzle.first is not None:
        claimed, shown = set(puzzle.first), set(solution.winning_moves)
        open_moves = set(solution.open_moves)
        if solution.status == "proved":
            verdicts.append("holds" if claimed == shown else "refuted")
        elif solution.dtm is not None and not (shown <= claimed <= shown | open_moves):
            verdicts.append("refuted")
        else:
            verdicts.append("unknown")
    for verdict in ("refuted", "unknown", "holds"):
        if verdict in verdicts:
            return verdict
    return "none"


def _judge_stipulation(stipulation: Stipulation, solution: Solution) -> str:
    if solution.wdl is None:
        if stipulation.winner is None:
            return "unknown"
        bounds = solution.bounds[stipulation.winner]
        refuted = bounds.never or (stipulation.plies is not None and bounds.no_win_within >= stipulation.plies)
        return "refuted" if refuted else "unknown"
    if stipulation.winner is None:
        return "holds" if solution.wdl == "draw" else "refuted"
    if solution.winner != stipulation.winner:
        return "refuted"
    if stipulation.plies is None:
        return "holds"
    if solution.dtm is not None:
        return "holds" if solution.dtm == stipulation.plies else "refuted"
    bounds = solution.bounds[stipulation.winner]
    within = bounds.win_within
    sooner = within is not None and within < stipulation.plies
    return "refuted" if sooner or bounds.no_win_within >= stipulation.plies else "unknown"


def collection_names() -> list[str]:
    """Return the names of the puzzle files that ship.

    Examples
    --------
    >>> collection_names()
    ['ashton', 'brandubh', 'endings', 'mcgill', 'patterns']
    """
    folder = resources.files("retrograde.puzzles") / "data"
    return sorted(entry.name.removesuffix(".txt") for entry in folder.iterdir() if entry.name.endswith(".txt"))


def read_puzzle_text(source: str) -> str:
    """Return the content of a puzzle file.

    Parameters
    ----------
    source : str
        A file; else the name of one that ships, or ``collection`` for all of them.

    Raises
    ------
    InputError
        If there is no such file, or it cannot be read as text.
    """
    folder = resources.files("retrograde.puzzles") / "data"
    if not Path(source).is_file():
        names = collection_names()
        if source == COLLECTION:
            return "".join((folder / f"{name}.txt").read_text(encoding="utf-8") for name in names)
        if source in names:
            return (folder / f"{source}.txt").read_text(encoding="utf-8")
        if not Path(source).exists():
            shipped = ", ".join([COLLECTION, *names])
            raise InputError(f"puzzle file {source!r}: no such file; these ship: {shipped}")
    try:
        return Path(source).read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"puzzle file {source!r}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"puzzle file {source!r}: not a UTF-8 text file") from error
