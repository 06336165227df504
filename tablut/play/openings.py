"""Openings that players have named, each with the source of its name."""

from __future__ import annotations

import tomllib
from contextlib import suppress
from functools import lru_cache
from importlib.resources import files
from typing import Final

from tablut.board import Board
from tablut.errors import InputError
from tablut.position import Position
from tablut.results import Result
from tablut.variants import Variant

_FILE: Final = files("tablut.play").joinpath("data", "openings.toml")


class NamedOpening(Result):
    """An opening that players have named, and the source of the name."""

    name: str
    moves: list[str]
    source: str
    link: str


@lru_cache(64)
def named_openings(variant: Variant) -> dict[Position, NamedOpening]:
    """Return the named openings from a variant's start position, keyed by the canonical form of their last position."""
    stored, found = tomllib.loads(_FILE.read_text(encoding="utf-8")), dict[Position, NamedOpening]()
    for game in stored["starts"]:
        source = stored["sources"][game["source"]]
        for name, lines in game["names"].items() if game["start"] == variant.start_position else ():
            for moves in map(str.split, lines):
                opening = NamedOpening(name=name, moves=moves, source=source["what"], link=source["link"])
                with suppress(InputError):  # your own rules can have the same start but other moves
                    found[_canonical(_after(Board(variant), moves))] = opening
    return found


def opening_of(board: Board) -> NamedOpening | None:
    """Return the opening of a game: the last of its positions that has a name, up to symmetry."""
    if not (names := named_openings(board.variant)):
        return None
    longest, game = max(len(opening.moves) for opening in names.values()), board.copy()
    while (found := names.get(_canonical(game)) if game.ply <= longest else None) is None and game.ply:
        game.pop()
    return found


def _after(board: Board, moves: list[str]) -> Board:
    for move in moves:
        board.push_text(move)
    return board


def _canonical(board: Board) -> Position:
    return Board(board.variant, board.position).canonical().position
