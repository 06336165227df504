"""Collections of games, which can be searched by position for the moves that were played and their results.

A collection is a single SQLite file, written by `write_collection` and opened by `open_collection`. Positions that
differ only by a symmetry of the rules count as one position. An opening book is a collection too.
"""

from __future__ import annotations

import errno
import os
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import cache, lru_cache, partial
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tablut.board import Board
from tablut.errors import InputError, MachineError, input_failure, output_failure, whole_number
from tablut.formats.game_text import GameRecord, player_name
from tablut.formats.native import parsed_move
from tablut.play.collection_file import COLLECTION, CollectionFile, begin_file, finish_file, is_sqlite, open_file
from tablut.play.openings import NamedOpening, opening_of
from tablut.position import Move, Position
from tablut.records import decoded
from tablut.replay import MOST_PLIES, read_games, replay
from tablut.results import Result
from tablut.rules.outcome import GameResult
from tablut.variants import Variant, as_variant, shipped_variant, variant_names
from tablut.variants.schema import parse_variant, write_variant
from tablut.work.files import excerpt, read_bytes, replacing
from tablut.work.progress import plural
from tablut.work.sealed_records import digest_of

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


_VISIT: Final = np.dtype([("game", "<u4"), ("move", "<u4"), ("ply", "<u2"), ("result", "u1")])
_ENDED: Final = 0xFFFFFFFF
_CUT: Final = 0xFFFFFFFE
_RESULTS: Final[tuple[GameResult | None, ...]] = (None, "white", "black", "draw")
FILE_BYTES: Final = 512 << 20
"""Maximum size in bytes of a file that is read into a collection."""
_BATCH, _PENDING, _PART = 512, 8192, 2_000_000
"""Number of games replayed in parallel, number of games read before they are replayed, and number of visits after which
a part is written."""


@cache
def _images(variant: Variant) -> tuple[tuple[int, ...], ...]:
    return tuple(symmetry.table for symmetry in variant.symmetries)


def key_of(variant: Variant, position: Position) -> tuple[bytes, list[tuple[int, ...]]]:
    """Return a position's key, and the symmetries that map it to the image described by the key.

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
    """A game that was not read completely or contradicts itself, and the reason. A file without games has number 0."""

    file: str
    number: int
    why: str


_text = lru_cache(1 << 14)(Move.__str__)


class FoundGame(NamedTuple):
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

    def mark(self) -> str:
        """Return a digest that identifies the game, also if its file is now in another folder."""
        rules, file, *rest = self.row(0)
        return digest_of([as_variant(self.record.variant or rules).digest, PurePath(file).name, *rest])


def write_collection(
    target: Path, sources: Sequence[Path], variant: Variant | None, observer: Observer, *, plies: int | None = None
) -> list[UnreadGame]:
    """Write the games from files, folders and other collections to a new collection. Return the games not read.

    A game that occurs in several sources is read only once. ``variant`` replaces the rules named in the records, and
    ``plies`` limits the indexed part of each game. A game with an illegal move is stored up to that move.
    """
    if os.path.realpath(target) in map(os.path.realpath, sources):
        raise InputError("is one of the sources", subject=f"output file {str(target)!r}", remedy="choose another file")
    unread: list[UnreadGame] = []
    with replacing(target, COLLECTION) as name, closing(sqlite3.connect(name, isolation_level=None)) as connection:
        try:
            _Writer(connection, plies, unread).write(read_sources(sources, variant, unread, target), observer)
        except sqlite3.OperationalError as error:
            raise output_failure(f"output file {str(target)!r}", OSError(errno.ENOSPC, str(error))) from error
    return unread


def _files_of(sources: Iterable[Path], target: Path | None) -> Iterator[tuple[Path, bool]]:
    """Yield each file once, and whether it was found in a folder.

    In a folder, empty files and files whose names begin with a dot are skipped.
    """
    seen = set() if target is None else {os.path.realpath(target)}
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


def _is_stored(file: tuple[Path, bool]) -> bool:
    """Return whether a file is an SQLite file. If it cannot be read, the error is reported when its games are read."""
    try:
        return is_sqlite(file[0])
    except (InputError, MachineError):
        return False


def _games_of(path: Path, variant: Variant | None, origin: str) -> Iterator[tuple[str, int, GameRecord | InputError]]:
    if is_sqlite(path):
        with open_collection(path) as collection:
            yield from collection.games(variant)
        return
    text = decoded(read_bytes(path, "record", FILE_BYTES), path.name)
    for number, game in read_games(text, variant, origin=origin):
        yield str(path).encode(errors="replace").decode(), number, game  # a name need not be valid text


def read_sources(
    sources: Iterable[Path], variant: Variant | None, unread: list[UnreadGame], target: Path | None = None
) -> Iterator[FoundGame]:
    """Yield all games of files, folders and collections. Add the games that cannot be read to ``unread``."""

    def refuse(file: str, number: int, why: str) -> None:
        unread.append(UnreadGame(file=file, number=number, why=why))

    # Collections come last, because they may repeat games of other files.
    files = sorted(_files_of(sources, target), key=_is_stored)
    seen, marked = Counter[str](), any(map(_is_stored, files[-1:]))
    for path, inside in files:
        own, stored = Counter[str](), _is_stored((path, inside))
        try:
            count, empty = 0, list[tuple[str, int]]()
            for file, number, game in _games_of(path, variant, "" if inside else str(path)):
                count += 1
                if isinstance(game, InputError):
                    refuse(file, number, str(game))
                elif not game.moves:
                    empty.append((file, number))
                elif len(game.moves) > MOST_PLIES:
                    refuse(file, number, f"expected at most {MOST_PLIES:,} moves")
                else:
                    for problem in game.problems:
                        refuse(file, number, problem)
                    found = FoundGame(file, number, game)
                    own[mark := found.mark() if marked else ""] += 1
                    if not stored or own[mark] > seen[mark]:
                        yield found
            for file, number in empty:
                refuse(file, number if count > 1 else 0, "has no moves")
        except (InputError, MachineError) as error:
            if not inside:
                raise
            refuse(str(path), 0, str(error))
        if stored and (again := (own & seen).total()):
            refuse(str(path), 0, f"{plural(again, 'game')} already read from other files")
        # Equal games in different files count as different games, but those in collections are copies.
        seen.update(own - seen if stored else own)


class _Writer:
    """Writer of a collection's tables."""

    def __init__(self, connection: sqlite3.Connection, plies: int | None, unread: list[UnreadGame]) -> None:
        self._connection, self._plies, self._unread = connection, plies, unread
        begin_file(connection)
        self._known: dict[str, Variant] = {}
        self._rules: dict[Variant, int] = {}
        self._pending: dict[tuple[Variant, Position | None], list[FoundGame]] = defaultdict(list)
        self._visits: dict[Variant, list[tuple[NDArray[np.uint64], NDArray[Any]]]] = defaultdict(list)
        self._games = self._parts = 0

    def write(self, games: Iterable[FoundGame], observer: Observer) -> None:
        """Write all games."""
        observer.begin("games", None)
        for found in games:
            observer.advance()
            variant = as_variant(found.record.variant or "")
            group = self._known.setdefault(variant.digest, variant), found.record.start
            self._pending[group].append(found)
            if len(self._pending[group]) == _PENDING:
                self._play(*group)
        for group in list(self._pending):
            self._play(*group)
        for rules in [rules for rules, visits in self._visits.items() if visits]:
            self._write_part(rules)
        finish_file(self._connection)

    def _refuse(self, found: FoundGame, why: str) -> None:
        self._unread.append(UnreadGame(file=found.file, number=found.number, why=why))

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
                    self._refuse(found, str(error))
                continue
            for found, plies in zip(batch, legal.tolist(), strict=True):
                if plies < min(len(found.record.moves), self._plies or MOST_PLIES):
                    problems = replay(replace(found.record, result=None)).problems
                    self._refuse(found, problems[-1])
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
    """Return the games' packed positions, a visit for each position, and each game's number of legal moves.

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
    of the side to move, with Wilson's 95 % interval from ``low`` to ``high``, without unfinished games.
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
    """A game that reached a position after ``ply`` plies. ``start`` is None for the start position of its rules."""

    file: str
    number: int
    white: str
    black: str
    date: str
    result: str | None
    start: str | None
    moves: list[str]
    ply: int


class PositionGames(Result):
    """Result of a query for a position: the number of games, the moves played, and references to some of the games."""

    variant: str
    position: str
    total: int
    ended: int
    moves: list[PlayedMove]
    games: list[PlayedGame]
    opening: NamedOpening | None = None


_REFERENCE: Final = ("file", "number", "white", "black", "date", "result")
"""Columns of the table ``games`` that describe a game to people. They follow its id and its rules."""


class Collection:
    """A collection opened by `open_collection`. Several threads can read it, and all data are checked by digests."""

    def __init__(self, shown: str, file: CollectionFile) -> None:
        self._file, self._rules = file, dict[int, Variant]()
        with file.detecting():
            for number, name, toml in file.rules:
                self._rules[number] = parse_variant(toml, name=name, origin=shown)
                if name in variant_names() and (shipped := shipped_variant(name)).same_game(self._rules[number]):
                    self._rules[number] = shipped

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
        raise InputError(problem, subject=self._file.shown, remedy=remedy)

    def counts(self) -> dict[str, int]:
        """Return the number of games under each rule set, keyed by its name."""
        with self._file.detecting():
            return dict(Counter(self._rules[row[1]].name for row in self._file.rows("games")))

    def games(
        self, variant: Variant | None = None, *, only: Variant | None = None
    ) -> Iterator[tuple[str, int, GameRecord]]:
        """Yield all games, or ``only`` those under the given rules, each with its file name and its number in the file.

        A given variant replaces the rules of the games.
        """
        for _, rules, file, number, white, black, date, result, start, moves in self._file.rows("games"):
            try:
                with self._file.detecting():
                    own = variant or self._rules[rules]
                    if only is not None and not own.same_game(only):
                        continue
                    played = tuple(parsed_move(word, own.size) for word in moves.split())
                    position = None if start is None else Position.parse(start, own.size)
                    winner = _RESULTS[_RESULTS.index(result)]
            except InputError as error:
                error.within(f"{self._file.shown}: {file}, game {number}")
                raise
            tags = {"White": white, "Black": black, "Date": date}
            tags = {name: value for name, value in tags.items() if value}
            yield file, number, GameRecord(tags, own, position, played, winner)

    def answer(self, board: Board, *, player: str | None = None, most: int = 10) -> PositionGames:
        """Return the moves and results of the games, or of a player's games, that reached a board's position."""
        whole_number("most", most)
        variant, (key, images) = board.variant, key_of(board.variant, board.position)
        rules, legal = self._number(variant), list(board.legal_moves)
        with self._file.detecting():
            rows = self._file.rows("visits", (rules, key), (rules, key, 1 << 32))
            found = b"".join(games for *place, _, games in rows if place == [rules, key])
            visits = np.frombuffer(found, dtype=_VISIT)
            if player is not None:
                names = {player, player_name(player)}
                own = [row[0] for row in self._file.rows("games") if not names.isdisjoint(row[4:6])]
                visits = visits[np.isin(visits["game"], own)]
            moves: dict[int, list[Move]] = defaultdict(list)
            for move in legal if len(visits) else ():
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
                opening=opening_of(board),
            )

    def _reference(self, game: int, ply: int) -> PlayedGame:
        rows = {row[0]: row for row in self._file.rows("games", (game,), (game,))}
        start, moves = rows[game][8:10]
        return PlayedGame(
            **dict(zip(_REFERENCE, rows[game][2:8], strict=True)), start=start, moves=moves.split(), ply=ply
        )


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
def open_collection(source: Path | bytes, shown: str = "") -> Iterator[Collection]:
    """Open a collection for reading, and close it at the end of the context. A damaged file raises `DamagedError`.

    The collection is a file, the content of a file, or `SHIPPED`. Errors refer to it as ``shown``, which is its path by
    default.
    """
    with open_file(source, shown := shown or f"collection {str(source)!r}") as file:
        yield Collection(shown, file)
