"""Ludii trials of tafl games: text files that begin with ``game=…/Tablut.lud`` (usually ``.trl``).

The format follows ``Trial.java`` and the recorded trials in https://github.com/Ludeme/Ludii. Each line ``Move=``
contains one move with all its effects. The first of these lines place the pieces: attackers (1), defenders (2) and the
king (3). Cells are numbered row by row from a1. Player 1 is black. All other contents are ignored. The rules of Ludii's
games differ from all rule sets of this toolkit, so a trial does not identify a rule set.
"""

from __future__ import annotations

import re
from math import isqrt
from typing import Final, NoReturn

from tablut.errors import InputError
from tablut.formats.game_text import GameRecord, NoRulesError, start_under
from tablut.position import Move, MoveText, Position, Side
from tablut.rules.outcome import GameResult
from tablut.variants import Variant
from tablut.work.files import excerpt

_GAME = re.compile(r"game=(?:[^\n]*/)?([^/\n]{1,99})\.lud[ \t]*(?:\n|\Z)")
# Each bracket is matched before its contents are searched. Otherwise a hostile text would take quadratic time.
_ADD = re.compile(r"\[Add:([^\][]*)\]")
_MOVE = re.compile(r"\[Move:mover=([12]),from=([0-9]{1,4}),to=([0-9]{1,4})\b", re.ASCII)
_REMOVE = re.compile(r"\[Remove:([^\][]*)\]")
_FIELD = re.compile(r"\b(to|what)=([0-9]{1,4})\b", re.ASCII)
_PIECES: Final = {"1": "b", "2": "w", "3": "K"}
_RESULTS: Final[dict[str, GameResult]] = {"0": "draw", "1": "black", "2": "white"}


def looks_like_trial(text: str) -> bool:
    """Return whether a text is a Ludii trial rather than another kind of record."""
    return _GAME.match(text) is not None


def read_trial(text: str, variant: Variant | None = None) -> GameRecord:
    """Parse a Ludii trial."""
    game = _GAME.match(text)
    if game is None:
        raise InputError("does not begin with game=….lud", subject="Ludii trial")
    added, played, options = dict[int, str](), list[tuple[int, str]](), list[str]()
    tail = dict[str, str]()
    for number, line in enumerate(text.splitlines(), 1):
        name, _, value = line.partition("=")
        if name == "Move" and not played and (bracket := _ADD.search(value)) is not None:
            placed = dict(_FIELD.findall(bracket[1]))
            piece = _PIECES.get(placed.get("what", "")) or _refuse(number, line, "places an unknown piece")
            added[int(placed.get("to") or _refuse(number, line, "places a piece nowhere"))] = piece
        elif name == "Move":
            played.append((number, value))
        elif name in ("winner", "endtype"):
            tail[name] = value.strip()
        elif "/" in name and not played and not added:
            options.append(line.strip())
    size = _size(added, variant)
    moves = [_move(number, value, size) for number, value in played]
    start = None
    if added:
        side: Side = "w" if played and moves[0].side == "w" else "b"
        if max(added) >= size**2:
            raise InputError(f"places a piece outside a board of side {size}", subject="Ludii trial")
        start = Position("".join(added.get(cell, ".") for cell in range(size**2)), side)
        start = start if variant is None else start_under(start, variant, "Ludii trial")
    tags = {"Event": game[1]} | ({"Options": "; ".join(options)} if options else {})
    notes = (f"the game ended by {tail['endtype']}",) if tail.get("endtype", "NaturalEnd") != "NaturalEnd" else ()
    return GameRecord(tags, variant, start, tuple(moves), _RESULTS.get(tail.get("winner", "")), notes=notes)


def _size(added: dict[int, str], variant: Variant | None) -> int:
    """Return the board size, which follows from the king's cell if the king starts in the middle."""
    king = next((cell for cell, piece in added.items() if piece == "K"), 0)
    size = isqrt(2 * king + 1)
    if size in range(3, 20, 2) and size**2 == 2 * king + 1 and max(added) < size**2:
        return size
    if variant is None:
        raise NoRulesError("names no rule set of the toolkit", subject="Ludii trial")
    return variant.size


def _move(number: int, text: str, size: int) -> MoveText:
    found = _MOVE.match(text)
    if found is None:
        _refuse(number, text, "expected a move from one cell to another")
    removed = (dict(_FIELD.findall(bracket)).get("to") for bracket in _REMOVE.findall(text))
    start, target, *taken = map(int, (*found.groups()[1:], *filter(None, removed)))
    if max(start, target, *taken) >= size**2 or start == target:
        _refuse(number, text, f"is not a move on a board of side {size}")
    return MoveText(Move(start, target, size), frozenset(taken), side="b" if found[1] == "1" else "w")


def _refuse(number: int, line: str, problem: str) -> NoReturn:
    raise InputError(f"line {number}: {excerpt(line)} {problem}", subject="Ludii trial")
