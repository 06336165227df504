"""A game record replayed: every claim is checked against the rules.

A record claims moves, captures, positions and a result. `replay` makes the moves one by one and lists the claims
that do not hold. It stops at the first illegal move, because nothing after it has a meaning.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tablut.board import Board
from tablut.errors import IllegalMoveError, InputError
from tablut.notation import square_name
from tablut.position import MoveText
from tablut.store.files import brief

if TYPE_CHECKING:
    from tablut.position import Position
    from tablut.records import GameRecord
    from tablut.rules import Outcome

MOST_PLIES: Final = 20_000
"""Most moves of a record that is replayed; that many take some seconds."""


@dataclass(frozen=True, slots=True)
class ReplayedPly:
    """One move of a record, as the rules give it."""

    move: MoveText
    position: Position
    outcome: Outcome | None


@brief
@dataclass(frozen=True, slots=True)
class Replay:
    """The result of replaying a record."""

    board: Board
    start: Position
    plies: tuple[ReplayedPly, ...]
    problems: tuple[str, ...]
    notes: tuple[str, ...]


def replay(record: GameRecord) -> Replay:
    """Make the moves of a record and compare what it claims."""
    if record.variant is None:
        raise InputError("record: names no rule set; give one with --variant")
    if len(record.moves) > MOST_PLIES:
        raise InputError(f"record: has {len(record.moves):,} moves; at most {MOST_PLIES:,} are replayed")
    board = Board(record.variant, record.start)
    start, plies, problems = board.position, [], []
    notes = [*record.warnings, *record.notes]
    over = None
    for number, said in enumerate(record.moves, 1):
        if over is None and (over := board.outcome()) is not None:
            problems.append(f"ply {number}: {said} comes after the end ({_told(over)})")
        try:
            board.push(said.move)
        except IllegalMoveError as error:
            problems.append(f"ply {number}: {error}")
            break
        truth = MoveText(said.move, frozenset(board.captured()) or None)
        if said.captures is not None and said.captures - {board.captured_king()} != frozenset(board.captured()):
            problems.append(f"ply {number}: says {said}, the move is {truth}")
        if record.positions is not None:
            problems += _differences(number, board, record.positions[number - 1])
        plies.append(ReplayedPly(truth, board.position, board.outcome()))
    outcome = board.outcome()
    if record.result is not None:
        if outcome is None:
            notes.append(f"result {record.result}: the board does not show it; a resignation, time or an agreement")
        elif record.result != (outcome.winner or "draw"):
            problems.append(f"result: says {record.result}, it is {outcome.winner or 'draw'} ({_told(outcome)})")
    return Replay(board, start, tuple(plies), tuple(problems), tuple(notes))


def _differences(ply: int, board: Board, said: Position) -> list[str]:
    differing = [
        square_name(square, board.size)
        for square, (ours, theirs) in enumerate(zip(board.position.cells, said.cells, strict=True))
        if ours != theirs
    ]
    return [f"ply {ply}: the record's board differs on {', '.join(differing)}"] if differing else []


def _told(outcome: Outcome) -> str:
    return outcome.termination.replace("_", " ") + (f", {outcome.winner} wins" if outcome.winner else ", a draw")
