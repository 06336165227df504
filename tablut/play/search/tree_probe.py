"""What a tablebase says of positions inside the tree, in compiled code.

A table values a position as the first of its game. So search asks it right after a
capture: of what was before, nothing can recur, and of what follows, the table knows all.
A position won in n plies is then won in n: the winner's way never meets a position twice,
since on it the distance falls with every ply. One that neither side can force is a
draw, unless a repetition loses the game. So is one that is won, yet in more plies than the
move limit leaves: its winner is never made to lose meanwhile.

The compiled index has some thirty arrays. As arguments they would slow down every
recursive call, so kernels find them by their addresses in an array, of which the
address is one of the state's counters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tablut.engine.jit import I64, called, inlined, items_at
from tablut.engine.layout import count_of, king_of, side_of
from tablut.engine.records import directory, record_at
from tablut.indexing.tier_boards import men_of_board
from tablut.indexing.tier_kernels import SCRATCH, entry_of, tier_at
from tablut.indexing.tier_tables import TierTables  # noqa: TC001 (a record's fields are read when it is compiled)
from tablut.indexing.tier_values import ADDRESS, TierValues, code_at
from tablut.play.search.scores import MATE, PROVEN
from tablut.play.search.state import LIMIT_PLY, REPETITION_RULE, TABLE_HITS, TABLES, SearchState
from tablut.prober import TierProber

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tablut.engine.tables import Tables
    from tablut.prober import Prober

__all__ = ["Directory", "beside", "directory_of", "load_tables", "stored_value", "table_value"]

_NO_VALUE = -32768
"""As `tablut.prober.MISSING`."""


class _Probed(NamedTuple):
    """What a directory lists: tiers, their values, and working memory."""

    tiers: TierTables
    places: NDArray[np.int64]
    values: NDArray[np.int16]
    black: NDArray[np.uint8]
    white: NDArray[np.uint8]
    scratch: NDArray[np.int64]


class Directory(NamedTuple):
    """Where kernels find the values of tiers. It serves one search at a time, for which it has working memory.

    Attributes
    ----------
    items : ndarray of int64
        Numbers, and addresses of arrays.
    most_soldiers : int
        No tier has more.
    values : TierValues
        Of the tiers; threads may share them.
    kept : tuple
        What else lies at the addresses, here so that it lives as long.
    """

    items: NDArray[np.int64]
    most_soldiers: int
    values: TierValues
    kept: tuple[object, ...]


def load_tables(prober: Prober | None, memory: int) -> Directory | None:
    """Return what fits into so many bytes of a prober's values, if it hands them out; else None.

    Parameters
    ----------
    prober : Prober or None
        A tablebase.
    memory : int
        Bytes.

    Returns
    -------
    Directory or None
        For one search at a time.
    """
    values = prober.load_tiers(memory) if isinstance(prober, TierProber) else None
    return None if values is None else directory_of(values)


def directory_of(values: TierValues) -> Directory:
    """Return the directory of some tiers' values, at least of one.

    Parameters
    ----------
    values : TierValues
        What a prober handed out.

    Returns
    -------
    Directory
        For one search at a time.
    """
    index = values.tiers
    black, white = (np.zeros(index.square.cells, dtype=np.uint8) for _ in range(2))
    probed = _Probed(index, values.places, values.values, black, white, np.zeros(SCRATCH, dtype=np.int64))
    most_soldiers = int((index.tier.attackers + index.tier.defenders).max())
    return Directory(directory(probed), most_soldiers, values, (probed,))


def beside(directory: Directory | None) -> Directory | None:
    """Return another directory of the same values, with working memory of its own.

    Parameters
    ----------
    directory : Directory or None
        Which another thread may be using.

    Returns
    -------
    Directory or None
        None for None.
    """
    return None if directory is None else directory_of(directory.values)


@inlined
def stored_value(t: Tables, items: NDArray[np.int64], board: NDArray[np.uint32]) -> int:
    """Return the value of an undecided position as `tablut.prober.verdict_of` reads it, or `_NO_VALUE`.

    Parameters
    ----------
    t : Tables
        The compiled rules.
    items : ndarray of int64
        Of a `Directory`.
    board : ndarray of uint32, shape (2N + 4,)
        Undecided.

    Returns
    -------
    int
        A value, see `tablut.prober.value_of`.
    """
    d = record_at(items, _Probed)
    tier = tier_at(d.tiers, count_of(t, board, 1), count_of(t, board, 0))
    if tier < 0 or d.places[4 * tier + ADDRESS] == 0:
        return I64(_NO_VALUE)
    men_of_board(t, board, d.black, d.white)
    entry = entry_of(d.tiers, tier, king_of(t, board), d.black, d.white, d.scratch)
    if entry < 0:
        return I64(_NO_VALUE)
    return I64(d.values[code_at(d.places, 2 * tier + side_of(t, board), entry)])


@called
def table_value(t: Tables, s: SearchState, ply: int) -> tuple[bool, int]:
    """Return whether tables tell the value of a position that a capture led to, and the value.

    Nothing is told where no table knows; where history decides what neither side can
    force; nor of a win so long that a score could not say it is proven.

    Parameters
    ----------
    t : Tables
        The compiled rules.
    s : SearchState
        The memory of the search.
    ply : int
        Plies from the root.

    Returns
    -------
    tuple of (bool, int)
        The value counts for the side to move.
    """
    counters = s.counters
    value = stored_value(t, items_at(I64(counters[TABLES]), np.int64), s.board)
    if value == _NO_VALUE:
        return False, I64(0)
    plies = value if value > 0 else -value - 1
    if value == 0 or ply + plies > counters[LIMIT_PLY]:
        if counters[REPETITION_RULE] == 2:
            return False, I64(0)
        counters[TABLE_HITS] += 1
        return True, I64(0)
    if ply + plies > MATE - PROVEN:
        return False, I64(0)
    counters[TABLE_HITS] += 1
    return True, I64(MATE - ply - plies) if value > 0 else I64(ply + plies - MATE)
