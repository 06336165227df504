"""The page on the endings whose tables ship: the longest wins and their best play, mutual zugzwangs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from reports.rendering import Artefact, drawing, page
from retrograde.cli.summary import info_of
from retrograde.tablebase.probing import open_tablebase, shipped_store
from retrograde.tablebase.querying import TableQuery, list_positions
from tablut import svg
from tablut.board import Board
from tablut.position import Position
from tablut.strip import draw_sheet

if TYPE_CHECKING:
    from retrograde.tablebase.probing import Tablebase
    from retrograde.tablebase.querying import Listed
    from tablut.position import Move

__all__ = ["artefacts"]

_GAMES: Final = ("ashton", "mcgill", "brandubh")
_PIXELS: Final = 300
_ZUGZWANG_MEN: Final = 4
"""Most men of the mutual zugzwangs: every entry is looked at, and five men have too many for a page."""
_MOST_ZUGZWANGS: Final = 4


def artefacts() -> list[Artefact]:
    """Return the files of the page on endings."""
    tables, files = [], []
    for name in _GAMES:
        store = shipped_store(name)
        if store is None:
            continue
        tablebase = open_tablebase(store)
        longest = {side: found for side in ("white", "black") if (found := _longest(tablebase, side)) is not None}
        lines = {side: _best_play(tablebase, found) for side, found in longest.items()}
        zugzwangs = _zugzwangs(tablebase)
        tables.append(
            {
                "info": info_of(store).model_dump(),
                "longest": [(side, found, lines[side]) for side, found in longest.items()],
                "zugzwangs": zugzwangs,
                "zugzwang_men": _ZUGZWANG_MEN,
            }
        )
        boards = [
            svg.board(
                tablebase.variant,
                found.position,
                arrows=lines[side][:1],
                caption=f"{side} wins in {found.dtm}",
                turn=True,
                pixels=_PIXELS,
            )
            for side, found in longest.items()
        ]
        files.append(_sheet(f"ending-{name}-longest", boards, f"The longest wins of {name}"))
        if zugzwangs["placements"]:
            boards = [
                svg.board(tablebase.variant, position, caption="; ".join(words), pixels=_PIXELS)
                for position, words in zugzwangs["placements"]
            ]
            files.append(_sheet(f"ending-{name}-zugzwang", boards, f"Mutual zugzwangs of {name}"))
    return [page("endings.md", "endings.md.j2", tables=tables), *files]


def _sheet(name: str, boards: list[str], title: str) -> Artefact:
    return drawing(f"figures/{name}.svg", draw_sheet(boards, 2, _PIXELS, title))


def _longest(tablebase: Tablebase, side: Any) -> Listed | None:
    """Return the first of the longest wins with a side to move."""
    return next(iter(list_positions(tablebase.store, TableQuery("win", side, order="longest"), 1).positions), None)


def _best_play(tablebase: Tablebase, found: Listed) -> list[Move]:
    """Return a line of best play by both sides, to the end."""
    board, line = Board(tablebase.variant, found.position), list[Any]()
    while board.outcome() is None:
        line.append(tablebase.best_moves(board)[0].move)
        board.push(line[-1])
    return line


def _zugzwangs(tablebase: Tablebase) -> dict[str, Any]:
    """Return how many placements of few men are mutual zugzwangs, and some of them with what either side gets."""
    few = tuple(material for material in tablebase.store.tiers() if 1 + sum(material) <= _ZUGZWANG_MEN)
    counts, placements = {}, []
    for kind in ("full", "half"):
        query = TableQuery(side="white", materials=few, zugzwang=kind, order="longest")
        listing = list_positions(tablebase.store, query, _MOST_ZUGZWANGS // 2)
        counts[kind] = listing.found
        for one in listing.positions:
            black = tablebase.probe(Position(one.position.cells, "b"))
            words = [
                f"{side} to move: {_words(wdl, dtm)}" for side, (wdl, dtm) in (("white", one[1:]), ("black", black))
            ]
            placements.append((one.position, words))
    return {**counts, "placements": placements}


def _words(wdl: str, dtm: int | None) -> str:
    return wdl if dtm is None else f"{wdl} in {dtm}"
