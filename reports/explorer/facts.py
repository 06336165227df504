"""The facts about positions and tablebases that the pages show.

A position's earliest possible ply comes from a small census that is computed on demand. This census is complete for a
small board, but covers only the first plies of a full game. For later positions, the ply is unknown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from reports.solutions import results
from retrograde.answers import TierResult, tier_result
from retrograde.tablebase import Tablebase, open_tablebase
from retrograde.tablebase.probing import shipped_store
from symmetry import stabiliser
from tablut.board import Board
from tablut.engine import engine_for
from tablut.errors import InputError, TablutError, UncompiledError
from tablut.formats import bologna, opentafl
from tablut.formats.game_text import GameRecord
from tablut.formats.opentafl import write_game
from tablut.indexing import PlacementIndex
from tablut.indexing.values import a_ply_earlier, unforced, value_of, verdict_of
from tablut.position import Position, square_name
from tablut.prober import MissingTableError
from tablut.results import ExactInt, MoveResult, OutcomeResult, Result, moves_result
from tablut.status import MEANINGS
from tablut.variants import Variant, load_variant, shipped_variants
from tablut.work.files import store_path

# -- tablebases: those given to the server, and the shipped ones for all other games --------------


class NamedTable(NamedTuple):
    """A tablebase with the name that visitors see. Its folder is not shown to visitors."""

    name: str
    whole: bool
    folder: Path
    tablebase: Tablebase


class NamedTables:
    """The tablebases for each game. A store given by the user replaces the game's built-in tablebase."""

    def __init__(self, stores: Sequence[Path | str] = ()) -> None:
        self._known: dict[str, list[NamedTable]] = {}
        for store in stores:
            self._add(store_path(store).resolve())
        for variant in shipped_variants():
            if variant.digest not in self._known and (folder := shipped_store(variant)) is not None:
                self._add(folder)

    def _add(self, folder: Path) -> None:
        tablebase = open_tablebase(folder)
        game = tablebase.variant
        whole = tablebase.covers(game.attackers, game.defenders)
        self._known.setdefault(game.digest, []).append(NamedTable(folder.name, whole, folder, tablebase))

    def of(self, variant: Variant) -> Sequence[NamedTable]:
        """Return a game's tablebases."""
        return self._known.get(variant.digest, ())

    def all(self) -> Iterator[NamedTable]:
        """Yield every tablebase."""
        return chain.from_iterable(self._known.values())

    def covering(self, board: Board) -> NamedTable | None:
        """Return the tablebase that covers a board's material, or None if there is none."""
        material = board.position.material
        return next((table for table in self.of(board.variant) if table.tablebase.covers(*material)), None)

    def needed(self, board: Board) -> NamedTable:
        """Return the tablebase that covers a board's material, or raise `MissingTableError`."""
        table = self.covering(board)
        if table is not None:
            return table
        attackers, defenders = board.position.material
        tables = [f"{table.name} (up to {table.tablebase.max_men} men)" for table in self.of(board.variant)]
        known = f"available are {', '.join(tables)}" if tables else "there is no tablebase of this game"
        raise MissingTableError(
            f"has {1 + attackers + defenders} men ({attackers} attackers, {defenders} defenders, the king); {known}. "
            "More can be added with `tablut serve --tablebase STORE`",
            subject=f"position '{board.position}'",
        )


_AT_ONCE: Final = 3_000_000
"""Maximum number of classes in a list that must appear immediately. Reading them takes a fraction of a second."""


class Reached(NamedTuple):
    """Numbers of positions and classes (under the start's symmetries) reachable from a solved board's start."""

    positions: int
    classes: int


class ListedTable(Result):
    """A tablebase as listed on a page: its contents and, for a solved board, the number of reachable positions."""

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


def list_tables(tables: NamedTables) -> list[ListedTable]:
    """Return the explorer's tablebases as listed on the page on endings."""
    return sorted(
        (_listed(table) for table in tables.all()), key=lambda table: (table.whole, table.classes * table.whole)
    )


def _listed(table: NamedTable) -> ListedTable:
    store, variant = table.tablebase.store, table.tablebase.variant
    tiers = [tier_result(store.tier(*material).record, variant) for material in store.tiers()]
    return ListedTable(
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
    """Return the numbers of positions reachable from each solved board's start, keyed by the game's digest."""
    return {
        load_variant(name).digest: Reached(solved["positions"], solved["classes"]) for name, solved in results().items()
    }


def _first(tiers: list[TierResult]) -> str:
    """Return the material to list first, or an empty string if the tablebase is small enough for a full list."""
    if sum(tier.classes for tier in tiers) <= _AT_ONCE:
        return ""
    small = [tier for tier in tiers if tier.classes <= _AT_ONCE]
    tier = max(small, key=lambda tier: tier.classes) if small else min(tiers, key=lambda tier: tier.classes)
    return f"{tier.attackers}v{tier.defenders}"


# -- the first plies of a game -----------------------------------------------------------------

WIDEST: Final = 4_000
"""Maximum number of classes in a ply if the next ply is also to be listed."""


class Layers(NamedTuple):
    """The undecided positions in a game's first plies, up to symmetry, and the ply at which each first occurs."""

    variant: Variant
    plies: dict[bytes, int]
    through: int
    complete: bool

    def ply_of(self, board: Board) -> int | None:
        """Return the earliest ply at which an undecided position can occur, or None if the position is not listed."""
        if not self.plies:
            return None
        engine = engine_for(self.variant)
        words, _ = engine.canonical(engine.words(board))
        return self.plies.get(words[0].tobytes())


@lru_cache(maxsize=16)
def layers_of(variant: Variant) -> Layers:
    """Return a game's first plies. Computing these plies takes at most a second."""
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


# -- a position: its moves with their values, why it is impossible, its rank among all positions ---

_ORDER: Final = {"win": 0, "unresolved": 1, "draw": 1, None: 2, "loss": 3}


class LegalMove(MoveResult):
    """A legal move and, if it is known, its value for the side that makes it."""

    wdl: str | None
    dtm: int | None


class PlayedMove(Result):
    """A move that has been made in the game."""

    move: str
    captures: list[str]


class TableFact(Result):
    """The position's value in a tablebase."""

    name: str
    wdl: str
    dtm: int | None


class PositionStanding(Result):
    """A position's place in the state space: its symmetry class, its rank, and the ply at which it first occurs."""

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
    made: list[PlayedMove]
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
        result = moves_result(board)
        outcome = result.outcome
        moves = sorted((_valued(move, board, tables) for move in result.moves), key=_merit)
        if outcome is None:
            table = _table(board, tables)
    except InputError as error:
        problem = str(error)
    made, positions = _history(board)
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
    """Return the reason why a game from a position cannot be written as an OpenTafl record, or None if it can."""
    try:
        write_game(GameRecord({}, variant, Position.parse(start, variant.size), (), None))
    except InputError as error:
        return "; ".join(filter(None, [error.problem, error.remedy]))
    return None


def _history(board: Board) -> tuple[list[PlayedMove], list[str]]:
    """Return the moves made so far, and the position before each of them."""
    board = board.copy()
    moves: list[PlayedMove] = []
    positions: list[str] = []
    while board.ply:
        captures = [square_name(square, board.size) for square in board.captured()]
        moves.append(PlayedMove(move=str(board.pop()), captures=captures))
        positions.append(str(board.position))
    return moves[::-1], positions[::-1]


def _valued(move: MoveResult, board: Board, tables: NamedTables) -> LegalMove:
    """Return a move with its value, which comes from the rules if the move ends the game, else from a tablebase."""
    wdl: str | None = None
    dtm: int | None = None
    if move.outcome is not None:
        winner = move.outcome.winner
        wdl, dtm = ("draw", None) if winner is None else ("win" if winner == board.turn else "loss", 1)
    elif _may_be_known(move, board, tables):
        board.push(move.move)
        table = tables.covering(board)
        if table is not None:
            verdict = table.tablebase.probe(board)
            wdl, dtm = verdict_of(a_ply_earlier(value_of(verdict)), unforced=unforced(board.variant))
        board.pop()
    return LegalMove(**move.model_dump(exclude={"outcome"}), outcome=move.outcome, wdl=wdl, dtm=dtm)


def _may_be_known(move: MoveResult, board: Board, tables: NamedTables) -> bool:
    """Return whether a tablebase may contain the position after a move, judging by the men that remain.

    This avoids making every move on the board when no tablebase has the resulting material.
    """
    attackers, defenders = board.position.material
    taken = len(move.captures)
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
        # An impossible position has no entry in the index. The page explains separately why it is impossible.
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
        # Decided or impossible placements have no rank, because only undecided placements are ranked.
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
