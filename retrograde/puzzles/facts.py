"""What a list of puzzles says of each, and which puzzles of a list are asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from retrograde.puzzles.puzzle_file import rules_of
from tablut.variants import load_variant

if TYPE_CHECKING:
    from collections.abc import Iterable

    from retrograde.puzzles.puzzle_file import Puzzle

_FEW_MEN: Final = 5

Colour = Literal["white", "black"]


class Facts(NamedTuple):
    """What can be said of a puzzle without its solution."""

    side: Colour
    winner: Colour | None
    plies: int | None
    grade: int | None
    theme: str


def facts_of(puzzle: Puzzle) -> Facts:
    """Return what a list says of a puzzle."""
    claim = puzzle.stipulation
    grade = puzzle.tags.get("grade", "")
    few = 1 + sum(puzzle.position.material) <= _FEW_MEN
    return Facts(
        side="white" if puzzle.position.side == "w" else "black",
        winner=None if claim is None else claim.winner,
        plies=None if claim is None else claim.plies,
        grade=int(grade) if grade.isascii() and grade.isdigit() else None,
        theme=puzzle.tags.get("pattern", "ending" if few else "middle game"),
    )


class Wish(NamedTuple):
    """Which puzzles are asked for; None leaves a point open."""

    variant: str | None = None
    side: Colour | None = None
    winner: Colour | None = None
    shortest: int | None = None
    longest: int | None = None
    grades: tuple[int, ...] = ()
    theme: str | None = None


def choose(puzzles: Iterable[Puzzle], wish: Wish) -> list[Puzzle]:
    """Return the puzzles that are as they are wished for."""
    rules = None if wish.variant is None else load_variant(wish.variant)
    return [
        puzzle for puzzle in puzzles if (rules is None or rules.same_game(rules_of(puzzle))) and _fits(puzzle, wish)
    ]


def _fits(puzzle: Puzzle, wish: Wish) -> bool:
    facts = facts_of(puzzle)
    if wish.side not in (None, facts.side) or wish.winner not in (None, facts.winner):
        return False
    if wish.shortest is not None and (facts.plies is None or facts.plies < wish.shortest):
        return False
    if wish.longest is not None and (facts.plies is None or facts.plies > wish.longest):
        return False
    if wish.grades and facts.grade not in wish.grades:
        return False
    return wish.theme is None or wish.theme.lower() in facts.theme.lower()
