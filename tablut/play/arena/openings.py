"""Openings of paired games: random moves from the start, the most balanced of a few.

Both games of a pair begin with the same moves, so what an opening is worth falls on both
players. Openings that are decided already tell nothing, so of several drawn ones the one
is taken that a short search calls closest to even.
"""

from __future__ import annotations

from functools import cache
from random import Random
from typing import TYPE_CHECKING, Final, NamedTuple

from tablut.board import Board
from tablut.errors import InputError
from tablut.play.search.limits import SearchLimits

if TYPE_CHECKING:
    from tablut.play.search.searcher import Searcher
    from tablut.position import Move, Position
    from tablut.variants import Variant

__all__ = ["Openings"]

_NODES: Final = 2000
"""Of the search that weighs an opening; repeatable."""
_ATTEMPTS: Final = 1000
"""Draws of an undecided opening before the wish is refused."""


class Openings(NamedTuple):
    """How the openings of a match are drawn.

    Attributes
    ----------
    plies : int
        Random moves at the start; 0 to begin every game at the start.
    candidates : int
        Openings that are drawn for each pair; the most balanced is played. One is not weighed.
    seed : int
        Of the draws; each pair has its own stream.
    """

    plies: int = 4
    candidates: int = 4
    seed: int = 1

    def of_pair(self, variant: Variant, number: int, start: Position | None = None) -> tuple[Move, ...]:
        """Return the opening of a pair.

        Parameters
        ----------
        variant : Variant
            The rule set.
        number : int
            Of the pair, from 0.
        start : Position, optional
            Where games begin; by default at the start of the variant.

        Returns
        -------
        tuple of Move
            Legal from there, the game not over after them; the same for the same seed and number.

        Raises
        ------
        InputError
            If every line of so many plies ends the game.

        Examples
        --------
        >>> from tablut.variants import load_variant
        >>> [str(move) for move in Openings(plies=2, candidates=1, seed=7).of_pair(load_variant("brandubh"), 0)]
        ['d6-c6', 'c4-c5']
        """
        if self.plies == 0:
            return ()
        random = Random(f"opening {self.seed} {number}")
        drawn = [self._drawn(variant, random, start) for _ in range(self.candidates)]
        if len(drawn) == 1:
            return drawn[0]
        return min(drawn, key=lambda line: abs(_weight(variant, line, start)))

    def _drawn(self, variant: Variant, random: Random, start: Position | None) -> tuple[Move, ...]:
        for _ in range(_ATTEMPTS):
            board = Board(variant, start)
            while board.ply < self.plies and board.outcome() is None:
                board.push(random.choice(list(board.legal_moves)))
            if board.ply == self.plies and board.outcome() is None:
                return tuple(board.move_stack)
        raise InputError(f"--opening {self.plies}: every line of so many plies that was tried ends the game")


def _weight(variant: Variant, line: tuple[Move, ...], start: Position | None) -> int:
    """Return the score of the position after an opening, for the side to move."""
    board = Board(variant, start)
    for move in line:
        board.push(move)
    searcher = _searcher(variant)
    searcher.forget()
    return searcher.search(board, SearchLimits(nodes=_NODES)).score


@cache
def _searcher(variant: Variant) -> Searcher:
    from tablut.play.search.searcher import Searcher

    return Searcher(variant, hash_mib=1)
