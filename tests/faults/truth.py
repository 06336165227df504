"""What is true of a small position: who can force a win within so many plies, by the naive rules and nothing else.

It shares no line with the checker of proofs: positions and plies are tried one after the
other, with a memory. A rule set's move limit counts from the position: it is the first of
its game.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tablut.rules.naive import NaiveGame

if TYPE_CHECKING:
    from tablut.rules.naive import NaivePosition
    from tablut.variants import Variant

__all__ = ["Truth", "TruthSpentError"]


class TruthSpentError(Exception):
    """A question took more moves than are allowed for it."""


class Truth:
    """What is true under one rule set.

    Parameters
    ----------
    variant : Variant
        The rule set.
    most : int
        Most moves that a question may take.
    """

    def __init__(self, variant: Variant, most: int = 400_000) -> None:
        self.variant, self.most = variant, most
        self.game = NaiveGame(variant)
        self._known: dict[tuple[str, str, int], bool] = {}
        self._made = 0

    def holds(self, text: str, winner: str, plies: int, left: int | None = None) -> bool:
        """Return whether a side can force a win from a position within so many plies.

        Parameters
        ----------
        text : str
            The position.
        winner : {'white', 'black'}
            Who is said to win.
        plies : int
            Within how many plies.
        left : int, optional
            Plies before the game is drawn; by default the rule set's limit.

        Raises
        ------
        TruthSpentError
            If that takes too many moves.
        """
        position = self.game.read(text)
        over = self.decided(position)
        if over is not None:
            return over == winner
        limits = [plies, *(limit for limit in (left, self.variant.rules.move_limit) if limit is not None)]
        self._made = 0
        # Wins of more plies than these need larger boards than the truth is asked about.
        return self._wins(position, winner, min(*limits, 40) if len(limits) > 1 else min(plies, 40))

    def decided(self, position: NaivePosition) -> str | None:
        """Return who has won a position already, as far as a position alone shows it."""
        pieces = list(position.pieces.values())
        if "K" not in pieces:
            return "black"
        if "b" not in pieces or self.game.terrain[position.king()] in "*X":
            return "white"
        if self.variant.rules.no_moves == "either_after_ply":
            for side, winner in (("w", "black"), ("b", "white")):
                if not self.game.legal_moves(position._replace(side=side)):
                    return winner
        return None

    def _wins(self, position: NaivePosition, winner: str, plies: int) -> bool:
        key = (self.game.write(position), winner, plies)
        if (known := self._known.get(key)) is None:
            known = self._known[key] = self._tried(position, winner, plies)
        return known

    def _tried(self, position: NaivePosition, winner: str, plies: int) -> bool:
        moves = self.game.legal_moves(position)
        mine = (position.side == "w") == (winner == "white")
        if not moves:
            return not mine
        if plies <= 0:
            return False
        # What is won in fewer plies is won.
        if plies > 1 and self._wins(position, winner, plies - 1):
            return True
        for move in moves:
            self._made += 1
            if self._made > self.most:
                raise TruthSpentError(f"{self.game.write(position)}: more than {self.most:,} moves")
            result = self.game.apply(position, move)
            won = self._wins(result.position, winner, plies - 1) if result.outcome is None else (
                result.outcome.winner == winner
            )
            if won == mine:
                return won
        return not mine
