"""Endings: which tablebases there are, and their positions by value, distance and material."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final, Literal

from cachetools import LRUCache
from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, Field

from reports.explorer.failures import BusyError, NotFoundError
from retrograde.cli.summary import TierResult, tier_result
from retrograde.tablebase.querying import Listing, TableQuery, list_positions
from tablut.compilation import wall_clock
from tablut.files import excerpt
from tablut.indexing.values import unforced
from tablut.results import Result

if TYPE_CHECKING:
    from reports.explorer.desk import Desk
    from reports.explorer.settings import Settings
    from reports.explorer.tables import Table, Tables

__all__ = ["EndingsAsked", "TableListed", "endings_router", "list_tables"]

_AT_ONCE: Final = 3_000_000
"""Classes that are read in a fraction of a second."""


class TableListed(Result):
    """A tablebase.

    Attributes
    ----------
    name, variant : str
        Its name, and the game's.
    start : str
        Of the game.
    whole : bool
        Whether it holds all positions that the start reaches: a solved board.
    max_men : int
        Up to so many men every position is there.
    longest : int
        The greatest distance in it.
    classes : int
        Positions up to symmetry, with the side to move.
    first : str
        The material to begin with: the largest tier that is read in a moment, such as ``2v1``.
    tiers : list of TierResult
        What it holds, by material.
    """

    name: str
    variant: str
    start: str
    whole: bool
    max_men: int
    longest: int
    classes: int
    first: str
    tiers: list[TierResult]


class EndingsAsked(BaseModel):
    """Which positions of a tablebase to list; what is left out does not matter."""

    model_config = ConfigDict(extra="forbid")

    wdl: Literal["win", "draw", "loss", "unresolved"] | None = None
    side: Literal["white", "black"] | None = None
    material: Annotated[
        str | None, Field(pattern=r"^[0-9]{1,3}v[0-9]{1,3}$", description="Attackers and defenders, such as 2v1.")
    ] = None
    zugzwang: Literal["full", "half", "any"] | None = None
    min_plies: Annotated[int | None, Field(ge=0, le=20_000)] = None
    max_plies: Annotated[int | None, Field(ge=0, le=20_000)] = None
    order: Literal["index", "longest", "shortest"] = "longest"
    most: Annotated[int, Field(ge=1, le=200)] = 24


class EndingListed(Result):
    """A position of a tablebase."""

    position: str
    wdl: str
    dtm: int | None


class EndingsFound(Result):
    """Positions of a tablebase.

    Attributes
    ----------
    name, variant : str
        The tablebase, and its game.
    found : int
        Positions, up to symmetry, that are as asked for, and of so many plies at least.
    at_least : int or None
        The plies; None if all were counted.
    positions : list of EndingListed
        The first of them.
    """

    name: str
    variant: str
    found: int
    at_least: int | None
    positions: list[EndingListed]


def list_tables(tables: Tables) -> list[TableListed]:
    """Return the tablebases of the explorer.

    Parameters
    ----------
    tables : Tables
        The tablebases.

    Returns
    -------
    list of TableListed
        In their order.
    """
    return [_listed(table) for table in tables.all()]


def _listed(table: Table) -> TableListed:
    store, variant = table.tablebase.store, table.tablebase.variant
    tiers = [tier_result(store.tier(*material).record, variant) for material in store.tiers()]
    return TableListed(
        name=table.name,
        variant=variant.name,
        start=variant.start_position,
        whole=table.whole,
        max_men=table.tablebase.max_men,
        longest=max((tier.max_dtm for tier in tiers), default=0),
        classes=sum(tier.classes for tier in tiers),
        first=_first(tiers),
        tiers=tiers,
    )


def _first(tiers: list[TierResult]) -> str:
    """Return the material to begin with; empty for all, where all are few."""
    if sum(tier.classes for tier in tiers) <= _AT_ONCE:
        return ""
    small = [tier for tier in tiers if tier.classes <= _AT_ONCE]
    tier = max(small, key=lambda tier: tier.classes) if small else min(tiers, key=lambda tier: tier.classes)
    return f"{tier.attackers}v{tier.defenders}"


def endings_router(settings: Settings, desk: Desk, tables: Tables) -> APIRouter:
    """Return the addresses of the endings.

    Parameters
    ----------
    settings : Settings
        The limits.
    desk : Desk
        Where long lists wait for their turn.
    tables : Tables
        The tablebases.

    Returns
    -------
    APIRouter
        ``/api/endings`` and what is below it.
    """
    router = APIRouter(prefix="/api/endings", tags=["endings"])
    kept: LRUCache[str, EndingsFound] = LRUCache(256)

    @router.get("", summary="The tablebases that are here")
    def _list() -> dict[str, list[TableListed]]:
        return {"tables": list_tables(tables)}

    @router.get("/{name}", summary="Positions of a tablebase: longest wins, draws, mutual zugzwangs")
    async def _positions(request: Request, name: str, asked: Annotated[EndingsAsked, Query()]) -> EndingsFound:
        table = next((table for table in tables.all() if table.name == name), None)
        if table is None:
            raise NotFoundError(f"tablebase {excerpt(name)}: there is none of that name; /api/endings lists them")
        key = f"{name} {asked.model_dump_json()}"
        if key not in kept:
            reader = _Reader(table, asked, settings.movetime)
            kept[key] = await desk.work(request, reader.found, reader.stop)
        return kept[key]

    return router


class _StoppedError(Exception):
    """The time is over, or the visitor has gone."""


class _Reader:
    """Reads a tablebase for one request, within its time."""

    def __init__(self, table: Table, asked: EndingsAsked, seconds: float) -> None:
        self._table, self._asked, self._seconds = table, asked, seconds
        self._stopped = False
        self._until = 0.0

    def stop(self) -> None:
        """End it soon."""
        self._stopped = True

    def _look(self, _: int) -> None:
        if self._stopped or wall_clock() > self._until:
            raise _StoppedError

    def found(self) -> EndingsFound:
        """Return the positions that are asked for; those of the greatest distances are found without the others."""
        self._until = wall_clock() + self._seconds
        materials = self._materials()
        asked, table = self._asked, self._table
        least = asked.min_plies
        if asked.order == "longest" and asked.wdl in ("win", "loss") and asked.zugzwang is None and not asked.max_plies:
            variant = table.tablebase.variant
            tiers = [tier_result(table.tablebase.store.tier(*one).record, variant) for one in materials]
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
                f"tablebase {table.name}: the list takes longer than {self._seconds:g} seconds; ask for one material"
            ) from None
        return EndingsFound(
            name=table.name,
            variant=table.tablebase.variant.name,
            found=listing.found,
            at_least=bound,
            positions=[
                EndingListed(position=str(listed.position), wdl=listed.wdl, dtm=listed.dtm)
                for listed in listing.positions
            ],
        )

    def _materials(self) -> tuple[tuple[int, int], ...]:
        there = tuple(self._table.tablebase.store.tiers())
        if self._asked.material is None:
            return there
        attackers, _, defenders = self._asked.material.partition("v")
        wanted = (int(attackers), int(defenders))
        if wanted not in there:
            raise NotFoundError(
                f"tablebase {self._table.name}: has nothing of {self._asked.material}; /api/endings lists its tiers"
            )
        return (wanted,)

    def _list(self, materials: tuple[tuple[int, int], ...], least: int | None) -> Listing:
        asked = self._asked
        # Of what neither side can force, a game has draws or unresolved positions, never both.
        wdl = unforced(self._table.tablebase.variant) if asked.wdl in ("draw", "unresolved") else asked.wdl
        query = TableQuery(wdl, asked.side, least, asked.max_plies, materials, asked.zugzwang, asked.order)
        return list_positions(self._table.tablebase.store, query, asked.most, self._look)
