"""The JSON API: what the commands answer under ``--json``, asked for over HTTP."""

from __future__ import annotations

import time
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Final

from cachetools import LRUCache
from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse, Response

from counting import BoundsReport
from reports.explorer.asked import BestMoveAsked, GameAsked, MovesAsked, PerftAsked, SolveAsked, known_players
from reports.explorer.searching import bestmove, count_sequences, prove, size_of, solve_board
from retrograde.answers import ProbeResult, SolvedResult, probe_result
from retrograde.proofs import ProofLimits
from retrograde.solver.report import SolveReport
from retrograde.solver.solution import memory_needed
from tablut.answers import BestMoveResult, MovesResult, PerftResult, moves_result
from tablut.cli.runtime import commit, origin
from tablut.errors import InputError
from tablut.play.search.limits import SearchLimits
from tablut.results import Result

if TYPE_CHECKING:
    from reports.explorer.desk import Desk
    from reports.explorer.settings import Settings
    from reports.explorer.tables import Tables

__all__ = ["api_router"]

_SOLVABLE: Final = 64 << 20
"""Bytes of a solution that `/api/solve` makes on the spot: some seconds."""


class Provenance(Result):
    """Where an answer comes from."""

    version: str
    commit: str | None
    command: str
    parameters: dict[str, Any]
    seed: int | None
    seconds: float
    compile_seconds: float
    peak_rss_bytes: int | None


def api_router(settings: Settings, desk: Desk, tables: Tables) -> APIRouter:
    """Return the addresses of the API."""
    router = APIRouter(prefix="/api", tags=["commands"])
    calls = _Calls(settings, desk, tables)

    def _both(path: str, asked: type[GameAsked], answered: Any, call: Any, summary: str) -> None:
        """Add an address under both methods."""

        async def _get(request: Request, said: Any) -> Response:
            return await calls.answer(request, path, said, call)

        async def _post(request: Request, said: Any) -> Response:
            return await calls.answer(request, path, said, call)

        _get.__annotations__["said"] = Annotated[asked, Query()]
        _post.__annotations__["said"] = asked
        _get.__annotations__["request"] = _post.__annotations__["request"] = Request
        kept: dict[str, Any] = {"summary": summary, "responses": {200: {"model": answered}}, "response_model": None}
        router.add_api_route(f"/{path}", _get, methods=["GET"], operation_id=f"{path}_get", **kept)
        router.add_api_route(f"/{path}", _post, methods=["POST"], operation_id=f"{path}_post", **kept)

    _both("moves", MovesAsked, _with_provenance(MovesResult), calls.moves, "The legal moves of a position")
    _both("probe", MovesAsked, _with_provenance(ProbeResult), calls.probe, "A tablebase's value of it and of each move")
    _both("bestmove", BestMoveAsked, _with_provenance(BestMoveResult), calls.bestmove, "One move by a player")
    _both(
        "solve",
        SolveAsked,
        _with_provenance(SolvedResult) | _with_provenance(SolveReport),
        calls.solve,
        "Proof of a position (as puzzle solve); without a position a whole small board (as solve)",
    )
    _both("perft", PerftAsked, _with_provenance(PerftResult), calls.perft, "Numbers of move sequences")
    _both("bounds", GameAsked, _with_provenance(BoundsReport), calls.bounds, "The size of the state space")
    return router


@cache
def _commit() -> str | None:
    """Return the commit that this process was started from; git is asked once."""
    return commit()


def _with_provenance(model: Any) -> Any:
    """Return the class of an answer with its provenance, for the API's document."""
    fields = {"__annotations__": {"provenance": Provenance}, "__module__": __name__, "__doc__": model.__doc__}
    return type(f"{model.__name__.removesuffix('Result')}Answer", (model,), fields)


class _Calls:
    """One method for each address: it takes what was asked, and returns a result."""

    def __init__(self, settings: Settings, desk: Desk, tables: Tables) -> None:
        self._settings, self._desk, self._tables = settings, desk, tables
        self._probed: LRUCache[Any, ProbeResult] = LRUCache(4096)
        self._bounds: LRUCache[str, BoundsReport] = LRUCache(32)
        self._reports: LRUCache[str, SolveReport] = LRUCache(32)

    async def answer(self, request: Request, path: str, asked: GameAsked, call: Any) -> Response:
        """Return the answer to a request: the result, and where it comes from."""
        started = time.perf_counter()
        result: Result = await call(request, asked)
        body = result.model_dump(mode="json", by_alias=True)
        seconds = time.perf_counter() - started
        seed = getattr(asked, "seed", None)
        said = asked.model_dump(exclude={"rules"}) | ({"rules": "given as text"} if asked.rules is not None else {})
        body["provenance"] = origin(f"{request.method} /api/{path}", said, seed, seconds, commit=_commit())
        return JSONResponse(body)

    async def moves(self, _: Request, asked: MovesAsked) -> Result:
        return moves_result(asked.board())

    async def probe(self, _: Request, asked: MovesAsked) -> Result:
        """Answer at once, in the loop: a probe takes a millisecond or two, and no search delays it."""
        board = asked.board()
        key = (board.variant.digest, board.variant.name, board.position) if not asked.moves else None
        if key is not None and key in self._probed:
            return self._probed[key]
        board.outcome()  # what cannot be played on is refused here, not as missing material
        table = self._tables.needed(board)
        found = probe_result(table.tablebase, board, table.name)
        if found.variant != board.variant.name:
            found = found.model_copy(update={"variant": board.variant.name})
        if key is not None:
            self._probed[key] = found
        return found

    async def bestmove(self, request: Request, asked: BestMoveAsked) -> Result:
        asked.board()  # what cannot be read is refused before anybody waits
        if asked.player not in known_players():
            raise InputError(f"player {asked.player!r}: unknown; the players are {', '.join(known_players())}")
        return await self._desk.work(request, bestmove, asked, self._limits(asked), self._settings)

    def _limits(self, asked: BestMoveAsked) -> SearchLimits:
        """Return the limits of a search: those asked for, and never more than the server's."""
        most = self._settings
        if asked.movetime is not None and asked.movetime > most.movetime:
            raise InputError(f"movetime {asked.movetime:g}: at most {most.movetime:g} seconds here")
        if asked.nodes is not None and asked.nodes > most.nodes:
            raise InputError(f"nodes {asked.nodes:,}: at most {most.nodes:,} here")
        movetime = asked.movetime
        if movetime is None:
            alone = asked.nodes is None and asked.playouts is None and asked.depth is None
            # Where something else limits it, the clock is there for what takes unexpectedly long.
            movetime = min(1.0, most.movetime) if alone else most.movetime
        return SearchLimits(movetime, asked.nodes, asked.depth, asked.playouts).checked()

    async def solve(self, request: Request, asked: SolveAsked) -> Result:
        if asked.position is None:
            return await self._solve_board(request, asked)
        board = asked.board()
        most = self._settings.proof_seconds
        if asked.seconds is not None and asked.seconds > most:
            raise InputError(f"seconds {asked.seconds:g}: at most {most:g} here")
        limits = ProofLimits(self._settings.nodes, asked.seconds or most, self._settings.proof_mib << 20, 50_000)
        board.outcome()  # what cannot be played on is refused here
        # Where a table has the position it answers at once; unpacked for a search, it would take too much memory.
        table = self._tables.covering(board)
        return await self._desk.work(request, prove, asked, limits, None if table is None else table.folder)

    async def _solve_board(self, request: Request, asked: GameAsked) -> Result:
        variant = asked.game()
        if variant.digest in self._reports:
            return self._reports[variant.digest]
        if (needed := memory_needed(variant)) > _SOLVABLE:
            raise InputError(
                f"variant {variant.name}: its whole solution needs about {needed / 2**20:,.0f} MiB, and at most "
                f"{_SOLVABLE >> 20} MiB are given here; name a position to have it proved, or use tablut solve"
            )
        report = self._reports[variant.digest] = await self._desk.work(request, solve_board, asked)
        return report

    async def perft(self, request: Request, asked: PerftAsked) -> Result:
        asked.board().outcome()  # what cannot be played on is refused here
        return await self._desk.work(request, count_sequences, asked, self._settings.sequences)

    async def bounds(self, request: Request, asked: GameAsked) -> Result:
        variant = asked.game()
        key = f"{variant.digest} {variant.name}"
        if key not in self._bounds:
            self._bounds[key] = await self._desk.work(request, size_of, asked)
        return self._bounds[key]
