"""Addresses for one position: all that the board page shows of it, its drawing, and the rule sets."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Query
from fastapi.responses import Response

from reports.explorer.asked import GameAsked, MovesAsked, known_players
from reports.explorer.facts import PositionFacts, position_facts
from tablut import svg
from tablut.answers import DescribedVariant, ListedVariant, described_variant, listed_variant
from tablut.results import Result
from tablut.variants import shipped_variants

if TYPE_CHECKING:
    from reports.explorer.tables import Tables


class Variants(Result):
    """The rule sets that ship."""

    variants: list[ListedVariant]


class Players(Result):
    """Who can be played against."""

    players: dict[str, str]


def boards_router(tables: Tables) -> APIRouter:
    """Return the addresses for one position."""
    router = APIRouter(prefix="/api", tags=["boards"])

    @router.get("/variants", summary="The rule sets that ship")
    def _variants() -> Variants:
        return Variants(variants=[listed_variant(variant) for variant in shipped_variants()])

    @router.post("/rules", summary="A rule set with all its fields; your own is checked")
    async def _rules(asked: GameAsked) -> DescribedVariant:
        return described_variant(asked.game())

    @router.get("/players", summary="Who can be played against")
    def _players() -> Players:
        return Players(players=known_players())

    async def _facts_of(asked: MovesAsked) -> PositionFacts:
        return await asyncio.to_thread(lambda: position_facts(asked.board(), tables))

    async def _drawing_of(asked: MovesAsked) -> Response:
        return Response(svg.board(asked.board()), media_type="image/svg+xml")

    @router.get("/position", summary="All that the board page shows of a position")
    async def _facts_of_query(asked: Annotated[MovesAsked, Query()]) -> PositionFacts:
        return await _facts_of(asked)

    @router.post("/position", summary="All that the board page shows of a position")
    async def _facts(asked: MovesAsked) -> PositionFacts:
        return await _facts_of(asked)

    @router.get("/svg", summary="A drawing of a position", response_class=Response)
    async def _drawing_of_query(asked: Annotated[MovesAsked, Query()]) -> Response:
        return await _drawing_of(asked)

    @router.post("/svg", summary="A drawing of a position", response_class=Response)
    async def _drawing(asked: MovesAsked) -> Response:
        return await _drawing_of(asked)

    return router
