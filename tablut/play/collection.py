"""Collections of games, which can be searched by position for the moves that were played and their results.

A collection is a single SQLite file. `write_collection` creates one from game records and archives of every supported
kind, and from other collections. `open_collection` opens one as a `Collection`, which is queried by position. Positions
that differ only by a symmetry of the rules count as one position. An opening book is a collection too.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tablut.board import Board
from tablut.errors import InputError, MachineError, TablutError, input_failure, output_failure
from tablut.formats.game import GameRecord, player_name
from tablut.formats.native import parsed_move
from tablut.position import Move, Position
from tablut.records import decoded
from tablut.replay import MOST_PLIES, read_games, replay
from tablut.results import Result
from tablut.rules.outcome import GameResult
from tablut.variants import Variant, as_variant, shipped_variant, variant_names
from tablut.variants.schema import parse_variant, write_variant
from tablut.work.files import check_output, excerpt, read_bytes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tablut.env import Batch
    from tablut.work.progress import Observer

# -- the file -------------------------------------------------------------------------------

# A row of `visits` lists the games that reached a position, as an array of `_VISIT`. The row stores the least image of
# the position under the symmetries of the rules, packed in the engine's format with the highest byte first. A move is
# stored as START * CELLS + TARGET. If several symmetries map the position to the stored image, the least image of the
# move under these symmetries is stored. `_ENDED` marks a game whose record ends in the position, and `_CUT` one whose
# next move is illegal or is not indexed. Large collections are written in several parts, each of which is sorted.


_TABLES: Final = (
    "CREATE TABLE rules (id INTEGER PRIMARY KEY, name TEXT, toml TEXT)",
    "CREATE TABLE games (id INTEGER PRIMARY KEY, rules INTEGER, file TEXT, number INTEGER, white TEXT, black TEXT, "
    "date TEXT, result TEXT, start TEXT, moves TEXT)",
    "CREATE TABLE visits (rules INTEGER, position BLOB, part INTEGER, games BLOB, "
    "PRIMARY KEY (rules, position, part)) WITHOUT ROWID",
    "CREATE INDEX whites ON games (white)",
    "CREATE INDEX blacks ON games (black)",
)
_KIND: Final = 0x54414647
"""The ``application_id`` of the SQLite file."""
_VISIT: Final = np.dtype([("game", "<u4"), ("move", "<u4"), ("ply", "<u2"), ("result", "u1")])
_ENDED: Final = 0xFFFFFFFF
_CUT: Final = 0xFFFFFFFE
_RESULTS: Final[tuple[GameResult | None, ...]] = (None, "white", "black", "draw")
FILE_BYTES: Final = 512 << 20
"""Maximum size in bytes of a file that is read into a collection."""
_BATCH, _PENDING, _PART = 512, 8192, 2_000_000
"""Number of games replayed in parallel, number of games read before they are replayed, and number of visits after which
a part is written."""


def is_collection(path: Path) -> bool:
    """Return whether a file is an SQLite file rather than text. Raise `InputError` if the file cannot be read."""
    try:
        if not path.is_file() and path.exists():  # a folder, a pipe or a device
            return False
        with path.open("rb") as file:
            return file.read(16) == b"SQLite format 3\0"
    except (OSError, ValueError) as error:
        failure = error if isinstance(error, OSError) else OSError(22, str(error))
        raise input_failure(f"file {excerpt(str(path))}", failure) from error


@cache
def _images(variant: Variant) -> tuple[tuple[int, ...], ...]:
    return tuple(symmetry.table for symmetry in variant.symmetries)


def key_of(variant: Variant, position: Position) -> tuple[bytes, list[tuple[int, ...]]]:
    """Return a position's key, and the symmetries that map the position to the image described by the key.

    Positions have the same key if and only if a symmetry of the rules maps one to the other.
    """
    cells = len(position.cells)
    side = (position.side == "b") << (2 * cells + (cells - 1).bit_length())
    found: dict[int, list[tuple[int, ...]]] = defaultdict(list)
    for table in _images(variant):
        bits = side
        for cell, letter in enumerate(position.cells):
            if letter != ".":
                bits |= table[cell] << 2 * cells if letter == "K" else 1 << table[cell] + cells * (letter == "w")
        found[bits].append(table)
    least = min(found)
    return least.to_bytes(_key_bytes(cells), "big"), found[least]


def _key_bytes(cells: int) -> int:
    return (2 * cells + (cells - 1).bit_length() + 8) // 8


def _code(move: Move, images: Iterable[Sequence[int]]) -> int:
    """Return a move as a number: the least code of its images under the given symmetries."""
    return min(table[move.start] * move.size**2 + table[move.target] for table in images)


# -- writing --------------------------------------------------------------------------------


class UnreadGame(Result):
    """A game that was not read, was read only up to an illegal move or contradicts itself, and the reason.

    The number is 0 if the file contains no game.
    """

    file: str
    number: int
    why: str


_text = lru_cache(1 << 14)(Move.__str__)


class _Found(NamedTuple):
    """A game that is to be added to a collection, and the place where it was found."""

    file: str
    number: int
    record: GameRecord

    def row(self, rules: int) -> tuple[Any, ...]:
        """Return the game as a row of the table ``games``, without its id."""
        tags, start = self.record.tags, self.record.start
        names = [*(player_name(tags.get(name, "")) for name in ("White", "Black")), tags.get("Date", "")]
        moves = " ".join(_text(said.move) for said in self.record.moves)
        return rules, self.file, self.number, *names, self.record.result, start and str(start), moves


def write_collection(
    target: Path, sources: Sequence[Path], variant: Variant | None, observer: Observer, *, plies: int | None = None
) -> list[UnreadGame]:
    """Write the games from files, folders and other collections to a new collection. Return the games not read.

    Parameters
    ----------
    target : Path
        Collection file to write. An existing file is replaced.
    sources : sequence of Path
        Files of any supported kind, collections, and folders of these.
    variant : Variant or None
        Rules to use instead of the rules named in the records.
    observer : Observer
        Receives progress reports: the number of games read so far.
    plies : int, optional
        Number of plies of each game to index. By default, the whole game is indexed.

    Returns
    -------
    list of UnreadGame
        Games and files that could not be read, and games with an illegal move. A game with an illegal move is in the
        collection nevertheless, up to the position before this move.
    """
    check_output(target)
    if os.path.realpath(target) in map(os.path.realpath, sources):
        raise InputError("is one of the sources", subject=f"output file {str(target)!r}", remedy="choose another file")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".tmp")
        os.close(descriptor)
        try:
            with closing(sqlite3.connect(name, isolation_level=None)) as connection:
                unread = _Writer(connection, plies).write(_files_of(sources, target), variant, observer)
            Path(name).chmod(0o644)
            Path(name).replace(target)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except (OSError, sqlite3.OperationalError) as error:
        if isinstance(error, TablutError):  # about a source
            raise
        failure = error if isinstance(error, OSError) else OSError(28, str(error))
        raise output_failure(f"output file {str(target)!r}", failure) from error
    return unread


def _files_of(sources: Iterable[Path], target: Path) -> Iterator[tuple[Path, bool]]:
    """Yield each file once, and whether it was found in a folder.

    In a folder, the target, empty files (such as locks) and files whose names begin with a dot are skipped.
    """
    seen = {os.path.realpath(target)}
    for source in sources:
        try:
            inside = (
                sorted(path for path in source.rglob("[!.]*") if path.is_file() and path.stat().st_size)
                if source.is_dir()
                else [source]
            )
        except OSError as error:
            raise input_failure(f"file {excerpt(str(source))}", error) from error
        for path in inside:
            if (place := os.path.realpath(path)) not in seen:
                seen.add(place)
                yield path, path != source


def _games_of(path: Path, variant: Variant | None, origin: str) -> Iterator[tuple[str, int, GameRecord | InputError]]:
    if is_collection(path):
        with open_collection(path) as collection:
            yield from collection.games(variant)
        return
    text = decoded(read_bytes(path, "record", FILE_BYTES), path.name)
    for number, game in read_games(text, variant, origin=origin):
        yield str(path), number, game


class _Writer:
    """Writer of a collection's tables."""

    def __init__(self, connection: sqlite3.Connection, plies: int | None) -> None:
        self._connection, self._plies = connection, plies
        for line in ("PRAGMA journal_mode=OFF", "PRAGMA synchronous=OFF", "PRAGMA cache_size=-131072", "BEGIN"):
            connection.execute(line)
        connection.execute(f"PRAGMA application_id={_KIND}")
        for table in _TABLES:
            connection.execute(table)
        self._known: dict[str, Variant] = {}
        self._rules: dict[Variant, int] = {}
        self._pending: dict[tuple[Variant, Position | None], list[_Found]] = defaultdict(list)
        self._visits: dict[Variant, list[tuple[NDArray[np.uint64], NDArray[Any]]]] = defaultdict(list)
        self._games = self._parts = 0
        self.unread: list[UnreadGame] = []

    def write(
        self, files: Iterable[tuple[Path, bool]], variant: Variant | None, observer: Observer
    ) -> list[UnreadGame]:
        """Write the games from all files, and return the games that were not read completely."""
        observer.begin("games", None)
        for path, inside in files:
            try:
                found, empty = 0, list[tuple[str, int]]()
                for file, number, game in _games_of(path, variant, "" if inside else str(path)):
                    observer.advance()
                    found += 1
                    if isinstance(game, InputError):
                        self._refuse(file, number, str(game))
                    elif not game.moves:
                        empty.append((file, number))
                    elif len(game.moves) > MOST_PLIES:
                        self._refuse(file, number, f"expected at most {MOST_PLIES:,} moves")
                    else:
                        for problem in game.problems:
                            self._refuse(file, number, problem)
                        self._take(_Found(file, number, game))
                for file, number in empty:
                    self._refuse(file, number if found > 1 else 0, "has no moves")
            except (InputError, MachineError) as error:
                if not inside:
                    raise
                self._refuse(str(path), 0, str(error))
        for group in list(self._pending):
            self._play(*group)
        for rules in [rules for rules, visits in self._visits.items() if visits]:
            self._write_part(rules)
        self._connection.execute("COMMIT")
        return self.unread

    def _refuse(self, file: str, number: int, why: str) -> None:
        self.unread.append(UnreadGame(file=file, number=number, why=why))

    def _take(self, found: _Found) -> None:
        variant = as_variant(found.record.variant or "")
        group = self._known.setdefault(variant.digest, variant), found.record.start
        self._pending[group].append(found)
        if len(self._pending[group]) == _PENDING:
            self._play(*group)

    def _play(self, variant: Variant, start: Position | None) -> None:
        """Write the pending games with the given rule set and start position, and keep their visits in memory."""
        games = sorted(self._pending.pop((variant, start)), key=lambda found: len(found.record.moves))
        if variant not in self._rules:
            self._rules[variant] = len(self._rules) + 1
            row = (self._rules[variant], variant.name, write_variant(variant))
            self._connection.execute("INSERT INTO rules VALUES (?, ?, ?)", row)
        for first in range(0, len(games), _BATCH):
            batch = games[first : first + _BATCH]
            try:
                words, visits, legal = _visits(variant, start, [found.record for found in batch], self._plies)
            except InputError as error:  # no game can begin in this position
                for found in batch:
                    self._refuse(found.file, found.number, str(error))
                continue
            for found, plies in zip(batch, legal.tolist(), strict=True):
                if plies < min(len(found.record.moves), self._plies or MOST_PLIES):
                    problems = replay(replace(found.record, result=None)).problems
                    self._refuse(found.file, found.number, problems[-1])
            visits["game"] += self._games + 1
            rows = ((self._games + place, *found.row(self._rules[variant])) for place, found in enumerate(batch, 1))
            self._connection.executemany(f"INSERT INTO games VALUES ({', '.join('?' * 10)})", rows)
            self._games += len(batch)
            self._visits[variant].append((words, visits))
        if sum(len(visits) for _, visits in self._visits[variant]) >= _PART:
            self._write_part(variant)

    def _write_part(self, variant: Variant) -> None:
        words, visits = map(np.concatenate, zip(*self._visits.pop(variant), strict=True))
        order = np.lexsort((visits["game"], visits["move"], *words.T))
        words, visits = words[order], visits[order]
        new = np.ones(len(words), dtype=bool)
        new[1:] = (words[1:] != words[:-1]).any(axis=1)
        # If a game makes the same move in a position several times, only the first visit is kept.
        kept = new.copy()
        kept[1:] |= (visits["move"][1:] != visits["move"][:-1]) | (visits["game"][1:] != visits["game"][:-1])
        begins, visits = (np.cumsum(kept) - 1)[new].tolist(), visits[kept]
        length = _key_bytes(variant.size**2)
        keys = np.ascontiguousarray(words[new, ::-1].astype(">u8")).view(np.uint8).reshape(len(begins), -1)
        packed, content = keys[:, -length:].tobytes(), visits.tobytes()
        ends = [*begins[1:], len(visits)]
        rules, item, self._parts = self._rules[variant], _VISIT.itemsize, self._parts + 1
        rows = (
            (rules, packed[place * length : place * length + length], self._parts, content[begin * item : end * item])
            for place, (begin, end) in enumerate(zip(begins, ends, strict=True))
        )
        self._connection.executemany("INSERT INTO visits VALUES (?, ?, ?, ?)", rows)


def _visits(
    variant: Variant, start: Position | None, games: Sequence[GameRecord], plies: int | None
) -> tuple[NDArray[np.uint64], NDArray[Any], NDArray[np.int64]]:
    """Return the games' positions in packed form, a visit for each position, and each game's number of legal moves.

    Games continue after a repetition and beyond the move limit, as they do on game servers.
    """
    from tablut.env import Batch

    endless = variant.rules.repetition.model_copy(update={"result": "none"})
    rules = variant.rules.model_copy(update={"repetition": endless, "move_limit": None})
    batch = Batch(replace(variant, rules=rules), len(games), position=start)
    longest = min(max(len(game.moves) for game in games), plies or MOST_PLIES)
    actions, action = np.full((longest + 1, len(games)), -1), cache(partial(_action, batch))
    for place, game in enumerate(games):
        numbers = [action(said.move) for said in game.moves[:longest]]
        actions[: len(numbers), place] = numbers
    results = np.array([_RESULTS.index(game.result) for game in games])
    lengths = np.array([len(game.moves) for game in games])
    legal, going = np.zeros(len(games), dtype=np.int64), np.arange(len(games))
    words, visits = [], []
    for ply, row in enumerate(actions):
        mask = batch.mask()
        fits = (row >= 0) & mask[np.arange(len(games)), row]
        visit = np.zeros(len(going), dtype=_VISIT)
        visit["game"], visit["ply"], visit["result"] = going, ply, results[going]
        visit["move"] = np.where(fits, row, np.where(lengths == ply, _ENDED, _CUT))[going]
        words.append(batch.words()[going])
        visits.append(visit)
        going = going[fits[going]]
        if not len(going):
            break
        legal[going] += 1
        batch.step(np.where(fits, row, mask.argmax(axis=1)))  # games without a recorded legal move make any
    found = np.concatenate(visits)
    cells = np.array([(move.start, move.target) for move in map(batch.move, range(batch.actions))])
    played = found["move"] < _CUT
    least, codes = _least(variant, np.concatenate(words), *cells[np.where(played, found["move"], 0)].T)
    found["move"] = np.where(played, codes, found["move"])
    return least, found, legal


def _action(batch: Batch, move: Move) -> int:
    """Return the index of a move's action, or -1 if the move does not run along a row or a column."""
    try:
        return batch.action(move)
    except InputError:
        return -1


def _least(
    variant: Variant, words: NDArray[np.uint64], starts: NDArray[np.int64], targets: NDArray[np.int64]
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Return each position's least image, and its move as a number. For one position, see `key_of` and `_code`."""
    from tablut.engine import engine_for

    engine, codes = engine_for(variant), np.full(len(words), _ENDED)
    least = engine.canonical(words, variant.symmetries)[0]
    for symmetry in variant.symmetries:
        leads = (engine.canonical(words, (symmetry,))[0] == least).all(axis=1)
        table = np.array(symmetry.table)
        codes[leads] = np.minimum(codes, table[starts] * variant.size**2 + table[targets])[leads]
    return least, codes


# -- queries --------------------------------------------------------------------------------


class PlayedMove(Result):
    """A move that was played in a position, and the results of the games in which it was played.

    ``same`` lists the other moves that lead to the same position up to symmetry. ``score`` is the mean number of points
    that the side to move scored, and ``low`` and ``high`` are the 95 % interval computed by Wilson's method. Games
    without a result are ignored there.
    """

    move: str
    same: list[str]
    games: int
    white: int
    black: int
    draw: int
    score: float | None
    low: float
    high: float


class PlayedGame(Result):
    """A reference to a game that reached a position after ``ply`` plies."""

    file: str
    number: int
    white: str
    black: str
    date: str
    result: str | None
    ply: int


class PositionGames(Result):
    """Result of a query for a position: the number of games, the moves played, and references to some of the games."""

    variant: str
    position: str
    total: int
    ended: int
    moves: list[PlayedMove]
    games: list[PlayedGame]


_REFERENCE: Final[dict[str, Any]] = {
    "file": str,
    "number": int,
    "white": str,
    "black": str,
    "date": str,
    "result": str | None,
}
"""Columns of the table ``games`` that describe a game to people, and the types of their values."""


class Collection:
    """A collection that is open for reading. Use `open_collection` to open one."""

    def __init__(self, path: Path, connection: sqlite3.Connection, shown: str) -> None:
        self._shown, self._connection = shown, connection
        tables = connection.execute("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL").fetchall()
        # A file with views or triggers is rejected, because they could make a query run forever.
        kind = connection.execute("PRAGMA application_id").fetchone()
        if kind != (_KIND,) or {*tables} != {(sql,) for sql in _TABLES}:
            raise InputError("is an SQLite file, but not a collection of games", subject=f"file {str(path)!r}")
        self._rules: dict[int, Variant] = {}
        for number, name, toml in self._rows("SELECT id, name, toml FROM rules", (int, str, str)):
            self._rules[number] = parse_variant(toml, name=name, origin=str(path))
            if name in variant_names() and (shipped := shipped_variant(name)).same_game(self._rules[number]):
                self._rules[number] = shipped

    def _rows(self, query: str, kinds: Sequence[Any], parameters: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """Yield the rows that a query finds, after checking the types of their values."""
        for row in self._connection.execute(query, parameters):
            if not all(map(isinstance, row, kinds)):
                raise TypeError("a value has the wrong type")
            yield row

    def has(self, variant: Variant | None = None) -> bool:
        """Return whether the collection contains games under the given rules, or any games."""
        return any(own.same_game(variant or own) for own in self._rules.values())

    def rules(self, variant: Variant | None = None) -> Variant:
        """Return the rules of the collection, or check that it contains games under the given rules."""
        number = self._number(variant)
        return variant or self._rules[number]

    def _number(self, variant: Variant | None) -> int:
        for number, own in self._rules.items():
            if own.same_game(variant or own) and (variant is not None or len(self._rules) == 1):
                return number
        names = ", ".join(own.name for own in self._rules.values()) or "no rule set"
        problem = f"contains games of {names}" + (f", not of {variant.name}" if variant else "")
        remedy = "choose the rules as `variant`" if variant is None and self._rules else ""
        raise InputError(problem, subject=self._shown, remedy=remedy)

    def counts(self) -> dict[str, int]:
        """Return the number of games under each rule set, keyed by its name."""
        found = self._rows("SELECT rules, count(*) FROM games GROUP BY rules", (int, int))
        return {self._rules[number].name: games for number, games in found}

    def games(self, variant: Variant | None = None) -> Iterator[tuple[str, int, GameRecord]]:
        """Yield all games, each with its file name and its number in that file."""
        fields = f"rules, {', '.join(_REFERENCE)}, start, moves"
        kinds = (int, *_REFERENCE.values(), str | None, str)
        for row in self._rows(f"SELECT {fields} FROM games ORDER BY id", kinds):
            rules, file, number, white, black, date, result, start, moves = row
            own, tags = variant or self._rules[rules], {"White": white, "Black": black, "Date": date}
            try:
                played = tuple(parsed_move(word, own.size) for word in moves.split())
                position = None if start is None else Position.parse(start, own.size)
            except InputError as error:
                error.within(f"{self._shown}: {file}, game {number}")
                raise
            tags = {name: value for name, value in tags.items() if value}
            yield file, number, GameRecord(tags, own, position, played, _RESULTS[_RESULTS.index(result)])

    def answer(self, board: Board, *, player: str | None = None, most: int = 10) -> PositionGames:
        """Return the moves and results of the games that reached a board's position.

        If a player is given, only this player's games count. At most ``most`` games are listed.
        """
        variant, (key, images) = board.variant, key_of(board.variant, board.position)
        asked = self._number(variant), key
        found = self._rows("SELECT games FROM visits WHERE rules = ? AND position = ? ORDER BY part", (bytes,), asked)
        visits = np.frombuffer(b"".join(games for (games,) in found), dtype=_VISIT)
        if player is not None:
            named = "SELECT id FROM games WHERE white IN (?, ?) UNION SELECT id FROM games WHERE black IN (?, ?)"
            ids = [number for (number,) in self._rows(named, (int,), [player, player_name(player)] * 2)]
            visits = visits[np.isin(visits["game"], ids)]
        moves: dict[int, list[Move]] = defaultdict(list)
        for move in board.legal_moves if len(visits) else ():
            moves[_code(move, images)].append(move)
        played = []
        for code, same in moves.items():
            results = np.bincount(visits["result"][visits["move"] == code], minlength=4).tolist()
            if sum(results):
                played.append(_played_move(board.turn, same, results))
        visits = visits[np.lexsort((visits["ply"], visits["game"]))]
        games, first = np.unique(visits["game"], return_index=True)  # each game's first visit
        return PositionGames(
            variant=variant.name,
            position=str(board.position),
            total=len(games),
            ended=int((visits["move"] == _ENDED).sum()),
            moves=sorted(played, key=lambda move: -move.games),
            games=[self._reference(int(visit["game"]), int(visit["ply"])) for visit in visits[first[:most]]],
        )

    def _reference(self, game: int, ply: int) -> PlayedGame:
        query = f"SELECT {', '.join(_REFERENCE)} FROM games WHERE id = ?"
        (row,) = self._rows(query, (*_REFERENCE.values(),), (game,))
        return PlayedGame(**dict(zip(_REFERENCE, row, strict=True)), ply=ply)


def _played_move(mover: str, same: list[Move], results: list[int]) -> PlayedMove:
    from tablut.play.arena.statistics import wilson  # loads scipy

    _, white, black, draw = results
    decided, points = white + black + draw, (white if mover == "white" else black) + draw / 2
    low, high = wilson(points, decided) if decided else (0.0, 1.0)
    score = round(points / decided, 6) if decided else None
    first, *others = map(str, same)
    counts = {"games": sum(results), "white": white, "black": black, "draw": draw}
    return PlayedMove(move=first, same=others, **counts, score=score, low=round(low, 6), high=round(high, 6))


@contextmanager
def open_collection(path: Path, shown: str = "") -> Iterator[Collection]:
    """Open a collection for reading, and close it at the end of the context. A damaged file raises `InputError`.

    Errors name the collection as ``shown``, by default by its path.
    """
    if not is_collection(path):
        raise InputError("is not a collection of games", subject=f"file {str(path)!r}", remedy="make one from records")
    shown = shown or f"collection {str(path)!r}"
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
            yield Collection(path, connection, shown)
    except (sqlite3.Error, TypeError, ValueError, KeyError, OverflowError) as error:
        if isinstance(error, InputError):
            raise
        reason = str(error).partition("\n")[0]
        raise InputError(f"is damaged ({reason})", subject=shown) from error
