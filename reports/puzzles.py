"""Page on the built-in puzzles: a drawing of every position, and every puzzle's proved solution.

The page is rendered from the stored output of ``tablut puzzle solve collection --json`` in ``reports/data/puzzles``.
"""

from __future__ import annotations

from typing import Any

from reports.rendering import Artefact, check_line, drawing, hold, page, read_stored
from retrograde.answers import PuzzleFile
from retrograde.puzzles.puzzle_file import Puzzle, collection_names, read_puzzles
from tablut import svg
from tablut.position import Move
from tablut.results import Result
from tablut.strip import draw_sheet, draw_strip
from tablut.variants import load_variant, shipped_variants

_PIXELS = 200
_STRIPS = ("clear-edge", "safe-edge", "corner-capture")
"""Further puzzles whose solutions are drawn as strips. Each file's longest puzzle is always drawn."""


def results() -> dict[str, Any]:
    """Return the stored solutions, which are the output of ``tablut puzzle solve collection --json``."""
    return read_stored("puzzles", "collection", PuzzleFile, _check)


def _check(stored: PuzzleFile, _name: str) -> None:
    """Compare the solutions with the built-in puzzles, and replay the lines of play."""
    shipped = {puzzle.id: puzzle for name in collection_names() for puzzle in read_puzzles(name)}
    hold([puzzle.id for puzzle in stored.puzzles] == list(shipped), "puzzles: are not the built-in ones")
    if stored.checked != len(stored.puzzles) or stored.nodes != sum(proved.solution.nodes for proved in stored.puzzles):
        raise ValueError("checked or nodes: is not the sum of the puzzles")
    for proved in stored.puzzles:
        puzzle, solution = shipped[proved.id], proved.solution
        if (solution.variant, solution.position) != (puzzle.variant, str(puzzle.position)):
            raise ValueError(f"puzzle {proved.id!r}: is another position")
        hold(solution.dtm is not None and solution.winner in ("white", "black"), f"puzzle {proved.id!r}: is not solved")
        check_line(solution.variant, solution.position, solution.line)


class PuzzleEffort(Result):
    """Number of nodes after which the engine finds a puzzle's first move, or None if it does not find it."""

    id: str
    nodes: int | None


class PuzzleEfforts(Result):
    """How hard the puzzles are for the engine without a tablebase: its ``limit`` in nodes, and what it needed."""

    limit: int
    puzzles: list[PuzzleEffort]


def efforts() -> dict[str, int]:
    """Return the number of nodes that the engine needs for each puzzle, keyed by its id.

    If the engine does not find a puzzle's first move, this is twice the limit of the search.
    """
    stored = read_stored("puzzles", "effort", PuzzleEfforts, lambda _, __: None)
    return {puzzle["id"]: puzzle["nodes"] or 2 * stored["limit"] for puzzle in stored["puzzles"]}


def artefacts() -> list[Artefact]:
    """Return the files for the page on puzzles."""
    stored = results()
    solutions = {puzzle["id"]: puzzle["solution"] for puzzle in stored["puzzles"]}
    files = {name: read_puzzles(name) for name in collection_names()}
    strips = [puzzle for puzzles in files.values() for puzzle in puzzles if puzzle.id in _STRIPS]
    strips += [_longest(puzzles, solutions) for name, puzzles in files.items() if name != "patterns"]
    return [
        page(
            "puzzles.md",
            "puzzles.md.j2",
            files=[(name, [(puzzle, solutions[puzzle.id]) for puzzle in puzzles]) for name, puzzles in files.items()],
            strips=strips,
            stored=stored,
            depths=_depths(files, solutions),
        ),
        *(drawing(f"figures/puzzles-{name}.svg", _sheet(name, puzzles)) for name, puzzles in files.items()),
        drawing("figures/legend.svg", svg.legend(shipped_variants())),
        *(drawing(f"figures/puzzle-{puzzle.id}.svg", _strip(puzzle, solutions[puzzle.id])) for puzzle in strips),
    ]


def _longest(puzzles: list[Puzzle], solutions: dict[str, Any]) -> Puzzle:
    return max(puzzles, key=lambda puzzle: solutions[puzzle.id]["dtm"])


def _depths(files: dict[str, list[Puzzle]], solutions: dict[str, Any]) -> list[dict[str, Any]]:
    """Return, for each distance, the numbers of puzzles in each file that white wins and that black wins."""
    found = sorted({solutions[puzzle.id]["dtm"] for puzzles in files.values() for puzzle in puzzles})
    rows = []
    for plies in found:
        counts = []
        for puzzles in files.values():
            winners = [solutions[puzzle.id]["winner"] for puzzle in puzzles if solutions[puzzle.id]["dtm"] == plies]
            counts.append((winners.count("white"), winners.count("black")))
        rows.append({"plies": plies, "counts": counts})
    return rows


def _sheet(name: str, puzzles: list[Puzzle]) -> str:
    boards = [
        svg.board(
            load_variant(puzzle.variant),
            puzzle.position,
            caption=f"{puzzle.id}: {puzzle.stipulation}",
            turn=True,
            pixels=_PIXELS,
        )
        for puzzle in puzzles
    ]
    return draw_sheet(boards, 4, _PIXELS, f"The puzzles of the file {name}")


def _strip(puzzle: Puzzle, solution: dict[str, Any]) -> str:
    variant = load_variant(puzzle.variant)
    line = [Move.parse(move, variant.size) for move in solution["line"]]
    return draw_strip(variant, puzzle.position, line, title=str(puzzle.stipulation), pixels=_PIXELS)
