"""Puzzle files: text files with a position on each line, followed by tags such as the stipulation to prove.

Each line contains a position in the one-line text format and then tags, each preceded by a semicolon::

    7/7/2bb3/b2Kw1w/6w/7/1b1b3 w; id=b-07; variant=brandubh; stipulation=white wins in 7; first=e4-e1

A value may contain spaces, but no semicolons. Empty lines and lines that begin with ``#``
are ignored.

The tags are ``id``, ``variant`` (a built-in name), ``game`` (`Variant.digest`, for custom rules), ``stipulation``,
``first`` (all first moves that attain the distance, separated by spaces), ``grade`` (1 to 5), ``tempting``, ``source``,
``pattern`` and ``theme``. Any tag that begins with ``x-`` is accepted and kept. Other tags are errors, because
otherwise a puzzle with a misspelt tag would silently make no claim.
The stipulations are ``white wins in N`` and ``black wins in N`` (N plies, the shortest win),
``white wins``, ``black wins`` and ``draw``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from tablut.errors import InputError, did_you_mean
from tablut.position import Move, Position, SideName
from tablut.results import Result
from tablut.variants import Variant, load_variant, variant_names
from tablut.work.files import brief, excerpt, read_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tablut.prober import Solution

MOST_BYTES: Final = 16 << 20
"""Maximum size of a puzzle file, in bytes."""
_LINE: Final = 4096
_POSITION: Final = 500
_STIPULATION = re.compile(r"(?:(white|black) wins(?: in ([1-9][0-9]{0,3}))?|draw)")
_TAG = re.compile(r"([a-z][a-z0-9_-]*)=(.*)")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_DEFAULT = "ashton"
_OWN = ("id", "variant", "game", "stipulation", "first")
_KNOWN = (*_OWN, "grade", "tempting", "source", "pattern", "theme")
_USERS = "x-"


class Stipulation(NamedTuple):
    """A claim to prove about a position: a win for ``winner`` (in ``plies`` plies, if given), or a draw."""

    winner: SideName | None
    plies: int | None = None

    @classmethod
    def parse(cls, text: str) -> Stipulation:
        """Parse a stipulation, such as ``white wins in 5``."""
        match = _STIPULATION.fullmatch(text)
        if match is None:
            raise InputError(
                "must be like 'white wins in 5', 'black wins' or 'draw'", subject=f"stipulation {excerpt(text)}"
            )
        if match[1] is None:
            return cls(None)
        return cls("white" if match[1] == "white" else "black", int(match[2]) if match[2] else None)

    def __str__(self) -> str:
        if self.winner is None:
            return "draw"
        return f"{self.winner} wins" + (f" in {self.plies}" if self.plies else "")


@brief
@dataclass(frozen=True)
class Puzzle:
    """A position with claims about it.

    Attributes
    ----------
    position : Position
        The position.
    variant : str
        Name of the rule set, or path of the rule file that was passed to the function that read the puzzle.
    stipulation : Stipulation or None
        The claim to prove; None if the puzzle makes none.
    id : str
        Name of the puzzle, unique within its file.
    first : tuple of Move or None
        All first moves that attain the distance, according to the puzzle; None if it makes no such claim.
    tags : mapping of str to str
        All other tags.
    game : str
        `Variant.digest` of custom rules; empty for built-in rules.
    """

    position: Position
    variant: str
    stipulation: Stipulation | None = None
    id: str = ""
    first: tuple[Move, ...] | None = None
    tags: Mapping[str, str] = field(default_factory=dict, hash=False)
    game: str = ""

    def __str__(self) -> str:
        # A path is meaningless on other machines, so a line never contains one.
        parts = {"id": self.id} | ({"game": self.game} if self.game else {"variant": self.variant})
        if self.stipulation is not None:
            parts["stipulation"] = str(self.stipulation)
        if self.first is not None:
            parts["first"] = " ".join(map(str, self.first))
        parts |= self.tags
        return str(self.position) + "".join(f"; {name}={value}" for name, value in parts.items() if value)


def parse_puzzles(name: str, text: str, variant: str | None = None) -> list[Puzzle]:
    """Parse a puzzle file's content."""
    given = None if variant is None else load_variant(variant)
    puzzles: dict[str, Puzzle] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        where = f"puzzle file {excerpt(name)}, line {number}"
        try:
            puzzle = _parse(line, str(number), variant, given)
        except InputError as error:
            error.within(where)
            raise
        if puzzle.id in puzzles:
            raise InputError(f"the id {excerpt(puzzle.id)} occurs twice", subject=where)
        puzzles[puzzle.id] = puzzle
    if not puzzles:
        raise InputError("contains no puzzle", subject=f"puzzle file {excerpt(name)}", remedy="choose another file")
    return list(puzzles.values())


def rules_of(puzzle: Puzzle) -> Variant:
    """Return a puzzle's rule set."""
    return load_variant(puzzle.variant)


def _parse(line: str, number: str, variant: str | None, given: Variant | None) -> Puzzle:
    if len(line) > _LINE:
        raise InputError(f"has {len(line):,} characters, but at most {_LINE:,} are allowed")
    text, *entries = (part.strip() for part in line.split(";"))
    tags: dict[str, str] = {}
    for entry in entries:
        tag = _TAG.fullmatch(entry)
        if tag is None:
            raise InputError(
                "must be name=value, for example id=7 or stipulation=white wins in 5", subject=f"tag {excerpt(entry)}"
            )
        if not tag[2].strip():
            raise InputError("has no value", subject=f"tag {excerpt(tag[1])}", remedy="omit it")
        if tag[1] in tags:
            raise InputError("occurs twice", subject=f"tag {excerpt(tag[1])}")
        if tag[1] not in _KNOWN and not tag[1].startswith(_USERS):
            hint = did_you_mean(tag[1], _KNOWN, f"names of your own tags must begin with {_USERS!r}")
            raise InputError("is not a tag of puzzle files", subject=f"tag {excerpt(tag[1])}", remedy=hint)
        tags[tag[1]] = tag[2].strip()
    if len(text) > _POSITION:
        raise InputError(f"has more than {_POSITION} characters", subject=f"position {excerpt(text)}")
    named, rules = _rules(tags, variant, given)
    first = None
    if "first" in tags:
        moves = tags["first"].split()
        if any(len(move) > len("k10-k11") for move in moves):
            raise InputError(f"must be moves such as e4-e7, not {excerpt(tags['first'])}", subject="tag 'first'")
        first = tuple(Move.parse(move, rules.size) for move in moves)
    return Puzzle(
        position=Position.parse(text, rules.size),
        variant=named,
        stipulation=Stipulation.parse(tags["stipulation"]) if "stipulation" in tags else None,
        id=tags.get("id", number),
        first=first,
        tags={name: value for name, value in tags.items() if name not in _OWN},
        game=tags.get("game", ""),
    )


def _rules(tags: Mapping[str, str], variant: str | None, given: Variant | None) -> tuple[str, Variant]:
    """Return a line's name and rule set after comparing them with the rule set that the caller has given."""
    if "variant" in tags and "game" in tags:
        raise InputError(
            "has both 'variant' and 'game'", remedy="use a built-in rule set or the digest of your own rules"
        )
    if "game" in tags:
        if _DIGEST.fullmatch(tags["game"]) is None:
            raise InputError(f"must be 64 hexadecimal digits, not {excerpt(tags['game'])}", subject="tag 'game'")
        if variant is None or given is None:
            raise InputError("has rules that are not built in", remedy="give the file of its rules as `variant`")
        if given.digest != tags["game"]:
            raise InputError(
                f"is under other rules than {excerpt(given.name)}", remedy="give the file of its rules as `variant`"
            )
        return variant, given
    if "variant" not in tags and variant is not None and given is not None:
        return variant, given
    name = tags.get("variant", _DEFAULT).lower()
    if name not in variant_names():
        hint = did_you_mean(name, variant_names(), "list them with `tablut variants`")
        raise InputError(f"{excerpt(tags['variant'])} is not a built-in rule set", subject="tag 'variant'", remedy=hint)
    rules = load_variant(name)
    if given is not None and not given.same_game(rules):
        raise InputError(f"has the rules of {name}, not those of {excerpt(given.name)}", remedy="omit `variant`")
    return name, rules


def judge(puzzle: Puzzle, solution: Solution) -> Literal["holds", "refuted", "unknown", "none"]:
    """Compare a puzzle's claims with a solution, and return the verdict.

    The verdict is ``none`` if the puzzle makes no claims.

    A claim is refuted if any proved fact contradicts it, even if the solution is incomplete.
    """
    verdicts = []
    if puzzle.stipulation is not None:
        verdicts.append(_judge_stipulation(puzzle.stipulation, solution))
    if puzzle.first is not None:
        claimed, proved = set(puzzle.first), set(solution.winning_moves)
        open_moves = set(solution.open_moves)
        if solution.status == "proved" or (solution.dtm is not None and not open_moves):
            verdicts.append("holds" if claimed == proved else "refuted")
        elif solution.dtm is not None and not (proved <= claimed <= proved | open_moves):
            verdicts.append("refuted")
        else:
            verdicts.append("unknown")
    for verdict in ("refuted", "unknown", "holds"):
        if verdict in verdicts:
            return verdict
    return "none"


def _judge_stipulation(stipulation: Stipulation, solution: Solution) -> str:
    winner, plies = stipulation
    if winner is None:
        return "unknown" if solution.wdl is None else "holds" if solution.wdl == "draw" else "refuted"
    bounds = solution.bounds[winner]
    within = bounds.win_within
    if bounds.never:
        return "refuted"
    if plies is None:
        return "unknown" if within is None else "holds"
    if bounds.no_win_within >= plies or (within is not None and within < plies):
        return "refuted"
    return "holds" if within == plies and bounds.no_win_within == plies - 1 else "unknown"


# -- the built-in puzzles and their names ------------------------------------------------


COLLECTION: Final = "collection"
"""Name for all built-in puzzles together."""


def collection_names() -> list[str]:
    """Return the names of all built-in puzzle files."""
    folder = resources.files("retrograde.puzzles") / "data"
    return sorted(entry.name.removesuffix(".txt") for entry in folder.iterdir() if entry.name.endswith(".txt"))


def _shipped_text(name: str) -> str:
    folder = resources.files("retrograde.puzzles") / "data"
    names = collection_names() if name == COLLECTION else [name]
    return "".join((folder / f"{entry}.txt").read_text(encoding="utf-8") for entry in names)


@cache
def _lines() -> dict[str, str]:
    """Return the lines of all built-in puzzles, by id."""
    puzzles = parse_puzzles(COLLECTION, _shipped_text(COLLECTION))
    return {puzzle.id: f"{puzzle}\n" for puzzle in puzzles}


def shipped_ids() -> tuple[str, ...]:
    """Return the ids of all built-in puzzles."""
    return tuple(_lines())


def read_puzzle_text(source: str) -> str:
    """Return puzzles as text, given a file's path, a built-in file's name, or a built-in puzzle's id."""
    if _is_file(source):
        return read_text(Path(source), "puzzle file", MOST_BYTES, pipes=True)
    name, names = source.lower(), [COLLECTION, *collection_names()]
    if name in names:
        return _shipped_text(name)
    lines = _lines()
    if name in lines:
        return lines[name]
    if _exists(source):  # a folder or a device: `read_text` raises a suitable error
        return read_text(Path(source), "puzzle file", MOST_BYTES, pipes=True)
    hint = did_you_mean(name, [*names, *lines], f"use one of {', '.join(names)}, or the id of a built-in puzzle")
    raise InputError("does not exist", subject=f"puzzle file {excerpt(source)}", remedy=hint)


def read_puzzles(source: str, variant: str | None = None) -> list[Puzzle]:
    """Read puzzles from a source that `read_puzzle_text` accepts, and parse them with `parse_puzzles`."""
    return parse_puzzles(source, read_puzzle_text(source), variant)


def _is_file(name: str) -> bool:
    return _exists(name) and Path(name).is_file()


def _exists(name: str) -> bool:
    try:
        return Path(name).exists()
    except (OSError, ValueError):
        # The name is too long or contains a character that a file name cannot contain, and so there is no such file.
        return False


# -- lists of puzzles, and filters -------------------------------------------------------


_FEW_MEN: Final = 5


class PuzzleFacts(Result):
    """Data about a puzzle for use in a list, without any part of its solution."""

    id: str
    variant: str
    position: str
    side: SideName
    winner: SideName | None
    claim: str
    plies: int | None
    grade: int | None
    theme: str


def facts_of(puzzle: Puzzle) -> PuzzleFacts:
    """Return the data about a puzzle that `puzzle list` shows."""
    claim = puzzle.stipulation
    grade = puzzle.tags.get("grade", "")
    few = 1 + sum(puzzle.position.material) <= _FEW_MEN
    return PuzzleFacts(
        id=puzzle.id,
        variant=rules_of(puzzle).name,
        position=str(puzzle.position),
        side="white" if puzzle.position.side == "w" else "black",
        winner=None if claim is None else claim.winner,
        claim="" if claim is None else str(claim),
        plies=None if claim is None else claim.plies,
        grade=int(grade) if grade.isascii() and grade.isdigit() else None,
        theme=puzzle.tags.get("pattern") or puzzle.tags.get("theme", "ending" if few else "middle game"),
    )


class Filter(NamedTuple):
    """Conditions that select puzzles. A condition that is None or empty does not apply."""

    variant: str | None = None
    side: SideName | None = None
    winner: SideName | None = None
    shortest: int | None = None
    longest: int | None = None
    grades: tuple[int, ...] = ()
    theme: str | None = None


def choose(puzzles: Iterable[Puzzle], wanted: Filter) -> list[Puzzle]:
    """Return the puzzles that match a filter."""
    rules = None if wanted.variant is None else load_variant(wanted.variant)
    return [
        puzzle for puzzle in puzzles if (rules is None or rules.same_game(rules_of(puzzle))) and _fits(puzzle, wanted)
    ]


def _fits(puzzle: Puzzle, wanted: Filter) -> bool:
    facts = facts_of(puzzle)
    if wanted.side not in (None, facts.side) or wanted.winner not in (None, facts.winner):
        return False
    if wanted.shortest is not None and (facts.plies is None or facts.plies < wanted.shortest):
        return False
    if wanted.longest is not None and (facts.plies is None or facts.plies > wanted.longest):
        return False
    if wanted.grades and facts.grade not in wanted.grades:
        return False
    return wanted.theme is None or wanted.theme.lower() in facts.theme.lower()
