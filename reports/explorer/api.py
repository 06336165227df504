"""The JSON API, which returns over HTTP the same results that the commands print with ``--json``."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator
from enum import Enum
from functools import cache, partial, reduce
from operator import or_
from pathlib import PurePath
from typing import Annotated, Any, Final

from cachetools import LRUCache
from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from pydantic import BaseModel

from counting import BoundsReport
from reports.explorer import jobs
from reports.explorer.facts import (
    ListedTable,
    NamedTables,
    PlayedMove,
    PositionFacts,
    list_tables,
    position_facts,
)
from reports.explorer.guard import NotFoundError, Settings
from reports.explorer.requests import (
    AnalysisRequest,
    BestMoveRequest,
    EndingsRequest,
    GameRequest,
    MovesRequest,
    PerftRequest,
    PictureRequest,
    RecordRequest,
    SaveRequest,
    SolveRequest,
    ThinkRequest,
    TryRequest,
    known_players,
    refuse_repeated_fields,
)
from reports.explorer.work import Job, JobQueue, SearchStatus, visitor_of
from reports.rendering import with_provenance
from reports.rulebook import Rulebook, rulebook
from retrograde.answers import ProbeResult, SolvedResult, probe_result
from retrograde.proofs import ProofLimits
from retrograde.solver.solution import memory_needed
from retrograde.solver.solver_report import SolveReport
from tablut import svg
from tablut.engine import engine_for
from tablut.errors import InputError, MachineError, TablutError, did_you_mean
from tablut.play.collection import PositionGames, open_collection
from tablut.play.openings import opening_of
from tablut.play.players.registry import BestMoveResult, check_lines, spec_of
from tablut.play.search.limits import SearchLimits
from tablut.position import square_name
from tablut.provenance import commit, origin
from tablut.replay import replay
from tablut.results import (
    DescribedVariant,
    ListedVariant,
    MovesResult,
    PerftResult,
    Result,
    described_variant,
    listed_variant,
    moves_result,
)
from tablut.variants import shipped_name, shipped_variants
from tablut.variants.schema import write_variant
from tablut.work.files import excerpt

_LOG = logging.getLogger("tablut.explorer")
_SOLVABLE: Final = 64 << 20
"""Maximum size, in bytes, of a solution that `/api/solve` computes. The computation takes a few seconds at most."""


def api_router(settings: Settings, queue: JobQueue, tables: NamedTables) -> APIRouter:
    """Return the router with all endpoints of the API."""
    router = APIRouter(prefix="/api", dependencies=[Depends(refuse_repeated_fields)])
    _add_commands(router, _Commands(settings, queue, tables))
    _add_boards(router, settings, tables)
    _add_puzzles(router, settings, queue)
    _add_endings(router, settings, queue, tables)
    _add_games(router, settings, queue)
    _add_streams(router, settings, queue)
    return router


def _add_both(router: APIRouter, path: str, model: type[BaseModel], handler: Any, **options: Any) -> None:
    """Register an endpoint for GET (fields in the query) and for POST (fields in a JSON object).

    The handler takes the HTTP request and the validated model.
    """

    async def _get(http: Request, request: Any) -> Any:
        return await handler(http, request)

    async def _post(http: Request, request: Any) -> Any:
        return await handler(http, request)

    _get.__annotations__ |= {"request": Annotated[model, Query()], "http": Request}
    _post.__annotations__ |= {"request": model, "http": Request}
    router.add_api_route(f"/{path}", _get, methods=["GET"], operation_id=f"{path}_get", **options)
    router.add_api_route(f"/{path}", _post, methods=["POST"], operation_id=f"{path}_post", **options)


# -- commands --------------------------------------------------------------------------------------


def _add_commands(router: APIRouter, commands: _Commands) -> None:
    def add(path: str, model: type[GameRequest], results: tuple[type[Result], ...], command: Any, summary: str) -> None:
        async def answer(http: Request, request: GameRequest) -> Response:
            """Run a command and return its result as JSON, together with the provenance."""
            started = time.perf_counter()
            found: Result = await command(http, request)
            body = found.model_dump(mode="json", by_alias=True)
            seconds = time.perf_counter() - started
            parameters = request.model_dump(exclude={"rules"})
            if request.rules is not None:
                parameters["rules"] = "given as text"
            seed = parameters.get("seed")
            body["provenance"] = origin(f"{http.method} /api/{path}", parameters, seed, seconds, commit=_commit())
            return JSONResponse(body)

        model_of_response = reduce(or_, map(with_provenance, results))
        options: dict[str, Any] = {"responses": {200: {"model": model_of_response}}, "response_model": None}
        _add_both(router, path, model, answer, summary=summary, tags=["commands"], **options)

    solve = "Proof of a position (like puzzle solve) or of a whole small board (like solve)"
    add("moves", MovesRequest, (MovesResult,), commands.moves, "Legal moves of a position")
    add("probe", MovesRequest, (ProbeResult,), commands.probe, "Tablebase values of a position and its moves")
    add("played", MovesRequest, (PositionGames,), commands.played, "Moves played in a position, and their results")
    add("bestmove", BestMoveRequest, (BestMoveResult,), commands.bestmove, "Move chosen by a player")
    add("solve", SolveRequest, (SolvedResult, SolveReport), commands.solve, solve)
    add("perft", PerftRequest, (PerftResult,), commands.perft, "Numbers of move sequences")
    add("bounds", GameRequest, (BoundsReport,), commands.bounds, "Size of the state space")


_commit: Final = cache(commit)
"""Return the commit from which this process was started. Git is called only once."""


class _Commands:
    """Handlers for the command endpoints. Each public method takes a validated request and returns a result.

    Invalid requests are refused before they are queued for a worker.
    """

    def __init__(self, settings: Settings, queue: JobQueue, tables: NamedTables) -> None:
        self._settings, self._queue, self._tables = settings, queue, tables
        self._probed: LRUCache[Any, ProbeResult] = LRUCache(settings.remembered)
        self._bounds: LRUCache[str, BoundsReport] = LRUCache(32)
        self._reports: LRUCache[str, SolveReport] = LRUCache(32)

    async def moves(self, _: Request, request: MovesRequest) -> Result:
        return moves_result(request.board())

    async def probe(self, _: Request, request: MovesRequest) -> Result:
        """Probe the tablebase. This takes only a millisecond or two, and runs in the event loop, without a worker."""
        board = request.board()
        key = (board.variant.digest, board.variant.name, board.position) if not request.moves else None
        if key is not None and key in self._probed:
            return self._probed[key]
        board.outcome()  # report an invalid position as invalid rather than as missing from the tablebase
        table = self._tables.needed(board)
        found = probe_result(table.tablebase, board, table.name)
        if found.variant != board.variant.name:
            found = found.model_copy(update={"variant": board.variant.name})
        if key is not None:
            self._probed[key] = found
        return found

    async def played(self, _: Request, request: MovesRequest) -> Result:
        board = request.board()
        board.outcome()  # refuse an invalid position, which is not the collection's fault

        def answer() -> Result:
            name, position = board.variant.name, str(board.position)
            found = PositionGames(
                variant=name, position=position, total=0, ended=0, moves=[], games=[], opening=opening_of(board)
            )
            try:
                with open_collection(self._settings.games) as collection:
                    if collection.has(board.variant):
                        found = collection.answer(board, most=8)
            except TablutError as error:
                _LOG.error("tablut: %s", error)
                raise MachineError("the server's collection of games cannot be read") from error
            # Visitors must not see the folder names of this machine.
            games = [game.model_copy(update={"file": PurePath(game.file).name}) for game in found.games]
            return found.model_copy(update={"games": games})

        return await asyncio.to_thread(answer)

    async def bestmove(self, http: Request, request: BestMoveRequest) -> Result:
        if request.player not in self._settings.players:
            spec_of(request.player)
        check_lines(request.player, request.lines)
        # Random moves need no compiled engine.
        request.board() if request.player == "random" else request.search_board()
        limits = self._limits(request)
        assert limits.movetime is not None
        seconds = limits.movetime + self._settings.margin
        return await self._queue.work(http, seconds, jobs.bestmove, request, limits, self._settings)

    def _limits(self, request: BestMoveRequest) -> SearchLimits:
        """Return a search's limits, which never exceed the server's own limits.

        Refuse requested values above the server's limits, and add a time limit if none was requested.
        """
        most = self._settings
        if request.nodes is not None and request.nodes > most.nodes:
            raise InputError(f"must be {most.nodes:,} at most", subject=f"nodes {request.nodes:,}")
        movetime = request.movetime
        if movetime is None:
            # If another limit was requested, the time limit is only a safety net.
            movetime = min(1.0, most.movetime) if request.given is None else most.movetime
        _check_seconds("movetime", movetime, most.movetime)
        return SearchLimits(movetime, request.nodes, request.depth, request.playouts).checked()

    async def solve(self, http: Request, request: SolveRequest) -> Result:
        if request.position is None:
            return await self._solve_board(http, request)
        board = request.search_board()
        seconds = request.seconds or self._settings.proof_seconds
        _check_seconds("seconds", seconds, self._settings.proof_seconds)
        limits = ProofLimits(self._settings.nodes, seconds, self._settings.proof_mib << 20, 50_000)
        board.outcome()  # refuse an invalid position before queueing
        # Use a tablebase only if it contains the position itself and can answer immediately. A search would unpack too
        # much of the tablebase.
        table = self._tables.covering(board)
        folder = None if table is None else table.folder
        return await self._queue.work(http, seconds + self._settings.margin, jobs.prove, request, limits, folder)

    async def _solve_board(self, http: Request, request: GameRequest) -> Result:
        variant = request.game()
        if variant.digest in self._reports:
            return self._reports[variant.digest]
        if (needed := memory_needed(variant)) > _SOLVABLE:
            raise InputError(
                f"needs about {needed / 2**20:,.0f} MiB to be solved, but at most {_SOLVABLE >> 20} MiB are allowed",
                subject=f"variant {variant.name}",
                remedy="give a position to prove, or use `tablut solve`",
            )
        report = self._reports[variant.digest] = await self._queue.work(
            http, self._settings.count_seconds, jobs.solve_board, request
        )
        return report

    async def perft(self, http: Request, request: PerftRequest) -> Result:
        request.search_board().outcome()  # refuse an invalid position before queueing
        return await self._queue.work(
            http, self._settings.count_seconds, jobs.count_sequences, request, self._settings.sequences
        )

    async def bounds(self, http: Request, request: GameRequest) -> Result:
        variant = request.game()
        key = f"{variant.digest} {variant.name}"
        if key not in self._bounds:
            self._bounds[key] = await self._queue.work(http, self._settings.bounds_seconds, jobs.count_space, request)
        return self._bounds[key]


def _check_seconds(name: str, seconds: float, most: float) -> None:
    if seconds > most:
        raise InputError(f"must be {most:g} seconds at most", subject=f"{name} {seconds:g}")


# -- boards ----------------------------------------------------------------------------------------


class Variants(Result):
    """The built-in rule sets."""

    variants: list[ListedVariant]


class Players(Result):
    """The available players, each with a description."""

    players: dict[str, str]


def _add_boards(router: APIRouter, settings: Settings, tables: NamedTables) -> None:
    tags: list[str | Enum] = ["boards"]

    @router.get("/variants", summary="Built-in rule sets", tags=tags)
    def _variants() -> Variants:
        return Variants(variants=[listed_variant(variant) for variant in shipped_variants()])

    @router.post("/rules", summary="Rule set with all its fields; your own rules are checked", tags=tags)
    async def _rules(request: GameRequest) -> DescribedVariant:
        return described_variant(request.game())

    @router.get("/players", summary="Available players", tags=tags)
    def _players() -> Players:
        return Players(players=known_players(settings.players))

    async def _rulebook(_: Request, request: GameRequest) -> Rulebook:
        return await asyncio.to_thread(rulebook, request.game())

    async def _facts(_: Request, request: MovesRequest) -> PositionFacts:
        return await asyncio.to_thread(lambda: position_facts(request.board(), tables))

    async def _drawing(_: Request, request: MovesRequest) -> Response:
        return Response(svg.board(request.board()), media_type="image/svg+xml")

    add = partial(_add_both, router, tags=tags)
    add("rulebook", GameRequest, _rulebook, summary="Rules of a game in words and pictures", response_model=Rulebook)
    add("position", MovesRequest, _facts, summary="Facts about a position on a board", response_model=PositionFacts)
    add("svg", MovesRequest, _drawing, summary="Drawing of a position", response_class=Response)


# -- puzzles ---------------------------------------------------------------------------------------


class Opened(Result):
    """An opened puzzle: the puzzle itself, and the first move if the losing side moves first.

    ``first`` contains the correct first moves if the winner moves first, so that a page can tell at once whether a move
    is correct.
    """

    puzzle: jobs.ListedPuzzle
    reply: str | None
    first: list[str]


def _named(name: str) -> jobs.ListedPuzzle:
    found = jobs.list_puzzles().get(name)
    if found is None:
        hint = did_you_mean(name, jobs.list_puzzles(), "see the list at /api/puzzles")
        raise NotFoundError("does not exist", subject=f"puzzle {excerpt(name)}", remedy=hint)
    return found


def _add_puzzles(router: APIRouter, settings: Settings, queue: JobQueue) -> None:
    tags: list[str | Enum] = ["puzzles"]
    seconds = settings.puzzle_seconds

    @router.get("/puzzles", summary="Built-in puzzles, without solutions", tags=tags)
    def _list() -> dict[str, list[jobs.ListedPuzzle]]:
        return {"puzzles": list(jobs.list_puzzles().values())}

    @router.get("/puzzles/{name}", summary="Puzzle, with the first move if the losing side begins", tags=tags)
    async def _open(http: Request, name: str) -> Opened:
        listed = _named(name)
        if listed.side == listed.winner:
            return Opened(puzzle=listed, reply=None, first=jobs.first_moves(name))
        return Opened(puzzle=listed, reply=await queue.work(http, seconds, jobs.defence, listed, settings), first=[])

    @router.post("/puzzles/{name}/try", summary="Judgement of the last move, by proof", tags=tags)
    async def _try(http: Request, name: str, request: TryRequest) -> jobs.Judgement:
        listed = _named(name)
        if not request.moves:
            raise InputError("must contain the moves so far and the move to judge", subject="field 'moves'")
        return await queue.work(http, seconds, jobs.judge_move, listed, request.moves, settings)

    @router.post("/puzzles/{name}/hint", summary="Square of the piece to move", tags=tags)
    async def _hint(http: Request, name: str, request: TryRequest) -> jobs.Hint:
        return await queue.work(http, seconds, jobs.hint, _named(name), request.moves, settings)

    @router.post("/puzzles/{name}/reveal", summary="Solution from the current position", tags=tags)
    async def _reveal(http: Request, name: str, request: TryRequest) -> jobs.Solution:
        return await queue.work(http, seconds, jobs.reveal, _named(name), request.moves, settings)

    known: LRUCache[str, jobs.DecidingRules] = LRUCache(256)

    @router.post("/puzzles/{name}/rules", summary="Rules that decide a puzzle, by proof", tags=tags)
    async def _rules(http: Request, name: str) -> jobs.DecidingRules:
        listed = _named(name)
        if name not in known:
            known[name] = await queue.work(http, seconds, jobs.find_deciding_rules, listed, settings)
        return known[name]


# -- endings ---------------------------------------------------------------------------------------


def _add_endings(router: APIRouter, settings: Settings, queue: JobQueue, tables: NamedTables) -> None:
    tags: list[str | Enum] = ["endings"]
    known: LRUCache[str, jobs.EndingsList] = LRUCache(256)

    @router.get("/endings", summary="Available tablebases", tags=tags)
    def _list() -> dict[str, list[ListedTable]]:
        return {"tables": list_tables(tables)}

    @router.get("/endings/{name}", summary="Positions of a tablebase: longest wins, draws, mutual zugzwangs", tags=tags)
    async def _positions(http: Request, name: str, request: Annotated[EndingsRequest, Query()]) -> jobs.EndingsList:
        table = next((table for table in tables.all() if table.name == name), None)
        if table is None:
            raise NotFoundError(
                "does not exist", subject=f"tablebase {excerpt(name)}", remedy="see the list at /api/endings"
            )
        key, most = f"{name} {request.model_dump_json()}", settings.movetime
        if key not in known:
            known[key] = await queue.work(
                http, most + settings.margin, jobs.find_endings, table.name, table.folder, request, most
            )
        return known[key]


# -- game records ----------------------------------------------------------------------------------


class RecordRead(Result):
    """A game record that has been read and replayed."""

    variant: str
    shipped: str | None
    rules: str | None
    start: str
    tags: dict[str, str]
    moves: list[PlayedMove]
    result: str | None
    outcome: str | None
    problems: list[str]
    notes: list[str]
    comments: dict[int, str]
    marks: dict[int, str]
    variations: list[tuple[int, str]]
    games: dict[int, str]


def _add_games(router: APIRouter, settings: Settings, queue: JobQueue) -> None:
    @router.post("/record", summary="Game record, checked by the rules", tags=["games"])
    def _record(request: RecordRequest) -> RecordRead:
        record, variant = request.record_and_rules()
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
                PlayedMove(
                    move=str(ply.move.move),
                    captures=[square_name(square, variant.size) for square in sorted(ply.move.captures or ())],
                )
                for ply in game.plies
            ],
            result=record.result,
            outcome=None if outcome is None else f"{outcome.how}, {outcome.winner or 'draw'}",
            problems=list(game.problems),
            notes=list(game.notes),
            comments=dict(record.comments),
            marks=dict(record.marks),
            variations=list(record.variations),
            games=request.games(),
        )

    @router.post("/save", summary="Game as the text of a record", tags=["games"], response_class=PlainTextResponse)
    def _save(request: SaveRequest) -> PlainTextResponse:
        return PlainTextResponse(request.text())

    @router.post("/picture", summary="Picture (PNG) of a position, or animation (GIF) of a game", tags=["games"])
    async def _picture(http: Request, request: PictureRequest) -> Response:
        await asyncio.to_thread(request.board)  # refuse an invalid game before queueing
        content = await queue.work(http, settings.count_seconds, jobs.draw, request)
        return Response(content, media_type="image/gif" if request.animated else "image/png")


# -- streamed responses ----------------------------------------------------------------------------

_HEARTBEAT: Final = 1.0
"""Seconds without a message before a comment line is sent to detect a disconnected visitor."""


class Searches(Result):
    """A visitor's searches, both running and waiting."""

    searches: list[SearchStatus]


def _add_streams(router: APIRouter, settings: Settings, queue: JobQueue) -> None:
    options: dict[str, Any] = {"tags": ["streams"], "response_class": StreamingResponse}

    @router.post("/think", summary="Search, with its progress as a stream of events", **options)
    async def _think(http: Request, request: ThinkRequest) -> StreamingResponse:
        _check_seconds("movetime", request.movetime, settings.movetime)
        board = request.search_board()
        if board.outcome() is not None:
            raise InputError(
                "the game is over", subject=f"position '{board.position}'", remedy="search an earlier position"
            )
        seconds = request.movetime + settings.margin
        return _streamed(await queue.stream(http, seconds, jobs.think, request, request.movetime, settings))

    @router.post("/analyse", summary="Analysis of a game, ply by ply", **options)
    async def _analyse(http: Request, request: AnalysisRequest) -> StreamingResponse:
        engine_for(request.record_and_rules()[1])  # refuse an invalid record or unsupported rules before queueing
        seconds = settings.analysis_seconds + settings.margin
        return _streamed(await queue.stream(http, seconds, jobs.analyse_game, request, settings))

    @router.get("/searches", summary="Your searches, with their places in the queue", tags=["streams"])
    async def _searches(http: Request) -> Searches:
        return Searches(searches=queue.status(visitor_of(http)))


def _streamed(job: Job) -> StreamingResponse:
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(events_of(job), media_type="text/event-stream", headers=headers)


async def events_of(job: Job) -> AsyncIterator[bytes]:
    """Yield a job's messages as server-sent events; the last one is ``done`` or ``failed``.

    The job is stopped if the visitor disconnects.
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
