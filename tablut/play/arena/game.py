"""One game between two players: its moves, its end, and who is to blame for it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from tablut.board import Board
from tablut.errors import InputError
from tablut.play.arena.programs import UnreadableMoveError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tablut.play.arena.plan import Contestant
    from tablut.play.players import Player
    from tablut.position import Move, Position
    from tablut.variants import Variant

ENDS: Final = ("crash", "illegal", "time", "ply_cap")
"""Terminations that are not by the rules: the first three are a fault of the loser."""

Winner = Literal["white", "black", "draw"]


class Seat(NamedTuple):
    """A player at the board."""

    contestant: Contestant
    player: Player


class PlayedGame(NamedTuple):
    """A game that came to an end."""

    moves: tuple[Move, ...]
    winner: Winner
    termination: str
    fault: str | None
    seconds: tuple[float, float]
    nodes: tuple[int, int]
    longest: tuple[float, float]


_FAULTS: Final = ((TimeoutError, "time"), (UnreadableMoveError, "illegal"))
"""What a player that raises is blamed for; for all else, a crash."""


def play_game(
    variant: Variant,
    white: Seat,
    black: Seat,
    opening: Sequence[Move] = (),
    *,
    start: Position | None = None,
    most_plies: int | None = None,
    grace: float = 0.1,
) -> PlayedGame:
    """Play a game."""
    board = Board(variant, start)
    for move in opening:
        board.push(move)
    seats = {"white": white, "black": black}
    seconds, nodes, longest = {"white": 0.0, "black": 0.0}, {"white": 0, "black": 0}, {"white": 0.0, "black": 0.0}
    winner: Winner
    termination, fault, blamed = "", None, ""
    while True:
        outcome = board.outcome()
        if outcome is not None:
            winner, termination = outcome.winner or "draw", outcome.termination
            break
        if most_plies is not None and board.ply >= most_plies:
            winner, termination = "draw", "ply_cap"
            break
        side = board.turn
        seat = seats[side]
        began = time.perf_counter()
        try:
            choice = seat.player.choose(board.copy(), seat.contestant.limits)
        except Exception as error:
            # Whatever a player does wrong ends its game, not the match.
            choice, fault = None, f"{seat.contestant.text}: {type(error).__name__}: {error}"
            blamed = next((name for kind, name in _FAULTS if isinstance(error, kind)), "crash")
        taken = round(time.perf_counter() - began, 6)
        seconds[side] += taken
        longest[side] = max(longest[side], taken)
        lost_to: Winner = "black" if side == "white" else "white"
        if choice is None:
            winner, termination = lost_to, blamed
            break
        nodes[side] += choice.nodes
        movetime = seat.contestant.limits.movetime
        if movetime is not None and taken > movetime + grace:
            fault = f"{seat.contestant.text}: {taken:.3f} s for a move of {movetime:g} s"
            winner, termination = lost_to, "time"
            break
        try:
            board.push(choice.move)
        except InputError as error:
            fault = f"{seat.contestant.text}: {error}"
            winner, termination = lost_to, "illegal"
            break
    return PlayedGame(
        tuple(board.move_stack),
        winner,
        termination,
        None if fault is None else " ".join(fault.split()),
        (round(seconds["white"], 6), round(seconds["black"], 6)),
        (nodes["white"], nodes["black"]),
        (longest["white"], longest["black"]),
    )
