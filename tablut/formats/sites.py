"""Games in JSON from web sites: hnefatafl.org, Abstract Play, and ftzm's tafl server (its import format).

A file contains one game or a list of games. A game's fields show where it comes from:

- ftzm's server: ``blackPlayerName``, ``whitePlayerName``, ``gameStatus`` and ``moves``, a line of moves. Its games are
  Copenhagen Hnefatafl.
- hnefatafl.org: ``attackers``, ``defenders``, ``dim``, ``start`` (an OpenTafl string) and ``moves``, which may end in
  ``---`` for a resignation. On the 11×11 board, its games are Copenhagen Hnefatafl.
- Abstract Play: ``header``, which contains the game and the players, and ``moves``, a list of rounds. A round is a list
  of moves, each a text or an object with the field ``move``. The first player moves first.

The formats follow the schema ``game-import.json`` of https://github.com/ftzm/hnefatafl, ``opentafl.rs`` of
https://codeberg.org/dcampbell/hnefatafl and ``gamerecord.json`` of https://github.com/AbstractPlay/recranks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final, TypeVar

from tablut.errors import InputError, shown_value
from tablut.formats.game_text import GameRecord, NoRulesError, start_under
from tablut.formats.native import parsed_move
from tablut.formats.opentafl import read_position
from tablut.rules.outcome import GameResult
from tablut.variants import Variant, shipped_variant, variant_names
from tablut.work.files import excerpt
from tablut.work.sealed_records import read_json

Kind = TypeVar("Kind", str, list[Any], dict[str, Any])

_JSON = re.compile(r'\s*(?:\[\s*)?\{\s*(?:\}|"[^"\n]{0,99}"\s*:)|\s*\[\s*(?:["\[\]]|-?[0-9])')
_UNREAD: Final = {'"fromX"': "PlayTaflOnline", '"MoveX"': "PlayTaflOnline", '"turn"': "a state of Bologna's server"}
_WAY_OUT: Final = 'write its moves into a text file, such as [Variant "copenhagen"] 1. d1-d3 e5-e2'
_PIECE = re.compile(r"[TKCN](?=[a-z][0-9])")
_RESIGNS: Final = ("---", "resigns")


def looks_like_json(text: str) -> bool:
    """Return whether a text is JSON rather than another kind of record."""
    return _JSON.match(text) is not None


def read_site_games(text: str, variant: Variant | None = None) -> Iterator[GameRecord | InputError]:
    """Yield each game in a site's JSON, or the error that makes the game unreadable."""
    unread = next((name for key, name in _UNREAD.items() if key in text), "an unknown kind")
    try:
        data = read_json(text)
    except (ValueError, RecursionError) as error:
        at = f"line {error.lineno}, column {error.colno}: " if isinstance(error, json.JSONDecodeError) else ""
        reason = error.msg if isinstance(error, json.JSONDecodeError) else "too large or nested too deeply"
        raise InputError(f"{at}is not valid JSON ({reason})", subject="record") from error
    games = data if isinstance(data, list) and data else [data]
    if not any(isinstance(game, dict) and _READERS.keys() & game.keys() for game in games):
        raise InputError(f"JSON of {unread} is not supported", subject="record", remedy=_WAY_OUT)
    for number, game in enumerate(games, 1):
        read = next((read for key, read in _READERS.items() if isinstance(game, dict) and key in game), None)
        try:
            if read is None:
                raise InputError(f"JSON of {unread} is not supported")
            yield read(_Fields(game), variant)
        except InputError as error:
            error.subject = error.subject.removeprefix("record")
            error.within(f"game {number}")
            yield error


class _Fields(dict[str, Any]):
    """The fields of a JSON object. Reading a field checks its type."""

    def get_as(self, kind: type[Kind], name: str) -> Kind:
        """Return a field, which must have the given type. If the field is missing, return that type's empty value."""
        value = self.get(name)
        if value is not None and not isinstance(value, kind):
            raise InputError(f"{name} {shown_value(value)}: expected {_KINDS[kind]}", subject="record")
        return kind() if value is None else value


def _read_import(game: _Fields, variant: Variant | None) -> GameRecord:
    status = game.get_as(str, "gameStatus")
    names = {"White": "whitePlayerName", "Black": "blackPlayerName", "Event": "gameName", "Date": "startTime"}
    tags = {tag: game.get_as(str, name) for tag, name in (names | {"Termination": "gameStatus"}).items()}
    result = _RESULTS.get(status.split("_won_")[0])
    return _record(tags, variant or shipped_variant("copenhagen"), game.get_as(str, "moves").split(), result)


def _read_hnefatafl_org(game: _Fields, variant: Variant | None) -> GameRecord:
    tags = {"White": game.get_as(str, "defenders"), "Black": game.get_as(str, "attackers"), "Site": "hnefatafl.org"}
    words, result = game.get_as(str, "moves").split(), None
    if words and words[-1] in _RESIGNS:
        del words[-1]
        result = _RESULTS["black" if len(words) % 2 else "white"]
    name = game.get_as(str, "variant") or ("copenhagen" if game.get("dim") == 11 else "")
    if variant is None:
        if name not in variant_names():
            raise NoRulesError("names no built-in rule set", subject="record")
        variant = shipped_variant(name)
    record = _record(tags, variant, words, result)
    start = game.get_as(str, "start")
    return replace(record, start=start_under(read_position(start, "b"), variant, "record") if start else None)


def _read_abstract_play(game: _Fields, variant: Variant | None) -> GameRecord:
    if variant is None:
        raise NoRulesError("names no rule set of this toolkit", subject="record")
    header = _Fields(game.get_as(dict, "header"))
    if start := header.get_as(str, "startingPosition"):
        raise InputError(f"startingPosition {excerpt(start)}: only the start position is supported", subject="record")
    players = [_Fields(player) for player in header.get_as(list, "players") if isinstance(player, dict)]
    sides: list[GameResult] = ["white", "black"] if variant.rules.first == "white" else ["black", "white"]
    tags = {side.capitalize(): player.get_as(str, "name") for side, player in zip(sides, players, strict=False)}
    tags |= {"Event": header.get_as(str, "event"), "Date": header.get_as(str, "date-start")}
    points = [player["result"] for player in players if isinstance(player.get("result"), int)]
    result: GameResult | None = None
    if len(points) == 2:
        result = "draw" if points[0] == points[1] else sides[points[0] < points[1]]
    turns = [turn for each in game.get_as(list, "moves") if isinstance(each, list) for turn in each if turn is not None]
    words = [_PIECE.sub("", str(turn.get("move") if isinstance(turn, dict) else turn)) for turn in turns]
    return _record(tags, variant, words, result)


def _record(tags: dict[str, str], variant: Variant, words: list[str], result: GameResult | None) -> GameRecord:
    moves = []
    for ply, word in enumerate(words, 1):
        try:
            moves.append(parsed_move(word, variant.size))
        except InputError as error:
            raise InputError(f"ply {ply}: {error}", subject="record") from error
    return GameRecord({name: text for name, text in tags.items() if text}, variant, None, tuple(moves), result)


_RESULTS: Final[dict[str, GameResult]] = {"white": "white", "black": "black", "draw": "draw"}
_KINDS: Final = {str: "a text", list: "a list", dict: "an object"}
_READERS: Final[dict[str, Callable[[_Fields, Variant | None], GameRecord]]] = {
    "blackPlayerName": _read_import,
    "attackers": _read_hnefatafl_org,
    "header": _read_abstract_play,
}
"""Reader for each site, keyed by a field that occurs only in the games of this site."""
