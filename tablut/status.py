"""Reasons why a position is impossible, as flags that can be combined.

Only the placement and the side to move are examined, so `Status.VALID` does not mean that the position can be reached
in a game. Decided positions (an escaped king, no attacker left) are valid.
"""

from __future__ import annotations

from collections import Counter
from enum import IntFlag, auto
from functools import reduce
from operator import or_

from tablut.errors import InputError
from tablut.formats.reading import PositionLike, as_position
from tablut.variants import VariantLike, as_variant

__all__ = ["MEANINGS", "UNPLAYABLE", "Status", "check_playable", "position_status", "reasons"]


class Status(IntFlag):
    """Flags for the reasons why a position is impossible or the game cannot continue from it.

    Examples
    --------
    >>> Status.NO_KING | Status.DEFENDER_IN_CAMP
    <Status.NO_KING|DEFENDER_IN_CAMP: 257>
    >>> (Status.NO_KING | Status.DEFENDER_IN_CAMP).names
    ['NO_KING', 'DEFENDER_IN_CAMP']
    """

    VALID = 0
    NO_KING = auto()
    MANY_KINGS = auto()
    TOO_MANY_ATTACKERS = auto()
    TOO_MANY_DEFENDERS = auto()
    SOLDIER_ON_CASTLE = auto()
    SOLDIER_ON_CORNER = auto()
    TOO_MANY_IN_CAMP = auto()
    KING_IN_CAMP = auto()
    DEFENDER_IN_CAMP = auto()
    KING_OUT_OF_REACH = auto()
    ESCAPE_BLOCKED = auto()
    ESCAPED_ON_WHITE_TURN = auto()
    NO_ATTACKERS_ON_WHITE_TURN = auto()

    @property
    def names(self) -> list[str]:
        """The names of the flags that are set; an empty list for `VALID`."""
        return [flag.name for flag in type(self) if flag in self and flag.name]


UNPLAYABLE = (
    Status.NO_KING
    | Status.MANY_KINGS
    | Status.SOLDIER_ON_CASTLE
    | Status.SOLDIER_ON_CORNER
    | Status.KING_IN_CAMP
    | Status.DEFENDER_IN_CAMP
)
"""The reasons that prevent play. The rules cannot be applied to a position with one of them, so it has no outcome."""

MEANINGS = {
    Status.NO_KING: "there is no king",
    Status.MANY_KINGS: "there is more than one king",
    Status.TOO_MANY_ATTACKERS: "there are more attackers than at the start",
    Status.TOO_MANY_DEFENDERS: "there are more defenders than at the start",
    Status.SOLDIER_ON_CASTLE: "a soldier stands on the castle",
    Status.SOLDIER_ON_CORNER: "a soldier stands on a corner that only a king may enter",
    Status.TOO_MANY_IN_CAMP: "a camp has more attackers than at the start, but no piece can enter a camp",
    Status.KING_IN_CAMP: "the king stands in a camp",
    Status.DEFENDER_IN_CAMP: "a defender stands in a camp",
    Status.KING_OUT_OF_REACH: "the king stands on a cell that it cannot reach",
    Status.ESCAPE_BLOCKED: "the king has escaped, but every way to its cell is blocked",
    Status.ESCAPED_ON_WHITE_TURN: "the king has escaped, so white must have moved last",
    Status.NO_ATTACKERS_ON_WHITE_TURN: "the last attacker is gone, so white must have moved last",
}


def reasons(status: Status) -> str:
    """Return the reasons in a status as text."""
    return "; ".join(meaning for flag, meaning in MEANINGS.items() if flag in status)


def check_playable(variant: VariantLike, position: PositionLike) -> Status:
    """Return the status of a position, or raise `InputError` if the game cannot continue from it."""
    variant = as_variant(variant)
    position = as_position(position, variant)
    status = position_status(variant, position)
    if fatal := status & UNPLAYABLE:
        raise InputError(
            f"cannot be played on: {reasons(fatal)} ({', '.join(fatal.names)})", subject=f"position '{position}'"
        )
    return status


def position_status(variant: VariantLike, position: PositionLike) -> Status:
    """Return all reasons why a position is impossible under a rule set."""
    variant = as_variant(variant)
    position = as_position(position, variant)
    regions, cells = variant.regions, position.cells
    kings = [cell for cell, piece in enumerate(cells) if piece == "K"]
    attackers, defenders = position.material
    in_camps = Counter(
        (camp.letter, cells[cell]) for camp in regions.camps for cell in camp.cells if cells[cell] != "."
    )
    ways = {king: regions.approaches.get(king, ()) for king in kings}
    open_to = {king: any(all(cells[cell] == "." for cell in way) for way in found) for king, found in ways.items()}
    white_to_move = position.side == "w"
    holds = {
        Status.NO_KING: not kings,
        Status.MANY_KINGS: len(kings) > 1,
        Status.TOO_MANY_ATTACKERS: attackers > variant.attackers,
        Status.TOO_MANY_DEFENDERS: defenders > variant.defenders,
        Status.SOLDIER_ON_CASTLE: any(cells[castle] in "bw" for castle in regions.castles),
        Status.SOLDIER_ON_CORNER: any(cells[corner] in "bw" for corner in regions.royal_corners),
        Status.TOO_MANY_IN_CAMP: any(in_camps[camp.letter, "b"] > camp.garrison for camp in regions.camps),
        Status.KING_IN_CAMP: any(in_camps[camp.letter, "K"] for camp in regions.camps),
        Status.DEFENDER_IN_CAMP: any(in_camps[camp.letter, "w"] for camp in regions.camps),
        Status.KING_OUT_OF_REACH: any(king not in regions.king_cells and not ways[king] for king in kings),
        Status.ESCAPE_BLOCKED: any(ways[king] and not open_to[king] for king in kings),
        Status.ESCAPED_ON_WHITE_TURN: white_to_move and any(king in regions.escapes for king in kings),
        Status.NO_ATTACKERS_ON_WHITE_TURN: white_to_move and attackers == 0,
    }
    return reduce(or_, (flag for flag, found in holds.items() if found), Status.VALID)
