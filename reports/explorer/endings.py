"""Endings: which tablebases there are, and their positions by value, distance and material."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

from cachetools import LRUCache
from fastapi import APIRouter, Query, Request

from reports.explorer.asked import EndingsAsked
from reports.explorer.errors import NotFoundError
from reports.explorer.listing import EndingsFound, found_endings
from retrograde.cli.summary import TierResult, tier_result
from tablut.files import excerpt
from tablut.results import Result

if TYPE_CHECKING:
    from reports.explorer.desk import Desk
    from reports.explorer.settings import Settings
    from reports.explorer.tables import Table, Tables

__all__ = ["TableListed", "endings_router", "list_tables"]

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


def list_tables(tables: Tables) -> list[TableListed]:
    """Return the tablebases of the explorer.

    Parameters
    ----------
    tables : Tables
        The tablebases.

    Returns
    -------
    list of TableListed
        Endings of few men first, then solved boards, the large ones last.
    """
    return sorted(
        (_listed(table) for table in tables.all()), key=lambda table: (table.whole, table.classes * table.whole)
    )


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
            kept[key] = await desk.work(request, found_endings, table.name, table.folder, asked, settings.movetime)
        return kept[key]

    return router
