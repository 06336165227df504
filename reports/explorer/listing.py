"""What workers do about endings: list positions of a tablebase. Nothing here answers requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reports.explorer.errors import BusyError, NotFoundError
from reports.explorer.searching import opened
from retrograde.answers import tier_result
from retrograde.tablebase.querying import Listing, TableQuery, list_positions
from tablut.indexing.values import unforced
from tablut.results import Result
from tablut.running.clocks import wall_clock

if TYPE_CHECKING:
    from pathlib import Path

    from reports.explorer.asked import EndingsAsked
    from reports.explorer.workers import Caller
    from retrograde.tablebase import Tablebase


class EndingListed(Result):
    """A position of a tablebase."""

    position: str
    wdl: str
    dtm: int | None


class EndingsFound(Result):
    """Positions of a tablebase."""

    name: str
    variant: str
    found: int
    at_least: int | None
    positions: list[EndingListed]


def found_endings(caller: Caller, name: str, folder: Path, asked: EndingsAsked, seconds: float) -> EndingsFound:
    """List positions of a tablebase; those of the greatest distances are found without reading the others."""
    return _Reader(caller, name, opened(folder), asked, seconds).found()


class _StoppedError(Exception):
    """The time is over, or the visitor has gone."""


class _Reader:
    """Reads a tablebase for one request, within its time."""

    def __init__(self, caller: Caller, name: str, tablebase: Tablebase, asked: EndingsAsked, seconds: float) -> None:
        self._caller, self._name, self._tablebase, self._asked = caller, name, tablebase, asked
        self._seconds, self._until = seconds, wall_clock() + seconds

    def _look(self, _: int) -> None:
        if self._caller.gone or wall_clock() > self._until:
            raise _StoppedError

    def found(self) -> EndingsFound:
        """Return the positions that are asked for; those of the greatest distances are found without the others."""
        materials = self._materials()
        asked, tablebase = self._asked, self._tablebase
        least = asked.min_plies
        if asked.order == "longest" and asked.wdl in ("win", "loss") and asked.zugzwang is None and not asked.max_plies:
            variant = tablebase.variant
            tiers = [tier_result(tablebase.store.tier(*one).record, variant) for one in materials]
            deepest = max((tier.max_dtm for tier in tiers), default=0)
            bounds = [bound for bound in (deepest - 2, deepest // 2) if bound > (least or 0)]
        else:
            bounds = []
        try:
            for bound in (*bounds, least):
                listing = self._list(materials, bound)
                if len(listing.positions) >= asked.most:
                    break
        except _StoppedError:
            raise BusyError(
                f"tablebase {self._name}: the list takes longer than {self._seconds:g} seconds; ask for one material"
            ) from None
        return EndingsFound(
            name=self._name,
            variant=tablebase.variant.name,
            found=listing.found,
            at_least=bound,
            positions=[
                EndingListed(position=str(listed.position), wdl=listed.wdl, dtm=listed.dtm)
                for listed in listing.positions
            ],
        )

    def _materials(self) -> tuple[tuple[int, int], ...]:
        there = tuple(self._tablebase.store.tiers())
        if self._asked.material is None:
            return there
        attackers, _, defenders = self._asked.material.partition("v")
        wanted = (int(attackers), int(defenders))
        if wanted not in there:
            raise NotFoundError(
                f"tablebase {self._name}: has nothing of {self._asked.material}; /api/endings lists its tiers"
            )
        return (wanted,)

    def _list(self, materials: tuple[tuple[int, int], ...], least: int | None) -> Listing:
        asked = self._asked
        # Of what neither side can force, a game has draws or unresolved positions, never both.
        wdl = unforced(self._tablebase.variant) if asked.wdl in ("draw", "unresolved") else asked.wdl
        query = TableQuery(wdl, asked.side, least, asked.max_plies, materials, asked.zugzwang, asked.order)
        return list_positions(self._tablebase.store, query, asked.most, self._look)
