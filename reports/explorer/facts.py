"""All facts that the board page shows about a position, including the ply at which games first reach it.

That ply comes from a small census computed on demand: complete for a small board, and limited to the first plies for a
full game. For later positions it is unknown.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np

from reports.explorer.tables import NamedTables
from symmetry import stabiliser
from tablut.board import Board
from tablut.engine import engine_for
from tablut.errors import InputError, TablutError, UncompiledError
from tablut.formats import bologna, opentafl
from tablut.formats.game import GameRecord
from tablut.formats.opentafl import write_game
from tablut.indexing import PlacementIndex
from tablut.indexing.values import a_ply_earlier, unforced, value_of, verdict_of
from tablut.notation import square_name
from tablut.position import Position
from tablut.results import ExactInt, MoveResult, OutcomeResult, Result, moves_result
from tablut.status import MEANINGS
from tablut.variants import Variant

WIDEST: Final = 4_000
"""Largest ply, in classes, for which the next ply is listed too."""


class Layers(NamedTuple):
    """Positions of the first plies of a game."""

    variant: Variant
    plies: dict[bytes, int]
    through: int
    complete: bool

    def ply_of(self, board: Board) -> int | None:
        """Return the ply at which an undecided position is first reached, or None if it is not listed."""
        if not self.plies:
            return None
        engine = engine_for(self.variant)
        words, _ = engine.canonical(engine.words(board))
        return self.plies.get(words[0].tobytes())


@lru_cache(maxsize=16)
def layers_of(variant: Variant) -> Layers:
    """Return the first plies of a game; computing them takes at most a second."""
    if Board(variant).outcome() is not None:
        return Layers(variant, {}, 0, True)
    try:
        engine = engine_for(variant)
    except UncompiledError:
        return Layers(variant, {}, 0, False)
    frontier, _ = engine.canonical(engine.words(engine.start()))
    known = {row.tobytes(): 0 for row in frontier}
    ply = 0
    while 0 < len(frontier) <= WIDEST:
        children = engine.expand(frontier)
        words, _ = engine.canonical(children.words[children.outcomes == 0])
        ply += 1
        fresh = []
        for row in np.unique(words, axis=0):
            key = row.tobytes()
            if key not in known:
                known[key] = ply
                fresh.append(row)
        frontier = np.array(fresh, dtype=np.uint64).reshape(len(fresh), frontier.shape[1])
    return Layers(variant, known, ply if len(frontier) else ply - 1, len(frontier) == 0)


# -- facts of the board page about a position: moves with values, why it is impossible, its rank among all positions


_ORDER: Final = {"win": 0, "unresolved": 1, "draw": 1, None: 2, "loss": 3}


class LegalMove(MoveResult):
    """A legal move with its value for the side that makes it, if known."""

    wdl: str | None
    dtm: int | None


class MoveMade(Result):
    """A move of the game so far."""

    move: str
    captures: list[str]


class TableFact(Result):
    """A tablebase's value of the position."""

    name: str
    wdl: str
    dtm: int | None


class PositionStanding(Result):
    """The position among all others: its class under symmetry, its rank, and the ply at which games first reach it."""

    canonical: str
    orbit: int
    symmetries: int
    rank: ExactInt | None
    size: ExactInt | None
    tier: str
    tier_rank: ExactInt | None
    tier_size: ExactInt | None
    first_ply: int | None
    listed_plies: int
    listed_all: bool


class PositionFacts(Result):
    """Everything that is known about a position without a search."""

    variant: str
    position: str
    turn: str
    ply: int
    cells: str
    made: list[MoveMade]
    positions: list[str]
    moves: list[LegalMove]
    outcome: OutcomeResult | None
    status: list[str]
    meanings: list[str]
    problem: str | None
    table: TableFact | None
    standing: PositionStanding | None
    texts: dict[str, str]
    opentafl_lacks: str | None


def position_facts(board: Board, tables: NamedTables) -> PositionFacts:
    """Return everything that is known about a position without a search."""
    status = board.status()
    problem: str | None = None
    moves: list[LegalMove] = []
    outcome: OutcomeResult | None = None
    table = None
    try:
        answered = moves_result(board)
        outcome = answered.outcome
        moves = sorted((_valued(move, board, tables) for move in answered.moves), key=_merit)
        if outcome is None:
            table = _table(board, tables)
    except InputError as error:
        problem = str(error)
    made, positions = _made(board)
    return PositionFacts(
        variant=board.variant.name,
        position=str(board.position),
        turn=board.turn,
        ply=board.ply,
        cells=board.position.cells,
        made=made,
        positions=positions,
        moves=moves,
        outcome=outcome,
        status=status.names,
        meanings=[meaning for flag, meaning in MEANINGS.items() if flag in status],
        problem=problem,
        table=table,
        standing=None if problem else _standing(board),
        texts={
            "tablut": str(board.position),
            "grid": board.position.grid(),
            "opentafl": opentafl.write_position(board.position),
            "bologna": bologna.write_state(board.position),
        },
        opentafl_lacks=_unwritable(board.variant, positions[0] if positions else str(board.position)),
    )


def _unwritable(variant: Variant, start: str) -> str | None:
    """Return the reason why a game from this position cannot be written as an OpenTafl record, or None if it can."""
    try:
        write_game(GameRecord({}, variant, Position.parse(start, variant.size), (), None))
    except InputError as error:
        return str(error).partition(": ")[2]
    return None


def _made(board: Board) -> tuple[list[MoveMade], list[str]]:
    """Return the moves that were made, and the position before each of them."""
    walk = board.copy()
    moves: list[MoveMade] = []
    positions: list[str] = []
    while walk.ply:
        captures = [square_name(square, walk.size) for square in walk.captured()]
        moves.append(MoveMade(move=str(walk.pop()), captures=captures))
        positions.append(str(walk.position))
    return moves[::-1], positions[::-1]


def _valued(told: MoveResult, board: Board, tables: NamedTables) -> LegalMove:
    """Return a move with its value: from the rules if it ends the game, otherwise from a tablebase if one has it."""
    wdl: str | None = None
    dtm: int | None = None
    if told.outcome is not None:
        winner = told.outcome.winner
        wdl, dtm = ("draw", None) if winner is None else ("win" if winner == board.turn else "loss", 1)
    elif _may_be_known(told, board, tables):
        board.push(told.move)
        table = tables.covering(board)
        if table is not None:
            verdict = table.tablebase.probe(board)
            wdl, dtm = verdict_of(a_ply_earlier(value_of(verdict)), unforced=unforced(board.variant))
        board.pop()
    return LegalMove(**told.model_dump(exclude={"outcome"}), outcome=told.outcome, wdl=wdl, dtm=dtm)


def _may_be_known(told: MoveResult, board: Board, tables: NamedTables) -> bool:
    """Return whether a tablebase may contain the position after a move, judged by the men that remain.

    This avoids making every move on the board only to find that no tablebase has its material.
    """
    attackers, defenders = board.position.material
    taken = len(told.captures)
    left = (attackers - taken, defenders) if board.turn == "white" else (attackers, defenders - taken)
    return any(table.tablebase.covers(*left) for table in tables.of(board.variant))


def _merit(move: LegalMove) -> tuple[int, int, str]:
    plies = move.dtm or 0
    return _ORDER[move.wdl], -plies if move.wdl == "loss" else plies, move.move


def _table(board: Board, tables: NamedTables) -> TableFact | None:
    table = tables.covering(board)
    if table is None:
        return None
    try:
        verdict = table.tablebase.probe(board)
    except TablutError:
        # An impossible position has no index entry; the page explains separately why it is impossible.
        return None
    return TableFact(name=table.name, wdl=verdict.wdl, dtm=verdict.dtm)


@lru_cache(maxsize=16)
def _index(variant: Variant) -> PlacementIndex:
    return PlacementIndex(variant)


def _standing(board: Board) -> PositionStanding:
    variant = board.variant
    position = board.position
    keeps = len(stabiliser(variant.symmetries, position.cells))
    attackers, defenders = position.material
    layers = layers_of(variant)
    rank = size = tier_rank = tier_size = None
    try:
        index = _index(variant)
        tier, within = index.rank_in_tier(position)
        rank, size, tier_rank, tier_size = tier.offset + within, index.size, within, tier.size
    except InputError:
        # Decided or impossible placements have no rank among the undecided ones.
        rank = None
    return PositionStanding(
        canonical=str(board.canonical().position),
        orbit=len(variant.symmetries) // keeps,
        symmetries=len(variant.symmetries),
        rank=rank,
        size=size,
        tier=f"{attackers}v{defenders}",
        tier_rank=tier_rank,
        tier_size=tier_size,
        first_ply=None if board.outcome() is not None else layers.ply_of(board),
        listed_plies=layers.through,
        listed_all=layers.complete,
    )
