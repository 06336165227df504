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

__all__ = ["LongestWin", "MutualZugzwang", "Summary", "Zugzwangs", "best_line", "summarise"]

_SIDES: Final[tuple[SideName, ...]] = ("white", "black")


class LongestWin(NamedTuple):
    """A position in which a side takes longest to win.

    Attributes
    ----------
    material : (int, int)
        Attackers and defenders.
    winner : {'white', 'black'}
        Who wins, to move or not.
    position : Position
        The first of its kind in the order of the index.
    dtm : int
        Plies to the end under best play.
    line : list of Move
        Best play by both sides, to the end.
    """

    material: tuple[int, int]
    winner: SideName
    position: Position
    dtm: int
    line: list[Move]


class MutualZugzwang(NamedTuple):
    """A placement in which either side would rather not be to move.

    Attributes
    ----------
    position : Position
        With white to move.
    white, black : Verdict
        What white, or black, gets that has to move.
    """

    position: Position
    white: Verdict
    black: Verdict


class Zugzwangs(NamedTuple):
    """The mutual zugzwangs of some materials, up to symmetry.

    Attributes
    ----------
    full : int
        Placements in which whoever is to move loses.
    half : int
        Those in which the move costs a draw.
    listed : list of MutualZugzwang
        The first of them: white's longest losses first, then what is not lost.
    """

    full: int
    half: int
    listed: list[MutualZugzwang]


class Summary(NamedTuple):
    """What a tablebase shows.

    Attributes
    ----------
    longest : list of LongestWin
        By material, white's before black's; a side that never wins has none.
    zugzwangs : Zugzwangs
        Of all materials.
    """

    longest: list[LongestWin]
    zugzwangs: Zugzwangs


def summarise(tablebase: Tablebase, most: int, tell: Callable[[int], None] = lambda _: None) -> Summary:
    """Return the longest wins of a tablebase and its mutual zugzwangs: O(entries).

    Parameters
    ----------
    tablebase : Tablebase
        What is looked through.
    most : int
        Mutual zugzwangs to be listed; all are counted.
    tell : callable
        Told again and again how many more entries have been read.

    Returns
    -------
    Summary
        One position of each class under the symmetries of the board.

    Raises
    ------
    MissingTableError
        If a line of best play leads to a material that is not there.
    TablebaseError
        If the tablebase is damaged.

    Examples
    --------
    >>> from retrograde.tablebase.probing import open_tablebase, shipped_store
    >>> summary = summarise(open_tablebase(shipped_store("brandubh-5-4v0")), 10)
    >>> [(won.winner, won.dtm, str(won.position)) for won in summary.longest][-1]
    ('black', 11, '5/b3b/1b3/1K3/1b3 b')
    >>> summary.zugzwangs.full, summary.zugzwangs.half
    (2, 4)
    """
    longest = [
        LongestWin(material, winner, found.position, found.dtm or 0, best_line(tablebase, found.position))
        for material in tablebase.store.tiers()
        for winner in _SIDES
        if (found := _longest(tablebase, material, winner, tell)) is not None
    ]
    return Summary(longest, _zugzwangs(tablebase, most, tell))


def best_line(tablebase: Tablebase, position: Position) -> list[Move]:
    """Return a line of best play by both sides.

    Parameters
    ----------
    tablebase : Tablebase
        Covers everything that the position leads to.
    position : Position
        Undecided, and won for one side.

    Returns
    -------
    list of Move
        The first of the best moves of each position, to the end.

    Raises
    ------
    MissingTableError
        If the line leads to a material that is not covered.

    Examples
    --------
    >>> from retrograde.tablebase.probing import prober_for
    >>> position = Position.parse("9/9/9/4w4/2K6/9/9/9/4b4 b", 9)
    >>> " ".join(map(str, best_line(prober_for("ashton"), position)))
    'e1-a1 c5-c1'
    """
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
