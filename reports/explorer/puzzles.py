"""Puzzles: what there is, and solving them move by move, with proofs for what is right and what refutes the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import APIRouter, Request

from reports.explorer.asked import TryAsked
from reports.explorer.errors import BusyError, NotFoundError
from reports.explorer.judging import (
    ListedPuzzle,
    Revealed,
    Tried,
    defence,
    judged,
    list_puzzles,
    revealed,
    solution,
)
from tablut.errors import InputError
from tablut.results import Result
from tablut.store.files import excerpt

if TYPE_CHECKING:
    from reports.explorer.desk import Desk
    from reports.explorer.settings import Settings


class Hint(Result):
    """Where the piece stands that is to be moved."""

    square: str


class Opened(Result):
    """A puzzle opened: itself, and the first move where the side that loses begins."""

    puzzle: ListedPuzzle
    reply: str | None


def _named(name: str) -> ListedPuzzle:
    found = list_puzzles().get(name)
    if found is None:
        raise NotFoundError(f"puzzle {excerpt(name)}: there is none of that id; /api/puzzles lists them")
    return found


def puzzles_router(settings: Settings, desk: Desk) -> APIRouter:
    """Return the addresses of the puzzles."""
    router = APIRouter(prefix="/api/puzzles", tags=["puzzles"])

    @router.get("", summary="The puzzles that ship, without solutions")
    def _list() -> dict[str, list[ListedPuzzle]]:
        return {"puzzles": list(list_puzzles().values())}

    @router.get("/{name}", summary="One puzzle, and the first move where the side that loses begins")
    async def _open(request: Request, name: str) -> Opened:
        listed = _named(name)
        if listed.side == listed.winner:
            return Opened(puzzle=listed, reply=None)
        reply = await desk.work(request, defence, listed, settings)
        if reply is None:
            raise BusyError("the defence was not found in time; try again in a moment")
        return Opened(puzzle=listed, reply=reply)

    @router.post("/{name}/try", summary="The last of the moves judged, by proof")
    async def _try(request: Request, name: str, asked: TryAsked) -> Tried:
        listed = _named(name)
        if not asked.moves:
            raise InputError("field 'moves': give the moves so far, the one to be judged last")
        return await desk.work(request, judged, listed, asked.moves, settings)

    @router.post("/{name}/hint", summary="Which piece to move")
    async def _hint(request: Request, name: str, asked: TryAsked) -> Hint:
        listed = _named(name)
        line = await desk.work(request, solution, listed, asked.moves, settings, 1)
        return Hint(square=line[0].split("-")[0])

    @router.post("/{name}/reveal", summary="The solution from here")
    async def _reveal(request: Request, name: str, asked: TryAsked) -> Revealed:
        listed = _named(name)
        return await desk.work(request, revealed, listed, asked.moves, settings)

    return router
