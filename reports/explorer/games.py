"""Game records: read in any of the formats, replayed under the rules, ready to be stepped through or analysed."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter
from pydantic import Field

from reports.explorer.asked import GameAsked
from tablut.errors import InputError
from tablut.formats import read_record
from tablut.formats.replay import replay
from tablut.notation import square_name
from tablut.results import Result
from tablut.variants import as_variant, shipped_name

if TYPE_CHECKING:
    from reports.explorer.settings import Settings
    from tablut.formats import GameRecord
    from tablut.variants import Variant

__all__ = ["AnalysisAsked", "RecordAsked", "games_router"]

MOST_PLIES = 1000


class RecordAsked(GameAsked):
    """A game record: ours, OpenTafl's, or a log of the Bologna server."""

    variant: Annotated[str, Field(max_length=80, description="Rules to take; by default those that it names.")] = ""
    record: Annotated[str | None, Field(max_length=2 << 20, description="The record as text.")] = None
    record_base64: Annotated[
        str | None, Field(max_length=3 << 20, description="The bytes of its file, in base 64: UTF-8 or Latin-1.")
    ] = None

    def record_and_rules(self) -> tuple[GameRecord, Variant]:
        """Return the record, and its rules or those to take instead."""
        given = self.game() if self.rules is not None or self.variant else None
        content: str | bytes
        if self.record_base64 is not None:
            try:
                content = base64.b64decode(self.record_base64, validate=True)
            except (binascii.Error, ValueError) as error:
                raise InputError("field 'record_base64': is not base 64") from error
        elif self.record is not None:
            content = self.record
        else:
            raise InputError("give the record as 'record' or as 'record_base64'")
        record = read_record(content, given)
        if record.variant is None:
            raise InputError("the record names no rule set; choose one above it")
        if len(record.moves) > MOST_PLIES:
            raise InputError(f"the record has {len(record.moves):,} moves; at most {MOST_PLIES:,} are shown here")
        return record, as_variant(record.variant)


class AnalysisAsked(RecordAsked):
    """A game to be analysed."""

    movetime: Annotated[float, Field(gt=0, le=5, description="Seconds for each position.")] = 0.2


class RecordPly(Result):
    """A move of a record, as the rules give it."""

    move: str
    captures: list[str]


class RecordRead(Result):
    """A record that was read and replayed."""

    variant: str
    shipped: str | None
    start: str
    tags: dict[str, str]
    moves: list[RecordPly]
    result: str | None
    outcome: str | None
    problems: list[str]
    notes: list[str]


def games_router(_: Settings) -> APIRouter:
    """Return the addresses for game records.

    Parameters
    ----------
    _ : Settings
        The limits; what guards the requests keeps them.

    Returns
    -------
    APIRouter
        ``/api/record``.
    """
    router = APIRouter(prefix="/api", tags=["games"])

    @router.post("/record", summary="A game record, checked by the rules", response_model=RecordRead)
    def _record(asked: RecordAsked) -> RecordRead:
        record, variant = asked.record_and_rules()
        game = replay(record)
        outcome = game.board.outcome()
        return RecordRead(
            variant=variant.name,
            shipped=shipped_name(variant),
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
