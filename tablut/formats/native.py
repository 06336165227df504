r"""Our own game records: tags in brackets, numbered moves, the result.

    [Variant "ashton"]
    [White "Anna"]
    [Start "3bbb3/4b4/4w4/b3w3b/bbwwKwwbb/b3w2b1/4w4/4b4/3bbb3 w"]

    1. e4-f4 a4-b4
    2. f4-f2 h4-e4xe3
    black

``Start`` is there if the game did not begin from the start of the variant. ``Variant`` is a
name that ships. A record under rules of your own has their digest beside it, in a tag
``Rules-SHA256``; it is read with the rules given, which are held to the digest. Instead of
``Variant`` a record may spell its rules out as OpenTafl does, in a tag ``Rules``. The last
word is ``white``, ``black``, ``draw`` or ``*`` for none. In a tag's value ``\"``, ``\\``
and ``\n`` stand for quote, backslash and line break. Comments stand in braces.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tablut.errors import InputError
from tablut.files import excerpt
from tablut.formats.comments import without_comments
from tablut.formats.game_record import RESULTS, GameRecord
from tablut.formats.opentafl_rules import read_rules, rules_source
from tablut.position import MoveText, Position
from tablut.variants import as_variant, shipped_variant, variant_names

if TYPE_CHECKING:
    from tablut.formats.game_record import Result
    from tablut.variants import Variant

__all__ = ["read_native", "write_native"]

_TAG = re.compile(r'\s*\[([A-Z][\w-]{0,63}) "((?:[^"\\\n]|\\["\\n])*)"\]', re.ASCII)
_NAME = re.compile(r"[A-Z][\w-]{0,63}", re.ASCII)
_STRUCTURE = ("Variant", "Rules-SHA256", "Start", "Result")
_NUMBER = re.compile(r"([0-9]{1,9})\.")
_DIGEST = re.compile(r"[0-9a-fA-F]{64}")
_NO_RESULT = "*"


def read_native(text: str, variant: Variant | None = None) -> GameRecord:
    r"""Return the game of a record in our own format.

    Parameters
    ----------
    text : str
        The record.
    variant : Variant, optional
        Rules to take instead of those that the record names.

    Returns
    -------
    GameRecord
        Its moves need not be legal.

    Raises
    ------
    InputError
        Naming the tag or move that is wrong and what was expected there.

    Examples
    --------
    >>> record = read_native('[Variant "ashton"]\n[White "Anna"]\n1. e4-f4 a4-b4\n2. f4-f2 i4-e4xe3 black')
    >>> record.variant, dict(record.tags), str(record.moves[3]), record.result
    ('ashton', {'White': 'Anna'}, 'i4-e4xe3', 'black')
    """
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
    start = _own_start(own, chosen) if written is None else Position.parse(written, chosen.size)
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
            f"record: {error}; a record under rules of your own is read with their file beside it (--variant FILE)"
        ) from error


def _hold_to_digest(digest: str | None, chosen: Variant, *, given: bool) -> None:
    if digest is None:
        return
    if _DIGEST.fullmatch(digest) is None:
        raise InputError(f"record: tag Rules-SHA256 {excerpt(digest)}: expected 64 hexadecimal digits")
    if digest.lower() != chosen.digest:
        way = "give the file that it was written under" if given else "give their file (--variant FILE)"
        raise InputError(
            f"record: is under rules with digest {digest[:12].lower()}..., and those of {chosen.name!r} have "
            f"{chosen.digest[:12]}...; {way}"
        )


def _overruled(name: str | None, own: Variant | None, chosen: Variant) -> tuple[str, ...]:
    """Return a line about the rules that were given beside the record in place of its own."""
    if own is not None and own.same_game(chosen):
        return ()
    if own is not None:
        return (f"record: is under {own.name!r}; it was read under {chosen.name!r} as you asked",)
    if name is None:
        return ()
    shown = "" if name == chosen.name else f"; it was read under {chosen.name!r}"
    return (f"record: names rules {excerpt(name)} without their digest{shown}",)


def _own_start(own: Variant | None, chosen: Variant) -> Position | None:
    """Return the start of the variant that a record names, if it is not that of the chosen one."""
    if own is None:
        return None
    if own.size != chosen.size:
        raise InputError(f"record: its board has side {own.size}, variant {chosen.name!r} {chosen.size}")
    return None if own.start_position == chosen.start_position else Position.parse(own.start_position, own.size)


def _result(words: list[str], claimed: str | None) -> Result | None:
    """Remove the result from the end of the words and return it; a tag may give it, too."""
    known: dict[str, Result | None] = {_NO_RESULT: None} | {word: word for word in RESULTS}
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


def write_native(record: GameRecord) -> str:
    """Return the text of a record in our own format; the inverse of `read_native`.

    Positions after each move and notes have no place in it.

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
        If a tag has a name that the format cannot hold, or the record names no rule set.

    Examples
    --------
    >>> moves = tuple(MoveText.parse(move, 9) for move in ("e4-f4", "a4-b4", "f4-f2", "i4-e4xe3"))
    >>> print(write_native(GameRecord({"White": "Anna"}, "ashton", None, moves, "black")), end="")
    [Variant "ashton"]
    [White "Anna"]
    <BLANKLINE>
    1. e4-f4 a4-b4
    2. f4-f2 i4-e4xe3
    black
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
