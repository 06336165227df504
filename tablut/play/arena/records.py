"""Games of a match as records on a disk: written when a game has ended, checked when they are read.

A record is an ordinary game record that any reader of `tablut.formats` accepts. Its tags say
which game of which match it is. What is read is replayed, move by move, and compared
with its plan: a record of another match, or an edited one, is named and not counted.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Final

from tablut.board import Board
from tablut.errors import InputError
from tablut.files import child, read_text, write_text
from tablut.formats import GameRecord, read_record, write_record
from tablut.play.arena.game import BLAMED, PlayedGame
from tablut.position import MoveText

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tablut.play.arena.plan import MatchPlan
    from tablut.position import Move

__all__ = ["read_game", "record_of", "save_game"]

_BYTES: Final = 1 << 20
"""Most bytes of a record of one game."""
_NUMBERS = re.compile(r"[0-9]{1,12}(?:\.[0-9]{1,9})?")


def record_of(plan: MatchPlan, number: int, game: PlayedGame) -> GameRecord:
    """Return the record of a game.

    Parameters
    ----------
    plan : MatchPlan
        Of its match.
    number : int
        Of the game.
    game : PlayedGame
        Its moves and its end.

    Returns
    -------
    GameRecord
        With tags that `read_game` compares.
    """
    pairing = plan.pairing(number)
    white, black = (plan.first, plan.second) if pairing.first_is_white else (plan.second, plan.first)
    tags = {
        "White": white.text,
        "Black": black.text,
        "Match": plan.digest,
        "Game": str(number),
        "Termination": game.termination,
        "Seconds": " ".join(f"{value:.6f}" for value in game.seconds),
        "Slowest": " ".join(f"{value:.6f}" for value in game.longest),
        "Nodes": " ".join(str(value) for value in game.nodes),
    }
    if game.fault is not None:
        tags["Fault"] = game.fault
    moves = tuple(MoveText(move, None) for move in game.moves)
    tags["Digest"] = _digest(tags, game.moves, game.winner)
    return GameRecord(tags, plan.variant, plan.start, moves, game.winner)


def _digest(tags: dict[str, str], moves: Sequence[Move], winner: str) -> str:
    body = [f"{name} {value}" for name, value in sorted(tags.items()) if name != "Digest"]
    return hashlib.sha256("\n".join([*body, *map(str, moves), winner]).encode()).hexdigest()


def save_game(folder: Path, plan: MatchPlan, number: int, game: PlayedGame) -> None:
    """Write the record of a game into the folder of its match.

    Parameters
    ----------
    folder : Path
        There must be one.
    plan : MatchPlan
        Of the match.
    number : int
        Of the game.
    game : PlayedGame
        As `tablut.play.arena.game.play_game` returns it.

    Raises
    ------
    OutputError
        If it cannot be written.
    """
    write_text(child(folder, _name(number), "match"), write_record(record_of(plan, number, game)))


def _name(number: int) -> str:
    return f"game-{number:06d}.txt"


def read_game(folder: Path, plan: MatchPlan, number: int, opening: Sequence[Move]) -> PlayedGame | None:
    """Return a game that was played already, or None if it was not.

    Parameters
    ----------
    folder : Path
        Of the match.
    plan : MatchPlan
        Of the match.
    number : int
        Of the game.
    opening : sequence of Move
        The moves that it must begin with.

    Returns
    -------
    PlayedGame or None
        Its moves are legal, and its end is the one that the rules give, or a player's fault.

    Raises
    ------
    InputError
        If the record is not of this match and game, or something in it does not hold.
    """
    path = child(folder, _name(number), "match")
    if not path.exists():
        return None
    shown = f"game record '{path}'"
    try:
        record = read_record(read_text(path, "game record", _BYTES), plan.variant)
        game = _held_to_plan(record, plan, number, opening)
    except InputError as error:
        raise InputError(f"{shown}: {error}; remove the file and the game is played again") from error
    return game


def _held_to_plan(record: GameRecord, plan: MatchPlan, number: int, opening: Sequence[Move]) -> PlayedGame:
    tags = dict(record.tags)
    if tags.get("Match") != plan.digest:
        raise InputError("is of another match")
    if tags.get("Game") != str(number):
        raise InputError(f"says that it is game {tags.get('Game')}")
    moves = tuple(said.move for said in record.moves)
    termination, winner = tags.get("Termination", ""), record.result or "none"
    # A record spells its rules out where they do not ship; the tags below are those of a match.
    own = {name: value for name, value in tags.items() if name not in ("Rules", "Digest")}
    if tags.get("Digest") != _digest(own, moves, winner):
        raise InputError("was changed after it was written")
    board = Board(plan.variant, plan.start)
    for move in moves:
        if board.outcome() is not None:
            raise InputError("goes on after the end of the game")
        board.push(move)
    if moves[: len(opening)] != tuple(opening):
        raise InputError("does not begin with the opening of its pair")
    _check_end(board, plan, termination, winner)
    pairs = {name: _pair(tags, name) for name in ("Seconds", "Slowest", "Nodes")}
    return PlayedGame(
        moves,
        winner,  # type: ignore[arg-type]
        termination,
        tags.get("Fault"),
        pairs["Seconds"],
        (int(pairs["Nodes"][0]), int(pairs["Nodes"][1])),
        pairs["Slowest"],
    )


def _check_end(board: Board, plan: MatchPlan, termination: str, winner: str) -> None:
    """Compare the claimed end of a game with what the rules, or a fault of the side to move, make of it."""
    outcome = board.outcome()
    found: tuple[str, str]
    if outcome is not None:
        found = (outcome.termination, outcome.winner or "draw")
    elif termination in BLAMED:
        found = (termination, "black" if board.turn == "white" else "white")
    elif plan.most_plies is not None and board.ply >= plan.most_plies:
        found = ("ply_cap", "draw")
    else:
        raise InputError(f"has no end: {termination!r} is none here")
    if (termination, winner) != found:
        raise InputError(f"says {winner} by {termination}, and it is {found[1]} by {found[0]}")


def _pair(tags: dict[str, str], name: str) -> tuple[float, float]:
    found = tags.get(name, "").split(" ")
    if len(found) != 2 or not all(_NUMBERS.fullmatch(part) for part in found):
        raise InputError(f"tag {name}: expected two numbers")
    return float(found[0]), float(found[1])
