"""The toolkit's own record format: tags in brackets, numbered moves with comments and marks, and the result.

Most PGN files with this structure can also be read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final

from tablut.errors import InputError
from tablut.formats.game import GameRecord, NoRulesError, further_games, overruled, start_under
from tablut.formats.opentafl import read_rules, rules_source
from tablut.position import MoveText, Position
from tablut.rules.outcome import RESULTS, GameResult
from tablut.variants import Variant, as_variant, shipped_variant, variant_names
from tablut.work.files import excerpt
from tablut.work.progress import plural

#     [Variant "ashton"]
#     [White "Anna"]
#     [Start "3bbb3/4b4/4w4/b3w3b/bbwwKwwbb/b3w2b1/4w4/4b4/3bbb3 w"]
#
#     1. e4-f4 a4-b4?! {a comment}
#     2. f4-f2 h4-e4xe3
#     black
#
# ``Start`` is present if the game did not begin from the variant's start. ``Variant`` names a shipped rule set. A
# record under a user's rules also contains the digest of these rules in a tag ``Rules-SHA256``. To read the record,
# the user must supply rules with this digest. Instead of ``Variant``, a record may spell out its rules in
# OpenTafl's notation, in a tag ``Rules``. The last word is ``white``, ``black``, ``draw``, or ``*`` for no result.
# Comments are enclosed in braces. In tags and comments, ``\n``, ``\"``, ``\\``, ``\{``, ``\}`` and ``\uXXXX`` represent
# characters that are not allowed there.
#
# The reader also accepts some elements of PGN: results such as ``1-0``, where the first number belongs to the
# side that moved first; move numbers such as ``1...``; comments after ``;``; and nested braces. Lines that begin with
# ``%``, variations and further games are left out and mentioned in a note.


_NAME = re.compile(r"[A-Z][A-Za-z0-9_-]{0,63}")
_PART = re.compile(
    rf'(?P<tag>\[(?P<name>{_NAME.pattern})[ \t]{{1,9}}"(?P<value>(?:[^"\\\n]|\\.)*)"[ \t]{{0,9}}\])'
    r"|(?P<rest>;[^\n]*)|(?P<escape>^%[^\n]*)|(?P<mark>\$[0-9]{1,3}|[!?]{1,2})|[{(]"
    r"|(?P<word>[^\s{}()$!?;]+|[$})])",
    re.MULTILINE,
)
_MARKS = re.compile(r"(?:(?:^| )(?:\$[0-9]{1,3}|[!?]{1,2}))+")
_SIGN = re.compile(r"\\.|[(){}]", re.DOTALL)
_ESCAPE = re.compile(r'\\(?:u(?!d[89a-f])([0-9a-f]{4})|([n"\\{}]))')
_CONTROL: Final = r"\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff"
_IN_TAG = re.compile(rf'[\\"{_CONTROL}]')
_IN_COMMENT = re.compile(rf"[\\{{}}{_CONTROL}]|\A\s|\s\Z")
_STRUCTURE = ("Variant", "Rules-SHA256", "Start", "Result")
_NUMBER = re.compile(r"([0-9]{1,9})(\.{1,3}|…)(.*)", re.DOTALL)
_DIGEST = re.compile(r"[0-9a-fA-F]{64}")
_NO_RESULT = "*"
_ROSTER: Final = dict.fromkeys(("Event", "Site", "Date", "Round", "White", "Black"), "?") | {"Date": "????.??.??"}
"""The tags that every PGN file contains, with the values that stand for unknown data; ``Result`` follows them."""
_ENDS = frozenset([_NO_RESULT, *RESULTS, "1-0", "0-1", "1/2-1/2", "½-½"])


def looks_like_native(text: str) -> bool:
    """Return whether a text begins with a tag or a comment, as native records and PGN do."""
    return text.lstrip().startswith(("[", "{", "%", ";"))


@dataclass
class _NativeGame:
    """The parts of a game that has been read from a text."""

    tags: dict[str, str] = field(default_factory=dict)
    moves: list[tuple[str, str]] = field(default_factory=list)
    """The words that describe moves, each with its place, such as ``line 3, column 5``."""
    numbered: int = -1
    """Number of moves that precede the last move number."""
    result: str | None = None
    comments: dict[int, str] = field(default_factory=dict)
    marks: dict[int, str] = field(default_factory=dict)
    variations: list[str] = field(default_factory=list)
    escapes: int = 0
    error: InputError | None = None
    """The first error. It makes this game unreadable, but not the other games in the text."""

    @property
    def notes(self) -> list[str]:
        """Descriptions of the omitted contents."""
        more = ", ..." * (len(self.variations) > 20)
        notes = [f"variations omitted: after ply {', '.join(self.variations[:20])}{more}"] if self.variations else []
        return [*notes, f"lines after % omitted: {self.escapes}"] if self.escapes else notes

    def keep(self, kept: dict[int, str], text: str) -> None:
        """Attach a comment or a mark to the last move."""
        if text:
            ply = len(self.moves)
            kept[ply] = f"{kept[ply]} {text}" if ply in kept else text

    def tag(self, name: str, value: str, place: str) -> None:
        """Add a tag."""
        if name in self.tags:
            raise InputError(f"{place}: tag {name} occurs twice", subject="record")
        self.tags[name] = _unescaped(value)

    def word(self, word: str, place: str) -> None:
        """Add a move, which may be preceded by its move number in the same word."""
        if word.startswith("["):
            shown = f"record: {place}: {excerpt(word)}"
            raise InputError('expected tags such as [White "Anna"], all before the moves', subject=shown)
        if (number := _NUMBER.fullmatch(word)) is not None:
            count, first = len(self.moves), number[2] == "."
            if number[1] != str(count // 2 + 1) or count % 2 == first or (first and self.numbered == count):
                raise InputError(
                    f"{place}: {number[1]}{number[2]} follows {plural(count, 'move')}",
                    subject="record",
                    remedy="number every second move",
                )
            self.numbered, word = count, number[3]
        if word:
            self.moves.append((word, place))


def _games(text: str) -> Iterator[_NativeGame]:
    """Yield the games in a text. There is always at least one: an empty text contains one empty game."""
    game, begun, over, end, line, first = _NativeGame(), False, False, 0, 1, 0
    while (part := _PART.search(text, end)) is not None:
        kind, word = part.lastgroup, part[0]
        line, first = _line_of(text, end, part.start(), line, first)
        place = f"line {line}, column {part.start() - first + 1}"
        try:
            end = part.end()  # also after an error
            if word in ("{", "("):
                end = len(text)
                end = _end(text, part.start(), place)
            if (over and kind == "word") or (begun and kind == "tag" and (over or _begins_line(text, part.start()))):
                yield game
                game, begun, over = _NativeGame(), False, False
            if kind == "word":
                begun, over = True, word in _ENDS
            if game.error is None:
                _add(game, text, part, end, place, begun=begun, over=over)
        except InputError as error:
            game.error = error
        line, first = _line_of(text, part.start(), end, line, first)
    yield game


def _line_of(text: str, begin: int, end: int, line: int, first: int) -> tuple[int, int]:
    """Return the number and the start of the line at ``end``, given the number and start of the line at ``begin``."""
    breaks = text.count("\n", begin, end)
    return (line + breaks, text.rfind("\n", begin, end) + 1) if breaks else (line, first)


def _add(game: _NativeGame, text: str, part: re.Match[str], end: int, place: str, *, begun: bool, over: bool) -> None:
    """Add a part of a text, which ends at ``end``, to its game."""
    kind, word = part.lastgroup, part[0]
    if kind == "tag" and not begun:
        game.tag(part["name"], part["value"], place)
    elif kind == "word" and over:
        game.result = word
    elif kind in ("tag", "word"):
        game.word(word, place)
    elif kind == "mark":
        game.keep(game.marks, word)
    elif kind == "rest":
        game.keep(game.comments, word[1:].strip())
    elif word == "{":
        game.keep(game.comments, _unescaped(text[part.end() : end - 1].strip()))
    elif word == "(":
        game.variations.append(str(len(game.moves)))
    else:
        game.escapes += 1


def _begins_line(text: str, place: int) -> bool:
    return not text[text.rfind("\n", 0, place) + 1 : place].strip()


def _end(text: str, start: int, place: str) -> int:
    """Return the end of a comment or a variation. Both may be nested."""
    braces = parentheses = 0
    for sign in _SIGN.finditer(text, start):
        if sign[0] in "{}":
            braces = max(0, braces + (1 if sign[0] == "{" else -1))
        elif sign[0] in "()" and not braces:
            parentheses += 1 if sign[0] == "(" else -1
        if not braces and not parentheses:
            return sign.end()
    what, end = ("comment", "}") if text[start] == "{" else ("variation", ")")
    shown = excerpt(text[start : start + 40])
    raise InputError(f"{place}: the {what} {shown} does not end; expected {end!r}", subject="record")


def _unescaped(text: str) -> str:
    def sign(found: re.Match[str]) -> str:
        return chr(int(found[1], 16)) if found[1] else "\n" if found[2] == "n" else found[2]

    return _ESCAPE.sub(sign, text)


def _escaped(text: str, signs: re.Pattern[str]) -> str:
    def escape(found: re.Match[str]) -> str:
        sign = found[0]
        return r"\n" if sign == "\n" else f"\\{sign}" if sign in '\\"{}' else f"\\u{ord(sign):04x}"

    if any("\ud800" <= sign <= "\udfff" for sign in text):
        raise InputError(
            f"{excerpt(text)}: has half a surrogate pair, which no text file can contain", subject="record"
        )
    return signs.sub(escape, text)


def read_native(text: str, variant: Variant | None = None) -> GameRecord:
    r"""Parse a record in the native format of the toolkit. If there are several games, parse the first."""
    games = _games(text)
    record = _record(next(games), variant)
    more = sum(1 for _ in games)
    return replace(record, notes=(*record.notes, further_games(more))) if more else record


def read_native_games(text: str, variant: Variant | None = None) -> Iterator[GameRecord | InputError]:
    """Yield each game in a text in the native format or in PGN, or the error that makes the game unreadable."""
    for game in _games(text):
        try:
            yield _record(game, variant)
        except InputError as error:
            yield error


def _record(game: _NativeGame, variant: Variant | None) -> GameRecord:
    if game.error is not None:
        raise game.error
    tags = game.tags
    name, digest = tags.pop("Variant", None), tags.pop("Rules-SHA256", None)
    own = _own_rules(name, tags.get("Rules"), given=variant is not None)
    chosen = variant or own
    if chosen is None:
        raise NoRulesError('record: has no rule set; expected a tag such as [Variant "ashton"]')
    _hold_to_digest(digest, chosen, given=variant is not None)
    written = tags.pop("Start", None)
    if written is not None:
        start: Position | None = Position.parse(written, chosen.size)
    else:
        start = None if own is None else start_under(Position.parse(own.start_position, own.size), chosen, "record")
    first = chosen.start_position[-1] if start is None else start.side
    return GameRecord(
        result=_result(game.result, tags.pop("Result", None), first),
        tags=tags,
        variant=chosen if variant is not None or name is None else chosen.name,
        start=start,
        moves=tuple(_moves(game.moves, chosen.size)),
        notes=tuple(game.notes),
        warnings=() if variant is None or digest is not None else _overruled(name, own, variant),
        comments=game.comments,
        marks=game.marks,
    )


def _own_rules(name: str | None, rules: str | None, *, given: bool) -> Variant | None:
    """Return the rules that a record names or spells out, or None if it does neither.

    If the record's rules are unknown but the caller has given other rules, the result is also None. Only names of
    shipped rule sets are accepted, never paths, so that a record cannot cause a file to be opened.
    """
    try:
        if name is not None:
            return shipped_variant(name)
        return None if rules is None else read_rules(rules)
    except InputError as error:
        if given:
            return None
        if name is None:
            raise
        remedy = "give its rule file as `variant`"
        raise InputError(str(error), subject="record", remedy=remedy) from error


def _hold_to_digest(digest: str | None, chosen: Variant, *, given: bool) -> None:
    if digest is None:
        return
    if _DIGEST.fullmatch(digest) is None:
        raise InputError(f"tag Rules-SHA256 {excerpt(digest)}: expected 64 hexadecimal digits", subject="record")
    if digest.lower() != chosen.digest:
        way = "give the rule file that it was written with as `variant`" if given else "give its rule file as `variant`"
        raise InputError(
            f"uses rules with digest {digest[:12].lower()}..., but those of {chosen.name!r} have "
            f"{chosen.digest[:12]}...",
            subject="record",
            remedy=way,
        )


def _overruled(name: str | None, own: Variant | None, chosen: Variant) -> tuple[str, ...]:
    """Return a warning if the record was read under rules other than its own, or if its rules lack a digest."""
    if own is not None or name is None:
        return overruled(own, chosen)
    shown = "" if name == chosen.name else f"; it was read under {chosen.name!r}"
    return (f"record: names rules {excerpt(name)} without their digest{shown}",)


def _result(last: str | None, claimed: str | None, first: str) -> GameResult | None:
    """Return the result given at the end of a record or in its tag. The two must not contradict each other."""
    known: dict[str, GameResult | None] = {_NO_RESULT: None} | {word: word for word in RESULTS}
    known |= {"½-½": "draw", **_points(first)}
    if claimed is not None and claimed not in known:
        raise InputError(f"tag Result {excerpt(claimed)}: expected one of {' '.join(known)}", subject="record")
    found = {known[word] for word in (last, claimed) if word is not None} - {None}
    if len(found) > 1:
        raise InputError(f"ends with {last!r}, but its tag Result is {excerpt(claimed or '')}", subject="record")
    return next(iter(found), None)


def _points(first: str) -> dict[str, GameResult]:
    """Return the meaning of PGN's results. Their first number belongs to the side that moves first."""
    sides: tuple[GameResult, GameResult] = ("white", "black") if first == "w" else ("black", "white")
    return {"1-0": sides[0], "0-1": sides[1], "1/2-1/2": "draw"}


def _moves(words: list[tuple[str, str]], size: int) -> Iterator[MoveText]:
    for ply, (word, place) in enumerate(words, 1):
        try:
            yield parsed_move(word, size)
        except InputError as error:
            raise InputError(f"{place}: ply {ply}: {error}", subject="record") from error


parsed_move = lru_cache(1 << 14)(MoveText.parse)
"""`MoveText.parse`, cached because most moves occur in many games."""


def write_record(record: GameRecord, *, pgn: bool = False) -> str:
    """Return the text of a record in the native format of the toolkit, or as PGN.

    Notes and the positions after each move are left out, because the format cannot represent them.

    Parameters
    ----------
    record : GameRecord
        The game.
    pgn : bool
        Whether to write PGN as other programs expect it: with the seven required tags, and with results such as
        ``1-0``, whose first number belongs to the side that moves first. Braces in comments are written without a
        backslash.

    Returns
    -------
    str
        Text that ends with a line feed.

    Raises
    ------
    InputError
        If the format cannot represent the record.

    Examples
    --------
    >>> from tablut.records import read_record
    >>> print(write_record(read_record('[Variant "ashton"] 1. e4f4')), end="")
    [Variant "ashton"]
    <BLANKLINE>
    1. e4-f4
    *
    """
    tags = _rules_tags(record)
    for tag, value in record.tags.items():
        if _NAME.fullmatch(tag) is None or tag in _STRUCTURE:
            own = " ".join(_STRUCTURE)
            raise InputError(
                f"expected a capital, then letters, digits, _ or -, but none of {own}", subject=f"tag {excerpt(tag)}"
            )
        tags[tag] = value
    if record.start is not None:
        tags["Start"] = str(record.start)
    for ply in (record.comments.keys() | record.marks.keys()) - set(range(len(record.moves) + 1)):
        raise InputError(f"has a comment or mark on ply {ply}, but only {len(record.moves)} moves", subject="record")
    result: str = record.result or _NO_RESULT
    if pgn:
        rules = read_rules(record.tags["Rules"]) if record.variant is None else as_variant(record.variant)
        mover = rules.start_position[-1] if record.start is None else record.start.side
        result = next((points for points, side in _points(mover).items() if side == record.result), _NO_RESULT)
        tags = _ROSTER | tags | {"Result": result}
    lines = [f'[{tag} "{_escaped(value, _IN_TAG)}"]' for tag, value in tags.items()]
    lines.append("")
    if before := _after_move(record, 0, pgn=pgn).strip():
        lines.append(before)
    for first in range(0, len(record.moves), 2):
        pair = [
            f"{move}{_after_move(record, ply, pgn=pgn)}"
            for ply, move in enumerate(record.moves[first : first + 2], first + 1)
        ]
        lines.append(f"{first // 2 + 1}. {' '.join(pair)}")
    return "\n".join([*lines, result]) + "\n"


def write_pgn(record: GameRecord) -> str:
    """Return the text of a record as PGN; see `write_record`."""
    return write_record(record, pgn=True)


def _after_move(record: GameRecord, ply: int, *, pgn: bool) -> str:
    """Return the text after a move: its marks and its comment."""
    marks, comment = record.marks.get(ply, ""), record.comments.get(ply, "")
    if marks and _MARKS.fullmatch(marks) is None:
        raise InputError(f"mark {excerpt(marks)}: expected marks such as ?! or $6", subject="record")
    text = marks if not marks or marks[0] in "!?" else f" {marks}"
    escaped = _escaped(comment, _IN_COMMENT)
    if pgn:
        escaped = escaped.replace(r"\{", r"\u007b").replace(r"\}", r"\u007d")
    return f"{text} {{{escaped}}}" if comment else text


def _rules_tags(record: GameRecord) -> dict[str, str]:
    """Return the tags that identify the rules. There are none if the tag ``Rules`` already spells them out."""
    if record.variant is None:
        if "Rules" in record.tags:
            return {}
        raise InputError("has no rule set", subject="record", remedy="set one, such as ashton, before writing it")
    variant = as_variant(record.variant)
    rules = record.tags.get("Rules")
    if rules is not None and variant.source == rules_source(rules):
        return {}
    if variant.name in variant_names() and variant.same_game(shipped_variant(variant.name)):
        return {"Variant": variant.name}
    return {"Variant": variant.name, "Rules-SHA256": variant.digest}
