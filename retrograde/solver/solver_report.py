"""Reports on the complete solution of a game, for the terminal, for ``--json`` and for the report pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from retrograde.solver.solution import SolvedGame, ValueCounts, solve_game
from tablut.indexing import PlacementIndex
from tablut.indexing.values import is_loss, plies_of, unforced
from tablut.position import SIDES, Position
from tablut.results import Result
from tablut.variants import as_variant

if TYPE_CHECKING:
    from pathlib import Path

    from tablut.indexing.values import Verdict
    from tablut.variants import VariantLike
    from tablut.work.progress import Observer


class SideCounts(Result):
    """Numbers of positions with one side to move, by their value for that side."""

    win: int
    draw: int
    loss: int
    unresolved: int = 0


class BothSides(Result):
    """Numbers of positions by value, for each side to move."""

    white_to_move: SideCounts
    black_to_move: SideCounts


class DistanceCount(Result):
    """Number of positions with a certain value for the side to move."""

    side: str
    wdl: str
    dtm: int
    positions: int
    classes: int


class TierCounts(BothSides):
    """Numbers of reachable positions in one tier, and the number of positions that the bound counts there.

    The numbers of wins, draws and losses count positions, not classes.
    """

    attackers: int
    defenders: int
    positions: int
    classes: int
    bound: int
    max_dtm: int


class Line(Result):
    """A position, its value, and best play from there to the end of the game."""

    position: str
    wdl: str
    dtm: int | None
    line: list[str]


class SolveReport(BothSides):
    """Result of ``tablut solve``."""

    variant: str
    positions: int
    classes: int
    symmetries: list[str]
    by_class: BothSides
    value: str
    dtm: int | None
    max_dtm: int
    start: Line
    longest: Line | None
    distances: list[DistanceCount]
    tiers: list[TierCounts]
    bound: int
    mutual_zugzwangs: dict[str, int]


def solve_report(
    variant: VariantLike, *, threads: int = 1, store: Path | str | None = None, observer: Observer | None = None
) -> tuple[SolveReport, SolvedGame]:
    """Solve a reduced board. Return a report on the solution, and the solution itself."""
    variant = as_variant(variant)
    solved = solve_game(variant, threads=threads, store=store, observer=observer)
    start = Position.parse(variant.start_position, variant.size)
    verdict = solved.probe(start)
    longest = solved.deepest()
    everything = solved.total()
    bounds = PlacementIndex(variant).tiers
    report = SolveReport(
        variant=variant.name,
        positions=int(everything.positions.sum()),
        classes=int(everything.classes.sum()),
        symmetries=[symmetry.name for symmetry in solved.group],
        **_both(solved, None, up_to_symmetry=False),
        by_class=BothSides(**_both(solved, None, up_to_symmetry=True)),
        value=_winner(start, verdict),
        dtm=verdict.dtm,
        max_dtm=everything.deepest(),
        start=_line(solved, start),
        longest=None if longest is None else _line(solved, longest),
        distances=_distances(solved),
        tiers=[
            TierCounts(
                attackers=material[0],
                defenders=material[1],
                positions=int(counts.positions.sum()),
                classes=int(counts.classes.sum()),
                bound=2 * bounds[material].size,
                max_dtm=counts.deepest(),
                **_both(solved, material, up_to_symmetry=False),
            )
            for material, counts in ((material, solved.total(material=material)) for material in bounds)
        ],
        bound=2 * sum(tier.size for tier in bounds.values()),
        mutual_zugzwangs=solved.mutual_zugzwangs,
    )
    return report, solved


def _both(solved: SolvedGame, material: tuple[int, int] | None, *, up_to_symmetry: bool) -> dict[str, SideCounts]:
    found = {}
    for side in SIDES:
        win, neither, loss = solved.total(side, material).totals(up_to_symmetry=up_to_symmetry)
        unresolved = unforced(solved.variant) == "unresolved"
        found[f"{side}_to_move"] = SideCounts(
            win=win, draw=0 if unresolved else neither, loss=loss, unresolved=neither if unresolved else 0
        )
    return found


def _winner(position: Position, verdict: Verdict) -> str:
    if verdict.dtm is None:
        return verdict.wdl
    return "white" if (verdict.wdl == "win") == (position.side == "w") else "black"


def _line(solved: SolvedGame, position: Position) -> Line:
    verdict = solved.probe(position)
    return Line(
        position=str(position), wdl=verdict.wdl, dtm=verdict.dtm, line=[str(move) for move in solved.line(position)]
    )


def _distances(solved: SolvedGame) -> list[DistanceCount]:
    found = []
    for side in SIDES:
        counts: ValueCounts = solved.total(side)
        found += [
            DistanceCount(
                side=side,
                wdl="loss" if is_loss(code) else "win",
                dtm=plies_of(code),
                positions=int(counts.positions[code]),
                classes=int(counts.classes[code]),
            )
            for code in (1 + np.flatnonzero(counts.classes[1:])).tolist()
        ]
    return found
