"""Game records: read in any of the formats, replayed under the rules, ready to be stepped through or analysed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import APIRouter

from reports.explorer.asked import RecordAsked
from tablut.notation import square_name
from tablut.records.native import replay
from tablut.results import Result
from tablut.variants import shipped_name
from tablut.variants.schema import write_variant

if TYPE_CHECKING:
    from reports.explorer.settings import Settings


class RecordPly(Result):
    """A move of a record, as the rules give it."""

    move: str
    captures: list[str]


class RecordRead(Result):
    """A record that was read and replayed."""

    variant: str
    shipped: str | None
    rules: str | None
    start: str
    tags: dict[str, str]
    moves: list[RecordPly]
    result: str | None
    outcome: str | None
    problems: list[str]
    notes: list[str]


def games_router(_: Settings) -> APIRouter:
    """Return the addresses for game records."""
    router = APIRouter(prefix="/api", tags=["games"])

    @router.post("/record", summary="A game record, checked by the rules", response_model=RecordRead)
    def _record(asked: RecordAsked) -> RecordRead:
        record, variant = asked.record_and_rules()
        game = replay(record)
        outcome = game.board.outcome()
        shipped = shipped_name(variant)
        return RecordRead(
            variant=variant.name,
            shipped=shipped,
            rules=write_variant(variant) if shipped is None else None,
            start=str(game.start),
            tags=dict(record.tags),
            moves=[
                RecordPly(
                    move=str(ply.move.move),
                    captures=[square_name(square, variant.size) for square in sorted(ply.move.captures or ())],
                )
                for ply in game.plies
            ],
            result=record.result,
            outcome=None if outcome is None else f"{outcome.termination}, {outcome.winner or 'draw'}",
            problems=list(game.problems),
            notes=list(game.notes),
        )

    return router
