"""What ``tablut puzzle solve`` answers: of one position, and of a puzzle file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tablut.results import Result

if TYPE_CHECKING:
    from retrograde.proofs.solution import Solution


class BoundsResult(Result):
    """What is proved about a side's chances, in plies."""

    win_within: int | None
    no_win_within: int
    never: bool


class SolutionResult(Result):
    """A solved position; see `retrograde.proofs.solution.Solution`."""

    variant: str
    position: str
    status: str
    wdl: str | None
    dtm: int | None
    winner: str | None
    line: list[str]
    winning_moves: list[str]
    other_winning_moves: list[str] | None = None
    open_moves: list[str]
    bounds: dict[str, BoundsResult]
    nodes: int
    seconds: float
    source: str
    reason: str


class PuzzleResult(Result):
    """A puzzle with what became of its claims."""

    id: str
    claim: str
    verdict: str
    solution: SolutionResult


class PuzzleFile(Result):
    """The puzzles of a file with what became of their claims."""

    file: str
    checked: int
    holds: int
    refuted: int
    unknown: int
    without_claim: int
    nodes: int
    interrupted: bool = False
    puzzles: list[PuzzleResult]


def solution_result(solution: Solution) -> SolutionResult:
    """Return a solution as commands answer it."""
    later = solution.other_winning_moves
    return SolutionResult(
        variant=solution.variant.name,
        position=str(solution.position),
        status=solution.status,
        wdl=solution.wdl,
        dtm=solution.dtm,
        winner=solution.winner,
        line=[str(move) for move in solution.line],
        winning_moves=[str(move) for move in solution.winning_moves],
        other_winning_moves=None if later is None else [str(move) for move in later],
        open_moves=[str(move) for move in solution.open_moves],
        bounds={
            side: BoundsResult(win_within=bounds.win_within, no_win_within=bounds.no_win_within, never=bounds.never)
            for side, bounds in solution.bounds.items()
        },
        nodes=solution.nodes,
        seconds=round(solution.seconds, 3),
        source=solution.source,
        reason=solution.reason,
    )
