"""How long a search may take, and what it answers: values that players and search share, free of numba."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from tablut.errors import InputError
from tablut.store.files import brief

if TYPE_CHECKING:
    from tablut.board import Board
    from tablut.position import Move
    from tablut.variants import Variant

LimitKind = Literal["movetime", "nodes", "depth", "playouts"]

_SAID: Final[dict[str, str]] = {
    "movetime": "a time",
    "nodes": "a number of nodes",
    "depth": "a depth",
    "playouts": "a number of playouts",
}


class SearchLimits(NamedTuple):
    """When to stop; what is None does not limit.

    Attributes
    ----------
    movetime : float or None
        Seconds on the wall clock, from the call to the answer.
    nodes : int or None
        Moves made in the search. A search under this limit alone is repeatable.
    depth : int or None
        Plies of the last iteration.
    playouts : int or None
        Games played out, of players that do that. Repeatable as well.
    """

    movetime: float | None = None
    nodes: int | None = None
    depth: int | None = None
    playouts: int | None = None

    def checked(self, *kinds: LimitKind) -> SearchLimits:
        """Return the limits, having checked them.

        Parameters
        ----------
        *kinds : {'movetime', 'nodes', 'depth', 'playouts'}
            Those that would end what is asked for; any of the four by default.

        Returns
        -------
        SearchLimits
            These.

        Raises
        ------
        InputError
            If none of these is given, or one is not positive.

        Examples
        --------
        >>> SearchLimits(nodes=1000).checked().nodes
        1000
        >>> SearchLimits(depth=3).checked("movetime", "playouts")
        Traceback (most recent call last):
            ...
        tablut.errors.InputError: limits: none given that would end this; name a time or a number of playouts
        """
        if all(getattr(self, kind) is None for kind in kinds or self._fields):
            *first, last = (_SAID[kind] for kind in kinds or _SAID)
            asked = " that would end this" if any(value is not None for value in self) else ""
            raise InputError(f"limits: none given{asked}; name {', '.join(first)}{' or ' if first else ''}{last}")
        if self.movetime is not None and not 0 < self.movetime < float("inf"):
            raise InputError(f"movetime {self.movetime}: expected a positive number of seconds")
        if self.nodes is not None and self.nodes < 1:
            raise InputError(f"nodes {self.nodes}: expected at least 1")
        if self.depth is not None and not 1 <= self.depth < MAX_PLY:
            raise InputError(f"depth {self.depth}: expected 1 to {MAX_PLY - 1}")
        if self.playouts is not None and self.playouts < 1:
            raise InputError(f"playouts {self.playouts}: expected at least 1")
        return self


@brief
class Choice(NamedTuple):
    """A move, and what the search or the player that chose it has to say for it.

    Attributes
    ----------
    move : Move
        Legal in the position asked about.
    score : int or None
        What is expected, for the side to move, see `tablut.play.search.limits`; None if there is no opinion.
    mate : int or None
        Plies to the proven end: positive if the side to move wins, negative if it loses, None if not proven.
    depth : int
        Plies of the last completed iteration; 0 if nothing was searched.
    nodes : int
        Moves made in search.
    pv : tuple of Move
        The line expected; begins with the move.
    tbhits : int
        Positions that a tablebase valued, at the root and in the tree.
    playouts : int
        Games played out.
    selective_depth : int
        Plies of the longest line looked at.
    seconds : float
        Wall time of a search.
    source : str
        ``search`` or ``tablebase``.
    """

    move: Move
    score: int | None
    mate: int | None
    depth: int
    nodes: int
    pv: tuple[Move, ...]
    tbhits: int = 0
    playouts: int = 0
    selective_depth: int = 0
    seconds: float = 0.0
    source: str = "search"


def moves_asked_about(board: Board, variant: Variant) -> list[Move]:
    """Return the moves to choose from, at least one, in the engine's order."""
    if not board.variant.same_game(variant):
        raise InputError(f"position '{board.position}': is of {board.variant.name}, not of {variant.name}")
    moves = list(board.legal_moves)
    if board.outcome() is not None or not moves:
        raise InputError(f"position '{board.position}': the game is over; there is no move to choose")
    return moves


# -- what a score means: plain integers, shared by the compiled search and its users -------


# A score is for the side to move. Below `PROVEN` it is an estimate in centi-logits: 100
# more mean that the odds of winning are e times as high. From `PROVEN` on it is a fact,
# and counts plies: ``MATE - n`` is a win in n plies that search has proved, ``n - MATE`` a
# loss in n plies.


MATE: Final = 30000
PROVEN: Final = 29000
"""Scores at least this far from 0 are proven."""
TABLEBASE: Final = 25000
"""Less the plies: a tablebase calls it won, yet a position of the game before may still recur on the way."""
RECURRENCES: Final = {"none": 0, "draw": 1, "mover_loses": 2, "illegal": 2, "white_loses": 3, "black_loses": 4}
"""What a position that recurs counts as in a search, its second time or a later one, by the result of the rule."""
REPETITION: Final = 20000
"""Less the plies to it: a position that recurs where that loses for the mover. It is no
proof, since it holds for one way to get there."""
EVALUATION_LIMIT: Final = 15000
"""No estimate is further from 0."""
MAX_PLY: Final = 128
"""Search goes no further from its root."""


def mate_in(score: int) -> int | None:
    """Return the plies to the proven end: positive if the side to move wins, else negative; None if nothing is proven.

    Parameters
    ----------
    score : int
        For the side to move.

    Returns
    -------
    int or None
        Plies.

    Examples
    --------
    >>> mate_in(29997), mate_in(-29998), mate_in(29999), mate_in(150)
    (3, -2, 1, None)
    """
    if abs(score) < PROVEN:
        return None
    return MATE - score if score > 0 else -MATE - score


def chance_of(score: int) -> float:
    """Return the points that a score promises: 100 centi-logits more, and the odds are e times as high."""
    return 1 / (1 + math.exp(-max(-3000, min(3000, score)) / 100))


def said_score(score: int | None, mate: int | None) -> str:
    """Return what the side to move expects, as people read it everywhere; empty where nothing is known."""
    if score is None and mate is None:
        return ""
    told = "wins" if (mate or score or 0) > 0 else "loses"
    if mate is not None:
        return f"{told} in {said_plies(abs(mate))}"
    assert score is not None
    for most, below, why in ((TABLEBASE, REPETITION, "tablebase"), (REPETITION, EVALUATION_LIMIT, "repetition")):
        if below < abs(score) <= most:
            return f"{told} by the {why} in {said_plies(most - abs(score))}"
    return f"{score:+d} centi-logits ({100 * chance_of(score):.0f} %)"


def said_plies(number: int) -> str:
    """Return a number of plies as people read it."""
    return f"{number} {'ply' if number == 1 else 'plies'}"
