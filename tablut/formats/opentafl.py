"""OpenTafl's notation: positions, moves, rules strings and game records (``.otg`` files).

The notation follows ``opentafl-notation-spec.txt`` of https://github.com/jslater89/OpenTafl. A position is written
``/3t3/3T3/…/``: the rows from rank 1 up, with a slash before, between and after them. ``t`` is an attacker, ``T`` a
defender, ``K`` the king, and numbers are runs of empty cells. The side to move is not included. hnefatafl.org writes
the same strings with ``A``, ``D`` and ``K``; the reader assumes that their first row is rank 1, too.

A record begins with tags ``[name:value]``; the tag ``rules`` is required. Then there is one line per turn, with the
turn number and two moves. A comment in brackets may follow; a ``|`` in it separates the comments on the two moves.
Variations, numbered like ``7a.1.2a.``, are left out with their comments and mentioned in a note.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import groupby

from tablut.errors import InputError
from tablut.formats.game_text import GameRecord, commented, further_games, overruled, start_under
from tablut.position import Move, MoveText, Position, Side, expand_row, parse_square, square_name
from tablut.rules.outcome import GameResult
from tablut.variants import Variant
from tablut.variants.library import as_variant, is_own_name
from tablut.variants.model import rule_fields
from tablut.variants.schema import parse_variant
from tablut.work.files import excerpt
from tablut.work.progress import plural

# -- positions and moves -------------------------------------------------------------------


_LETTERS = {"t": "b", "T": "w", "K": "K"}
_PIECES = {ours: theirs for theirs, ours in _LETTERS.items()}
_READ = _LETTERS | {"A": "b", "D": "w"}
"""Letters that the reader accepts: those of OpenTafl and those of hnefatafl.org."""
_OTHERS = {
    "n": "knights",
    "N": "knights",
    "c": "commanders",
    "C": "commanders",
    "m": "mercenaries",
    "M": "mercenaries",
    "g": "guards",
    "G": "guards",
    "k": "an attacking king",
}
_FOREIGN = {letter: f"{kind}, " for letter, kind in _OTHERS.items()}
_TEXT = 480
"""Maximum length of a position in an error message. It is enough for a 19×19 board."""
_PIECE, _SQUARE = r"([a-zA-Z]?)", r"([a-zA-Z][0-9]{1,2})"
_MOVE = re.compile(
    rf"{_PIECE}{_SQUARE}(\^=|[-^=]){_SQUARE}((?:[xX]{_PIECE}{_SQUARE}(?:/{_PIECE}{_SQUARE})*)?)(?:\+{{1,2}}|-{{1,2}})?"
)
_CAPTURE = re.compile(_PIECE + _SQUARE)


def read_position(text: str, side: Side, size: int | None = None) -> Position:
    """Parse a position from an OpenTafl string, which does not contain the side to move."""
    trimmed = text.strip()
    shown = f"position {excerpt(text, _TEXT)}"
    if len(trimmed) < 2 or not trimmed.startswith("/") or not trimmed.endswith("/"):
        raise InputError("expected an OpenTafl string such as /1t1/tKT/3/, with a slash at each end", subject=shown)
    rows = trimmed[1:-1].split("/")
    size = size or len(rows)
    if size not in range(3, 20, 2):
        raise InputError(f"has {size} rows; boards have an odd side from 3 to 19", subject=shown)
    if len(rows) != size:
        raise InputError(f"has {len(rows)} rows, but the board has {size}", subject=shown)
    return Position("".join(expand_row(row, size, shown, _READ, _FOREIGN) for row in rows), side)


def write_position(position: Position) -> str:
    """Return the OpenTafl string for a position. The side to move and any further fields are omitted."""
    rows = []
    for row in reversed(position.rows()):
        runs = ((letter, len(list(run))) for letter, run in groupby(row))
        rows.append("".join(str(length) if letter == "." else _PIECES[letter] * length for letter, length in runs))
    return f"/{'/'.join(rows)}/"


def read_move(text: str, size: int) -> MoveText:
    """Parse a move of an OpenTafl record, such as ``Kd4-d6xd7/c6+``. The piece letter and final signs are ignored."""
    found = _MOVE.fullmatch(text)
    if found is None:
        raise InputError(
            "expected two squares such as d4-d6, then captures such as xd7/c6", subject=f"move {excerpt(text)}"
        )
    piece, start, kind, target, taken = found[1], found[2], found[3], found[4], found[5]
    if kind != "-":
        raise InputError(
            f"{kind!r} is a jump or a berserk move; expected a slide such as d4-d6", subject=f"move {excerpt(text)}"
        )
    captures = _CAPTURE.findall(taken[1:].replace("/", " "))
    for letter in (piece, *(letter for letter, _ in captures)):
        if letter and letter not in _LETTERS:
            raise InputError(
                f"names {_OTHERS.get(letter, 'the unknown piece')}, {letter!r}",
                subject=f"move {excerpt(text)}",
                remedy="use the pieces t T K",
            )
    try:
        move = Move(parse_square(start, size), parse_square(target, size), size)
        squares = frozenset(parse_square(name, size) for _, name in captures)
    except InputError as error:
        raise InputError(str(error), subject=f"move {excerpt(text)}") from error
    return MoveText(move, squares or None)


def write_move(move: MoveText) -> str:
    """Return a move in the notation of OpenTafl records, such as ``d4-d6xd7/c6``, with all captures after one ``x``."""
    return str(move).replace("x", "/").replace("/", "x", 1)


# -- reading game records -----------------------------------------------------------------


_TAG = re.compile(r"\s*\[([A-Za-z][\w-]{0,63}):([^\]]*)\]", re.ASCII)
_TAG_LINE = re.compile(r"^\[([A-Za-z][\w-]{0,63}):", re.ASCII | re.MULTILINE)
_LABEL = re.compile(r"([0-9]{1,9})\.|([0-9][\w.]{0,63})\.", re.ASCII)
_RESULTS: dict[str, GameResult | None] = {"1": "black", "0": "draw", "-1": "white", "?": None}
_NAMES = {"attackers": "Black", "defenders": "White", "variant": "Variant-name"}
_RESIGNS = "---"


def looks_like_otg(text: str) -> bool:
    r"""Return whether a text is an OpenTafl record rather than another kind of record."""
    return _TAG_LINE.match(text.lstrip()) is not None  # a truncated tag also counts as one


def read_game(text: str, variant: Variant | None = None) -> GameRecord:
    r"""Parse an OpenTafl record. If there are several games, parse the first."""
    tags, end = _tags(text)
    if "rules" not in tags:
        raise InputError("has no tag [rules:dim:… start:…]", subject="OpenTafl record")
    rules = tags["rules"]
    outcome = tags.pop("result", "?").strip()
    if outcome not in _RESULTS:
        raise InputError(
            f"tag result {excerpt(outcome)}: expected 1 (attackers), 0, -1 (defenders) or ?", subject="OpenTafl record"
        )
    own_start = rules_start(rules)
    chosen, warnings = _chosen(rules, variant)
    start = start_under(own_start, chosen, "OpenTafl record")
    if (placement := tags.pop("position", None)) is not None:
        start = start_under(read_position(placement, own_start.side, chosen.size), chosen, "OpenTafl record")
    following = _next_game(text, end)
    moves, comments, notes = _moves(text[:following], end, chosen.size)
    if following is not None:
        notes.append(further_games(text.lower().count("\n[rules:", following - 1)))
    if before := tags.pop("start-comment", "").strip():
        comments[0] = before
    return GameRecord(
        tags={_NAMES.get(name, name.capitalize()): value.strip() for name, value in tags.items()},
        variant=chosen,
        start=start,
        moves=tuple(moves),
        result=_RESULTS[outcome],
        notes=tuple(notes),
        comments=comments,
        warnings=warnings,
    )


def read_games(text: str, variant: Variant | None = None) -> Iterator[GameRecord | InputError]:
    """Yield each game in an OpenTafl file, or the error that makes the game unreadable."""
    begin: int | None = 0
    while begin is not None:
        following = _next_game(text, _tags(text, begin, repeated=True)[1])
        try:
            yield read_game(text[begin:following], variant)
        except InputError as error:
            yield error
        begin = following


def _next_game(text: str, end: int) -> int | None:
    """Return the index where the next game's tags begin, or None. One of these tags must be ``rules``."""
    begins = last = end
    while (found := _TAG_LINE.search(text, last)) is not None and (close := text.find("]", found.end())) >= 0:
        if begins == end or text[last : found.start()].strip():
            begins = found.start()
        if found[1].lower() == "rules" and text[found.end() : close].lstrip().startswith("dim:"):
            return begins
        last = close + 1
    return None


def _chosen(rules: str, variant: Variant | None) -> tuple[Variant, tuple[str, ...]]:
    """Return the rules to use, and a warning if they differ from the record's rules."""
    try:
        own = read_rules(rules)
    except InputError as error:
        if variant is None:
            raise InputError(str(error), remedy="give `variant` to replace the rules of the record") from error
        return variant, (f"record: was read under {variant.name!r} as requested; its own rules cannot be expressed",)
    return variant or own, overruled(own, variant)


def _tags(text: str, end: int = 0, *, repeated: bool = False) -> tuple[dict[str, str], int]:
    tags: dict[str, str] = {}
    while (found := _TAG.match(text, end)) is not None:
        name = found[1].lower()
        if name in tags and not repeated:
            raise InputError(f"tag [{name}:…] occurs twice", subject="OpenTafl record")
        tags[name] = found[2]
        end = found.end()
    return tags, end


def _moves(text: str, end: int, size: int) -> tuple[list[MoveText], dict[int, str], list[str]]:
    moves: list[MoveText] = []
    comments: dict[int, str] = {}
    variations: dict[str, None] = {}
    notes: list[str] = []
    turn, varied = 0, False
    parts = list(commented(text[end:], "[", "]", "OpenTafl record"))
    # Each comment is replaced by a word that contains its number. Only these words begin with a bracket.
    for line in "".join(f"{stretch} [{number} " for number, (stretch, _) in enumerate(parts)).splitlines():
        words = [word for word in line.split() if not word.startswith("[")]
        if words:
            label = _LABEL.fullmatch(words[0])
            if label is None:
                raise InputError(
                    f"line {excerpt(' '.join(words))}: expected a turn such as {turn + 1}. d1-e1 c4-c5",
                    subject="OpenTafl record",
                )
            if varied := label[2] is not None:
                variations[label[2].split(".")[0]] = None
            elif label[1] != str(turn + 1) or len(moves) != 2 * turn:
                raise InputError(
                    f"turn {label[1]} follows {plural(len(moves), 'move')}; expected two moves in each turn",
                    subject="OpenTafl record",
                )
            else:
                turn += 1
                notes += _turn(words[1:], turn, size, moves)
        for number in re.findall(r"\[([0-9]+) ", line) if turn and not varied else []:
            numbered = enumerate(parts[int(number)][1].split("|", 1), 2 * turn - 1)
            comments |= {ply: comment.strip() for ply, comment in numbered if comment.strip()}
    if variations:
        notes.append(f"variations omitted: {', '.join(variations) if len(variations) <= 20 else len(variations)}")
    return moves, comments, notes


def _turn(words: list[str], turn: int, size: int, moves: list[MoveText]) -> list[str]:
    """Add a turn's moves to ``moves``. Return a note if a side resigns."""
    if len(words) > 2:
        raise InputError(f"turn {turn} has {len(words)} moves; expected at most two", subject="OpenTafl record")
    for word in words:
        if word == _RESIGNS:
            return [f"turn {turn}: {'defenders' if len(moves) % 2 else 'attackers'} resign"]
        try:
            moves.append(read_move(word, size))
        except InputError as error:
            raise InputError(f"turn {turn}: {error}", subject="OpenTafl record") from error
    return []


# -- OpenTafl's rules strings as variants, if the rule fields can express them -------------


# A string such as ``dim:7 name:Brandub ks:w … start:/3t3/…/`` consists of keys with values. The meaning of the keys and
# their defaults follow the notation specification and the sources of https://github.com/jslater89/OpenTafl (the latest
# version of each). A string is rejected if some of its rules cannot be expressed by rule fields. One
# message lists all of these rules.
#
# In four cases it is not enough to copy a value:
#
# - If there are no corners, the rule that corners close a shieldwall is left out. If the king escapes at the edge, the
#   rule on exit forts is left out, because the king is never in a fort.
# - OpenTafl decides the game at the third occurrence of a position. A draw at the second occurrence is written as a
#   draw at the third, because the values of positions are the same.
# - Pieces may stop only on cells that they may pass, and may neither stop on nor pass cells that they may not re-enter.
# - A cell is as hostile to the king as to a defender.


_DEFAULT_RULES = (
    "name: esc:c surf:y atkf:y tfr:d ka:y ks:s kj:n spd:-1 cor:default cen:default afor: dfor: sw:n swf:y efe:n linc:n "
    "ber:n corh:tcnkTCNK cenh:tcnk cenhe:tcnkTCNK corp:K cenp:tcnkTCNK cors:K cens:K corre:tcnkTCNK cenre:tcnkTCNK"
)
_DEFAULTS: dict[str, str] = dict(word.split(":") for word in _DEFAULT_RULES.split())
# These keys concern pieces and cells that do not occur in any variant here, so they have no effect.
_IDLE = frozenset(["nj", "cj", "mj", "gj", "aforh", "aforp", "afors", "aforre", "dforh", "dforp", "dfors", "dforre"])
_PLACES = frozenset({"dim", "start", "starti"})

_VALUES = {
    "esc": "c e",
    "surf": "y n",
    "atkf": "y n",
    "tfr": "d i w l",
    "ka": "y n h a",
    "ks": "s y c w n m",
    "kj": "n r j c",
    "sw": "n w s",
    "swf": "y n",
    "efe": "y n",
    "linc": "y n",
    "ber": "n c m",
}
_REPETITION = {"d": "draw", "l": "mover_loses", "w": "mover_wins"}
_UNSAYABLE = {
    "ka:h": "a king that captures as the mover only",
    "ka:a": "a king that captures as an anvil only",
    "ks:m": "a king that falls when confined",
    "kj:r": "a king that jumps",
    "kj:j": "a king that jumps",
    "kj:c": "a king that jumps",
    "linc:y": "Linnaean captures",
    "ber:c": "berserk moves",
    "ber:m": "berserk moves",
}


def rules_start(text: str) -> Position:
    """Return the start position in a rules string."""
    return _parse(text).start


def read_rules(text: str) -> Variant:
    """Return the variant that an OpenTafl rules string describes, with or without the word ``rules`` before it.

    If a different built-in rule set has the name in the string, the name gets the prefix ``opentafl-``.

    Raises
    ------
    InputError
        If the string is malformed, or contains rules that no rule field can express. The message lists all such rules.

    Examples
    --------
    >>> variant = read_rules("dim:5 name:Little surf:n ks:c start:/2t2/2T2/t1K1t/2T2/2t2/")
    >>> variant.name, variant.terrain[0], variant.rules.king.elsewhere, variant.rules.castle.hostile_to_white
    ('Little', 'X...X', 'two', 'empty')
    >>> read_rules("dim:5 ks:c tfr:w kj:c start:/2t2/2T2/t1K1t/2T2/2t2/")
    Traceback (most recent call last):
        ...
    tablut.errors.InputError: rules 'dim:5 ks:c tfr:w ...': rule fields cannot express a king that jumps (kj:c)
    """
    rules = _parse(text)
    for key in _VALUES:
        if (rule := _UNSAYABLE.get(f"{key}:{rules.keys[key]}")) is not None:
            rules.refuse(rule, key)
    if set(rules.keys["spd"].rstrip(",").split(",")) != {"-1"}:
        rules.refuse("pieces of limited speed", "spd")
    for key in ("afor", "dfor"):
        if rules.keys[key].strip(","):
            rules.refuse("fortresses", key)
    terrain = _terrain(rules)
    repetition = _REPETITION.get(rules.keys["tfr"])
    tables = {
        "castle": _castle(rules),
        "corners": _corners(rules),
        "king": _king(rules),
        "shieldwall": _shieldwall(rules),
        "repetition": {"times": 3, "result": repetition} if repetition else {},
    }
    if rules.refused:
        raise InputError(f"rule fields cannot express {', '.join(rules.refused)}", subject=rules.origin)

    fields = {
        "first": "white" if rules.start.side == "w" else "black",
        "no_moves": "side_to_move_loses",
        "fort": "on_edge" if (rules.keys["efe"], rules.keys["esc"]) == ("y", "c") else "none",
        "encirclement": "no_way_to_edge" if rules.keys["surf"] == "y" else "none",
        "terrain": terrain,
        "start": rules.start.rows(),
    } | ({} if repetition else {"repetition": "none"})
    # The strings, lists and booleans of JSON are also valid TOML.
    lines = [f"{key} = {json.dumps(value)}" for key, value in fields.items()]
    for table, content in tables.items():
        if content:
            lines += [f"[{table}]", *(f"{key} = {json.dumps(value)}" for key, value in content.items())]
    name = rules.keys["name"] or "opentafl"
    variant = parse_variant("\n".join(lines), name=name, origin=rules.origin)
    variant = replace(variant, title=name.replace("_", " "), source=rules_source(text))
    return variant if is_own_name(variant) else replace(variant, name=f"opentafl-{name}")


def rules_source(text: str) -> str:
    """Return the ``source`` field of a variant that was read from a rules string."""
    return f"OpenTafl rules {' '.join(text.split())}"


@dataclass
class _Rules:
    """Keys of a rules string, including defaults, and the rules in it that no field can express."""

    origin: str
    keys: dict[str, str]
    start: Position
    refused: list[str] = field(default_factory=list)

    @property
    def size(self) -> int:
        return self.start.size

    def refuse(self, rule: str, *keys: str) -> None:
        shown = " ".join(f"{key}:{self.keys[key]}" for key in keys)
        self.refused.append(f"{rule} ({shown if len(shown) <= 80 and shown.isprintable() else excerpt(shown)})")

    def pieces(self, *keys: str) -> set[str]:
        """Return the letters of attacker, defender and king that occur in the values of all given keys."""
        return set("tTK").intersection(*(self.keys[key] for key in keys))

    def cells(self, key: str, default: set[int]) -> set[int]:
        if self.keys[key] == "default":
            return default
        try:
            return {parse_square(name, self.size) for name in self.keys[key].split(",") if name}
        except InputError as error:
            raise InputError(f"{key}: {error}", subject=self.origin) from error

    @property
    def edge(self) -> set[int]:
        last = self.size - 1
        return {cell for cell in range(self.size**2) if {0, last}.intersection(divmod(cell, self.size))}

    @property
    def board_corners(self) -> set[int]:
        size = self.size
        return {0, size - 1, size * (size - 1), size * size - 1}

    @property
    def wide_corners(self) -> set[int]:
        """The corner cells that form complete blocks of 2×2 cells in the board's corners."""
        size = self.size
        first = (0, size - 2, size * (size - 2), (size + 1) * (size - 2))
        blocks = [{cell, cell + 1, cell + size, cell + size + 1} for cell in first]
        return {cell for block in blocks if block <= self.corners for cell in block}

    @property
    def corners(self) -> set[int]:
        return self.cells("cor", self.board_corners)

    @property
    def centre(self) -> set[int]:
        return self.cells("cen", {self.size**2 // 2})


def _parse(text: str) -> _Rules:
    words = text.split()
    if words[:1] == ["rules"]:
        del words[0]
    # Errors quote only the beginning, because the start position is long and rarely wrong.
    origin = f"rules {excerpt(' '.join(words[:3]) + (' ...' if len(words) > 3 else ''))}"
    keys: dict[str, str] = {}
    for word in words:
        key, colon, value = word.partition(":")
        if not colon:
            raise InputError(f"expected key:value, not {excerpt(word)}", subject=origin)
        if key not in _DEFAULTS and key not in _IDLE and key not in _PLACES:
            raise InputError(f"unknown rule {excerpt(word)}", subject=origin)
        if key in keys:
            raise InputError(f"has {key} twice", subject=origin)
        if key in _VALUES and value not in _VALUES[key].split():
            raise InputError(f"{excerpt(word)}: expected one of {_VALUES[key]} after {key}", subject=origin)
        keys[key] = value
    if "dim" not in keys or not {"start", "starti"}.intersection(keys):
        raise InputError("expected dim:SIZE first and start:POSITION last", subject=origin)
    if keys["dim"] not in map(str, range(3, 20, 2)):
        raise InputError(f"{excerpt('dim:' + keys['dim'])}: boards have an odd side from 3 to 19", subject=origin)
    keys = _DEFAULTS | keys
    rows = keys["start"] if "start" in keys else "/".join(reversed(keys["starti"].split("/")))
    try:
        start = read_position(rows, "b" if keys["atkf"] == "y" else "w", int(keys["dim"]))
    except InputError as error:
        raise InputError(f"start: {error}", subject=origin) from error
    return _Rules(origin, keys, start)


def _terrain(rules: _Rules) -> list[str]:
    corners, centre, edge = rules.corners, rules.centre, rules.edge
    escapes = edge if rules.keys["esc"] == "e" else corners
    if corners - rules.board_corners and corners != rules.wide_corners:
        rules.refuse("corner cells that are not in a corner", "cor")
    if not escapes:
        rules.refuse("a king that has nowhere to escape to", "esc", "cor")
    if len(centre) > 1:
        rules.refuse("several thrones", "cen")
    elif centre & (escapes | rules.board_corners):
        rules.refuse("a throne in a corner or on an escape", "cen")
    letters = []
    for cell in range(rules.size**2):
        kinds = {"T": centre, "X": corners, "*": escapes, "+": rules.board_corners}
        letters.append(next((letter for letter, cells in kinds.items() if cell in cells), "."))
    size = rules.size
    return ["".join(letters[rank * size : (rank + 1) * size]) for rank in reversed(range(size))]


def _corners(rules: _Rules) -> dict[str, object]:
    hostile_to = rules.pieces("corh") & set("tT")
    if rules.corners:
        if rules.pieces("cors", "corp", "corre") != {"K"}:
            rules.refuse("corners that are not for the king alone", "cors", "corp", "corre")
        if len(hostile_to) == 1:
            rules.refuse("corners hostile to one side", "corh")
    wide = {"wide": True} if rules.corners - rules.board_corners else {}
    return {"hostile": len(hostile_to) == 2 and bool(rules.corners), **wide}


def _shieldwall(rules: _Rules) -> dict[str, object]:
    if rules.keys["sw"] == "n":
        return {}
    corner = rules.keys["sw"] == "s" and bool(rules.corners)
    return {"corner": corner, "mover": "bracket" if rules.keys["swf"] == "y" else "any"}


def _castle(rules: _Rules) -> dict[str, object]:
    if not rules.centre:
        return {}
    passing, stopping = rules.pieces("cenp", "cenre"), rules.pieces("cenp", "cens", "cenre")
    if passing not in (set(), {"K"}, set("tTK")):
        rules.refuse("a throne that only some soldiers may pass", "cenp", "cenre")
    if stopping not in (set(), {"K"}):
        rules.refuse("soldiers that stop on the throne", "cens")
    empty, occupied = rules.pieces("cenhe"), rules.pieces("cenh")

    def hostility(piece: str) -> str:
        return "never" if piece not in empty else "always" if piece in occupied else "empty"

    # An armed king on the throne is an anvil to attackers, whether or not the throne is hostile.
    if "t" in occupied - empty and rules.keys["ka"] != "y":
        rules.refuse("a throne hostile to attackers only while it is occupied", "cenh", "cenhe")
    if "T" in occupied - empty:
        rules.refuse("a throne hostile to defenders only while it is occupied", "cenh", "cenhe")
    return {
        "pass": "everyone" if "t" in passing else "king" if passing else "nobody",
        "stop": "king" if stopping else "nobody",
        "hostile_to_white": hostility("T"),
        "hostile_to_black": hostility("t"),
    }


def _king(rules: _Rules) -> dict[str, object]:
    throne_helps = bool(rules.centre) and "T" in rules.pieces("cenhe")
    armed = {"armed": rules.keys["ka"] == "y"}
    if not rules.centre:
        return armed | {"elsewhere": "four" if rules.keys["ks"] in "sy" else "two"}
    match rules.keys["ks"]:
        case "c":
            # A strong king on the throne must be surrounded on four sides. Beside the throne, attackers on the other
            # three sides suffice.
            return armed | {"on_castle": "four", "beside_castle": "as_on_castle", "elsewhere": "two"}
        case "w" | "n":
            if throne_helps:
                return armed | {"on_castle": "two", "beside_castle": "as_on_castle", "elsewhere": "two"}
            return armed | {"on_castle": "two", "beside_castle": "as_elsewhere", "elsewhere": "two"}
        case _:
            beside = "as_on_castle" if throne_helps else "as_elsewhere"
            return armed | {"on_castle": "four", "beside_castle": beside, "elsewhere": "four"}


# -- writing rules and games for OpenTafl ----------------------------------------------------


def write_rules(variant: Variant) -> str:
    """Return the OpenTafl rules string for a variant. Raise `InputError` if it cannot express the same rules."""
    rules, size, terrain = variant.rules, variant.size, "".join(reversed(variant.terrain))
    castle, king, wall = rules.castle, rules.king, rules.shieldwall
    white, black, everyone = "TCNK", "tcnk", "tcnkTCNK"
    strength = {"two": "w"}.get(king.on_castle, "c" if king.elsewhere == "two" else "s")
    keys = {
        "dim": str(size),
        "name": re.sub(r"\W", "_", variant.name),
        "surf": "n" if rules.encirclement == "none" else "y",
        "tfr": {"none": "i", "mover_loses": "l", "mover_wins": "w"}.get(rules.repetition.result, "d"),
        "sw": "n" if wall is None else "s" if wall.corner else "w",
        "swf": "n" if wall is not None and wall.mover == "any" else "y",
        "efe": "n" if rules.fort == "none" else "y",
        "atkf": "y" if rules.first == "black" else "n",
        "esc": "e" if "*" in terrain else "c",
        "ka": "y" if king.armed else "n",
        "ks": strength,
        "cor": ",".join(square_name(cell, size) for cell, letter in enumerate(terrain) if letter == "X"),
        "corh": everyone if rules.corners.hostile else "",
        "cen": ",".join(square_name(cell, size) for cell, letter in enumerate(terrain) if letter == "T"),
        "cenhe": white * (castle.hostile_to_white != "never") + black * (castle.hostile_to_black != "never"),
        "cenh": white * (castle.hostile_to_white == "always") + black * (castle.hostile_to_black == "always"),
        "cenp": {"everyone": everyone, "king": "K", "nobody": ""}[castle.passable],
        "cens": "K" if castle.stop == "king" else "",
        "start": write_position(Position.parse(variant.start_position, size)),
    }
    text = " ".join(f"{key}:{value}" for key, value in keys.items())
    read = read_rules(text)
    ours, theirs = ({field.name: field.value for field in rule_fields(one.rules)} for one in (variant, read))
    if ours.get("repetition") == "draw":
        ours = {name: value for name, value in ours.items() if name != "repetition"}
    unlike = [f"{name} ({value})" for name, value in ours.items() if theirs.get(name) != value]
    unlike += ["terrain"] * (read.terrain != variant.terrain)
    if unlike:
        raise InputError(
            f"OpenTafl's rules cannot express its {', '.join(unlike)}", subject=f"variant {variant.name!r}"
        )
    return text


def begun_at(rules: str, start: Position) -> str:
    """Replace the start position in a rules string written by `write_rules`, and return the string."""
    rules = re.sub(r"(?<= atkf:)\S", "y" if start.side == "b" else "n", rules)
    return re.sub(r"(?<= start:)\S+", write_position(start), rules)


def write_game(record: GameRecord) -> str:
    """Return a game as the text of an OpenTafl record."""
    if record.variant is None:
        raise InputError("has no rule set", subject="record", remedy="set one, such as brandubh, before writing it")
    variant = as_variant(record.variant)
    tags = {"result": next(word for word, result in _RESULTS.items() if result == record.result)}
    names = {ours: theirs for theirs, ours in _NAMES.items()}
    if 0 in record.comments:
        tags["start-comment"] = record.comments[0]
    for name, value in record.tags.items():
        theirs = names.get(name, name.lower())
        if theirs in tags or (theirs in ("position", "rules") and name != "Rules"):
            raise InputError("OpenTafl's records already use a tag of this name", subject=f"tag {excerpt(name)}")
        tags |= {} if name == "Rules" else {theirs: value}
    if record.start is not None:
        if record.start.side != variant.start_position[-1]:
            raise InputError("OpenTafl's games begin with the side that moves first by the rules", subject="record")
        tags["position"] = write_position(record.start)
    # The rules come last.
    own = record.tags.get("Rules", "")
    tags["rules"] = own if variant.source == rules_source(own) else write_rules(variant)
    for name, value in tags.items():
        if _TAG.fullmatch(f"[{name}:{value}]") is None or not value.replace("\n", "").isprintable():
            raise InputError("OpenTafl's tags cannot contain brackets or controls", subject=f"tag {excerpt(name)}")
    moves = [write_move(move) for move in record.moves]
    turns = []
    for place in range(0, len(moves), 2):
        comments = [record.comments.get(ply, "") for ply in (place + 1, place + 2)]
        if "]" in "".join(comments) or "|" in comments[0] or not "".join(comments).replace("\n", "").isprintable():
            raise InputError(
                "OpenTafl's comments cannot contain ] or control characters; | separates moves",
                subject=f"comment on turn {1 + place // 2}",
            )
        turns.append(f"{1 + place // 2}. {' '.join(moves[place : place + 2])}")
        turns += [f"[{'|'.join(comments)}]"] if any(comments) else []
    return "\n".join([*(f"[{name}:{value}]" for name, value in tags.items()), "", *turns]) + "\n"
