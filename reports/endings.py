"""The page on the endings whose tables ship: the longest ones drawn with their best play, mutual zugzwangs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from reports.rendering import Artefact, drawing, page
from retrograde.cli.summary import info_of
from retrograde.tablebase.probing import open_tablebase, shipped_store
from retrograde.tablebase.querying import TableQuery, list_positions
from tablut import svg
from tablut.board import Board
from tablut.strip import draw_sheet, draw_strip

if TYPE_CHECKING:
    from retrograde.tablebase.probing import Tablebase
    from retrograde.tablebase.querying import Listed
    from tablut.position import Move

__all__ = ["artefacts"]

_GAMES: Final = ("ashton", "mcgill")
_PIXELS: Final = 200
_MOST_ZUGZWANGS: Final = 4


def artefacts() -> list[Artefact]:
    """Return the files of the page on endings."""
    tables, files = [], []
    for name in _GAMES:
        store = shipped_store(name)
        if store is None:
            continue
        tablebase = open_tablebase(store)
        longest = {side: _longest(tablebase, side) for side in ("white", "black")}
        zugzwangs = list_positions(tablebase.store, TableQuery(zugzwang="any", side="white"), _MOST_ZUGZWANGS)
        lines = {side: _best_play(tablebase, found) for side, found in longest.items()}
        tables.append(
            {
                "info": info_of(store).model_dump(),
                "longest": [(side, found, lines[side]) for side, found in longest.items()],
                "zugzwangs": zugzwangs.found,
            }
        )
        for side, found in longest.items():
            title = f"{side} wins in {found.dtm}"
            strip = draw_strip(tablebase.variant, found.position, lines[side], title=title, pixels=_PIXELS)
            files.append(drawing(f"figures/ending-{name}-{side}.svg", strip))
        if zugzwangs.positions:
            boards = [
                svg.board(
                    tablebase.variant,
                    one.position,
                    caption=f"either side, to move, loses: white in {one.dtm}",
                    pixels=300,
                )
                for one in zugzwangs.positions
            ]
            title = f"Mutual zugzwangs of {name}"
            files.append(drawing(f"figures/ending-{name}-zugzwang.svg", draw_sheet(boards, 2, 300, title)))
    return [page("endings.md", "endings.md.j2", tables=tables), *files]


def _longest(tablebase: Tablebase, side: Any) -> Listed:
    """Return the first of the longest wins with a side to move."""
    return list_positions(tablebase.store, TableQuery("win", side, order="longest"), 1).positions[0]


def _best_play(tablebase: Tablebase, found: Listed) -> list[Move]:
    """Return a line of best play by both sides, to the end."""
    board, line = Board(tablebase.variant, found.position), list[Any]()
    while board.outcome() is None:
        line.append(tablebase.best_moves(board)[0].move)
        board.push(line[-1])
    return line
