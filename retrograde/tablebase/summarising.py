"""What a tablebase shows as a whole: the longest win of either side with each material, and all mutual zugzwangs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from retrograde.tablebase.querying import TableQuery, list_positions
from tablut.board import Board
from tablut.position import Position

if TYPE_CHECKING:
    from collections.abc import Callable

    from retrograde.tablebase.probing import Tablebase
    from retrograde.tablebase.querying import Listed
    from retrograde.tablebase.stored_tier import SideName
    from tablut.indexing.values import Verdict
    from tablut.position import Move

_SIDES: Final[tuple[SideName, ...]] = ("white", "black")


class LongestWin(NamedTuple):
    """A position in which a side takes longest to win."""

    material: tuple[int, int]
    winner: SideName
    position: Position
    dtm: int
    line: list[Move]


class MutualZugzwang(NamedTuple):
    """A placement in which either side would rather not be to move."""

    position: Position
    white: Verdict
    black: Verdict


class Zugzwangs(NamedTuple):
    """The mutual zugzwangs of some materials, up to symmetry."""

    full: int
    half: int
    listed: list[MutualZugzwang]


class Summary(NamedTuple):
    """What a tablebase shows."""

    longest: list[LongestWin]
    zugzwangs: Zugzwangs


def summarise(tablebase: Tablebase, most: int, tell: Callable[[int], None] = lambda _: None) -> Summary:
    """Return the longest wins of a tablebase and its mutual zugzwangs: O(entries)."""
    longest = [
        LongestWin(material, winner, found.position, found.dtm or 0, best_line(tablebase, found.position))
        for material in tablebase.store.tiers()
        for winner in _SIDES
        if (found := _longest(tablebase, material, winner, tell)) is not None
    ]
    return Summary(longest, _zugzwangs(tablebase, most, tell))


def best_line(tablebase: Tablebase, position: Position) -> list[Move]:
    """Return a line of best play by both sides."""
    board = Board(tablebase.variant, position)
    line: list[Move] = []
    while board.outcome() is None:
        line.append(tablebase.best_moves(board)[0].move)
        board.push(line[-1])
    return line


def _longest(
    tablebase: Tablebase, material: tuple[int, int], winner: SideName, tell: Callable[[int], None]
) -> Listed | None:
    """Return a position of a material in which a side takes longest to win."""
    found: list[Listed] = []
    for side in _SIDES:
        query = TableQuery("win" if side == winner else "loss", side, materials=(material,), order="longest")
        found += list_positions(tablebase.store, query, 1, tell).positions
    return max(found, key=lambda one: one.dtm or 0, default=None)


def _zugzwangs(tablebase: Tablebase, most: int, tell: Callable[[int], None]) -> Zugzwangs:
    full = half = 0
    listed: list[MutualZugzwang] = []
    # One material after the other: the index of all at once can take gigabytes.
    for material in tablebase.store.tiers():
        query = TableQuery(side="white", materials=(material,), zugzwang="any", order="longest")
        found = list_positions(tablebase.store, query, most, tell)
        some = [_with_both_sides(tablebase, one) for one in found.positions]
        if len(some) == found.found:
            lost = sum(one.white.wdl == one.black.wdl == "loss" for one in some)
        else:
            lost = list_positions(tablebase.store, query._replace(zugzwang="full"), 0, tell).found
        full, half = full + lost, half + found.found - lost
        listed = sorted([*listed, *some], key=lambda one: -1 if one.white.dtm is None else one.white.dtm, reverse=True)
        listed = listed[:most]
    return Zugzwangs(full, half, listed)


def _with_both_sides(tablebase: Tablebase, white: Listed) -> MutualZugzwang:
    black = tablebase.probe(Position(white.position.cells, "b"))
    return MutualZugzwang(white.position, white.verdict, black)
