"""The toolkit's own record format: tags in brackets, numbered moves with comments and marks, and the result.

Most PGN files can also be read, and so can the ``.tafl`` files of an app for Brandubh, Tablut and Copenhagen Hnefatafl.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final

from tablut.errors import InputError
from tablut.formats.game_text import GameRecord, NoRulesError, further_games, overruled, start_under
from tablut.formats.opentafl import read_rules, rules_source
from tablut.formats.reading import read_position
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
# ``Start`` is present if the game did not begin from the variant's start. ``Variant`` names a built-in rule set. A
# record under a user's rules also contains the digest of these rules in a tag ``Rules-SHA256``. To read the record,
# the user must supply rules with this digest. Instead of ``Variant``, a record may spell out its rules in
# OpenTafl's notation, in a tag ``Rules``. The last word is ``white``, ``black``, ``draw``, or ``*`` for no result.
# Comments are enclosed in braces. In tags and comments, ``\n``, ``\"``, ``\\``, ``\{``, ``\}`` and ``\uXXXX`` represent
# characters that are not allowed there.
#
# The reader also accepts some elements of PGN: the tags ``SetUp`` and ``FEN``; results such as ``1-0``; move numbers
# such as ``1...``; ``+`` and ``#`` after moves; comments after ``;``; and nested braces. Lines that begin with ``%``,
# variations and further games are left out and mentioned in a note.
#
# The first number of a result belongs to the side whose moves follow numbers such as ``1.``. This is the side that
# moves first, unless its first move is numbered ``1...``. PGN is numbered in this way if the game does not begin with
# the side that moves first by the rules.
#
# A file of the app has the tag ``Format``. In it, the first number of a result belongs to the attackers, the tags
# ``Attackers`` and ``Defenders`` name the players, ``Termination`` names the winner, as in ``defenders_win_resign``,
# and ``x2`` at the end of a move is the number of captured pieces.
#
# A tag begins a further game if it follows moves, if it follows earlier tags and a blank line, or if it occurs again.


_NAME = re.compile(r"[A-Z][A-Za-z0-9_-]{0,63}")
_PART = re.compile(
    rf'(?P<tag>\[(?P<name>{_NAME.pattern})[ \t]{{1,9}}"(?P<value>(?:[^"\\\n]|\\.)*)"[ \t]{{0,9}}\])'
    r"|(?P<rest>;[^\n]*)|(?P<escape>^%[^\n]*)|(?P<mark>\$[0-9]{1,3}|[!?]{1,2})|[{(]"
    r"|(?P<broken>^\[[^\n]*)|(?P<word>[0-9]{1,9}\.[ \t]{1,9}\.{2,3}|\[?[^\s{}()$!?;[\ufeff\x1a]+|[$})[])",
    re.MULTILINE,
)
_NEXT_GAME = re.compile(rf'\n[ \t]*\n(?=\[{_NAME.pattern}[ \t]{{1,9}}")')
_MARKS = re.compile(r"(?:(?:^| )(?:\$[0-9]{1,3}|[!?]{1,2}))+")
_IN_VARIATION = re.compile(r"[(){]|;[^\n]*|^%[^\n]*", re.MULTILINE)
_IN_BRACES = re.compile(r"\\.|[{}]", re.DOTALL)
_ESCAPE = re.compile(r'\\(?:u(?!d[89a-f])([0-9a-f]{4})|([n"\\{}]))')
_CONTROL: Final = r"\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff"
_IN_TAG = re.compile(rf'[\\"{_CONTROL}]')
_IN_COMMENT = re.compile(rf"[\\{{}}{_CONTROL}]|\A\s|\s\Z")
_STRUCTURE = ("Variant", "Rules-SHA256", "Start", "SetUp", "FEN", "Format", "Result")
_SPELLING: Final = {name.lower(): name for name in (*_STRUCTURE, "Termination")}
"""Spelling of the tags that change the meaning of other parts of a record. Any case is accepted."""
_NUMBER = re.compile(r"([0-9]{1,9})(\.(?:\.{1,2}|[ \t]+\.{2,3})?|…)(.*)", re.DOTALL)
_DIGEST = re.compile(r"[0-9a-fA-F]{64}")
_NO_RESULT = "*"
_ROSTER: Final = dict.fromkeys(("Event", "Site", "Date", "Round", "White", "Black"), "?") | {"Date": "????.??.??"}
"""The tags that every PGN file contains, with the values that stand for unknown data; ``Result`` follows them."""
_ENDS = frozenset([_NO_RESULT, *RESULTS, "1-0", "0-1", "1/2-1/2"])
_PLAIN: Final = str.maketrans(dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-") | {"\u2044": "/", "½": "1/2"})
"""Typographical dashes and fractions, with the signs that are meant."""
_FORMATS: Final = ("brandubh-1", "copenhagen-1", "tablut-1")
"""Values of the app's tag ``Format``."""
_PLAYERS: Final = {"Defenders": "White", "Attackers": "Black"}
"""The app's tags for the players, with those of a record."""
_FEN = re.compile(r"([^\s{]+)(?:\s+([adbw]))?(?:\s+(?:-|[0-9]{1,6}))*", re.ASCII | re.IGNORECASE)
_SIDES = r"attackers|defenders|white|black"
_WINNER = re.compile(rf"(?:({_SIDES})[ _](?:(wins?|won)|resign(?:s|ed)?|loses|lost)|draw)(?:[ _].*)?", re.IGNORECASE)
_NO_WINNER = re.compile(rf"(?!(?:{_SIDES})(?:[ _]|\Z))[a-z]+(?:[ _-][a-z]+){{0,2}}|[?*-]?", re.IGNORECASE)
"""Terminations such as ``time forfeit`` and ``king_escaped``, which name no winner."""


def looks_like_native(text: str) -> bool:
    """Return whether a text begins with a tag or a comment, as native records and PGN do."""
    return text.lstrip().startswith(("[", "{", "%", ";"))


@dataclass
class _NativeGame:
    """The parts of a game that has been read from a text."""

    line: int
    """Number of the line on which the game begins."""
    tags: dict[str, str] = field(default_factory=dict)
    moves: list[tuple[str, str]] = field(default_factory=list)
    """The words that describe moves, each with its place, such as ``line 3, column 5``."""
    numbered: int = -1
    """Number of moves that precede the last move number."""
    first: int = 1
    """Number of the first move."""
    second: bool = False
    """Whether the first move is numbered like ``1...``, as the second move of its pair."""
    begun: bool = False
    """Whether the tags have ended."""
    spaced: bool = False
    """Whether a blank line follows the last tag."""
    result: str | None = None
    comments: dict[int, str] = field(default_factory=dict)
    marks: dict[int, str] = field(default_factory=dict)
    variations: list[tuple[int, str]] = field(default_factory=list)
    escapes: int = 0
    error: InputError | None = None
    """The first error. It makes this game unreadable, but not the other games in the text."""

    @property
    def notes(self) -> list[str]:
        """Descriptions of the omitted contents."""
        more, plies = ", ..." * (len(self.variations) > 20), [str(ply) for ply, _ in self.variations[:20]]
        notes = [f"variations omitted: after ply {', '.join(plies)}{more}"] if plies else []
        return [*notes, f"lines after % omitted: {self.escapes}"] if self.escapes else notes

    def keep(self, kept: dict[int, str], text: str) -> None:
        """Attach a comment or a mark to the last move."""
        if text:
            ply = len(self.moves)
            kept[ply] = f"{kept[ply]} {text}" if ply in kept else text

    def ends_before(self, kind: str | None, name: str, *, at_line: bool, spaced: bool) -> bool:
        """Return whether the next game begins with a part of the text, given its kind and its name as a tag.

        ``at_line`` states whether the part begins a line, and ``spaced`` whether it follows a blank line.
        """
        if self.result is not None:
            return kind in ("tag", "broken", "word")
        if kind != "tag":
            return kind == "broken" and self.begun and spaced
        return self.begun or (at_line and bool(self.tags) and (self.spaced or name in self.tags))

    def tag(self, name: str, value: str, place: str) -> None:
        """Add a tag."""
        if name in self.tags:
            raise InputError(f"{place}: tag {name} occurs twice", subject="record")
        self.tags[name], self.spaced = _unescaped(value), False

    def word(self, word: str, place: str) -> None:
        """Add a move, which may be preceded by its move number in the same word."""
        if word.startswith("["):
            raise _misplaced(word, place)
        if (number := _NUMBER.fullmatch(word)) is not None:
            count, second = len(self.moves), number[2] != "."
            if self.numbered < 0 and not count and ("Start" in self.tags or "FEN" in self.tags):
                self.first, self.second = int(number[1]), second
            pair, column = divmod(count + self.second, 2)
            if int(number[1]) != self.first + pair or column != second or (self.numbered == count and not second):
                raise InputError(
                    f"{place}: {number[1]}{number[2]} follows {plural(count, 'move')}",
                    subject="record",
                    remedy="number every second move",
                )
            self.numbered, word = count, number[3]
        if word:
            self.moves.append((word, place))


def _misplaced(word: str, place: str) -> InputError:
    shown = f"record: {place}: {excerpt(word)}"
    return InputError('expected tags such as [White "Anna"], all before the moves', subject=shown)


def _games(text: str) -> Iterator[_NativeGame]:
    """Yield the games in a text. There is always at least one: an empty text contains one empty game.

    A fault makes only its own game unreadable. If a comment does not end, the next game begins with the next tags after
    a blank line.
    """
    # `at` is the index of the last part, `first` that of its line, and `limit` that of the end of the game with the
    # last comment. `whole` is the limit for comments that contain lines with tags.
    game, end, at, line, first, limit, nested, whole = _NativeGame(1), 0, 0, 1, 0, 0, True, len(text)
    while (part := _PART.search(text, end)) is not None:
        kind, word, start, spaced = part.lastgroup, part[0], part.start(), text.count("\n", end, part.start()) > 1
        name = _SPELLING.get((part["name"] or "").lower(), part["name"] or "")
        if breaks := text.count("\n", at, start):
            line, first = line + breaks, text.rfind("\n", at, start) + 1
        at, place, at_line = start, f"line {line}, column {start - first + 1}", first >= end
        game.spaced |= spaced
        if game.ends_before(kind, name, at_line=at_line, spaced=spaced):
            if game.begun and game.result is None and not at_line:
                game.error = game.error or _misplaced(word, place)
            yield game
            game = _NativeGame(line)
        end = part.end()
        try:
            if word in ("{", "("):
                if limit <= start:
                    limit = len(text) if (found := _NEXT_GAME.search(text, start)) is None else found.start()
                    nested = True
                # Braces nest in this toolkit's records, but not in PGN. A comment may contain lines with tags.
                ways = ((limit, nested), (limit, False), (whole if word == "{" else 0, True))
                ends = ((_end(text, start, stop, nested=nests), nests) for stop, nests in ways)
                end, nested = next((way for way in ends if way[0] >= 0), (-1, False))
                if end < 0:
                    end, whole, game.begun = limit, 0, True
                    what, sign = ("comment", "}") if word == "{" else ("variation", ")")
                    shown = excerpt(text[start : min(start + 40, limit)])
                    raise InputError(f"{place}: the {what} {shown} does not end; expected {sign!r}", subject="record")
            if kind == "word":
                game.begun, game.result = True, word if _result_word(word) else None
            if game.error is None:
                _add(game, text, part, end, place, name)
        except InputError as error:
            game.error = game.error or error
    yield game


def _add(game: _NativeGame, text: str, part: re.Match[str], end: int, place: str, name: str) -> None:
    """Add a part of a text, which ends at ``end``, to its game."""
    kind, word = part.lastgroup, part[0]
    if kind == "tag":
        game.tag(name, part["value"], place)
    elif kind == "broken" or (kind == "word" and game.result is None):
        game.word(word, place)
    elif kind == "mark":
        game.keep(game.marks, word)
    elif kind == "rest":
        game.keep(game.comments, word[1:].strip())
    elif word == "{":
        game.keep(game.comments, _unescaped(text[part.end() : end - 1].strip()))
    elif word == "(":
        game.variations.append((len(game.moves), text[part.end() : end - 1]))
    elif kind == "escape":
        game.escapes += 1


def _end(text: str, start: int, limit: int, *, nested: bool) -> int:
    """Return the end of a comment or a variation, or -1 if it does not end before the limit.

    In a comment, only braces count, and they may be nested. In a variation, only parentheses outside comments count.
    """
    braces = parentheses = 0
    while (sign := (_IN_BRACES if braces else _IN_VARIATION).search(text, start, limit)) is not None:
        braces += -1 if sign[0] == "}" else sign[0] == "{" and (nested or not braces)
        parentheses += {"(": 1, ")": -1}.get(sign[0], 0)
        start = sign.end()
        if not braces and not parentheses:
            return start
    return -1


def _result_word(text: str) -> str:
    """Return the result that a word describes in its usual spelling, or an empty text if it describes none."""
    plain = text[:9].translate(_PLAIN).lower().replace("0.5", "1/2").replace("0,5", "1/2")
    return "1/2-1/2" if plain == "1/2" else plain if plain in _ENDS else ""


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
            if game.error is None and not error.problem.startswith("line "):  # the error does not name its place
                error.subject = error.subject.removeprefix("record").removeprefix(": ")
                error.within(f"record: line {game.line}")
            yield error


def _record(game: _NativeGame, variant: Variant | None) -> GameRecord:
    if game.error is not None:
        raise game.error
    tags = game.tags
    name, digest = tags.pop("Variant", None), tags.pop("Rules-SHA256", None)
    own = _own_rules(name, tags.get("Rules"), given=variant is not None)
    chosen = variant or own
    if chosen is None:
        problem = "has no rule set" if game.moves else "has neither a rule set nor moves"
        kind = NoRulesError if game.moves else InputError
        raise kind(f'{problem}; expected a tag such as [Variant "ashton"]', subject="record")
    _hold_to_digest(digest, chosen, given=variant is not None)
    of_app, of_pgn = _is_of_app(tags), "FEN" in tags
    start = _start(game, chosen, own)
    first = chosen.rules.first[0] if start is None else start.side
    if game.second or (of_pgn and game.numbered < 0 and first != (own or chosen).rules.first[0]):
        first = "w" if first == "b" else "b"
    result, problems = _result(game.result, tags, "b" if of_app else first)
    warnings = () if variant is None or digest is not None else _overruled(name, own, variant)
    if not _winner(ended := tags.get("Termination", "")):
        warnings = (*warnings, f"record: tag Termination {excerpt(ended)} is ignored")
    return GameRecord(
        result=result,
        tags=tags,
        variant=chosen if variant is not None or name is None else chosen.name,
        start=start,
        moves=tuple(_moves(game.moves, chosen.size)),
        notes=tuple(game.notes),
        warnings=warnings,
        comments=game.comments,
        marks=game.marks,
        problems=problems,
        first_number=game.first,
        variations=tuple(game.variations),
    )


def _own_rules(name: str | None, rules: str | None, *, given: bool) -> Variant | None:
    """Return the rules that a record names or spells out, or None if it does neither.

    If the record's rules are unknown but the caller has given other rules, the result is also None. Only names of
    built-in rule sets are accepted, never paths, so that a record cannot cause a file to be opened.
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


def _is_of_app(tags: dict[str, str]) -> bool:
    """Return whether the tags are those of the app, and rename its tags for the players."""
    form = tags.pop("Format", None)
    if form not in (None, *_FORMATS):
        raise InputError(f"tag Format {excerpt(form or '')}: expected one of {' '.join(_FORMATS)}", subject="record")
    named = {theirs: ours for theirs, ours in _PLAYERS.items() if theirs in tags and ours not in tags}
    tags |= {ours: tags.pop(theirs) for theirs, ours in named.items()}
    return form is not None or tags.keys() & {"White", "Black"} == {*named.values()} != set()


def _start(game: _NativeGame, chosen: Variant, own: Variant | None) -> Position | None:
    """Return the position in which a game begins, or None for the rules' start position.

    If a ``FEN`` does not contain the side to move, the side that moves first by the rules begins, or the other side if
    the first move is numbered as the second of its pair. Counters at its end are ignored.
    """
    written, fen, placed = (game.tags.pop(name, None) for name in ("Start", "FEN", "SetUp"))
    usual = None if own is None else start_under(Position.parse(own.start_position, own.size), chosen, "record")
    start = usual if written is None else Position.parse(written, chosen.size)
    if fen is not None:
        if (found := _FEN.fullmatch(fen.strip())) is not None:
            white = (chosen.rules.first == "white") != game.second if found[2] is None else found[2] in "dwDW"
            fen = f"{found[1]} {'w' if white else 'b'}"
        position = read_position(fen, chosen.size)
        if written is None or start is None:
            start = start_under(position, chosen, "record")
        elif (start.cells, start.side) != (position.cells, position.side):
            raise InputError(f"tag FEN {excerpt(fen)}: differs from tag Start {excerpt(written)}", subject="record")
    fits = {"0": start_under(start, chosen, "record") == usual, "1": fen is not None or written is not None}
    if placed is not None and not fits.get(placed):
        problem = f"tag SetUp {excerpt(placed)}: expected 1 with another start in a tag FEN, or 0 without"
        raise InputError(problem, subject="record")
    return start


def _result(last: str | None, tags: dict[str, str], first: str) -> tuple[GameResult | None, tuple[str, ...]]:
    """Return the result on which a record's tags and its last word agree, and descriptions of contradictions."""
    known: dict[str, GameResult | None] = {_NO_RESULT: None, **{word: word for word in RESULTS}, **_points(first)}
    claimed, ended = tags.pop("Result", None), tags.get("Termination", "")
    if (plain := _result_word((claimed or "").strip(" ?") or _NO_RESULT)) not in known:
        raise InputError(f"tag Result {excerpt(claimed or '')}: expected one of {' '.join(known)}", subject="record")
    claims = {
        f"the last word is {last!r}": known[_result_word(last or _NO_RESULT)],
        f"the tag Result is {excerpt(claimed or '')}": known[plain],
        f"the tag Termination is {excerpt(ended)}": known.get(_winner(ended)),
    }
    found = {claim: result for claim, result in claims.items() if result is not None}
    if len({*found.values()}) > 1:
        return None, (f"result: {', but '.join(found)}",)
    return next(iter(found.values()), None), ()


def _winner(ended: str) -> str:
    """Return the result that a tag ``Termination`` names, ``*`` if it names none, or an empty text if it is unclear."""
    if (found := _WINNER.fullmatch(ended)) is None:
        return _NO_RESULT if _NO_WINNER.fullmatch(ended) else ""
    white, wins = (found[1] or "").lower() in ("white", "defenders"), found[2] is not None
    return "draw" if found[1] is None else "white" if white == wins else "black"


def _points(first: str) -> dict[str, GameResult]:
    """Return the meaning of PGN's results. Their first number belongs to the given side."""
    sides: tuple[GameResult, GameResult] = ("white", "black") if first == "w" else ("black", "white")
    return {"1-0": sides[0], "0-1": sides[1], "1/2-1/2": "draw"}


def _moves(words: list[tuple[str, str]], size: int) -> Iterator[MoveText]:
    for ply, (word, place) in enumerate(words, 1):
        try:
            yield parsed_move(word, size)
        except InputError as error:
            raise InputError(f"{place}: ply {ply}: {error}", subject="record") from error


@lru_cache(1 << 14)
def parsed_move(word: str, size: int) -> MoveText:
    """Parse a move of a record, which may end with a number of captured pieces, such as ``x2``, or ``+`` or ``#``."""
    plain = word.translate(_PLAIN).rstrip("+#")
    move, _, count = plain.rpartition("x")
    if move and count.isdecimal() and len(count) <= 2:
        return replace(MoveText.parse(move, size), count=int(count))
    return MoveText.parse(plain, size)


def write_record(record: GameRecord, *, pgn: bool = False) -> str:
    """Return the text of a record in the toolkit's own format, or as PGN.

    Notes and the positions after each move are left out. With ``pgn``, the text has the seven required tags, ``SetUp``
    and ``FEN`` for another first position, and results such as ``1-0``, whose first number belongs to the side that
    moves first by the rules.

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
        if _NAME.fullmatch(tag) is None or _SPELLING.get(tag.lower(), tag) in _STRUCTURE:
            own = " ".join(_STRUCTURE)
            raise InputError(
                f"expected a capital, then letters, digits, _ or -, but none of {own}", subject=f"tag {excerpt(tag)}"
            )
        tags[tag] = value
    if record.start is not None:
        tags["Start"] = str(record.start)
    for ply in (record.comments.keys() | record.marks.keys()) - set(range(len(record.moves) + 1)):
        raise InputError(f"has a comment or mark on ply {ply}, but only {len(record.moves)} moves", subject="record")
    result, second = record.result or _NO_RESULT, False
    if pgn:
        rules = read_rules(record.tags["Rules"]) if record.variant is None else as_variant(record.variant)
        first = rules.rules.first[0]
        result = next((points for points, side in _points(first).items() if side == record.result), _NO_RESULT)
        if record.start is not None:
            tags |= {"SetUp": "1", "FEN": str(replace(record.start, fields={}))}
            second = record.start.side != first
        tags = _ROSTER | tags | {"Result": result}
    lines = [f'[{tag} "{_escaped(value, _IN_TAG)}"]' for tag, value in tags.items()]
    lines.append("")
    if before := _after_move(record, 0, pgn=pgn).strip():
        lines.append(before)
    words, number = [""] * (second and bool(record.moves)), 1 if record.start is None else record.first_number
    for ply, move in enumerate(record.moves, 1):
        words.append(f"{move}{'' if move.count is None else f'x{move.count}'}{_after_move(record, ply, pgn=pgn)}")
    for place in range(0, len(words), 2):
        dots = "." if words[place] else "..."
        lines.append(f"{number + place // 2}{dots} {' '.join(filter(None, words[place : place + 2]))}")
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
