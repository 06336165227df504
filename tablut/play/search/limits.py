"""How long a search may take, and what it answers: values that players and search share, free of numba."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from tablut.errors import InputError
from tablut.play.search.scores import MAX_PLY, mate_in

if TYPE_CHECKING:
    from tablut.position import Move

__all__ = ["MOST_THREADS", "LimitKind", "SearchLimits", "SearchResult", "check_threads"]

LimitKind = Literal["movetime", "nodes", "depth", "playouts"]

_SAID: Final[dict[str, str]] = {
    "movetime": "a time",
    "nodes": "a number of nodes",
    "depth": "a depth",
    "playouts": "a number of playouts",
}


MOST_THREADS: Final = 256
"""Of one search."""


def check_threads(threads: int) -> int:
    """Return a number of threads for one search, having checked it.

    Parameters
    ----------
    threads : int
        As somebody said it.

    Returns
    -------
    int
        The same.

    Raises
    ------
    InputError
        If it is not 1 to `MOST_THREADS`.

    Examples
    --------
    >>> check_threads(0)
    Traceback (most recent call last):
        ...
    tablut.errors.InputError: threads 0: expected 1 to 256
    """
    if not 1 <= threads <= MOST_THREADS:
        raise InputError(f"threads {threads}: expected 1 to {MOST_THREADS}")
    return threads


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


class SearchResult(NamedTuple):
    """What a search found out.

    Attributes
    ----------
    move : Move
        Legal in the position.
    score : int
        For the side to move, see `tablut.play.search.scores`.
    depth : int
        Plies of the last completed iteration; 0 if none was completed.
    selective_depth : int
        Plies of the longest line looked at.
    nodes : int
        Moves made in the search.
    pv : tuple of Move
        The principal variation; begins with the move.
    seconds : float
        Wall time.
    source : str
        ``search`` or ``tablebase``.
    tbhits : int
        Positions that a tablebase valued, at the root and in the tree.
    """

    move: Move
    score: int
    depth: int
    selective_depth: int
    nodes: int
    pv: tuple[Move, ...]
    seconds: float
    source: str
    tbhits: int

    @property
    def mate(self) -> int | None:
        """Plies to the proven end: positive if the side to move wins, negative if it loses, None if not proven."""
        return mate_in(self.score)
