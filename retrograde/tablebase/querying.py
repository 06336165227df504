"""Queries that find tablebase positions by value, distance, material, side to move and mutual zugzwang.

A tablebase's records contain the number of classes with each value. So the matches for most queries can be counted
without reading a table. Only tiers with positions to be listed are read, range by range. To find mutual zugzwangs, all
entries are examined one by one. Each listed position also represents its symmetric images.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retrograde.tablebase.bulk_probing import value_table
from retrograde.tablebase.store import Store, StoredTier, TablebaseError, slices, tier_name
from tablut.engine.layout import new_board
from tablut.engine.tables import build_tables
from tablut.errors import InputError
from tablut.indexing.tier_kernels import rank_boards, unrank_entries
from tablut.indexing.tier_tables import TierTables, tier_tables
from tablut.indexing.values import Wdl, unforced, verdict_of
from tablut.position import SIDES, Position, SideName
from tablut.work.files import brief

_SLICE: Final = 1 << 18
"""Number of entries that are read together."""
_STEP: Final = 1 << 12
"""Number of candidates that are unranked together."""

Order = Literal["index", "longest", "shortest"]


class TableQuery(NamedTuple):
    """Conditions on the positions to find, and the order of these positions.

    A condition that is None or empty does not apply.

    ``shortest`` and ``longest`` are distances in plies.
    """

    wdl: Wdl | None = None
    side: SideName | None = None
    shortest: int | None = None
    longest: int | None = None
    materials: tuple[tuple[int, int], ...] = ()
    zugzwang: Literal["full", "half", "any"] | None = None
    order: Order = "index"


class Listed(NamedTuple):
    """A position with its value."""

    position: Position
    wdl: Wdl
    dtm: int | None


@brief
class QueryResult(NamedTuple):
    """Result of a query: the number of positions found, and the positions to be listed."""

    found: int
    positions: list[Listed]


def list_positions(
    store: Store, query: TableQuery, most: int, advanced: Callable[[int], None] = lambda _: None, *, skip: int = 0
) -> QueryResult:
    """Return the number of positions that match a query, and a list of matches.

    The list contains the first ``most`` matches, without the first ``skip`` of them. The query takes time proportional
    to the number of entries in the tiers that contain the positions returned.
    """
    there = store.tiers()
    missing = [material for material in query.materials if material not in there]
    if missing:
        names = ", ".join(map(tier_name, there))
        remedy = f"choose one of {names}" if names else "build it first"
        raise InputError(f"has no tier {tier_name(missing[0])}", subject=str(store), remedy=remedy)
    chosen = [material for material in there if not query.materials or material in query.materials]
    if not chosen:
        return QueryResult(0, [])
    reader = _Reader(store, chosen, query)
    count, places = reader.zugzwangs(most, advanced) if query.zugzwang is not None else reader.matches(most, advanced)
    word = unforced(store.variant)
    listed = []
    for _, value, number, side, entry in places[skip:]:
        position = store.tier(*chosen[number]).index.unrank(entry, "b" if side else "w")
        listed.append(Listed(position, *verdict_of(value, unforced=word)))
    return QueryResult(count, listed)


def mutual_zugzwangs(white: NDArray[Any], black: NDArray[Any]) -> dict[str, NDArray[np.bool_]]:
    """Return masks of the ``full`` and ``half`` mutual zugzwangs, given the values with white and with black to move.

    In a mutual zugzwang, white is worse off if white is to move than if black is to move.
    """
    white, black = np.sign(white), np.sign(black)
    return {
        "full": (white < 0) & (black < 0),
        "half": (white < -black) & ((white == 0) | (black == 0)),
    }


class _Match(NamedTuple):
    """A matching position, given by its sort key, value, tier, side to move and entry."""

    key: int
    value: int
    tier: int
    side: int
    entry: int


class _Reader:
    """Reader for the tiers that a query needs. The tiers are read range by range."""

    def __init__(self, store: Store, materials: list[tuple[int, int]], query: TableQuery) -> None:
        self._store, self._materials, self._query = store, materials, query
        self._tables = build_tables(store.variant)
        self._index: TierTables = tier_tables(store.variant, materials)
        self._values = value_table(store.variant.rules.move_limit).astype(np.int64)
        if query.wdl in ("draw", "unresolved") and query.wdl != unforced(store.variant):
            raise InputError(
                f"is not the value of any position of {store.variant.name}",
                parameter="wdl",
                value=query.wdl,
                remedy=f"use {unforced(store.variant)} for positions without a forced result",
            )

    def matches(self, most: int, advanced: Callable[[int], None]) -> tuple[int, list[_Match]]:
        """Return the number of matching positions, and the first of them.

        Tables are read only to find the positions to be listed.
        """
        counts: dict[int, int] = {}
        for number in range(len(self._materials)):
            for side in self._sides():
                for value, count in self._matching(number, side).items():
                    counts[self._key(value)] = counts.get(self._key(value), 0) + count
        # The number of positions to list for each sort key.
        left, due = most, {}
        for key in sorted(counts):
            due[key] = min(left, counts[key])
            left -= due[key]
        due = {key: count for key, count in due.items() if count}
        places: list[_Match] = []
        for number, tier in self._tiers():
            for start, stop in slices(tier.entries, _SLICE):
                for side in self._sides():
                    wanted = [value for value in self._matching(number, side) if due.get(self._key(value))]
                    if wanted:
                        self._collect(number, tier, side, (start, stop), (wanted, due), places)
                        advanced(stop - start)
        if any(due.values()):
            problem, remedy = "it counts positions that do not exist", "check it with `tablut tablebase verify STORE`"
            raise TablebaseError(problem, subject=str(self._store), remedy=remedy)
        return sum(counts.values()), sorted(places, key=lambda place: place.key)

    def _collect(
        self,
        number: int,
        tier: StoredTier,
        side: int,
        span: tuple[int, int],
        sought: tuple[list[int], dict[int, int]],
        places: list[_Match],
    ) -> None:
        """Collect positions with a given value from a range of entries, until each sort key has enough positions."""
        wanted, due = sought
        values = self._values[tier.read(SIDES[side], *span)]
        candidates = np.flatnonzero(np.isin(values, wanted))
        for first in range(0, len(candidates), _STEP):
            part = candidates[first : first + _STEP]
            real = self._real(number, side, span[0] + part)
            for at in part[real].tolist():
                value = int(values[at])
                key = self._key(value)
                if due[key]:
                    due[key] -= 1
                    places.append(_Match(key, value, number, side, span[0] + at))
            if not any(due[self._key(value)] for value in wanted):
                return

    def zugzwangs(self, most: int, advanced: Callable[[int], None]) -> tuple[int, list[_Match]]:
        """Return the number of matching mutual zugzwangs, and the first of them. Every entry is examined."""
        query, count = self._query, 0
        places: list[_Match] = []
        for number, tier in self._tiers():
            for start, stop in slices(tier.entries, _SLICE):
                values = [self._values[tier.read(side, start, stop)] for side in SIDES]
                found = mutual_zugzwangs(*values)
                chosen = found.get(query.zugzwang or "", found["full"] | found["half"])
                for side in self._sides():
                    entries = start + np.flatnonzero(chosen & self._fits(values[side]))
                    entries = entries[self._real(number, side, entries)]
                    count += len(entries)
                    for entry in entries.tolist():
                        value = int(values[side][entry - start])
                        places.append(_Match(self._key(value), value, number, side, entry))
                places = sorted(places, key=lambda place: place.key)[:most]
                advanced(2 * (stop - start))
        return count, places

    def _tiers(self) -> Iterator[tuple[int, StoredTier]]:
        """Yield the tiers, after checking that each length matches the index."""
        for number, material in enumerate(self._materials):
            tier = self._store.tier(*material)
            tier.check_entries(int(self._index.tier.size[number]))
            yield number, tier

    def _sides(self) -> list[int]:
        """Return the numbers of the sides to move that the query covers."""
        return [side for side, name in enumerate(SIDES) if self._query.side in (None, name)]

    def _matching(self, number: int, side: int) -> dict[int, int]:
        """Return the matching values in a tier with one side to move, and the number of classes with each value."""
        record = self._store.tier(*self._materials[number]).record
        counts: dict[int, int] = {}
        for code, count in getattr(record, SIDES[side]).classes.items():
            value = int(self._values[code])
            if count and self._fits(np.array([value]))[0]:
                counts[value] = counts.get(value, 0) + count
        return counts

    def _key(self, value: int) -> int:
        """Return the sort key for positions with a given value. Unforced positions come last."""
        if self._query.order == "index":
            return 0
        plies = value if value > 0 else -value - 1
        if value == 0:
            return int(np.iinfo(np.int64).max)
        return -plies if self._query.order == "longest" else plies

    def _fits(self, values: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return a mask of the values that match the conditions on value and distance."""
        query = self._query
        fits = np.ones(len(values), dtype=np.bool_)
        if query.wdl is not None:
            fits = np.sign(values) == {"win": 1, "loss": -1}.get(query.wdl, 0)
        if query.shortest is not None or query.longest is not None:
            plies = np.where(values > 0, values, -values - 1)
            longest = plies if query.longest is None else query.longest
            fits &= (values != 0) & (plies >= (query.shortest or 0)) & (plies <= longest)
        return fits

    def _real(self, number: int, side: int, entries: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return a mask of the entries that are not aliases, that is, entries that are the rank of a position."""
        boards = new_board(self._store.variant.size, len(entries))
        unrank_entries(self._tables, self._index, number, entries, side, boards)
        tiers, again = np.empty(len(entries), dtype=np.int32), np.empty(len(entries), dtype=np.int64)
        rank_boards(self._tables, self._index, boards, tiers, again)
        real: NDArray[np.bool_] = again == entries
        return real
