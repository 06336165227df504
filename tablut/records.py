"""Game records of every supported kind: `read_record` reads any of them, and `record_text` writes a record.

A record contains one game. An archive contains one game per line: its moves, the number of captures by each side, and
the result.

    d2-e2 c4-c5 … f5-f4xe4,2,0,White

Some archives count the ranks from the top. `turned` returns the same game with its ranks counted from the other edge,
and `tablut.replay` determines which edge an archive uses.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import Any, Final, NamedTuple, NoReturn

from tablut.errors import InputError, text_value
from tablut.formats.bologna import looks_like_log, looks_like_system_log, read_logs, read_system_logs
from tablut.formats.game_text import RECORD_BYTES, GameRecord, NoRulesError, first_game
from tablut.formats.ludii import looks_like_trial, read_trial
from tablut.formats.native import (
    looks_like_native,
    parsed_move,
    read_native,
    read_native_games,
    write_pgn,
    write_record,
)
from tablut.formats.opentafl import looks_like_otg, read_games, read_rules, write_game
from tablut.formats.sites import looks_like_json, read_site_games
from tablut.position import FILES
from tablut.rules.outcome import GameResult
from tablut.variants import Variant, VariantLike, as_variant
from tablut.work.files import FileKind, excerpt, read_bytes

__all__ = ["GameRecord", "read_record", "read_rules", "write_pgn", "write_record"]

# -- archives: one game per line --------------------------------------------------

# A file may begin with a line of headings. The fields may be quoted, padded with blanks, written in capitals, and
# separated by semicolons or tabs. The first number counts the captures by the attackers, the second those by the
# defenders. ``White`` means the defenders. A game may also be recorded as unfinished or as won on time.


_FIELDS: Final = 4
_LINE: Final = 1 << 18
"""Maximum length of a line in characters."""
_COUNT = re.compile(r"[0-9]{1,4}", re.ASCII)
_SQUARE = re.compile(rf"([a-{FILES[-1]}])([0-9]{{1,2}})", re.ASCII)
_GAME = re.compile(
    rf'[ \t"]{{0,9}}{_SQUARE.pattern}-?{_SQUARE.pattern}'
    r'(?:[^,;\n]*[,;\t] ?"?[0-9]{1,4}"? ?[,;\t]|[^,;\t\n]*(?:,|;[^;\n]*;))',  # the second also fits a faulty line
    re.ASCII | re.IGNORECASE,
)
_HEADED = 3
"""Number of lines within which the first game of an archive must occur."""
_RESULTS: Final[dict[str, GameResult]] = {"white": "white", "black": "black", "draw": "draw"}


@dataclass(frozen=True, slots=True)
class ArchivedGame:
    """The uninterpreted fields of an archive line: its number, the moves, the captures by each side, and the result."""

    number: int
    moves: tuple[str, ...]
    captures: tuple[int, int]
    result: str

    @property
    def winner(self) -> GameResult | None:
        """The recorded winner, or ``draw``; None for a game that did not end on the board."""
        return _RESULTS.get(self.result.lower())


def looks_like_archive(text: str) -> bool:
    """Return whether a text is an archive rather than another kind of record."""
    return any(_GAME.match(line) for line in text.lstrip().split("\n", _HEADED)[:_HEADED])


def read_archive(text: str) -> tuple[list[ArchivedGame], dict[int, str]]:
    """Return the games in an archive and the error messages for unreadable lines, keyed by line number."""
    games: list[ArchivedGame] = []
    unread: dict[int, str] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip() or (not games and _SQUARE.search(line.lower()) is None):
            continue
        if len(line) > _LINE:
            unread[number] = f"has {len(line):,} characters; at most {_LINE:,} are read"
        elif (fields := _fields(line)) is None:
            way = "expected moves, captures by attackers, captures by defenders, result, separated by commas"
            unread[number] = f"column {_faulty_column(line)}: {excerpt(line)}: {way}"
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


def _faulty_column(line: str) -> int:
    """Return the column of the first field of a line that is wrong, superfluous or missing."""
    fields = line.split(max(",;\t", key=line.count))
    good = [True, *(_COUNT.fullmatch(field.strip(' "')) is not None for field in fields[1:3]), True]
    faulty = next((place for place, holds in enumerate(good[: len(fields)]) if not holds), min(len(fields), _FIELDS))
    return min(sum(len(field) + 1 for field in fields[:faulty]), len(line)) + 1


def record_of(game: ArchivedGame, variant: Variant) -> GameRecord:
    """Return a game of an archive as a record."""
    moves = tuple(parsed_move(word, variant.size) for word in game.moves)
    return GameRecord({}, variant, None, moves, game.winner)


def write_line(record: GameRecord, variant: Variant) -> str:
    """Return a game as an archive line, with the number of captures that the moves name for each side.

    The game must begin from the start position of its rules, because the format cannot express any other position.
    """
    if record.start is not None or not record.moves:
        raise InputError("cannot store a game without moves or with another start position", subject="archive")
    black_first = variant.rules.first == "black"
    taken = [sum(len(move.captures or ()) for move in record.moves[side::2]) for side in (0, 1)]
    attackers, defenders = taken if black_first else reversed(taken)
    return f"{' '.join(map(str, record.moves))},{attackers},{defenders},{(record.result or 'ongoing').capitalize()}"


def turned(game: ArchivedGame, size: int) -> ArchivedGame:
    """Return a game with its ranks counted from the opposite edge."""
    turn = partial(_SQUARE.sub, lambda square: f"{square[1]}{size + 1 - int(square[2])}")
    return replace(game, moves=tuple(map(turn, game.moves)))


# -- the kinds of records, and the reader for each kind ------------------------------------


_PREFIX = re.compile(r"(?:OpenTafl |Ludii |game |system )?(?:record|log|trial)(?:: |$|\s(?=line [0-9]))")
Games = Iterable[GameRecord | InputError]


def name_source(error: InputError, kind: str, origin: str) -> None:
    """Name the kind and the source of a record in an error, instead of the words ``record`` and so on."""
    error.subject = _PREFIX.sub("", error.subject, count=1)
    error.within(f"{kind} {excerpt(origin)}")


def _trial(text: str, variant: Variant | None) -> Games:
    try:
        return [read_trial(text, variant)]
    except InputError as error:
        return [error]


def _refuse_archive(_text: str, _variant: Variant | None) -> NoReturn:
    raise InputError(
        "is an archive with one game on each line",
        subject="record",
        remedy="extract line N with `tablut replay FILE -v RULES --game N --save RECORD`",
    )


def read_archive_games(
    text: str, variant: Variant | None, *, from_top: bool = False
) -> Iterator[tuple[int, GameRecord | InputError]]:
    """Yield each game of an archive, or the error that makes it unreadable, with the number of its line."""
    games, unread = read_archive(text)
    lines: list[tuple[int, ArchivedGame | str]] = [*((game.number, game) for game in games), *unread.items()]
    for number, found in sorted(lines, key=itemgetter(0)):
        try:
            if isinstance(found, str):
                raise InputError(found, subject=f"line {number}")
            if variant is None:
                raise NoRulesError("archive: does not name a rule set")
            yield number, record_of(turned(found, variant.size) if from_top else found, variant)
        except InputError as error:
            yield number, error


class RecordKind(NamedTuple):
    """A kind of record: its name, a test for whether a text is of this kind, and its readers.

    The first reader returns the first game, the second yields all of them, each with its number in the file.
    """

    name: str
    fits: Callable[[str], bool]
    read: Callable[[str, Variant | None], GameRecord]
    games: Callable[[str, Variant | None], Iterable[tuple[int, GameRecord | InputError]]]


def _kind(name: str, fits: Callable[[str], bool], games: Callable[[str, Variant | None], Games]) -> RecordKind:
    return RecordKind(name, fits, lambda text, rules: first_game(games(text, rules)), _numbered(games))


def _numbered(games: Callable[[str, Variant | None], Games]) -> Callable[[str, Variant | None], Any]:
    return lambda text, variant: enumerate(games(text, variant), 1)


ARCHIVE: Final = RecordKind("archive", looks_like_archive, _refuse_archive, read_archive_games)
OTG: Final = _kind("OpenTafl record", looks_like_otg, read_games)
NATIVE: Final = RecordKind("tablut record", looks_like_native, read_native, _numbered(read_native_games))
KINDS: Final = (
    _kind("record", looks_like_json, read_site_games),
    _kind("Ludii trial", looks_like_trial, _trial),
    _kind("Bologna game log", looks_like_log, read_logs),
    _kind("Bologna system log", looks_like_system_log, read_system_logs),
    OTG,
    ARCHIVE,
    NATIVE,
)


KINDS_OF_RECORDS: Final = (
    'a PGN file with tags such as [Variant "ashton"], an OpenTafl record, a Bologna log, '
    "JSON from a web site, a Ludii trial or an archive"
)


def kind_of(text: str, *, ruled: bool = False) -> RecordKind | None:
    """Return the kind of a text, or None if it is not recognised.

    If the rules are known from elsewhere (``ruled``), a text that consists only of moves counts as a native record.
    """
    return next((kind for kind in KINDS if kind.fits(text)), NATIVE if ruled else None)


def decoded(content: bytes, origin: str = "") -> str:
    """Decode the content of a record file: UTF-8, UTF-16 with a byte order mark, or Latin-1 for a Bologna log."""
    shown = f"record {excerpt(origin)}" if origin else "record"
    try:
        text = content.decode("utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
    except UnicodeDecodeError as error:
        text = content.decode("latin-1").replace("\r\n", "\n")
        if not looks_like_log(text) and not looks_like_system_log(text):
            raise InputError("is not a UTF-8 text file", subject=shown, remedy="save it as UTF-8") from error
    if "\0" in text:
        raise InputError("contains NUL characters, as in UTF-16", subject=shown, remedy="save it as UTF-8")
    return plain_text(text)


def plain_text(text: str) -> str:
    """Return a text with line feeds as the only line endings, and without byte order marks or a final Ctrl-Z."""
    plain = re.sub(r"\r{0,2}\n\r?|\r", "\n", text) if "\r" in text_value("record", text) else text
    return plain.removeprefix("\ufeff").replace("\n\ufeff", "\n").rstrip().removesuffix("\x1a")


def read_record(text: str | bytes, variant: VariantLike | None = None, *, origin: str = "") -> GameRecord:
    r"""Return the game, or the first game, in a record of any supported kind. Its moves need not be legal.

    Parameters
    ----------
    text : str or bytes
        A record in the toolkit's own format, a PGN or ``.tafl`` file, an OpenTafl record, JSON from a web site, a trial
        of Ludii, or a game log or system log of the Bologna server. Bytes are decoded as UTF-8, or as UTF-16 after a
        byte order mark. Logs that are in neither encoding are decoded as Latin-1.
    variant : Variant, str or path-like, optional
        Rules to use instead of those that the record names. If the two differ, a warning is added to the record. If the
        record contains a digest of its rules, the given rules must match the digest.
    origin : str
        Name of the text in error messages, for example a file name.

    Raises
    ------
    InputError
        If the text is malformed, or not a record of a supported kind.

    Examples
    --------
    >>> read_record('[Variant "ashton"]\n1. e4-f4').moves[0].move.target
    32
    >>> read_record("once upon a time")
    Traceback (most recent call last):
        ...
    tablut.errors.InputError: record 'once upon a time': expected a PGN file with tags such as [Variant "ashton"], ...
    """
    text = decoded(text, origin) if isinstance(text, bytes) else plain_text(text)
    rules = None if variant is None else as_variant(variant)
    kind = kind_of(text, ruled=rules is not None)
    if kind is None:
        shown = excerpt(origin) if origin else excerpt(text.strip(), 40)
        raise InputError(f"expected {KINDS_OF_RECORDS}" if text.strip() else "is empty", subject=f"record {shown}")
    try:
        return kind.read(text, rules)
    except InputError as error:
        if origin:
            name_source(error, kind.name, origin)
        raise


# -- writing: the file suffix decides -------------------------------------------------


def record_text(record: GameRecord, target: Path, source: str | Path | None = None) -> tuple[str, tuple[str, ...]]:
    """Return a record as text in the format of a ``target`` file, and a list of the contents that would be lost.

    The suffix ``.otg`` selects OpenTafl's format, ``.pgn`` selects PGN, and ``.csv`` selects the format of an archive.
    With any other suffix, or without one, the text is in the toolkit's own format. ``source`` is the file that it comes
    from.

    Raises
    ------
    InputError
        If the format cannot represent the record, or if the target is the source and something would be lost.
    """
    suffix = target.suffix.lower()
    if suffix == ".csv":
        if record.variant is None:
            raise InputError("has no rule set", subject="record", remedy="set one, such as ashton, before writing it")
        variant = as_variant(record.variant)
        text = write_line(record, variant) + "\n"
        again = record_of(read_archive(text)[0][0], variant)
    else:
        text = {".otg": write_game, ".pgn": write_pgn}.get(suffix, write_record)(record)
        again = read_record(text, record.variant)
    lost = (*_lost(record, again), *record.problems, *record.notes)
    if lost and source is not None and target.exists() and target.samefile(source):
        raise InputError(
            f"is the record itself, which would lose {lost[0]}",
            subject=f"output file {str(target)!r}",
            remedy="choose another file",
        )
    return text, lost


def record_file(target: Path | str | None, variant: VariantLike | None = None) -> FileKind:
    """Return the kind of the files that a record may replace: records of one game in the same format."""
    kind = {".csv": ARCHIVE, ".otg": OTG}.get(Path(target or "").suffix.lower(), NATIVE)
    good = (GameRecord, NoRulesError) if kind is ARCHIVE else GameRecord

    def fits(path: Path) -> bool:
        text = decoded(read_bytes(path, "record", RECORD_BYTES))
        rules = None if variant is None else as_variant(variant)
        read = [list(islice(kind.games(text, own), 2)) for own in (None, rules)]
        return kind_of(text) is kind and any(len(games) == 1 and isinstance(games[0][1], good) for games in read)

    return FileKind(f"a file with a single game ({kind.name})", fits)


def _lost(record: GameRecord, again: GameRecord) -> list[str]:
    lost = [f"tag {name}" for name, value in record.tags.items() if again.tags.get(name) != value]
    for what, ours, theirs in (("comment", record.comments, again.comments), ("mark", record.marks, again.marks)):
        lost += [f"the {what} on ply {ply}" for ply, text in ours.items() if theirs.get(ply) != text]
    lost += ["the result"] * (again.result != record.result)
    return lost + ["the positions after its moves"] * (record.positions is not None)
