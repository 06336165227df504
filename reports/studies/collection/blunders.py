"""Puzzles from games played by people or programs, taken from the positions after a blunder.

A move counts as a blunder if it allows the other side to win within the requested number of plies, although another
move would have prevented this, or ended the game without a loss. Both facts are proved by search. The position after
the blunder is a puzzle if exactly one first move leads to the shortest win.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from reports.studies.collection.making import Made, Making, Wanted, endless, fit
from retrograde.proofs.win_search import WinSearch
from tablut import replay
from tablut.board import Board
from tablut.cli.options import read_bytes, suggesting_rules, warn
from tablut.errors import IllegalMoveError, InputError
from tablut.formats.game_text import RECORD_BYTES, GameRecord
from tablut.position import Move
from tablut.records import ARCHIVE, decoded, kind_of
from tablut.variants import Variant, as_variant, load_variant
from tablut.work.files import excerpt

_NAME = re.compile(r"[^\w. ()-]")


class Game(NamedTuple):
    """A game and its origin: the file and the place in it."""

    origin: str
    record: GameRecord


def read_games(files: Iterable[str], variant: str | None) -> tuple[list[Game], Variant]:
    """Return the games in several files, and their rules. All games must have the same rules.

    A file contains games of any kind that `tablut.replay.read_games` reads. Games that cannot be read are skipped with
    a warning, unless no game of their file can be read.
    """
    rules = None if variant is None else load_variant(variant)
    games: list[Game] = []
    for file in files:
        for game in _games_of(file, rules):
            own = as_variant(game.record.variant or "")
            if rules is not None and not own.same_game(rules):
                raise InputError(
                    f"has the rules {own.name!r}, but other games have {rules.name!r}",
                    subject=f"record {excerpt(file)}",
                    remedy="read the files one by one",
                )
            rules = rules or own
            games.append(game)
    if rules is None or not games:
        raise InputError("contain no games", subject="files")
    return games, rules


def _games_of(file: str, rules: Variant | None) -> list[Game]:
    name, games, unread = _NAME.sub("_", Path(file).name)[:80], list[Game](), list[tuple[str, InputError]]()
    text = decoded(read_bytes(file, "record", RECORD_BYTES), file)
    with suggesting_rules():
        for number, game in replay.read_games(text, rules, origin=file):
            place = f"line {number}" if kind_of(text) is ARCHIVE else f"game {number}"
            if isinstance(game, InputError):
                unread.append((place, game))
            else:
                games.append(Game(name if place == "game 1" else f"{name} {place}", game))
    for place, error in unread:
        if not games:
            error.within(f"record {excerpt(file)}")
            raise error
        warn(f"{file}: {place} was skipped: {str(error).removeprefix(f'{place}: ')}")
    return games


def from_games(
    variant: Variant, wanted: Wanted, games: Iterable[Game], advanced: Callable[[Made], None] = lambda _: None
) -> Made:
    """Return the puzzles that arise from blunders in the given games, in the order of the games."""
    making = Making(variant, wanted)
    searches = {letter: endless(variant, letter, wanted) for letter in "wb"}
    for number, game in enumerate(games, 1):
        board = Board(variant, game.record.start)
        for ply, claim in enumerate(game.record.moves, 1):
            before = board.copy()
            try:
                board.push(claim.move)
            except IllegalMoveError:
                break  # The moves after an illegal move are meaningless.
            if board.outcome() is not None:
                break
            position = board.position
            if making.done:
                return making.made
            if (wanted.winner is not None and wanted.winner[0] != position.side) or not fit(variant, position):
                continue
            making.examined += 1
            search = searches[position.side]
            solution = making.solve(position, search)
            if solution is not None and _avoidable(before, claim.move, search, wanted):
                making.add(solution, f"g{number}-{ply}", f"{game.origin}, ply {ply}, after {claim.move}")
        advanced(making.made)
    return making.made


def _avoidable(board: Board, played: Move, search: WinSearch, wanted: Wanted) -> bool:
    """Return whether the player could provably have avoided a loss within the requested number of plies.

    This is the case if some move other than ``played`` prevents such a win of the opponent.
    """
    for move in board.legal_moves:
        if move == played:
            continue
        child = board.copy()
        child.push(move)
        outcome = child.outcome()
        if outcome is not None:
            if outcome.winner in (None, board.turn):
                return True
            continue
        array = search.engine.board(child.position.cells, child.position.side)
        if search.within(array, wanted.plies[1], wanted.limits.nodes) is False:
            return True
    return False
