"""Replay of game records, which checks every claim of a record against the rules.

A record claims moves, captures, positions and a result. `replay` makes the moves one by one and lists the claims
that are false. It stops at the first illegal move, because the moves after it have no meaning.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Final, Literal, NamedTuple

from tablut.board import Board
from tablut.errors import IllegalMoveError, InputError
from tablut.notation import square_name
from tablut.position import MoveText, Position
from tablut.records.archive import ArchivedGame, turned
from tablut.records.game import GameRecord
from tablut.rules import Outcome
from tablut.variants import Variant
from tablut.work.files import brief
from tablut.work.progress import Observer

MOST_PLIES: Final = 20_000
"""Maximum number of moves in a record that is replayed. Replaying this many takes a few seconds."""


@dataclass(frozen=True, slots=True)
class ReplayedPly:
    """One move of a record with its true captures, and the position and outcome after it."""

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
    """Make the moves of a record, and compare its claims with the rules."""
    if record.variant is None:
        raise InputError("has no rule set", subject="record", remedy="set one before replaying it")
    if len(record.moves) > MOST_PLIES:
        raise InputError(f"has {len(record.moves):,} moves, but at most {MOST_PLIES:,} are replayed", subject="record")
    board = Board(record.variant, record.start)
    start, plies, problems = board.position, [], []
    notes = [*record.warnings, *record.notes]
    over = None
    for number, said in enumerate(record.moves, 1):
        if over is None and (over := board.outcome()) is not None:
            problems.append(f"ply {number}: {said} follows the end of the game ({_told(over)})")
        try:
            board.push(said.move)
        except IllegalMoveError as error:
            problems.append(f"ply {number}: {error}")
            break
        truth = MoveText(said.move, frozenset(board.captured()) or None)
        if said.captures is not None and said.captures - {board.captured_king()} != frozenset(board.captured()):
            problems.append(f"ply {number}: recorded as {said}, but the move is {truth}")
        if record.positions is not None:
            problems += _differences(number, board, record.positions[number - 1])
        plies.append(ReplayedPly(truth, board.position, board.outcome()))
    outcome = board.outcome()
    if record.result is not None:
        if outcome is None:
            notes.append(f"result {record.result}: not reached on the board; perhaps by resignation, time or agreement")
        elif record.result != (outcome.winner or "draw"):
            problems.append(f"result: is {record.result}, but should be {outcome.winner or 'draw'} ({_told(outcome)})")
    return Replay(board, start, tuple(plies), tuple(problems), tuple(notes))


def _differences(ply: int, board: Board, said: Position) -> list[str]:
    differing = [
        square_name(square, board.size)
        for square, (ours, theirs) in enumerate(zip(board.position.cells, said.cells, strict=True))
        if ours != theirs
    ]
    return [f"ply {ply}: the recorded board differs on {', '.join(differing)}"] if differing else []


def _told(outcome: Outcome) -> str:
    return outcome.how + (f", {outcome.winner} wins" if outcome.winner else ", a draw")


# -- archives: many games, one on each line ------------------------------------------------

Ranks = Literal["bottom", "top", "either"]


class IllegalPly(NamedTuple):
    """The first move of a game that the rules do not allow."""

    ply: int
    move: str
    why: str


@brief
@dataclass(frozen=True, slots=True)
class ReplayedGame:
    """A game of an archive, replayed under a rule set.

    Attributes
    ----------
    game : ArchivedGame
        The game as given by its line, with ranks counted from the bottom.
    plies : int
        Number of legal moves up to the first illegal one.
    illegal : IllegalPly or None
        The first illegal move. A move after the end of the game counts as illegal.
    differing : tuple of int
        The plies whose captures differ from those in the line.
    captures : tuple of int
        Numbers of soldiers captured by the attackers and by the defenders.
    repeated : int or None
        The first ply at which a position has occurred as often as the repetition rule requires.
    outcome : Outcome or None
        The outcome on the board; None if the moves do not end the game.
    """

    game: ArchivedGame
    plies: int
    illegal: IllegalPly | None
    differing: tuple[int, ...]
    captures: tuple[int, int]
    repeated: int | None
    outcome: Outcome | None

    @property
    def captures_agree(self) -> bool:
        """Whether the captures and their numbers are those of the line; the line may count a captured king."""
        king = self.outcome is not None and self.outcome.termination == "king_captured"
        ours, theirs = self.captures, self.game.captures
        return not self.differing and ours[1] == theirs[1] and theirs[0] - ours[0] in (0, int(king))

    @property
    def contradicted(self) -> bool:
        """Whether the result on the board differs from the result of the line."""
        said = self.game.winner
        return self.outcome is not None and said is not None and said != (self.outcome.winner or "draw")


def replay_archive(
    variant: Variant, games: Sequence[ArchivedGame], observer: Observer, *, ignore_repetition: bool = False
) -> tuple[list[ReplayedGame], Ranks]:
    """Replay all games of an archive under a rule set.

    Archives count ranks from either edge. The direction in which more games are legal is used, and is also returned.
    """
    rules = variant.rules
    counted = rules.repetition.times
    # Cached, because most words occur in many games.
    read = lru_cache(1 << 14)(partial(MoveText.parse, size=variant.size))
    if ignore_repetition:
        endless = rules.repetition.model_copy(update={"result": "none"})
        variant = replace(variant, rules=rules.model_copy(update={"repetition": endless}))

    def replayed(games: Sequence[ArchivedGame]) -> list[ReplayedGame]:
        found = []
        observer.begin("games", len(games))
        for game in games:
            found.append(_replayed(variant, game, counted, read))
            observer.advance()
        return found

    bottom = replayed(games)
    if same_upside_down(variant):
        return bottom, "either"
    top = replayed([turned(game, variant.size) for game in games])
    fits = [sum(game.illegal is None for game in found) for found in (bottom, top)]
    return (bottom, "either") if fits[0] == fits[1] else (top, "top") if fits[1] > fits[0] else (bottom, "bottom")


def same_upside_down(variant: Variant) -> bool:
    """Return whether the rules are symmetric upside down, so that the direction of the ranks does not matter."""
    return any(symmetry.name == "mirror_ranks" for symmetry in variant.start_symmetries)


def _replayed(variant: Variant, game: ArchivedGame, counted: int, read: Callable[[str], MoveText]) -> ReplayedGame:
    board, illegal, repeated = Board(variant), None, None
    differing: list[int] = []
    taken = [0, 0]
    for ply, word in enumerate(game.moves, 1):
        try:
            if (over := board.outcome()) is not None:
                raise IllegalMoveError(f"follows the end of the game ({_told(over)})")
            said = read(word)
            mover = board.turn
            board.push(said.move)
        except InputError as error:
            illegal = IllegalPly(ply, word, getattr(error, "why", "") or str(error))
            break
        captured = frozenset(board.captured())
        taken[mover == "white"] += len(captured)
        if (said.captures or frozenset()) - {board.captured_king()} != captured:
            differing.append(ply)
        if repeated is None and board.occurrence() >= counted:
            repeated = ply
    outcome = board.outcome()
    return ReplayedGame(game, board.ply, illegal, tuple(differing), (taken[0], taken[1]), repeated, outcome)
