"""Archives of played games: a game a line, its moves, the captures of each side, the result.

    d2-e2 c4-c5 … f5-f4xe4,2,0,White

The captures are those by the attackers, then those by the defenders; ``White`` is the
defenders, and a result may be unfinished or a clock's. Some archives count the ranks
from the top of the page: `turned` gives the same game with its ranks counted the other
way, and `tablut.replay` finds out which is meant.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from tablut.errors import InputError
from tablut.notation import FILES
from tablut.records.game import GameRecord
from tablut.rules.outcome import GameResult
from tablut.store.files import excerpt
from tablut.variants import Variant

_FIELDS: Final = 4
_LINE: Final = 1 << 18
"""Most characters of a line."""
_COUNT = re.compile(r"[0-9]{1,4}", re.ASCII)
_FIRST = re.compile(
    rf"\s*[a-{FILES[-1]}][0-9]{{1,2}}-?[a-{FILES[-1]}][0-9]{{1,2}}\S*(?: [^,\n]*)?,[0-9]{{1,4}},", re.ASCII
)
_SQUARE = re.compile(rf"([a-{FILES[-1]}])([0-9]{{1,2}})", re.ASCII)
_RESULTS: Final[dict[str, GameResult]] = {"white": "white", "black": "black", "draw": "draw"}


@dataclass(frozen=True, slots=True)
class ArchivedGame:
    """A line of an archive, as it stands: the words of its moves, captures by attackers and defenders, the result."""

    number: int
    moves: tuple[str, ...]
    captures: tuple[int, int]
    result: str

    @property
    def winner(self) -> GameResult | None:
        """What the result says of the board; None for a game that was not finished on it."""
        return _RESULTS.get(self.result.lower())


def archive_text(content: bytes) -> str | None:
    """Return the text of a file that is an archive, None if it is another kind of record."""
    text = content.decode("utf-8-sig", "replace")
    return text if looks_like_archive(text) else None


def looks_like_archive(text: str) -> bool:
    """Return whether a text is an archive rather than another kind of record."""
    return _FIRST.match(text) is not None


def read_archive(text: str, origin: str) -> Iterator[ArchivedGame]:
    """Yield the games of an archive; a line that is none is refused."""
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        where = f"archive {excerpt(origin)}: line {number}"
        if len(line) > _LINE:
            raise InputError(f"{where}: has {len(line):,} characters; at most {_LINE:,} are read")
        try:
            (fields,) = csv.reader([line], strict=True)
        except csv.Error as error:
            raise InputError(f"{where}: {excerpt(line)}: {error}") from error
        if len(fields) != _FIELDS or not all(map(_COUNT.fullmatch, fields[1:3])):
            raise InputError(
                f"{where}: {excerpt(line)}: expected moves, captures by attackers, captures by defenders, result"
            )
        moves, attackers, defenders, result = fields
        yield ArchivedGame(number, tuple(moves.split()), (int(attackers), int(defenders)), result.strip())


def write_line(record: GameRecord, variant: Variant) -> str:
    """Return the line of a game from the start of its rules; captures are those that its moves name."""
    if record.start is not None or not record.moves:
        raise InputError("archive: a line holds a game of one move or more, from the start of its rules")
    black_first = variant.rules.first == "black"
    taken = [sum(len(said.captures or ()) for said in record.moves[side::2]) for side in (0, 1)]
    attackers, defenders = taken if black_first else reversed(taken)
    return f"{' '.join(map(str, record.moves))},{attackers},{defenders},{(record.result or 'ongoing').capitalize()}"


def turned(game: ArchivedGame, size: int) -> ArchivedGame:
    """Return a game with its ranks counted from the other edge of the page."""
    turn = partial(_SQUARE.sub, lambda square: f"{square[1]}{size + 1 - int(square[2])}")
    return replace(game, moves=tuple(map(turn, game.moves)))
