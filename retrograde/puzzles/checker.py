"""The independent checker of proofs: plain Python, the rules of `tablut.rules.naive` and nothing of the search.

It takes a strategy (see `retrograde.puzzles.certificate`) and plays everything that the
loser can do against it. Each position with the winner to move must be in the strategy,
with a legal move and a number of plies that is enough for what follows; each position
with the loser to move is expanded in full. As the numbers fall with every ply, what is
accepted is a proof, whatever wrote the file.

That shows *within* how many plies the side wins. That it takes no less is another
claim, which a strategy cannot show; it is tried by exhaustive search, in plain
Python too, as far as a number of plies made allows.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Literal, NamedTuple

from tablut.errors import InputError
from tablut.rules.naive import NaiveGame
from tablut.variants import as_variant

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tablut.rules.naive import NaiveMove, NaivePosition
    from tablut.variants import Variant, VariantLike

__all__ = ["Checked", "check_strategy", "wins_within"]


class Checked(NamedTuple):
    """What the checker found.

    Attributes
    ----------
    failures : list of str
        What is wrong with the strategy; it is a proof if there is nothing.
    positions : int
        Positions checked, both sides to move.
    distance : {'exact', 'at most'}
        Whether it was shown as well that there is no shorter win.
    shorter : int or None
        Plies within which the same side wins, if that is less than claimed.
    excluded : int
        Plies within which it was shown not to win.
    """

    failures: list[str]
    positions: int
    distance: Literal["exact", "at most"]
    shorter: int | None
    excluded: int


class _SpentError(Exception):
    """The plies allowed for the lower bound are made."""


class _Checker:
    def __init__(
        self, variant: Variant, winner: str, strategy: Mapping[str, tuple[int, str]], most_failures: int
    ) -> None:
        self.game = NaiveGame(variant)
        self.winner = winner
        self.strategy = strategy
        self.most_failures = most_failures
        self.failures: list[str] = []
        self.plies_made = 0
        self.most_plies = 0

    # -- the strategy ------------------------------------------------------------------

    def walk(self, root: NaivePosition, plies: int) -> int:
        """Check everything that can happen from the root; return the number of positions."""
        done: dict[str, int] = {}
        waiting = [(root, plies)]
        while waiting and len(self.failures) < self.most_failures:
            position, left = waiting.pop()
            name = self.game.write(position)
            if done.get(name, 1 << 30) <= left:
                continue
            done[name] = left
            if (position.side == "w") == (self.winner == "white"):
                waiting += self._winners_turn(position, name, left)
            else:
                waiting += self._losers_turn(position, name, left)
        return len(done)

    def _winners_turn(self, position: NaivePosition, name: str, left: int) -> list[tuple[NaivePosition, int]]:
        entry = self.strategy.get(name)
        if entry is None:
            self.failures.append(f"'{name}': the strategy has no move")
            return []
        plies, text = entry
        if plies > left:
            self.failures.append(f"'{name}': wins within {plies} plies, when {left} are left")
            return []
        try:
            move = self.game.parse_move(text)
        except InputError as error:
            self.failures.append(f"'{name}': {error}")
            return []
        if move not in self.game.legal_moves(position):
            self.failures.append(f"'{name}': {text} is not legal")
            return []
        return self._after(position, name, move, plies)

    def _losers_turn(self, position: NaivePosition, name: str, left: int) -> list[tuple[NaivePosition, int]]:
        # Without a move the loser has lost: there is nothing to cover.
        return [entry for move in self.game.legal_moves(position) for entry in self._after(position, name, move, left)]

    def _after(self, position: NaivePosition, name: str, move: NaiveMove, left: int) -> list[tuple[NaivePosition, int]]:
        """Return what a ply leaves to be checked, with ``left`` plies including it."""
        result = self.game.apply(position, move)
        text = self.game.move_name(move)
        if left < 1:
            self.failures.append(f"'{name}': no plies are left for {text}")
        elif result.outcome is not None:
            if result.outcome.winner != self.winner:
                self.failures.append(f"'{name}': after {text} {result.outcome.winner} has won")
        else:
            return [(result.position, left - 1)]
        return []

    # -- the lower bound ---------------------------------------------------------------

    def wins_within(self, position: NaivePosition, plies: int) -> bool:
        """Return whether the winner wins within so many plies, by trying everything."""
        moves = self.game.legal_moves(position)
        mine = (position.side == "w") == (self.winner == "white")
        if not moves:
            return not mine
        if plies == 0:
            return False
        for move in moves:
            self.plies_made += 1
            if self.plies_made > self.most_plies:
                raise _SpentError
            result = self.game.apply(position, move)
            if result.outcome is not None:
                won = result.outcome.winner == self.winner
            else:
                won = self.wins_within(result.position, plies - 1)
            if won == mine:
                return won
        return not mine


def wins_within(variant: VariantLike, position: str, winner: Literal["white", "black"], plies: int) -> bool:
    """Return whether a side can force a win within so many plies, by trying everything in plain Python.

    The naive twin of `retrograde.puzzles.win_search.WinSearch.within`.

    Examples
    --------
    >>> from tablut.variants import load_variant
    >>> variant = load_variant("ashton-5-4v0")
    >>> [wins_within(variant, variant.start_position, "white", plies) for plies in range(4)]
    [False, False, False, True]
    """
    variant = as_variant(variant)
    checker = _Checker(variant, winner, {}, 0)
    checker.most_plies = sys.maxsize
    return checker.wins_within(checker.game.read(position), plies)


def check_strategy(
    variant: VariantLike,
    position: str,
    winner: Literal["white", "black"],
    plies: int,
    strategy: Mapping[str, tuple[int, str]],
    *,
    most_plies: int = 20_000,
    most_failures: int = 10,
) -> Checked:
    """Check a winning strategy.

    Parameters
    ----------
    variant : Variant, str or path-like
        The rule set.
    position : str
        One-line text of the root.
    winner : {'white', 'black'}
        Who is said to win.
    plies : int
        Within how many plies.
    strategy : mapping
        By the text of a position with the winner to move: plies and move.
    most_plies : int
        Plies to be made in the search for a shorter win; 0 for none.
    most_failures : int
        Failures after which checking stops.

    Returns
    -------
    Checked
        See there.

    Raises
    ------
    InputError
        If the root is no position, or the game is over there.

    Examples
    --------
    >>> from tablut.variants import load_variant
    >>> variant = load_variant("ashton-5-4v0")
    >>> check_strategy(variant, "5/5/1bK2/5/2b2 w", "white", 1, {"5/5/1bK2/5/2b2 w": (1, "c3-c5")}).failures
    ["'5/5/1bK2/5/2b2 w': c3-c5 is not legal"]
    """
    variant = as_variant(variant)
    checker = _Checker(variant, winner, strategy, most_failures)
    root = checker.game.read(position)
    pieces = list(root.pieces.values())
    if pieces.count("K") != 1 or "b" not in pieces or checker.game.terrain[root.king()] in "*X":
        raise InputError(f"position '{position}': nobody plays on from it; expected a king on the board and attackers")
    positions = checker.walk(root, plies)
    checker.most_plies = most_plies
    excluded = -1
    try:
        for fewer in range(plies):
            if checker.wins_within(root, fewer):
                return Checked(checker.failures, positions, "at most", fewer, excluded)
            excluded = fewer
    except _SpentError:
        # Not an error: the lower bound is claimed only as far as it was tried.
        return Checked(checker.failures, positions, "at most", None, excluded)
    return Checked(checker.failures, positions, "exact", None, excluded)
