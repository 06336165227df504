"""The JSON API: over HTTP, the same results that the commands print under ``--json``."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from enum import Enum
from functools import cache
from typing import Annotated, Any, Final

from cachetools import LRUCache
from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from pydantic import BaseModel

from counting import BoundsReport
from reports.explorer import jobs
from reports.explorer.asked import (
    AnalysisAsked,
    BestMoveAsked,
    EndingsAsked,
    GameAsked,
    MovesAsked,
    PerftAsked,
    RecordAsked,
    SaveAsked,
    SolveAsked,
    ThinkAsked,
    TryAsked,
    given_once,
    known_players,
)
from reports.explorer.facts import MoveMade, PositionFacts, position_facts
from reports.explorer.guard import BusyError, NotFoundError, Settings
from reports.explorer.tables import NamedTables, TableListed, list_tables
from reports.explorer.work import Job, Places, SearchTold, visitor_of
from reports.rulebook.deciding import DecidingRules
from reports.rulebook.playing import Rulebook, rulebook
from reports.stored import with_provenance
from retrograde.answers import ProbeResult, SolvedResult, probe_result
from retrograde.proofs import ProofLimits
from retrograde.solver.report import SolveReport
from retrograde.solver.solution import memory_needed
from tablut import svg
from tablut.answers import (
    DescribedVariant,
    ListedVariant,
    MovesResult,
    PerftResult,
    described_variant,
    listed_variant,
    moves_result,
)
from tablut.cli.runtime import commit, origin
from tablut.engine import engine_for
from tablut.errors import InputError, did_you_mean
from tablut.notation import square_name
from tablut.play.players.registry import BestMoveResult, spec_of
from tablut.play.search.limits import SearchLimits
from tablut.replay import replay
from tablut.results import Result
from tablut.variants import shipped_name, shipped_variants
from tablut.variants.schema import write_variant
from tablut.work.files import excerpt

_SOLVABLE: Final = 64 << 20
"""Largest solution, in bytes, that `/api/solve` computes on request; it takes some seconds."""


def api_router(settings: Settings, places: Places, tables: NamedTables) -> APIRouter:
    """Return the router with all endpoints of the API."""
    router = APIRouter(prefix="/api", dependencies=[Depends(given_once)])
    _add_commands(router, _Calls(settings, places, tables))
    _add_boards(router, tables)
    _add_puzzles(router, settings, places)
    _add_endings(router, settings, places, tables)
    _add_games(router)
    _add_streams(router, settings, places)
    return router


def _add_both(router: APIRouter, path: str, asked: type[BaseModel], call: Any, **kept: Any) -> None:
    """Register an endpoint for GET, with the fields in the query, and for POST, with one JSON object."""

    async def _get(request: Request, said: Any) -> Any:
        return await call(request, said)

    async def _post(request: Request, said: Any) -> Any:
        return await call(request, said)

    _get.__annotations__ |= {"said": Annotated[asked, Query()], "request": Request}
    _post.__annotations__ |= {"said": asked, "request": Request}
    router.add_api_route(f"/{path}", _get, methods=["GET"], operation_id=f"{path}_get", **kept)
    router.add_api_route(f"/{path}", _post, methods=["POST"], operation_id=f"{path}_post", **kept)


# -- commands --------------------------------------------------------------------------------------


def _add_commands(router: APIRouter, calls: _Calls) -> None:
    def add(path: str, asked: type[GameAsked], answered: Any, call: Any, summary: str) -> None:
        async def answer(request: Request, said: GameAsked) -> Response:
            return await calls.answer(request, path, said, call)

        kept: dict[str, Any] = {"responses": {200: {"model": answered}}, "response_model": None}
        _add_both(router, path, asked, answer, summary=summary, tags=["commands"], **kept)

    add("moves", MovesAsked, with_provenance(MovesResult), calls.moves, "Legal moves of a position")
    add("probe", MovesAsked, with_provenance(ProbeResult), calls.probe, "Tablebase values of a position and its moves")
    add("bestmove", BestMoveAsked, with_provenance(BestMoveResult), calls.bestmove, "Move chosen by a player")
    add(
        "solve",
        SolveAsked,
        with_provenance(SolvedResult) | with_provenance(SolveReport),
        calls.solve,
        "Proof of a position (like puzzle solve) or of a whole small board (like solve)",
    )
    add("perft", PerftAsked, with_provenance(PerftResult), calls.perft, "Numbers of move sequences")
    add("bounds", GameAsked, with_provenance(BoundsReport), calls.bounds, "Size of the state space")


@cache
def _commit() -> str | None:
    """Return the commit from which this process was started; git is called only once."""
    return commit()


class _Calls:
    """Handlers for the command endpoints. Each method takes a validated request and returns a result."""

    def __init__(self, settings: Settings, places: Places, tables: NamedTables) -> None:
        self._settings, self._places, self._tables = settings, places, tables
        self._probed: LRUCache[Any, ProbeResult] = LRUCache(settings.remembered)
        self._bounds: LRUCache[str, BoundsReport] = LRUCache(32)
        self._reports: LRUCache[str, SolveReport] = LRUCache(32)

    async def answer(self, request: Request, path: str, asked: GameAsked, call: Any) -> Response:
        """Run a handler and return its result as JSON, together with the provenance."""
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
        """Probe the tablebase in the event loop itself: it takes only a millisecond or two, so no worker is needed."""
        board = asked.board()
        key = (board.variant.digest, board.variant.name, board.position) if not asked.moves else None
        if key is not None and key in self._probed:
            return self._probed[key]
        board.outcome()  # refuse an invalid position as such, rather than as missing from the tablebase
        table = self._tables.needed(board)
        found = probe_result(table.tablebase, board, table.name)
        if found.variant != board.variant.name:
            found = found.model_copy(update={"variant": board.variant.name})
        if key is not None:
            self._probed[key] = found
        return found

    async def bestmove(self, request: Request, asked: BestMoveAsked) -> Result:
        spec_of(asked.player)
        # Refuse invalid requests before they queue for a worker. Random moves need no compiled engine.
        asked.board() if asked.player == "random" else asked.searched()
        limits = self._limits(asked)
        assert limits.movetime is not None
        seconds = limits.movetime + self._settings.margin
        return await self._places.work(request, seconds, jobs.bestmove, asked, limits, self._settings)

    def _limits(self, asked: BestMoveAsked) -> SearchLimits:
        """Return the limits of a search, which never exceed the server's own.

        Requested values above the server's limits are refused, and a missing time limit is filled in.
        """
        most = self._settings
        if asked.movetime is not None and asked.movetime > most.movetime:
            raise InputError(f"must be {most.movetime:g} seconds at most", subject=f"movetime {asked.movetime:g}")
        if asked.nodes is not None and asked.nodes > most.nodes:
            raise InputError(f"must be {most.nodes:,} at most", subject=f"nodes {asked.nodes:,}")
        movetime = asked.movetime
        if movetime is None:
            alone = asked.nodes is None and asked.playouts is None and asked.depth is None
            # If another limit applies, the time limit is only a safety net.
            movetime = min(1.0, most.movetime) if alone else most.movetime
        return SearchLimits(movetime, asked.nodes, asked.depth, asked.playouts).checked()

    async def solve(self, request: Request, asked: SolveAsked) -> Result:
        if asked.position is None:
            return await self._solve_board(request, asked)
        board = asked.searched()
        most = self._settings.proof_seconds
        if asked.seconds is not None and asked.seconds > most:
            raise InputError(f"must be {most:g} seconds at most", subject=f"seconds {asked.seconds:g}")
        seconds = asked.seconds or most
        limits = ProofLimits(self._settings.nodes, seconds, self._settings.proof_mib << 20, 50_000)
        board.outcome()  # refuse an invalid position before queueing
        # Use a table only if it covers the position and so answers immediately: a search would unpack too much of a
        # table.
        table = self._tables.covering(board)
        folder = None if table is None else table.folder
        return await self._places.work(request, seconds + self._settings.margin, jobs.prove, asked, limits, folder)

    async def _solve_board(self, request: Request, asked: GameAsked) -> Result:
        variant = asked.game()
        if variant.digest in self._reports:
            return self._reports[variant.digest]
        if (needed := memory_needed(variant)) > _SOLVABLE:
            raise InputError(
                f"needs about {needed / 2**20:,.0f} MiB to be solved, but at most {_SOLVABLE >> 20} MiB are allowed",
                subject=f"variant {variant.name}",
                remedy="give a position to prove, or use tablut solve",
            )
        report = self._reports[variant.digest] = await self._places.work(
            request, self._settings.count_seconds, jobs.solve_board, asked
        )
        return report

    async def perft(self, request: Request, asked: PerftAsked) -> Result:
        asked.searched().outcome()  # refuse an invalid position before queueing
        return await self._places.work(
            request, self._settings.count_seconds, jobs.count_sequences, asked, self._settings.sequences
        )

    async def bounds(self, request: Request, asked: GameAsked) -> Result:
        variant = asked.game()
        key = f"{variant.digest} {variant.name}"
        if key not in self._bounds:
            self._bounds[key] = await self._places.work(request, self._settings.bounds_seconds, jobs.size_of, asked)
        return self._bounds[key]


# -- boards ----------------------------------------------------------------------------------------


class Variants(Result):
    """The shipped rule sets."""

    variants: list[ListedVariant]


class Players(Result):
    """The available players, each with a description."""

    players: dict[str, str]


def _add_boards(router: APIRouter, tables: NamedTables) -> None:
    tags: list[str | Enum] = ["boards"]

    @router.get("/variants", summary="Shipped rule sets", tags=tags)
    def _variants() -> Variants:
        return Variants(variants=[listed_variant(variant) for variant in shipped_variants()])

    @router.post("/rules", summary="Rule set with all its fields; your own rules are checked", tags=tags)
    async def _rules(asked: GameAsked) -> DescribedVariant:
        return described_variant(asked.game())

    @router.get("/players", summary="Available players", tags=tags)
    def _players() -> Players:
        return Players(players=known_players())

    async def _rulebook(_: Request, asked: GameAsked) -> Rulebook:
        return await asyncio.to_thread(rulebook, asked.game())

    async def _facts(_: Request, asked: MovesAsked) -> PositionFacts:
        return await asyncio.to_thread(lambda: position_facts(asked.board(), tables))

    async def _drawing(_: Request, asked: MovesAsked) -> Response:
        return Response(svg.board(asked.board()), media_type="image/svg+xml")

    told = "Rules of a game in words and pictures"
    _add_both(router, "rulebook", GameAsked, _rulebook, summary=told, tags=tags, response_model=Rulebook)
    shown = "Everything that the board page shows about a position"
    _add_both(router, "position", MovesAsked, _facts, summary=shown, tags=tags, response_model=PositionFacts)
    _add_both(router, "svg", MovesAsked, _drawing, summary="Drawing of a position", tags=tags, response_class=Response)


# -- puzzles ---------------------------------------------------------------------------------------


class Hint(Result):
    """Square of the piece to move."""

    square: str


class Opened(Result):
    """An opened puzzle: the puzzle itself, and the first move if the losing side moves first."""

    puzzle: jobs.ListedPuzzle
    reply: str | None


def _named(name: str) -> jobs.ListedPuzzle:
    found = jobs.list_puzzles().get(name)
    if found is None:
        hint = did_you_mean(name, jobs.list_puzzles(), "see the list at /api/puzzles")
        raise NotFoundError("does not exist", subject=f"puzzle {excerpt(name)}", remedy=hint)
    return found


def _add_puzzles(router: APIRouter, settings: Settings, places: Places) -> None:
    tags: list[str | Enum] = ["puzzles"]
    seconds = settings.puzzle_seconds

    @router.get("/puzzles", summary="Shipped puzzles, without solutions", tags=tags)
    def _list() -> dict[str, list[jobs.ListedPuzzle]]:
        return {"puzzles": list(jobs.list_puzzles().values())}

    @router.get("/puzzles/{name}", summary="Puzzle, with the first move if the losing side begins", tags=tags)
    async def _open(request: Request, name: str) -> Opened:
        listed = _named(name)
        if listed.side == listed.winner:
            return Opened(puzzle=listed, reply=None)
        reply = await places.work(request, seconds, jobs.defence, listed, settings)
        if reply is None:
            raise BusyError("no defence was found in time; try again in a moment")
        return Opened(puzzle=listed, reply=reply)

    @router.post("/puzzles/{name}/try", summary="Judgement of the last move, by proof", tags=tags)
    async def _try(request: Request, name: str, asked: TryAsked) -> jobs.Tried:
        listed = _named(name)
        if not asked.moves:
            raise InputError("must contain the moves so far and the move to judge", subject="field 'moves'")
        return await places.work(request, seconds, jobs.judged, listed, asked.moves, settings)

    @router.post("/puzzles/{name}/hint", summary="Square of the piece to move", tags=tags)
    async def _hint(request: Request, name: str, asked: TryAsked) -> Hint:
        line = await places.work(request, seconds, jobs.solution, _named(name), asked.moves, settings, 1)
        return Hint(square=line[0].split("-")[0])

    @router.post("/puzzles/{name}/reveal", summary="Solution from the current position", tags=tags)
    async def _reveal(request: Request, name: str, asked: TryAsked) -> jobs.Revealed:
        return await places.work(request, seconds, jobs.revealed, _named(name), asked.moves, settings)

    known: LRUCache[str, DecidingRules] = LRUCache(256)

    @router.post("/puzzles/{name}/rules", summary="Rules that decide a puzzle, by proof", tags=tags)
    async def _rules(request: Request, name: str) -> DecidingRules:
        listed = _named(name)
        if name not in known:
            known[name] = await places.work(request, seconds, jobs.decided_by, listed, settings)
        return known[name]


# -- endings ---------------------------------------------------------------------------------------


def _add_endings(router: APIRouter, settings: Settings, places: Places, tables: NamedTables) -> None:
    tags: list[str | Enum] = ["endings"]
    kept: LRUCache[str, jobs.EndingsFound] = LRUCache(256)

    @router.get("/endings", summary="Available tablebases", tags=tags)
    def _list() -> dict[str, list[TableListed]]:
        return {"tables": list_tables(tables)}

    @router.get("/endings/{name}", summary="Positions of a tablebase: longest wins, draws, mutual zugzwangs", tags=tags)
    async def _positions(request: Request, name: str, asked: Annotated[EndingsAsked, Query()]) -> jobs.EndingsFound:
        table = next((table for table in tables.all() if table.name == name), None)
        if table is None:
            raise NotFoundError(
                "does not exist", subject=f"tablebase {excerpt(name)}", remedy="see the list at /api/endings"
            )
        key, most = f"{name} {asked.model_dump_json()}", settings.movetime
        if key not in kept:
            kept[key] = await places.work(
                request, most + settings.margin, jobs.found_endings, table.name, table.folder, asked, most
            )
        return kept[key]


# -- game records ----------------------------------------------------------------------------------


class RecordRead(Result):
    """A game record that has been read and replayed."""

    variant: str
    shipped: str | None
    rules: str | None
    start: str
    tags: dict[str, str]
    moves: list[MoveMade]
    result: str | None
    outcome: str | None
    problems: list[str]
    notes: list[str]


def _add_games(router: APIRouter) -> None:
    @router.post("/record", summary="Game record, checked by the rules", tags=["games"])
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
                MoveMade(
                    move=str(ply.move.move),
                    captures=[square_name(square, variant.size) for square in sorted(ply.move.captures or ())],
                )
                for ply in game.plies
            ],
            result=record.result,
            outcome=None if outcome is None else f"{outcome.how}, {outcome.winner or 'draw'}",
            problems=list(game.problems),
            notes=list(game.notes),
        )

    @router.post("/save", summary="Game as the text of a record", tags=["games"], response_class=PlainTextResponse)
    def _save(asked: SaveAsked) -> PlainTextResponse:
        return PlainTextResponse(asked.text())


# -- streamed responses ----------------------------------------------------------------------------

_HEARTBEAT: Final = 1.0
"""Seconds of silence after which a comment line is sent, so that a disconnected visitor is noticed."""


class Searches(Result):
    """The searches of a visitor, both running and waiting."""

    searches: list[SearchTold]


def _add_streams(router: APIRouter, settings: Settings, places: Places) -> None:
    kept: dict[str, Any] = {"tags": ["streams"], "response_class": StreamingResponse}

    @router.post("/think", summary="Search, with its progress as a stream of events", **kept)
    async def _think(request: Request, asked: ThinkAsked) -> StreamingResponse:
        if asked.movetime > settings.movetime:
            raise InputError(f"must be {settings.movetime:g} seconds at most", subject=f"movetime {asked.movetime:g}")
        board = asked.searched()
        if board.outcome() is not None:
            raise InputError(
                "the game is over", subject=f"position '{board.position}'", remedy="search an earlier position"
            )
        seconds = asked.movetime + settings.margin
        return _streamed(await places.stream(request, seconds, jobs.think, asked, asked.movetime, settings))

    @router.post("/analyse", summary="Analysis of a game, ply by ply", **kept)
    async def _analyse(request: Request, asked: AnalysisAsked) -> StreamingResponse:
        engine_for(asked.record_and_rules()[1])  # refuse an invalid record or unsupported rules before queueing
        seconds = settings.analysis_seconds + settings.margin
        return _streamed(await places.stream(request, seconds, jobs.analysed, asked, settings))

    @router.get("/searches", summary="Your searches: their places in the queue, and if they compile", tags=["streams"])
    async def _searches(request: Request) -> Searches:
        return Searches(searches=places.told(visitor_of(request)))


def _streamed(job: Job) -> StreamingResponse:
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(events_of(job), media_type="text/event-stream", headers=headers)


async def events_of(job: Job) -> AsyncIterator[bytes]:
    """Yield the messages of a job as server-sent events, ending with ``done`` or ``failed``.

    The job is stopped if the reader disconnects.
    """
    try:
        while True:
            try:
                async with asyncio.timeout(_HEARTBEAT):
                    name, content = await job.messages.get()
            except TimeoutError:
                yield b": still at it\n\n"
                continue
            yield f"event: {name}\ndata: {json.dumps(content)}\n\n".encode()
            if name in ("done", "failed"):
                return
    finally:
        job.stop()
