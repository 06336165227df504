"""Endings: which tablebases there are, and their positions by value, distance and material."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, Field

from reports.explorer.failures import NotFoundError
from retrograde.cli.summary import TierResult, tier_result
from retrograde.tablebase.querying import TableQuery, list_positions
from tablut.files import excerpt
from tablut.results import Result

if TYPE_CHECKING:
    from reports.explorer.desk import Desk
    from reports.explorer.tables import Table, Tables

__all__ = ["EndingsAsked", "TableListed", "endings_router", "list_tables"]


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
    """Positions of a tablebase; ``found`` counts all that are as asked for, up to symmetry."""

    name: str
    variant: str
    found: int
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
        tiers=tiers,
    )


def endings_router(desk: Desk, tables: Tables) -> APIRouter:
    """Return the addresses of the endings.

    Parameters
    ----------
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

    @router.get("", summary="The tablebases that are here")
    def _list() -> dict[str, list[TableListed]]:
        return {"tables": list_tables(tables)}

    @router.get("/{name}", summary="Positions of a tablebase: longest wins, draws, mutual zugzwangs")
    async def _positions(request: Request, name: str, asked: Annotated[EndingsAsked, Query()]) -> EndingsFound:
        table = next((table for table in tables.all() if table.name == name), None)
        if table is None:
            raise NotFoundError(f"tablebase {excerpt(name)}: there is none of that name; /api/endings lists them")
        return await desk.work(request, lambda: _found(table, asked))

    return router


def _found(table: Table, asked: EndingsAsked) -> EndingsFound:
    store, variant = table.tablebase.store, table.tablebase.variant
    materials: tuple[tuple[int, int], ...] = ()
    if asked.material is not None:
        attackers, _, defenders = asked.material.partition("v")
        materials = ((int(attackers), int(defenders)),)
        if materials[0] not in store.tiers():
            raise NotFoundError(
                f"tablebase {table.name}: has nothing of {asked.material}; /api/endings lists its tiers"
            )
    query = TableQuery(asked.wdl, asked.side, asked.min_plies, asked.max_plies, materials, asked.zugzwang, asked.order)
    listing = list_positions(store, query, asked.most)
    return EndingsFound(
        name=table.name,
        variant=variant.name,
        found=listing.found,
        positions=[
            EndingListed(position=str(listed.position), wdl=listed.wdl, dtm=listed.dtm) for listed in listing.positions
        ],
    )
