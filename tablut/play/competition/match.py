"""A game as a referee keeps it: what each message means, when it is over and why; no sockets here.

A move that is not legal is an error; more errors than are allowed lose. So is a message
of a player who is not to move. What is no message of the protocol loses at once, and so
do silence beyond the time and leaving. The rules decide everything else: a side without
a legal move has lost, and a position that recurs more often than is allowed is a draw
where the rules know repetition.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from tablut.board import Board
from tablut.cli.printable import one_line
from tablut.errors import IllegalMoveError, InputError
from tablut.formats import bologna
from tablut.formats.bologna_logs import LogWriter
from tablut.notation import square_name
from tablut.variants import shipped_name

if TYPE_CHECKING:
    from tablut.formats.bologna import Turn
    from tablut.formats.game_record import Result
    from tablut.position import Position, Side
    from tablut.variants import Variant

__all__ = ["ENDS", "SIDE_NAMES", "Match", "Verdict"]

ENDS: Final = {
    "timeout": "did not move in time",
    "illegal_move": "made an illegal move",
    "malformed": "sent what is no message of the protocol",
    "disconnected": "left the game",
}
"""The ends of a game that a player brings about off the board, in words."""

_OTHER: Final[dict[Side, Side]] = {"w": "b", "b": "w"}
_WINNER: Final[dict[Side, Result]] = {"w": "white", "b": "black"}
SIDE_NAMES: Final = {"w": "white", "b": "black"}


class Verdict(NamedTuple):
    """How a game ended.

    Attributes
    ----------
    termination : str
        That of an outcome, or one of `ENDS`.
    result : {'white', 'black', 'draw'}
        Who won.
    """

    termination: str
    result: Result


class Match:
    """One game: takes messages, knows the state to send.

    Parameters
    ----------
    variant : Variant
        The rules.
    names : mapping
        Of the players, by side.
    repeats : int
        How often a position may recur before the game is drawn.
    errors : int
        How many illegal moves each player may make.
    start : Position, optional
        By default the variant's.

    Examples
    --------
    >>> from tablut.variants import load_variant
    >>> match = Match(load_variant("bologna"), {"w": "Anna", "b": "Bert"})
    >>> match.receive("w", '{"from": "e4", "to": "f4"}')
    >>> match.turn, match.verdict
    ('BLACK', None)
    >>> match.receive("b", "what?")
    >>> match.turn, match.verdict
    ('WHITEWIN', Verdict(termination='malformed', result='white'))
    """

    def __init__(
        self,
        variant: Variant,
        names: dict[Side, str],
        *,
        repeats: int = 0,
        errors: int = 0,
        start: Position | None = None,
    ) -> None:
        # Repetition is counted here, since the rules of a game know the first one only.
        self._draws = variant.rules.repetition == "draw"
        rules = variant.rules.model_copy(update={"repetition": "none"}) if self._draws else variant.rules
        self.variant = variant
        self.board = Board(replace(variant, rules=rules), start)
        self.names = names
        self.verdict: Verdict | None = None
        self.notes: list[str] = []
        self._repeats = repeats
        self._allowed = errors
        self._errors: Counter[Side] = Counter()
        self._seen: Counter[tuple[str, str]] = Counter([self._key()])
        game = "AshtonTablut" if shipped_name(variant) == "bologna" else re.sub(r"\W", "", variant.name).capitalize()
        self.log = LogWriter(game or "Own")
        self.log.begin(names["w"], names["b"], self.board.position, repeats)
        self._judge()

    def _key(self) -> tuple[str, str]:
        return self.board.position.cells, self.board.position.side

    @property
    def to_move(self) -> Side:
        """The side to move."""
        return self.board.position.side

    @property
    def turn(self) -> Turn:
        """What the state says: whose turn it is, or how the game ended."""
        if self.verdict is not None:
            return bologna.final_turn(self.verdict.result)
        return "WHITE" if self.to_move == "w" else "BLACK"

    @property
    def state(self) -> str:
        """The state as it is sent."""
        return bologna.write_state(self.board.position, self.turn)

    def receive(self, side: Side, text: str) -> None:
        """Take a message.

        Parameters
        ----------
        side : {'w', 'b'}
            Whose.
        text : str
            Its text.
        """
        if self.verdict is not None:
            return
        try:
            move, claimed = bologna.read_move(text, self.board.size)
        except InputError as error:
            self._lose(side, "malformed", str(error))
            return
        if side != self.to_move:
            self._error(side, "moves although it is not its turn")
            return
        if claimed not in (None, side):
            # The competition's server does not look at it either.
            self._note(f"{SIDE_NAMES[side]} says that its move is {SIDE_NAMES[_OTHER[side]]}'s")
        try:
            self.board.push(move)
        except IllegalMoveError as error:
            reason = one_line(str(error).rpartition(": ")[2], 200)
            size = self.board.size
            self.log.refused(side, square_name(move.start, size), square_name(move.target, size), reason)
            self._error(side, f"{move}: {reason}")
            return
        self._seen[self._key()] += 1
        self._judge()
        self.log.played(side, move, self.board.captured(), self.board.position, self.turn)

    def expire(self) -> None:
        """Have the side to move lose by time."""
        self._lose(self.to_move, "timeout")

    def leave(self, side: Side) -> None:
        """Have a side lose that is gone.

        Parameters
        ----------
        side : {'w', 'b'}
            Which one.
        """
        self._lose(side, "disconnected")

    def malformed(self, side: Side, reason: str) -> None:
        """Have a side lose that sent no message of the protocol.

        Parameters
        ----------
        side : {'w', 'b'}
            Which one.
        reason : str
            What is wrong with it.
        """
        self._lose(side, "malformed", reason)

    def _judge(self) -> None:
        """See whether the rules end the game here."""
        outcome = self.board.outcome()
        if outcome is not None:
            self.verdict = Verdict(outcome.termination, outcome.winner or "draw")
        elif self._draws and self._seen[self._key()] > self._repeats + 1:
            self.verdict = Verdict("repetition", "draw")

    def _error(self, side: Side, reason: str) -> None:
        self._errors[side] += 1
        if self._errors[side] > self._allowed:
            self._lose(side, "illegal_move", reason)
        else:
            self._note(f"{SIDE_NAMES[side]} {reason} (error {self._errors[side]} of {self._allowed} allowed)")

    def _lose(self, side: Side, termination: str, reason: str = "") -> None:
        if self.verdict is not None:
            return
        self.verdict = Verdict(termination, _WINNER[_OTHER[side]])
        told = f"{SIDE_NAMES[side]} {ENDS[termination]}"
        # What a player sent does not go into the log: its readers would take some words for the server's.
        self._note(told + (f": {reason}" if reason else ""), told)
        self.log.state(self.board.position, self.turn)

    def _note(self, text: str, logged: str | None = None) -> None:
        line = one_line(text, 300)
        self.notes.append(line)
        self.log.say("checkMove", logged or line, "WARNING")
