"""Why a position is impossible: every reason at once, as flags.

A position is judged by its placement. `Status.VALID` means that no objection was found,
not that a game leads to it. Decided positions (an escaped king, no attacker left) are valid.
"""

from __future__ import annotations

from collections import Counter
from enum import IntFlag, auto
from typing import TYPE_CHECKING

from tablut.errors import InputError
from tablut.formats.reading import as_position
from tablut.variants import as_variant

if TYPE_CHECKING:
    from tablut.formats.reading import PositionLike
    from tablut.variants import VariantLike


class Status(IntFlag):
    """Reasons why a position is impossible or outside the rules.

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
        """Names of the flags that are set; empty for `VALID`."""
        return [flag.name for flag in type(self) if flag in self and flag.name]


UNPLAYABLE = (
    Status.NO_KING
    | Status.MANY_KINGS
    | Status.SOLDIER_ON_CASTLE
    | Status.SOLDIER_ON_CORNER
    | Status.KING_IN_CAMP
    | Status.DEFENDER_IN_CAMP
)
"""Reasons for which the rules do not apply: such a position cannot be played on and has no outcome."""

MEANINGS = {
    Status.NO_KING: "there is no king",
    Status.MANY_KINGS: "there is more than one king",
    Status.TOO_MANY_ATTACKERS: "there are more attackers than at the start",
    Status.TOO_MANY_DEFENDERS: "there are more defenders than at the start",
    Status.SOLDIER_ON_CASTLE: "a soldier stands on the castle",
    Status.SOLDIER_ON_CORNER: "a soldier stands on a corner that only a king may enter",
    Status.TOO_MANY_IN_CAMP: "a camp holds more attackers than started in it; nobody ever enters a camp",
    Status.KING_IN_CAMP: "the king stands in a camp",
    Status.DEFENDER_IN_CAMP: "a defender stands in a camp",
    Status.KING_OUT_OF_REACH: "the king stands where no game brings it",
    Status.ESCAPE_BLOCKED: "the king has escaped, but every way to its cell is blocked",
    Status.ESCAPED_ON_WHITE_TURN: "the king has escaped, so it was white that moved last",
    Status.NO_ATTACKERS_ON_WHITE_TURN: "the last attacker is gone, so it was white that moved last",
}


def reasons(status: Status) -> str:
    """Return the reasons of a status in words."""
    return "; ".join(meaning for flag, meaning in MEANINGS.items() if flag in status)


def check_playable(variant: VariantLike, position: PositionLike) -> Status:
    """Return the status of a position that the rules can be applied to, impossible or not."""
    variant = as_variant(variant)
    position = as_position(position, variant)
    status = position_status(variant, position)
    if fatal := status & UNPLAYABLE:
        raise InputError(f"position '{position}': cannot be played on: {reasons(fatal)} ({', '.join(fatal.names)})")
    return status


def position_status(variant: VariantLike, position: PositionLike) -> Status:
    """Return every reason why a position is impossible under a rule set."""
    variant = as_variant(variant)
    position = as_position(position, variant)
    regions, cells = variant.regions, position.cells
    kings = [cell for cell, piece in enumerate(cells) if piece == "K"]
    attackers, defenders = position.material
    in_camps = Counter(
        (camp.letter, cells[cell]) for camp in regions.camps for cell in camp.cells if cells[cell] != "."
    )
    status = Status.VALID

    def _note(flag: Status, holds: bool) -> None:
        nonlocal status
        if holds:
            status |= flag

    _note(Status.NO_KING, not kings)
    _note(Status.MANY_KINGS, len(kings) > 1)
    _note(Status.TOO_MANY_ATTACKERS, attackers > variant.attackers)
    _note(Status.TOO_MANY_DEFENDERS, defenders > variant.defenders)
    _note(Status.SOLDIER_ON_CASTLE, cells[regions.castle] in "bw")
    _note(Status.SOLDIER_ON_CORNER, any(cells[corner] in "bw" for corner in regions.royal_corners))
    _note(Status.TOO_MANY_IN_CAMP, any(in_camps[camp.letter, "b"] > camp.garrison for camp in regions.camps))
    _note(Status.KING_IN_CAMP, any(in_camps[camp.letter, "K"] for camp in regions.camps))
    _note(Status.DEFENDER_IN_CAMP, any(in_camps[camp.letter, "w"] for camp in regions.camps))
    escaped = False
    for king in kings:
        escaped = king in regions.escapes
        ways = regions.approaches.get(king, ())
        _note(Status.KING_OUT_OF_REACH, king not in regions.king_cells and not ways)
        open_way = any(all(cells[cell] == "." for cell in way) for way in ways)
        _note(Status.ESCAPE_BLOCKED, bool(ways) and not open_way)
    white_moved_last = position.side == "b"
    _note(Status.ESCAPED_ON_WHITE_TURN, escaped and not white_moved_last)
    _note(Status.NO_ATTACKERS_ON_WHITE_TURN, attackers == 0 and not white_moved_last)
    return status
