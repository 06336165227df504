"""One reader for game records of every kind, and one writer."""

from __future__ import annotations

import re

from tablut.errors import InputError
from tablut.position import MoveText, Position
from tablut.records.archive import looks_like_archive
from tablut.records.bologna import looks_like_log, read_log
from tablut.records.game import GameRecord, overruled, start_under, without_comments
from tablut.records.opentafl import looks_like_otg, read_game, read_rules, rules_source
from tablut.rules.outcome import RESULTS, GameResult
from tablut.store.files import excerpt
from tablut.variants import Variant, VariantLike, as_variant, shipped_variant, variant_names


def read_record(text: str | bytes, variant: VariantLike | None = None, *, origin: str = "") -> GameRecord:
    r"""Return the game of a record of any of the three kinds.

    Parameters
    ----------
    text : str or bytes
        A record of our own, one of OpenTafl, or a game log of Bologna's server. Bytes are
        read as UTF-8; a log that is not UTF-8 as Latin-1, which older servers wrote.
    variant : Variant, str or path-like, optional
        Rules to take instead of those that the record names; where they differ, ``warnings``
        of the record says so. If the record has the digest of its rules, they must match it.
    origin : str
        What error messages call a text that is no record at all: a file's name. By default its beginning.

    Returns
    -------
    GameRecord
        Its moves need not be legal; see `tablut.replay`.

    Raises
    ------
    InputError
        If the text is none of these; or naming what is wrong with it.

    Examples
    --------
    >>> read_record('[Variant "ashton"]\n1. e4-f4').moves[0].move.target
    32
    >>> read_record("once upon a time")
    Traceback (most recent call last):
        ...
    tablut.errors.InputError: record 'once upon a time': expected tags such as [Variant "ashton"], ...
    """
    if isinstance(text, bytes):
        text = _decoded(text, origin)
    text = text.removeprefix("\ufeff")
    if looks_like_archive(text):
        way = "`tablut replay FILE -v RULES --game N --save RECORD` writes that of line N as a record"
        raise InputError(f"record {excerpt(origin or text, 40)}: is an archive, a game a line; {way}")
    rules = None if variant is None else as_variant(variant)
    read = read_log if looks_like_log(text) else read_game if looks_like_otg(text) else read_native
    if read is read_native and variant is None and not text.lstrip().startswith("["):
        kinds = 'tags such as [Variant "ashton"], an OpenTafl record or a Bologna log'
        shown = excerpt(origin) if origin else excerpt(text.strip(), 40)
        raise InputError(f"record {shown}: expected {kinds}")
    try:
        return read(text, rules)
    except InputError as error:
        if not origin:
            raise
        raise InputError(f"record {excerpt(origin)}: {str(error).removeprefix('record: ')}") from error


def _decoded(content: bytes, origin: str) -> str:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        text = content.decode("latin-1")
        if not looks_like_log(text.replace("\r\n", "\n")):
            shown = f"record {excerpt(origin)}" if origin else "record"
            raise InputError(f"{shown}: not a UTF-8 text file") from error
    return text.replace("\r\n", "\n").replace("\r", "\n")


# -- our own game records: tags in brackets, numbered moves, the result --------------------


#     [Variant "ashton"]
#     [White "Anna"]
#     [Start "3bbb3/4b4/4w4/b3w3b/bbwwKwwbb/b3w2b1/4w4/4b4/3bbb3 w"]
#
#     1. e4-f4 a4-b4
#     2. f4-f2 h4-e4xe3
#     black
#
# ``Start`` is there if the game did not begin from the start of the variant. ``Variant`` is a
# name that ships. A record under rules of your own has their digest beside it, in a tag
# ``Rules-SHA256``; it is read with the rules given, which are held to the digest. Instead of
# ``Variant`` a record may spell its rules out as OpenTafl does, in a tag ``Rules``. The last
# word is ``white``, ``black``, ``draw`` or ``*`` for none. In a tag's value ``\"``, ``\\``
# and ``\n`` stand for quote, backslash and line break. Comments stand in braces.


_TAG = re.compile(r'\s*\[([A-Z][\w-]{0,63}) "((?:[^"\\\n]|\\["\\n])*)"\]', re.ASCII)
_NAME = re.compile(r"[A-Z][\w-]{0,63}", re.ASCII)
_STRUCTURE = ("Variant", "Rules-SHA256", "Start", "Result")
_NUMBER = re.compile(r"([0-9]{1,9})\.")
_DIGEST = re.compile(r"[0-9a-fA-F]{64}")
_NO_RESULT = "*"


def read_native(text: str, variant: Variant | None = None) -> GameRecord:
    r"""Return the game of a record in our own format."""
    tags: dict[str, str] = {}
    end = 0
    while (found := _TAG.match(text, end)) is not None:
        if found[1] in tags:
            raise InputError(f"record: tag {found[1]} comes twice")
        tags[found[1]] = re.sub(r"\\(.)", lambda escape: "\n" if escape[1] == "n" else escape[1], found[2])
        end = found.end()
    name, digest = tags.pop("Variant", None), tags.pop("Rules-SHA256", None)
    own = _own_rules(name, tags.get("Rules"), given=variant is not None)
    chosen = variant or own
    if chosen is None:
        raise InputError(f'record {excerpt(text.strip(), 40)}: expected a tag such as [Variant "ashton"]')
    _hold_to_digest(digest, chosen, given=variant is not None)
    written = tags.pop("Start", None)
    if written is not None:
        start: Position | None = Position.parse(written, chosen.size)
    else:
        start = None if own is None else start_under(Position.parse(own.start_position, own.size), chosen, "record")
    claimed = tags.pop("Result", None)
    words = without_comments(text[end:], "{", "}", "record").split()
    result = _result(words, claimed)
    return GameRecord(
        tags=tags,
        variant=chosen if variant is not None or name is None else chosen.name,
        start=start,
        moves=tuple(_moves(words, chosen.size)),
        result=result,
        warnings=() if variant is None or digest is not None else _overruled(name, own, variant),
    )


def _own_rules(name: str | None, rules: str | None, *, given: bool) -> Variant | None:
    """Return the rules that a record names or spells out; None without any, or if unknown while others are given.

    Only shipped names are read, never paths: a record cannot cause a file to be opened.
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
        raise InputError(
            f"record: {error}; a record under rules of your own is read with their file given beside it"
        ) from error


def _hold_to_digest(digest: str | None, chosen: Variant, *, given: bool) -> None:
    if digest is None:
        return
    if _DIGEST.fullmatch(digest) is None:
        raise InputError(f"record: tag Rules-SHA256 {excerpt(digest)}: expected 64 hexadecimal digits")
    if digest.lower() != chosen.digest:
        way = "give the file that it was written under" if given else "give their file beside it"
        raise InputError(
            f"record: is under rules with digest {digest[:12].lower()}..., and those of {chosen.name!r} have "
            f"{chosen.digest[:12]}...; {way}"
        )


def _overruled(name: str | None, own: Variant | None, chosen: Variant) -> tuple[str, ...]:
    """Return a line about the rules that were given beside the record in place of its own."""
    if own is not None or name is None:
        return overruled(own, chosen)
    shown = "" if name == chosen.name else f"; it was read under {chosen.name!r}"
    return (f"record: names rules {excerpt(name)} without their digest{shown}",)


def _result(words: list[str], claimed: str | None) -> GameResult | None:
    """Remove the result from the end of the words and return it; a tag may give it, too."""
    known: dict[str, GameResult | None] = {_NO_RESULT: None} | {word: word for word in RESULTS}
    if claimed is not None and claimed not in known:
        raise InputError(f"record: tag Result {excerpt(claimed)}: expected one of {' '.join(known)}")
    last = words.pop() if words and words[-1] in known else None
    if last is not None and claimed is not None and last != claimed:
        raise InputError(f"record: ends with {last!r}, and its tag Result says {excerpt(claimed)}")
    return known[last or claimed or _NO_RESULT]


def _moves(words: list[str], size: int) -> list[MoveText]:
    moves: list[MoveText] = []
    numbered = -1  # how many moves stand before the last number
    for word in words:
        number = _NUMBER.fullmatch(word)
        if number is None:
            if word.startswith("["):
                raise InputError(f'record: {excerpt(word)}: expected tags such as [White "Anna"], all before the moves')
            try:
                moves.append(MoveText.parse(word, size))
            except InputError as error:
                raise InputError(f"record: ply {len(moves) + 1}: {error}") from error
        elif number[1] == str(len(moves) // 2 + 1) and len(moves) % 2 == 0 and numbered != len(moves):
            numbered = len(moves)
        else:
            raise InputError(f"record: {word} follows {len(moves)} moves; a number stands before every other move")
    return moves


def write_record(record: GameRecord) -> str:
    """Return the text of a record in our own format, in which positions after each move and notes have no place.

    Parameters
    ----------
    record : GameRecord
        The game.

    Returns
    -------
    str
        The text, a line feed at its end.

    Raises
    ------
    InputError
        If the format cannot hold it.

    Examples
    --------
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
            raise InputError(f"tag {excerpt(tag)}: expected a capital, then letters, digits, _ or -, and none of {own}")
        tags[tag] = value
    if record.start is not None:
        tags["Start"] = str(record.start)
    lines = [f'[{tag} "{_quoted(value)}"]' for tag, value in tags.items()]
    lines.append("")
    for first in range(0, len(record.moves), 2):
        pair = " ".join(str(move) for move in record.moves[first : first + 2])
        lines.append(f"{first // 2 + 1}. {pair}")
    return "\n".join([*lines, record.result or _NO_RESULT]) + "\n"


def _quoted(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\r\n", "\n").replace("\n", "\\n")


def _rules_tags(record: GameRecord) -> dict[str, str]:
    """Return the tags that say which rules hold; none if they are in a tag of their own."""
    if record.variant is None:
        if "Rules" in record.tags:
            return {}
        raise InputError("record: names no rule set; give it one, such as ashton, before it is written")
    variant = as_variant(record.variant)
    rules = record.tags.get("Rules")
    if rules is not None and variant.source == rules_source(rules):
        return {}
    if variant.name in variant_names() and variant.same_game(shipped_variant(variant.name)):
        return {"Variant": variant.name}
    return {"Variant": variant.name, "Rules-SHA256": variant.digest}
