"""Endings: which tablebases there are, and their positions by value, distance and material."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple

from cachetools import LRUCache
from fastapi import APIRouter, Query, Request

from reports.explorer.asked import EndingsAsked
from reports.explorer.errors import NotFoundError
from reports.explorer.listing import EndingsFound, found_endings
from reports.solutions import results
from retrograde.answers import TierResult, tier_result
from tablut.results import Result
from tablut.store.files import excerpt
from tablut.variants import load_variant

if TYPE_CHECKING:
    from reports.explorer.desk import Desk
    from reports.explorer.settings import Settings
    from reports.explorer.tables import Table, Tables

__all__ = ["TableListed", "endings_router", "list_tables"]

_AT_ONCE: Final = 3_000_000
"""Classes that are read in a fraction of a second."""


class Reached(NamedTuple):
    """What the start of a solved board reaches: positions, and their classes under the symmetries of the start."""

    positions: int
    classes: int


class TableListed(Result):
    """A tablebase: what it holds, and what the start reaches of it, if it is a board that the reports have solved."""

    name: str
    variant: str
    start: str
    whole: bool
    max_men: int
    longest: int
    positions: int
    classes: int
    reached: Reached | None
    first: str
    tiers: list[TierResult]


def list_tables(tables: Tables) -> list[TableListed]:
    """Return the tablebases of the explorer."""
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
        positions=sum(tier.positions for tier in tiers),
        classes=sum(tier.classes for tier in tiers),
        reached=_reached().get(variant.digest) if table.whole else None,
        first=_first(tiers),
        tiers=tiers,
    )


@cache
def _reached() -> dict[str, Reached]:
    """Return what the starts of the solved boards reach, by the digest of the game."""
    return {load_variant(name).digest: Reached(one["positions"], one["classes"]) for name, one in results().items()}


def _first(tiers: list[TierResult]) -> str:
    """Return the material to begin with; empty for all, where all are few."""
    if sum(tier.classes for tier in tiers) <= _AT_ONCE:
        return ""
    small = [tier for tier in tiers if tier.classes <= _AT_ONCE]
    tier = max(small, key=lambda tier: tier.classes) if small else min(tiers, key=lambda tier: tier.classes)
    return f"{tier.attackers}v{tier.defenders}"


def endings_router(settings: Settings, desk: Desk, tables: Tables) -> APIRouter:
    """Return the addresses of the endings."""
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
