"""Limits, results and scores of a search.

The players and the search share these types. This module does not import numba.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from tablut.errors import InputError
from tablut.work.files import brief

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tablut.board import Board
    from tablut.position import Move
    from tablut.variants import Variant

LimitKind = Literal["movetime", "nodes", "depth", "playouts"]

_NAMES: Final[dict[str, str]] = {
    "movetime": "a time",
    "nodes": "a number of nodes",
    "depth": "a depth",
    "playouts": "a number of playouts",
}


class SearchLimits(NamedTuple):
    """Limits of a search. A field that is None imposes no limit.

    Attributes
    ----------
    movetime : float or None
        Wall-clock time in seconds, from the call to the return of the result.
    nodes : int or None
        Number of moves made in the search. A search with only this limit is repeatable.
    depth : int or None
        Depth of the last iteration, in plies.
    playouts : int or None
        Number of games played out, for players that use playouts. A search with only this limit is also repeatable.
    """

    movetime: float | None = None
    nodes: int | None = None
    depth: int | None = None
    playouts: int | None = None

    def checked(self, *kinds: LimitKind) -> SearchLimits:
        """Check the limits and return them.

        Parameters
        ----------
        *kinds : {'movetime', 'nodes', 'depth', 'playouts'}
            Limits that the caller takes into account, by default all four. At least one of them must be set.

        Returns
        -------
        SearchLimits
            The same limits.

        Raises
        ------
        InputError
            If none of these limits is set, or a limit is out of range.

        Examples
        --------
        >>> SearchLimits(nodes=1000).checked().nodes
        1000
        >>> SearchLimits(depth=3).checked("movetime", "playouts")
        Traceback (most recent call last):
            ...
        tablut.errors.InputError: limits: none given that this player observes; give a time or a number of playouts
        """
        if all(getattr(self, kind) is None for kind in kinds or self._fields):
            *first, last = (_NAMES[kind] for kind in kinds or _NAMES)
            observed = " that this player observes" if any(value is not None for value in self) else ""
            raise InputError(
                f"none given{observed}",
                subject="limits",
                remedy=f"give {', '.join(first)}{' or ' if first else ''}{last}",
            )
        if self.movetime is not None and not 0 < self.movetime < float("inf"):
            raise InputError("expected a positive number of seconds", parameter="movetime", value=self.movetime)
        if self.nodes is not None and self.nodes < 1:
            raise InputError("expected at least 1", parameter="nodes", value=self.nodes)
        if self.depth is not None and not 1 <= self.depth < MAX_PLY:
            raise InputError(f"expected 1 to {MAX_PLY - 1}", parameter="depth", value=self.depth)
        if self.playouts is not None and self.playouts < 1:
            raise InputError("expected at least 1", parameter="playouts", value=self.playouts)
        return self


@brief
class Choice(NamedTuple):
    """Chosen move, its score, and the search statistics.

    Attributes
    ----------
    move : Move
        Chosen legal move.
    score : int or None
        Score for the side to move (see `tablut.play.search.limits`), or None if the player reports no score.
    mate : int or None
        Number of plies to the proven end of the game, or None if no end is proven. The number is positive if the side
        to move wins and negative if it loses.
    depth : int
        Depth in plies of the last completed iteration, or 0 if there was no search.
    nodes : int
        Number of moves made in the search.
    pv : tuple of Move
        Principal variation, beginning with the move.
    tbhits : int
        Number of positions whose value came from a tablebase, at the root and in the tree.
    playouts : int
        Number of games played out.
    selective_depth : int
        Length in plies of the longest line searched.
    seconds : float
        Wall time of the search in seconds.
    source : str
        Source of the move: ``search``, ``tablebase`` or ``proof``.
    rank : int
        Rank of the line among the best lines, counted from 1.
    others : tuple of Choice
        Next best lines, in order, if several lines were requested.
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
    rank: int = 1
    others: tuple[Choice, ...] = ()


MOST_LINES: Final = 64
"""Largest number of lines that a search returns."""


def moves_asked_about(board: Board, variant: Variant, wanted: Sequence[Move] | None = None) -> list[Move]:
    """Return the legal moves of a board in the engine's order, or only the wanted ones.

    Raise InputError if there are no moves, or if a wanted move is not legal.
    """
    if not board.variant.same_game(variant):
        raise InputError(
            f"belongs to {board.variant.name}, not to {variant.name}", subject=f"position '{board.position}'"
        )
    moves = list(board.legal_moves)
    if board.outcome() is not None or not moves:
        raise InputError("has no move to choose, because the game is over", subject=f"position '{board.position}'")
    if wanted is None:
        return moves
    if not wanted:
        raise InputError("contains no move", subject="moves", remedy="give at least one, or leave them out")
    for move in set(wanted) - set(moves):
        board.copy().push(move)  # raises an error that states why the move is not legal
    return [move for move in moves if move in wanted]


# -- scores: plain integers, shared by the compiled search and its users -------------------


# A score is given from the point of view of the side to move. Up to `EVALUATION_LIMIT` in absolute value, it is an
# estimate in centi-logits, and an increase of 100 multiplies the odds of winning by e. From `PROVEN` on, it is exact
# and counts plies: ``MATE - n`` is a proven win in n plies, and ``n - MATE`` is a proven loss in n plies. The scores in
# between are unproven results of tablebases and repetitions; see `TABLEBASE` and `REPETITION`.


MATE: Final = 30000
PROVEN: Final = 29000
"""Smallest absolute value of a proven score."""
TABLEBASE: Final = 25000
"""Base score of a tablebase win that is uncertain, because an earlier position of the game may recur before the win.

A win in n plies has the score ``TABLEBASE - n``.
"""
RECURRENCES: Final = {"none": 0, "draw": 1, "mover_loses": 2, "illegal": 2, "white_loses": 3, "black_loses": 4}
"""Code of each result of the repetition rule. The search applies the rule when a position occurs a second time."""
REPETITION: Final = 20000
"""Base score of a repetition that decides the game.

The score of a repetition after n plies is ``REPETITION - n`` for the winner. It is not proven, because it depends on
the path.
"""
EVALUATION_LIMIT: Final = 15000
"""Largest absolute value of an estimate."""
MAX_PLY: Final = 128
"""Largest distance from the root, in plies."""


def mate_in(score: int) -> int | None:
    """Return the number of plies to the proven end of the game, or None if the score proves nothing.

    The number is positive if the side to move wins, and negative if it loses.

    Parameters
    ----------
    score : int
        Score for the side to move.

    Returns
    -------
    int or None
        Number of plies.

    Examples
    --------
    >>> mate_in(29997), mate_in(-29998), mate_in(29999), mate_in(150)
    (3, -2, 1, None)
    """
    if abs(score) < PROVEN:
        return None
    return MATE - score if score > 0 else -MATE - score


def chance_of(score: int) -> float:
    """Return the expected points, between 0 and 1, for a score in centi-logits."""
    return 1 / (1 + math.exp(-max(-3000, min(3000, score)) / 100))


def said_score(score: int | None, mate: int | None) -> str:
    """Return a score as text, for example ``wins in 3 plies``, or an empty string if score and mate are None."""
    if score is None and mate is None:
        return ""
    verb = "wins" if (mate or score or 0) > 0 else "loses"
    if mate is not None:
        return f"{verb} in {said_plies(abs(mate))}"
    assert score is not None
    for most, below, why in ((TABLEBASE, REPETITION, "tablebase"), (REPETITION, EVALUATION_LIMIT, "repetition")):
        if below < abs(score) <= most:
            return f"{verb} by the {why} in {said_plies(most - abs(score))}"
    return f"{score:+d} centi-logits ({100 * chance_of(score):.0f} %)"


def said_plies(number: int) -> str:
    """Return a number of plies with its unit, for example ``1 ply``."""
    return f"{number} {'ply' if number == 1 else 'plies'}"
