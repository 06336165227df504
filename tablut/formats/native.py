r"""Our own game records: tags in brackets, numbered moves, the result.

    [Variant "ashton"]
    [White "Anna"]
    [Start "3bbb3/4b4/4w4/b3w3b/bbwwKwwbb/b3w2b1/4w4/4b4/3bbb3 w"]

    1. e4-f4 a4-b4
    2. f4-f2 d1-d2xe2
    black

``Start`` is there if the game did not begin from the start of the variant. Instead of
``Variant`` a record may spell its rules out as OpenTafl does, in a tag ``Rules``. The last
word is ``white``, ``black``, ``draw`` or ``*`` for none. In a tag's value ``\"``, ``\\``
and ``\n`` stand for quote, backslash and line break. Comments stand in braces.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tablut.errors import InputError, VariantError
from tablut.formats.game_record import RESULTS, GameRecord
from tablut.formats.opentafl_rules import read_rules, rules_source
from tablut.position import MoveText, Position
from tablut.variants import Variant, load_variant, variant_names

if TYPE_CHECKING:
    from tablut.formats.game_record import Result

__all__ = ["read_native", "write_native"]

_TAG = re.compile(r'\s*\[([A-Z][\w-]*) "((?:[^"\\\n]|\\["\\n])*)"\]', re.ASCII)
_NAME = re.compile(r"[A-Z][\w-]*", re.ASCII)
_STRUCTURE = ("Variant", "Start", "Result")
_NUMBER = re.compile(r"(\d+)\.")
_NO_RESULT = "*"


def read_native(text: str, variant: Variant | None = None) -> GameRecord:
    r"""Return the game of a record in our own format.

    Parameters
    ----------
    text : str
        The record.
    variant : Variant, optional
        Rules to take instead of those that the record names.

    Raises
    ------
    InputError
        Naming the tag or move that is wrong and what was expected there.

    Examples
    --------
    >>> record = read_native('[Variant "ashton"]\n[White "Anna"]\n1. e4-f4 a4-b4\n2. f4-f2xe2 black')
    >>> record.variant, dict(record.tags), str(record.moves[2]), record.result
    ('ashton', {'White': 'Anna'}, 'f4-f2xe2', 'black')
    """
    tags: dict[str, str] = {}
    end = 0
    while (found := _TAG.match(text, end)) is not None:
        if found[1] in tags:
            raise InputError(f"record: tag {found[1]} comes twice")
        tags[found[1]] = re.sub(r"\\(.)", lambda escape: "\n" if escape[1] == "n" else escape[1], found[2])
        end = found.end()
    name = tags.pop("Variant", None)
    if variant is not None:
        chosen = variant
    elif name is not None:
        chosen = load_variant(name)
    elif "Rules" in tags:
        chosen = read_rules(tags["Rules"])
    else:
        raise InputError(f'record {text.strip()[:40]!r}: expected a tag such as [Variant "ashton"]')
    written = tags.pop("Start", None)
    start = _named_start(name, chosen) if written is None else Position.parse(written, chosen.size)
    claimed = tags.pop("Result", None)
    words = re.sub(r"\{[^}]*\}", " ", text[end:]).split()
    result = _result(words, claimed)
    return GameRecord(
        tags=tags,
        variant=chosen if variant is not None or name is None else name,
        start=start,
        moves=tuple(_moves(words, chosen.size)),
        result=result,
    )


def _named_start(name: str | None, chosen: Variant) -> Position | None:
    """Return the start of the variant that a record names, if it is not that of the chosen one."""
    try:
        named = chosen if name is None else load_variant(name)
    except VariantError:
        # Other rules were given beside the record, so the name need not be known.
        return None
    if named.size != chosen.size:
        raise InputError(f"record: its board has side {named.size}, variant {chosen.name!r} {chosen.size}")
    return None if named.start_position == chosen.start_position else Position.parse(named.start_position, named.size)


def _result(words: list[str], claimed: str | None) -> Result | None:
    """Take the result off the end of the words; a tag may say it too."""
    known: dict[str, Result | None] = {_NO_RESULT: None} | {word: word for word in RESULTS}
    if claimed is not None and claimed not in known:
        raise InputError(f"record: tag Result {claimed!r}: expected one of {' '.join(known)}")
    last = words.pop() if words and words[-1] in known else None
    if last is not None and claimed is not None and last != claimed:
        raise InputError(f"record: ends with {last!r}, and its tag Result says {claimed!r}")
    return known[last or claimed or _NO_RESULT]


def _moves(words: list[str], size: int) -> list[MoveText]:
    moves: list[MoveText] = []
    for word in words:
        number = _NUMBER.fullmatch(word)
        if number is None:
            if word.startswith("["):
                raise InputError(f'record: {word!r}: expected tags such as [White "Anna"], all before the moves')
            try:
                moves.append(MoveText.parse(word, size))
            except InputError as error:
                raise InputError(f"record: ply {len(moves) + 1}: {error}") from error
        elif number[1] != str(len(moves) // 2 + 1) or len(moves) % 2:
            raise InputError(f"record: {word} follows {len(moves)} moves; a number stands before every other move")
    return moves


def write_native(record: GameRecord) -> str:
    """Return the text of a record in our own format; the inverse of `read_native`.

    Positions after each move and notes have no place in it.

    Raises
    ------
    InputError
        If a tag has a name that the format cannot hold, or the rule set has no name to write.

    Examples
    --------
    >>> moves = tuple(MoveText.parse(move, 9) for move in ("e4-f4", "a4-b4", "f4-f2xe2"))
    >>> print(write_native(GameRecord({"White": "Anna"}, "ashton", None, moves, "black")), end="")
    [Variant "ashton"]
    [White "Anna"]
    <BLANKLINE>
    1. e4-f4 a4-b4
    2. f4-f2xe2
    black
    """
    tags = {}
    name = _variant_name(record)
    if name is not None:
        tags["Variant"] = name
    for tag, value in record.tags.items():
        if _NAME.fullmatch(tag) is None or tag in _STRUCTURE:
            raise InputError(
                f"tag {tag!r}: expected a capital, then letters, digits, _ or -, and none of Variant Start Result"
            )
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


def _variant_name(record: GameRecord) -> str | None:
    """Return what to write as Variant; None if the rules are in a tag of their own."""
    variant = record.variant
    if isinstance(variant, str):
        return variant
    rules = record.tags.get("Rules")
    if variant is None or (rules is not None and variant.source == rules_source(rules)):
        if rules is None:
            raise InputError("record: names no rule set; give it one, such as ashton, before it is written")
        return None
    if variant.name in variant_names() and variant.same_game(load_variant(variant.name)):
        return variant.name
    raise InputError(f"variant {variant.name!r}: is none that ships; give the record the path of its file as text")
