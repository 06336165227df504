"""OpenTafl's game records, the ``.otg`` files, as game records of ours.

Tags ``[name:value]`` come first; ``rules`` is required. Then each turn has a line with
its number, from 1, and two moves; a comment in brackets may follow, its parts on the two
moves divided by ``|``. Variations, numbered like ``7a.1.2a.``, are left out and named in
a note; comments are left out silently.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tablut.errors import InputError
from tablut.files import excerpt
from tablut.formats.comments import without_comments
from tablut.formats.game_record import GameRecord
from tablut.formats.opentafl import read_move, read_position
from tablut.formats.opentafl_rules import read_rules, rules_start
from tablut.position import Position

if TYPE_CHECKING:
    from tablut.formats.game_record import Result
    from tablut.position import MoveText
    from tablut.variants import Variant

__all__ = ["looks_like_otg", "read_game"]

_TAG = re.compile(r"\s*\[([A-Za-z][\w-]{0,63}):([^\]]*)\]", re.ASCII)
_LABEL = re.compile(r"([0-9]{1,9})\.|([0-9][\w.]{0,63})\.", re.ASCII)
_RESULTS: dict[str, Result | None] = {"1": "black", "0": "draw", "-1": "white", "?": None}
_NAMES = {"attackers": "Black", "defenders": "White", "variant": "Variant-name"}
_RESIGNS = "---"


def looks_like_otg(text: str) -> bool:
    r"""Return whether a text is an OpenTafl record rather than another kind of record.

    Parameters
    ----------
    text : str
        Any text.

    Returns
    -------
    bool
        True if it begins with a tag ``[name:value]``.

    Examples
    --------
    >>> looks_like_otg("[date:2015.05.04]\n[rules:dim:7 start:/…/]"), looks_like_otg('[Variant "ashton"]')
    (True, False)
    """
    return _TAG.match(text) is not None


def read_game(text: str, variant: Variant | None = None) -> GameRecord:
    r"""Return the game of an OpenTafl record.

    Parameters
    ----------
    text : str
        The record.
    variant : Variant, optional
        Rules to take instead of the record's, of which only the start is then read. A
        record with rules that no rule field can express needs them.

    Returns
    -------
    GameRecord
        Its moves need not be legal.

    Raises
    ------
    InputError
        Naming the tag, turn or move that is wrong, or the rules that no rule field can express.

    Examples
    --------
    >>> record = read_game(
    ...     "[attackers:Anna]\n[defenders:Bert]\n[result:-1]\n"
    ...     "[rules:dim:5 name:Little surf:n ks:c start:/2t2/2T2/t1K1t/2T2/2t2/]\n\n"
    ...     "1. c1-b1 c2-e2\n[A first try.|]\n1a.1.1a. c1-d1\n[|]\n2. a3-a2 Kc3-c2--\n"
    ... )
    >>> record.variant.name, record.tags["White"], record.result, record.notes
    ('Little', 'Bert', 'white', ('variations left out: 1a',))
    >>> [str(move) for move in record.moves]
    ['c1-b1', 'c2-e2', 'a3-a2', 'c3-c2']
    """
    tags, end = _tags(text)
    if "rules" not in tags:
        raise InputError(f"OpenTafl record {excerpt(text, 40)}: has no tag [rules:dim:… start:…]")
    rules = tags["rules"]
    outcome = tags.pop("result", "?").strip()
    if outcome not in _RESULTS:
        raise InputError(
            f"OpenTafl record: tag result {excerpt(outcome)}: expected 1 (attackers), 0, -1 (defenders) or ?"
        )
    own_start = rules_start(rules)
    chosen, warnings = _chosen(rules, variant)
    if own_start.size != chosen.size:
        raise InputError(f"OpenTafl record: its board has side {own_start.size}, variant {chosen.name!r} {chosen.size}")
    placement = tags.pop("position", None)
    start = own_start if placement is None else read_position(placement, own_start.side, chosen.size)
    moves, notes = _moves(text, end, chosen.size)
    return GameRecord(
        tags={_NAMES.get(name, name.capitalize()): value.strip() for name, value in tags.items()},
        variant=chosen,
        start=None if start == Position.parse(chosen.start_position, chosen.size) else start,
        moves=tuple(moves),
        result=_RESULTS[outcome],
        notes=tuple(notes),
        warnings=warnings,
    )


def _chosen(rules: str, variant: Variant | None) -> tuple[Variant, tuple[str, ...]]:
    """Return the rules to take, and a warning if they are not the record's."""
    try:
        own = read_rules(rules)
    except InputError as error:
        if variant is None:
            raise InputError(f"{error}; a variant given beside the record replaces its rules") from error
        return variant, (f"record: it was read under {variant.name!r} as you asked; its own rules no field can say",)
    if variant is None or own.same_game(variant):
        return variant or own, ()
    return variant, (f"record: is under {own.name!r}; it was read under {variant.name!r} as you asked",)


def _tags(text: str) -> tuple[dict[str, str], int]:
    tags: dict[str, str] = {}
    end = 0
    while (found := _TAG.match(text, end)) is not None:
        name = found[1].lower()
        if name in tags:
            raise InputError(f"OpenTafl record: tag [{name}:…] comes twice")
        tags[name] = found[2]
        end = found.end()
    return tags, end


def _moves(text: str, end: int, size: int) -> tuple[list[MoveText], list[str]]:
    moves: list[MoveText] = []
    variations: dict[str, None] = {}
    notes: list[str] = []
    turn = 0
    for line in without_comments(text[end:], "[", "]", "OpenTafl record").splitlines():
        words = line.split()
        if not words:
            continue
        label = _LABEL.fullmatch(words[0])
        if label is None:
            raise InputError(
                f"OpenTafl record: line {excerpt(line.strip())}: expected a turn such as {turn + 1}. d1-e1 c4-c5"
            )
        if label[2] is not None:
            variations[label[2].split(".")[0]] = None
            continue
        if label[1] != str(turn + 1) or len(moves) != 2 * turn:
            raise InputError(
                f"OpenTafl record: turn {label[1]} follows {len(moves)} moves; expected one turn, two moves"
            )
        turn += 1
        if len(words) > 3:
            raise InputError(f"OpenTafl record: turn {turn} has {len(words) - 1} moves; expected two at most")
        for word in words[1:]:
            if word == _RESIGNS:
                notes.append(f"turn {turn}: {'defenders' if len(moves) % 2 else 'attackers'} resign")
                break
            try:
                moves.append(read_move(word, size))
            except InputError as error:
                raise InputError(f"OpenTafl record: turn {turn}: {error}") from error
    if variations:
        notes.append(f"variations left out: {', '.join(variations) if len(variations) <= 20 else len(variations)}")
    return moves, notes
