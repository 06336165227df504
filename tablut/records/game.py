"""What a game record says, whichever format it was written in.

A record is a claim. This module does not know the rules: `tablut.replay` checks the
moves, captures, positions and the result.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from tablut.errors import InputError
from tablut.position import MoveText, Position
from tablut.rules.outcome import GameResult
from tablut.store.files import brief, excerpt
from tablut.variants import Variant

RECORD_BYTES: Final = 8 << 20
"""Most bytes of a record that is read."""


class NoRulesError(InputError):
    """A record that names no rule set, read without one."""


@brief
@dataclass(frozen=True, slots=True)
class GameRecord:
    """A game as its record gives it; all readers of `tablut.formats` return one.

    Attributes
    ----------
    tags : mapping of str to str
        Who played, when and where. Names begin with a capital; ``White`` and ``Black``
        are the players in every format.
    variant : str, Variant or None
        Name of the rule set, or the rule set itself where the record spells it out;
        None if the record says nothing that names one.
    start : Position or None
        Where the game began; None for the start of the variant.
    moves : tuple of MoveText
        The moves with the captures that the record claims.
    result : {'white', 'black', 'draw'} or None
        Who won, as claimed; None if the record gives no result.
    positions : tuple of Position, or None
        The position after each move where the record has them all, else None.
    notes : tuple of str
        What the reader left out, one line each: variations, rejected moves, further games.
    warnings : tuple of str
        Where the reader took other rules than the record's, because the caller gave them.
    comments : mapping of int to str
        Comments by the number of moves made before each: 0 for one before the first move.
    marks : mapping of int to str
        Marks of moves such as ``?!`` or ``$6``, by ply, with a space between several.

    Examples
    --------
    >>> from tablut.position import MoveText
    >>> record = GameRecord({"White": "Anna"}, "ashton", None, (MoveText.parse("e4-f4", 9),), None)
    >>> str(record.moves[0]), record.result, record.positions
    ('e4-f4', None, None)
    """

    tags: Mapping[str, str] = field(hash=False)
    variant: str | Variant | None
    start: Position | None
    moves: tuple[MoveText, ...]
    result: GameResult | None
    positions: tuple[Position, ...] | None = None
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    comments: Mapping[int, str] = field(default_factory=dict, hash=False)
    marks: Mapping[int, str] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if self.positions is not None and len(self.positions) != len(self.moves):
            raise ValueError(f"{len(self.positions)} positions for {len(self.moves)} moves; expected one after each")


def start_under(start: Position | None, rules: Variant, what: str) -> Position | None:
    """Return where a game began, None for the start of its rules; refuse a board of another size."""
    if start is not None and start.size != rules.size:
        raise InputError(f"{what}: its board has side {start.size}, variant {rules.name!r} {rules.size}")
    return None if start is None or str(start) == rules.start_position else start


def overruled(own: Variant | None, given: Variant | None) -> tuple[str, ...]:
    """Return the warning that a record was read under other rules than its own."""
    if own is None or given is None or own.same_game(given):
        return ()
    return (f"record: is under {own.name!r}; it was read under {given.name!r} as you asked",)


def further_games(count: int) -> str:
    """Return the note on games of a file after the first."""
    return f"the file holds {count} more game{'s' * (count > 1)}; only the first was read"


# -- comments of a record's text, in time linear in its length -----------------------------


def commented(text: str, begin: str, end: str, what: str) -> Iterator[tuple[str, str]]:
    """Yield the stretches of a text between comments, each with the comment after it; comments do not nest."""
    place = 0
    while (opened := text.find(begin, place)) >= 0:
        closed = text.find(end, opened)
        if closed < 0:
            raise InputError(
                f"{what}: the comment {excerpt(text[opened : opened + 40])} does not end; expected {end!r}"
            )
        yield text[place:opened], text[opened + 1 : closed]
        place = closed + 1
    yield text[place:], ""
