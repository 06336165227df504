"""The file of a collection of games: SQLite tables whose rows are protected by digests.

Each block of consecutive rows has a digest. A query reads only whole blocks that match their digests, so the absence of
a position is as certain as its presence. The table ``seal`` contains the digest of the rule sets and of all other
digests, which is checked when the file is opened. Digests cover values, not bytes, and detect damage, not tampering.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import sqlite3
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from functools import cache
from importlib.resources import files
from pathlib import Path
from threading import Lock
from typing import Any, Final

from tablut.errors import InputError, UseError, input_failure
from tablut.work.files import FileKind, excerpt
from tablut.work.sealed_records import DamagedError, check_version

_BLOCKS: Final = {"games": ("id", 64), "visits": ("rules, position, part", 1024)}
"""For each table with digests: its first columns, which order the rows, and the number of rows in a block."""
_KINDS: Final[dict[str, tuple[Any, ...]]] = {
    "rules": (int, str, str),
    "games": (int, int, str, int, str, str, str, str | None, str | None, str),
    "visits": (int, bytes, int, bytes),
}
_TABLES: Final = (
    "CREATE TABLE rules (id INTEGER PRIMARY KEY, name TEXT, toml TEXT)",
    "CREATE TABLE games (id INTEGER PRIMARY KEY, rules INTEGER, file TEXT, number INTEGER, white TEXT, black TEXT, "
    "date TEXT, result TEXT, start TEXT, moves TEXT)",
    "CREATE TABLE visits (rules INTEGER, position BLOB, part INTEGER, games BLOB, "
    "PRIMARY KEY (rules, position, part)) WITHOUT ROWID",
    "CREATE TABLE games_blocks (id INTEGER, sha256 TEXT)",
    "CREATE TABLE visits_blocks (rules INTEGER, position BLOB, part INTEGER, sha256 TEXT)",
    "CREATE TABLE seal (sha256 TEXT)",
)
_KIND: Final = 0x54414647
"""The ``application_id`` of the SQLite file."""
_VERSION: Final = 1
"""The ``user_version`` of the SQLite file."""
_MAGIC: Final = b"SQLite format 3\0"
SHIPPED: Final = Path("shipped")
"""Name of the built-in collection. A file with this name takes precedence."""
SHIPPED_FILE: Final = files("tablut.play").joinpath("data", "shipped.games.xz")
"""File of the built-in collection: self-play games of the engine, made by `reports.studies.openings`."""


@cache
def _shipped() -> bytes:
    return lzma.decompress(SHIPPED_FILE.read_bytes())


def is_shipped(path: Path) -> bool:
    """Return whether a path names the built-in collection."""
    return path == SHIPPED and not path.exists()


def _header(path: Path) -> bytes:
    """Return the header of an SQLite file, or nothing for any other file."""
    if is_shipped(path):
        return _shipped()[:100]
    try:
        if not path.is_file() and path.exists():  # a folder, a pipe or a device
            return b""
        with path.open("rb") as file:
            head = file.read(100)
    except (OSError, ValueError) as error:
        failure = error if isinstance(error, OSError) else OSError(22, str(error))
        raise input_failure(f"file {excerpt(str(path))}", failure) from error
    return head if head.startswith(_MAGIC) else b""


def is_sqlite(file: Path | bytes) -> bool:
    """Return whether a file, or its content, is SQLite rather than text. Raise `InputError` if it cannot be read."""
    return file.startswith(_MAGIC) if isinstance(file, bytes) else bool(_header(file))


def is_collection(path: Path) -> bool:
    """Return whether a file is marked as a collection of games."""
    return int.from_bytes(_header(path)[68:72], "big") == _KIND


COLLECTION: Final = FileKind("a collection of games", is_collection)


def _typed(rows: list[Any], table: str) -> list[Any]:
    """Return rows of a table, or raise an error if a value has the wrong type."""
    if not all(all(map(isinstance, row, _KINDS[table])) for row in rows):
        raise TypeError("a value has the wrong type")
    return rows


def _digest(rows: Iterable[Any]) -> str:
    """Return the SHA-256 of rows, which depends on the values and their types."""
    digest = hashlib.sha256()
    for column in zip(*rows, strict=True):
        raw = isinstance(column[0], bytes)
        digest.update(json.dumps([len(value) for value in column] if raw else column).encode())
        digest.update(b"".join(column) if raw else b"")
    return digest.hexdigest()


def _sealed(connection: sqlite3.Connection) -> tuple[dict[str, list[Any]], str]:
    """Return the rule sets and the blocks of each table, and the digest of all of them."""
    orders = {"rules": "id"} | {f"{table}_blocks": key for table, (key, _) in _BLOCKS.items()}
    found = {table: [*connection.execute(f"SELECT * FROM {table} ORDER BY {key}")] for table, key in orders.items()}
    return found, _digest([[*map(_digest, found.values())]])


def begin_file(connection: sqlite3.Connection) -> None:
    """Create the tables of a collection in an empty file."""
    begin = "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA cache_size=-131072; BEGIN; "
    marks = f"PRAGMA application_id={_KIND}; PRAGMA user_version={_VERSION}; "
    connection.executescript(begin + marks + "; ".join(_TABLES))


def finish_file(connection: sqlite3.Connection) -> None:
    """Add the digests to a collection."""
    for table, (key, size) in _BLOCKS.items():
        rows = connection.execute(f"SELECT * FROM {table} ORDER BY {key}")
        while block := rows.fetchmany(size):
            values = (*block[0][: len(key.split())], _digest(block))
            connection.execute(f"INSERT INTO {table}_blocks VALUES ({', '.join('?' * len(values))})", values)
    connection.execute("INSERT INTO seal VALUES (?)", (_sealed(connection)[1],))
    connection.execute("COMMIT")


class CollectionFile:
    """A collection's file that is open for reading. Threads are served one after another."""

    def __init__(self, connection: sqlite3.Connection, shown: str) -> None:
        self._connection, self.shown, self._lock = connection, shown, Lock()
        with self.detecting():
            tables = connection.execute("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL").fetchall()
            # A file with views or triggers is rejected, because they could make a query run forever.
            if {*tables} != {(sql,) for sql in _TABLES}:
                raise ValueError("its tables show that it is not a collection of games")
            found, seal = _sealed(connection)
            self.rules = _typed(found["rules"], "rules")
            if connection.execute("SELECT * FROM seal").fetchall() != [(seal,)]:
                raise ValueError("its rules or its digests have changed")
            self._blocks = {table: found[f"{table}_blocks"] for table in _BLOCKS}

    @contextmanager
    def detecting(self) -> Iterator[None]:
        """Convert errors in reading values into an error that names the file as damaged."""
        try:
            yield
        except (sqlite3.Error, TypeError, ValueError, LookupError, OverflowError) as error:
            if isinstance(error, InputError):
                raise
            reason = str(error).partition("\n")[0]
            raise DamagedError(f"is damaged ({reason})", subject=self.shown) from error

    def _block(self, table: str, number: int) -> list[Any]:
        """Return the rows of a block, after comparing them with their digest."""
        key, bounds = _BLOCKS[table][0], self._blocks[table][number : number + 2]
        marks = ", ".join("?" * len(key.split()))
        last = "" if len(bounds) == 1 else f"AND ({key}) < ({marks})"
        query = f"SELECT * FROM {table} WHERE ({key}) >= ({marks}) {last} ORDER BY {key}"
        keys = [value for *first, _ in bounds for value in first]
        with self.detecting():
            try:
                with self._lock:
                    rows = self._connection.execute(query, keys).fetchall()
            except sqlite3.ProgrammingError as error:
                raise UseError("is closed", subject=self.shown, remedy="open it again") from error
            if _digest(_typed(rows, table)) != bounds[0][-1]:
                first = f"game {bounds[0][0]}" if table == "games" else f"block {number + 1} of its positions"
                raise ValueError(f"{first} or one of the following does not match its digest")
        return rows

    def rows(self, table: str, low: tuple[Any, ...] = (), high: tuple[Any, ...] = ()) -> Iterator[Any]:
        """Yield all rows of a table, or those of the blocks that may contain rows between two keys."""
        blocks = self._blocks[table]
        begin = max(0, bisect_right(blocks, low, key=lambda block: block[:-1]) - 1)
        end = bisect_right(blocks, high, key=lambda block: block[:-1]) if high else len(blocks)
        for number in range(begin, end):
            yield from self._block(table, number)

    def check(self) -> None:
        """Compare everything with its digests."""
        for table in self._blocks:
            for _ in self.rows(table):
                pass


def _connected(source: Path | bytes) -> sqlite3.Connection:
    """Return a connection for reading a file, or the content of one."""
    if isinstance(source, Path):
        address = f"{source.absolute().as_uri()}?mode=ro&immutable=1"
        return sqlite3.connect(address, uri=True, check_same_thread=False)
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    connection.deserialize(source)
    return connection


@contextmanager
def open_file(source: Path | bytes, shown: str) -> Iterator[CollectionFile]:
    """Open a collection for reading, and close it at the end of the context. Errors name it as ``shown``.

    The collection is a file, or the content of a file. The size of the file, the rule sets and the list of digests are
    checked now, and rows when they are read.
    """
    named = shown if isinstance(source, bytes) else f"file {str(source)!r}"
    if isinstance(source, Path) and is_shipped(source):
        source = _shipped()
    header = source[:100] if isinstance(source, bytes) else _header(source)
    if not header.startswith(_MAGIC):
        remedy = "make one with `tablut games RECORD --into COLLECTION`"
        raise InputError("is not a collection of games", subject=named, remedy=remedy)
    if int.from_bytes(header[68:72], "big") != _KIND:
        raise InputError("is an SQLite file, but not a collection of games", subject=named)
    check_version(shown, int.from_bytes(header[60:64], "big"), _VERSION)
    page = int.from_bytes(header[16:18], "big")
    size = int.from_bytes(header[28:32], "big") * (page if page > 1 else 1 << 16)  # 1 stands for 65,536
    found = len(source) if isinstance(source, bytes) else source.stat().st_size
    if size != found:
        raise DamagedError(f"is damaged (it has {found:,} bytes instead of {size:,})", subject=shown)
    with closing(_connected(source)) as connection:
        yield CollectionFile(connection, shown)
