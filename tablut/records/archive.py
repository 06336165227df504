"""Archives of played games, one game on each line: its moves, the captures of each side, and the result.

    d2-e2 c4-c5 … f5-f4xe4,2,0,White

A file may contain a line of headings, quotes, blanks and capitals, and semicolons or tabs between the fields. The first
number counts the captures by the attackers, the second those by the defenders. ``White`` means the defenders; a result
may also be unfinished, or a win on time. Some archives count the ranks from the top of the page. `turned` returns the
same game with its ranks counted the other way, and `tablut.replay` determines which way is meant.
"""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from tablut.errors import InputError
from tablut.notation import FILES
from tablut.position import MoveText
from tablut.records.game import GameRecord
from tablut.rules.outcome import GameResult
from tablut.variants import Variant
from tablut.work.files import excerpt

_FIELDS: Final = 4
_LINE: Final = 1 << 18
"""Maximum length of a line in characters."""
_COUNT = re.compile(r"[0-9]{1,4}", re.ASCII)
_SQUARE = re.compile(rf"([a-{FILES[-1]}])([0-9]{{1,2}})", re.ASCII)
_GAME = re.compile(
    rf'[ \t"]{{0,9}}{_SQUARE.pattern}-?{_SQUARE.pattern}[^,;\n]*[,;\t] ?"?[0-9]{{1,4}}"? ?[,;\t]',
    re.ASCII | re.IGNORECASE,
)
_HEADED = 3
"""Number of lines within which the first game of an archive must occur."""
_RESULTS: Final[dict[str, GameResult]] = {"white": "white", "black": "black", "draw": "draw"}


@dataclass(frozen=True, slots=True)
class ArchivedGame:
    """A line of an archive, not yet interpreted: line number, moves, captures by attackers and defenders, result."""

    number: int
    moves: tuple[str, ...]
    captures: tuple[int, int]
    result: str

    @property
    def winner(self) -> GameResult | None:
        """The winner, or ``draw``, according to the recorded result; None for a game that did not end on the board."""
        return _RESULTS.get(self.result.lower())


def looks_like_archive(text: str) -> bool:
    """Return whether a text is an archive rather than another kind of record."""
    return any(_GAME.match(line) for line in text.lstrip().split("\n", _HEADED)[:_HEADED])


def read_archive(text: str) -> tuple[list[ArchivedGame], dict[int, str]]:
    """Return the games of an archive, and error messages about lines that could not be read, keyed by line number."""
    games: list[ArchivedGame] = []
    unread: dict[int, str] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip() or (not games and _SQUARE.search(line.lower()) is None):
            continue
        if len(line) > _LINE:
            unread[number] = f"has {len(line):,} characters; at most {_LINE:,} are read"
        elif (fields := _fields(line)) is None:
            way = "expected moves, captures by attackers, captures by defenders, result, separated by commas"
            unread[number] = f"{excerpt(line)}: {way}"
        else:
            moves, attackers, defenders, result = fields
            games.append(ArchivedGame(number, tuple(moves.lower().split()), (int(attackers), int(defenders)), result))
    return games, unread


def _fields(line: str) -> list[str] | None:
    for separator in ",;\t":
        try:
            (fields,) = csv.reader([line], delimiter=separator, skipinitialspace=True, strict=True)
        except csv.Error:
            continue
        fields = [field.strip() for field in fields]
        if len(fields) == _FIELDS and all(map(_COUNT.fullmatch, fields[1:3])):
            return fields
    return None


def record_of(game: ArchivedGame, variant: Variant, others: int = 0) -> GameRecord:
    """Return a game of an archive as a record, with a note on the number of other games in the archive."""
    moves = tuple(MoveText.parse(word, variant.size) for word in game.moves)
    notes = (f"the archive contains {others} other game{'s' * (others > 1)}",) if others else ()
    return GameRecord({}, variant, None, moves, game.winner, notes=notes)


def write_line(record: GameRecord, variant: Variant) -> str:
    """Return the line of an archive for a game. The captures counted are those that its moves name.

    The game must begin from the start position of its rules, because the format cannot express any other.
    """
    if record.start is not None or not record.moves:
        raise InputError("a line is a game of at least one move, from the start of its rules", subject="archive")
    black_first = variant.rules.first == "black"
    taken = [sum(len(said.captures or ()) for said in record.moves[side::2]) for side in (0, 1)]
    attackers, defenders = taken if black_first else reversed(taken)
    return f"{' '.join(map(str, record.moves))},{attackers},{defenders},{(record.result or 'ongoing').capitalize()}"


def turned(game: ArchivedGame, size: int) -> ArchivedGame:
    """Return a game with its ranks counted from the other edge of the page."""
    turn = partial(_SQUARE.sub, lambda square: f"{square[1]}{size + 1 - int(square[2])}")
    return replace(game, moves=tuple(map(turn, game.moves)))
