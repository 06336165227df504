"""The page on Brandubh's openings, rendered from the study's data and certificates."""

from __future__ import annotations

from typing import Any

from reports.rendering import Artefact, drawing, page
from reports.studies.openings.deciding import GAME, Decided, Opening, openings, read_findings
from tablut import svg

_PIXELS = 260


def artefacts() -> list[Artefact]:
    """Return the page and its boards."""
    sources, listed = openings()
    findings = read_findings()
    rows: list[dict[str, Any]] = []
    boards = []
    for opening in listed:
        found = findings.get(opening.name)
        line = [] if found is None else found.line
        figure = f"figures/{opening.file.partition('.')[0]}.svg"
        whole = None if found is None or found.part_of is None else findings[found.part_of].status == "proved"
        row = {"opening": opening, "found": found, "line": line, "figure": figure, "whole": whole}
        rows.append({**row, "through": _checked_above(opening, findings)})
        if line and opening.listed:
            board = opening.board()
            arrows = [line[0].partition("x")[0]]
            boards.append(drawing(figure, svg.board(board, arrows=arrows, turn=True, pixels=_PIXELS)))
    answers = {one.moves: _answers(rows, one.moves) for one in listed if one.every}
    values = {"rows": rows, "sources": sources, "game": GAME, "tree": _tree(rows), "answers": answers}
    return [page("page.md", "page.md.j2", _folder="studies/openings", **values), *boards]


def _checked_above(opening: Opening, findings: dict[str, Decided]) -> str | None:
    """Return an earlier opening with a checked proof whose main line passes through the given opening, or None.

    The proof of the earlier opening also proves the given one.
    """
    moves = opening.moves.split()
    for count in range(1, len(moves)):
        above = findings.get(" ".join(moves[:count]))
        played = [] if above is None or not above.checked else [move.partition("x")[0] for move in above.line]
        if played and played[: len(moves) - count] == moves[count:]:
            return " ".join(moves[:count])
    return None


def _answers(rows: list[dict[str, Any]], moves: str) -> str:
    """Return how many of the moves after an opening are proved to lose, in the form ``3 of 12``."""
    after = [one["found"] for one in rows if one["opening"].moves.rpartition(" ")[0] == moves]
    return f"{sum(one is not None and one.status == 'proved' for one in after)} of {len(after)}"


def _tree(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the openings in depth-first order, each with its depth in the tree of openings."""
    found: list[dict[str, Any]] = []
    above: list[str] = []
    for row in sorted((one for one in rows if one["opening"].moves), key=lambda one: one["opening"].moves.split()):
        moves = row["opening"].moves
        while above and not moves.startswith(above[-1] + " "):
            above.pop()
        found.append({**row, "depth": len(above), "shown": moves.removeprefix(above[-1] + " " if above else "")})
        above.append(moves)
    return found
