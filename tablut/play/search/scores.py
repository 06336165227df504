"""What a score means: plain integers, shared by the compiled search and its users.

A score is for the side to move. Below `PROVEN` it is an estimate in centi-logits: 100
more mean that the odds of winning are e times as high. From `PROVEN` on it is a fact,
and counts plies: ``MATE - n`` is a win in n plies that search has proved, ``n - MATE`` a
loss in n plies.
"""

from __future__ import annotations

from typing import Final

__all__ = ["EVALUATION_LIMIT", "MATE", "MAX_PLY", "PROVEN", "REPETITION", "TABLEBASE", "mate_in"]

MATE: Final = 30000
PROVEN: Final = 29000
"""Scores at least this far from 0 are proven."""
TABLEBASE: Final = 25000
"""Less the plies: a tablebase calls it won, yet a position of the game before may still recur on the way."""
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
