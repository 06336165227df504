"""Contents of a game record, independent of the file format. `tablut.replay` checks them against the rules."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from tablut.errors import InputError
from tablut.position import MoveText, Position
from tablut.rules.outcome import GameResult
from tablut.variants import Variant
from tablut.work.files import brief, excerpt

RECORD_BYTES: Final = 8 << 20
"""Maximum size of a record in bytes."""


class NoRulesError(InputError):
    """Error for a record without rules. ``example`` is the name of a rule set that the user may choose."""

    def __init__(self, problem: str = "", *, subject: str = "", example: str = "ashton") -> None:
        super().__init__(problem, subject=subject)
        self.example = example


@brief
@dataclass(frozen=True, slots=True)
class GameRecord:
    """A game as its record describes it. All readers of records return this class.

    - ``tags``: Players (``White`` and ``Black``), date, place and so on. Names begin with a capital.
    - ``variant``: Name of the rule set, the rule set itself if the record spells it out, or None.
    - ``start``: First position of the game, or None for the variant's start position.
    - ``moves``, ``result``: The moves with the captures and the result that the record claims.
    - ``positions``: The position after each move if the record contains all of these positions, else None.
    - ``notes``: Descriptions of omitted contents, such as variations, rejected moves or further games.
    - ``warnings``: Warnings that the caller's rules replaced those of the record, or about unknown tags.
    - ``comments``: Comments, keyed by the number of moves before them: 0 for a comment before the first move.
    - ``marks``: Annotation marks such as ``?!`` or ``$6``, keyed by ply; several marks are separated by spaces.
    - ``problems``: Contradictions in the record itself, such as two different results, which are left out.
    - ``first_number``: Number of the first move, which may exceed 1 if the game begins from another position.
    - ``variations``: Texts of variations, each with the number of moves before it. Their moves are not read.

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
    problems: tuple[str, ...] = ()
    first_number: int = 1
    variations: tuple[tuple[int, str], ...] = ()

    def __post_init__(self) -> None:
        if self.positions is not None and len(self.positions) != len(self.moves):
            raise ValueError(f"{len(self.positions)} positions for {len(self.moves)} moves; expected as many")


def player_name(text: str) -> str:
    """Return a player's name in the form in which names are compared: composed letters and single blanks."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def start_under(start: Position | None, rules: Variant, what: str) -> Position | None:
    """Return the first position of a game, or None if it is the rules' start position."""
    if start is not None and start.size != rules.size:
        raise InputError(f"its board has side {start.size}, but that of {rules.name!r} has {rules.size}", subject=what)
    return None if start is None or str(start) == rules.start_position else start


def overruled(own: Variant | None, given: Variant | None) -> tuple[str, ...]:
    """Return a tuple with a warning if a record was read under rules other than its own, else an empty tuple."""
    if own is None or given is None or own.same_game(given):
        return ()
    return (f"record: names the rules {own.name!r}, but was read under {given.name!r} as requested",)


def first_game(games: Iterable[GameRecord | InputError]) -> GameRecord:
    """Return the first game of a file, with a note that states the number of further games."""
    first, *others = games
    if isinstance(first, InputError):
        raise first
    return replace(first, notes=(*first.notes, further_games(len(others)))) if others else first


def further_games(count: int) -> str:
    """Return a note that states how many further games in a file were not read."""
    return f"the file contains {count} more game{'s' * (count > 1)}; only the first was read"


# -- search for the comments in a record, in linear time -----------------------------------


def commented(text: str, begin: str, end: str, what: str) -> Iterator[tuple[str, str]]:
    """Yield each piece of text between comments, together with the comment that follows it. Comments do not nest."""
    place = 0
    while (opened := text.find(begin, place)) >= 0:
        closed = text.find(end, opened)
        if closed < 0:
            raise InputError(
                f"the comment {excerpt(text[opened : opened + 40])} does not end; expected {end!r}", subject=what
            )
        yield text[place:opened], text[opened + 1 : closed]
        place = closed + 1
    yield text[place:], ""
