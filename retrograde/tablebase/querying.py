"""Positions of a tablebase by what they are: value, distance, material, side to move, mutual zugzwang.

The tables are read slice by slice, so a query needs little memory whatever their size. A position stands for its
symmetric images: each is listed once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import numpy as np

from retrograde.tablebase.encoding import slices, value_table
from retrograde.tablebase.errors import TablebaseError
from retrograde.tablebase.store import SIDES
from tablut.engine.tables import build_tables
from tablut.errors import InputError
from tablut.indexing.tier_boards import rank_boards, unrank_entries
from tablut.indexing.tier_tables import tier_tables
from tablut.indexing.values import ALIAS_CODE, Wdl, unforced, verdict_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from retrograde.tablebase.store import Store, StoredTier
    from tablut.indexing.tier_tables import TierTables
    from tablut.position import Position

__all__ = ["Listed", "Listing", "TableQuery", "list_positions"]

_SLICE: Final = 1 << 18
"""Entries read at once."""

Order = Literal["index", "longest", "shortest"]


class TableQuery(NamedTuple):
    """What is asked for; None leaves a point open.

    Attributes
    ----------
    wdl : {'win', 'draw', 'loss', 'unresolved'} or None
        For the side to move.
    side : {'white', 'black'} or None
        Who is to move.
    shortest, longest : int or None
        Bounds of the distance in plies; only wins and losses have one.
    materials : tuple of (int, int)
        Attackers and defenders; empty for all that are there.
    zugzwang : {'full', 'half', 'any'} or None
        Placements in which either side would rather not be to move: both lose (full), or the move costs a draw (half).
    order : {'index', 'longest', 'shortest'}
        By tiers and entries, or by distance.
    """

    wdl: Wdl | None = None
    side: Literal["white", "black"] | None = None
    shortest: int | None = None
    longest: int | None = None
    materials: tuple[tuple[int, int], ...] = ()
    zugzwang: Literal["full", "half", "any"] | None = None
    order: Order = "index"


class Listed(NamedTuple):
    """A position with its value.

    Attributes
    ----------
    position : Position
        One of its class.
    wdl : {'win', 'draw', 'loss', 'unresolved'}
        For the side to move.
    dtm : int or None
        Plies to the end under best play.
    """

    position: Position
    wdl: Wdl
    dtm: int | None


class Listing(NamedTuple):
    """What a query found.

    Attributes
    ----------
    found : int
        Positions that are as asked for, up to symmetry.
    positions : list of Listed
        The first of them in the order that was asked for.
    """

    found: int
    positions: list[Listed]


class _Places(NamedTuple):
    """Where positions stand, each with the number that it is sorted by.

    Attributes
    ----------
    keys : ndarray of int64, shape (n,)
        The lowest come first.
    values : ndarray of int64, shape (n,)
        Of the positions.
    tiers, sides, entries : ndarray of int64, shape (n,)
        The places.
    """

    keys: NDArray[np.int64]
    values: NDArray[np.int64]
    tiers: NDArray[np.int64]
    sides: NDArray[np.int64]
    entries: NDArray[np.int64]

    def first(self, other: _Places, most: int) -> _Places:
        """Return the first of both, those of `self` before equal ones of the other."""
        joined = [np.concatenate(pair) for pair in zip(self, other, strict=True)]
        order = np.argsort(joined[0], kind="stable")[:most]
        return _Places(*(part[order] for part in joined))


def list_positions(store: Store, query: TableQuery, most: int, tell: Callable[[int], None] = lambda _: None) -> Listing:
    """Return the positions of a tablebase that are as a query asks for: O(entries).

    Parameters
    ----------
    store : Store
        The tablebase.
    query : TableQuery
        What is asked for.
    most : int
        Positions to be listed; all are counted.
    tell : callable
        Told again and again how many more entries have been read.

    Returns
    -------
    Listing
        Of classes, each by one position.

    Raises
    ------
    InputError
        If the query names material that is not there.
    TablebaseError
        If the tablebase is damaged.

    Examples
    --------
    >>> from retrograde.tablebase.probing import shipped_store
    >>> from retrograde.tablebase.store import open_store
    >>> store = open_store(shipped_store("ashton"))
    >>> list_positions(store, TableQuery(wdl="win", side="white", order="longest"), 1)[1][0].dtm
    7
    """
    there = store.tiers()
    missing = [material for material in query.materials if material not in there]
    if missing:
        names = ", ".join(f"{attackers}v{defenders}" for attackers, defenders in there)
        raise InputError(
            f"tablebase {str(store.root)!r}: has no tier {missing[0][0]}v{missing[0][1]}; it has {names or 'none'}"
        )
    chosen = [material for material in there if not query.materials or material in query.materials]
    if not chosen:
        return Listing(0, [])
    reader = _Reader(store, chosen, query)
    found, best = 0, _Places(*(np.empty(0, np.int64) for _ in range(5)))
    for places, entries in reader.matches():
        found += len(places.keys)
        best = best.first(places, most)
        tell(entries)
    word = unforced(store.variant)
    listed = []
    for value, number, side, entry in zip(*(part.tolist() for part in best[1:]), strict=True):
        position = store.tier(*chosen[number]).index.unrank(entry, "b" if side else "w")
        listed.append(Listed(position, *verdict_of(value, unforced=word)))
    return Listing(found, listed)


class _Reader:
    """Reads the tiers of a query slice by slice."""

    def __init__(self, store: Store, materials: list[tuple[int, int]], query: TableQuery) -> None:
        self._store, self._materials, self._query = store, materials, query
        self._tables = build_tables(store.variant)
        self._index: TierTables = tier_tables(store.variant, materials)
        self._values = value_table(ALIAS_CODE + 1, store.variant.rules.move_limit).astype(np.int64)
        if query.wdl in ("draw", "unresolved") and query.wdl != unforced(store.variant):
            raise InputError(
                f"--wdl {query.wdl}: no position of {store.variant.name} is; what is not forced is "
                f"{unforced(store.variant)} there"
            )

    def matches(self) -> Iterator[tuple[_Places, int]]:
        """Yield the places of each slice that are as asked for, and how many entries were read."""
        for number, material in enumerate(self._materials):
            tier = self._store.tier(*material)
            if tier.entries != int(self._index.tier.size[number]):
                raise TablebaseError(
                    f"tablebase folder {str(tier.folder)!r}: has {tier.entries:,} entries, the index "
                    f"{int(self._index.tier.size[number]):,}; build it again"
                )
            for start, stop in slices(tier.entries, _SLICE):
                yield self._slice(number, tier, start, stop), 2 * (stop - start)

    def _slice(self, number: int, tier: StoredTier, start: int, stop: int) -> _Places:
        query = self._query
        values = [self._values[tier.read(side, start, stop)] for side in SIDES]
        held = np.ones(stop - start, dtype=np.bool_)
        if query.zugzwang is not None:
            white, black = np.sign(values[0]), np.sign(values[1])
            full = (white < 0) & (black < 0)
            half = (white < -black) & ((white == 0) | (black == 0))
            held = {"full": full, "half": half, "any": full | half}[query.zugzwang]
        parts: list[_Places] = []
        for side, own in enumerate(values):
            if query.side not in (None, SIDES[side]):
                continue
            entries = start + np.flatnonzero(held & self._fits(own))
            entries = entries[self._real(number, side, entries)]
            chosen = own[entries - start]
            plies = np.where(chosen > 0, chosen, -chosen - 1)
            # What has no distance comes last.
            plies[chosen == 0] = -1 if query.order == "longest" else np.iinfo(np.int64).max
            keys = {"index": np.zeros_like(plies), "longest": -plies, "shortest": plies}[query.order]
            parts.append(_Places(keys, chosen, np.full_like(keys, number), np.full_like(keys, side), entries))
        return _Places(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))

    def _fits(self, values: NDArray[np.int64]) -> NDArray[np.bool_]:
        query = self._query
        match query.wdl:
            case "win":
                fits = values > 0
            case "loss":
                fits = values < 0
            case "draw" | "unresolved":
                fits = values == 0
            case _:
                fits = np.ones(len(values), dtype=np.bool_)
        if query.shortest is not None or query.longest is not None:
            plies = np.where(values > 0, values, -values - 1)
            fits &= values != 0
            fits &= (plies >= (query.shortest or 0)) & (
                plies <= (query.longest if query.longest is not None else plies)
            )
        return fits

    def _real(self, number: int, side: int, entries: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which entries have a position ranked to them: all but the aliases."""
        boards = np.empty((len(entries), 2 * self._store.variant.size + 4), dtype=np.uint32)
        unrank_entries(self._tables, self._index, number, entries, side, boards)
        tiers, again = np.empty(len(entries), dtype=np.int32), np.empty(len(entries), dtype=np.int64)
        rank_boards(self._tables, self._index, boards, tiers, again)
        real: NDArray[np.bool_] = again == entries
        return real
