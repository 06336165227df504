"""Regeneration of stored results that no command prints. Each is written to standard output as one JSON object.

::

    python -m reports.studies.sources endings STORE > reports/data/endings/NAME.json
    python -m reports.studies.sources walk STORE PLIES > reports/data/walks/NAME.json
    python -m reports.studies.sources trees > reports/data/puzzles/trees.json
    python -m reports.studies.sources effort > reports/data/puzzles/effort.json
"""

from __future__ import annotations

import json
import shlex
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

from reports.puzzles import PuzzleEffort, PuzzleEfforts
from reports.studies.puzzle_trees import puzzle_tree
from retrograde.answers import (
    LongestResult,
    TablebaseSummary,
    TableWalk,
    VerdictResult,
    WalkMove,
    WalkNode,
    ZugzwangResult,
    ZugzwangsResult,
    info_of,
)
from retrograde.proofs import ProofLimits
from retrograde.puzzles.puzzle_file import COLLECTION, Puzzle, read_puzzles
from retrograde.puzzles.puzzle_game import PuzzleTrees
from retrograde.tablebase import open_tablebase
from retrograde.tablebase.probing import Tablebase
from retrograde.tablebase.querying import Listed, TableQuery, list_positions
from retrograde.tablebase.store import open_store, tier_name, values_digest
from tablut.board import Board
from tablut.errors import InputError
from tablut.play.search.limits import Choice, SearchLimits
from tablut.play.search.searcher import Searcher
from tablut.position import SIDES, Position, SideName, square_name
from tablut.provenance import commit, origin
from tablut.results import Result

_FORMAT: Final = "tablut-published-tables"
_VERSION: Final = 1
_NODES: Final = 200_000
"""Maximum number of nodes of the search that looks for a puzzle's first move."""


def summarise(tablebase: Tablebase, most: int = 100_000) -> TablebaseSummary:
    """Return a summary of a complete tablebase: its tiers, longest wins, and at most ``most`` mutual zugzwangs."""
    files = tablebase.store
    files.check_complete()
    longest = [
        LongestResult(
            attackers=material[0],
            defenders=material[1],
            winner=winner,
            position=str(found.position),
            dtm=found.dtm or 0,
            line=[str(move) for move in tablebase.line(found.position)],
        )
        for material in files.tiers()
        for winner in SIDES
        if (found := _longest(tablebase, material, winner)) is not None
    ]
    return TablebaseSummary(
        **dict(info_of(tablebase.store)),
        digests={tier_name(material): files.tier(*material).record.digest for material in files.tiers()},
        longest=longest,
        zugzwangs=_zugzwangs(tablebase, most),
    )


def _longest(tablebase: Tablebase, material: tuple[int, int], winner: SideName) -> Listed | None:
    """Return a position with the given material where a side's win takes longest, or None if the side never wins."""
    found: list[Listed] = []
    for side in SIDES:
        query = TableQuery("win" if side == winner else "loss", side, materials=(material,), order="longest")
        found += list_positions(tablebase.store, query, 1).positions
    return max(found, key=lambda one: one.dtm or 0, default=None)


def _zugzwangs(tablebase: Tablebase, most: int) -> ZugzwangsResult:
    full = half = 0
    listed: list[ZugzwangResult] = []
    # Process one material at a time, because an index of all materials together can take gigabytes.
    for material in tablebase.store.tiers():
        query = TableQuery(side="white", materials=(material,), zugzwang="any", order="longest")
        found = list_positions(tablebase.store, query, most)
        some = [_both_sides(tablebase, one) for one in found.positions]
        if len(some) == found.found:
            lost = sum(one.white.wdl == one.black.wdl == "loss" for one in some)
        else:
            lost = list_positions(tablebase.store, query._replace(zugzwang="full"), 0).found
        full, half = full + lost, half + found.found - lost
        listed = sorted([*listed, *some], key=lambda one: -1 if one.white.dtm is None else one.white.dtm, reverse=True)
        listed = listed[:most]
    return ZugzwangsResult(full=full, half=half, listed=listed)


def _both_sides(tablebase: Tablebase, white: Listed) -> ZugzwangResult:
    black = tablebase.probe(Position(white.position.cells, "b"))
    return ZugzwangResult(
        position=str(white.position),
        white=VerdictResult(wdl=white.wdl, dtm=white.dtm),
        black=VerdictResult(wdl=black.wdl, dtm=black.dtm),
    )


def walk(tablebase: Tablebase, position: Position, plies: int, most: int = 20_000) -> TableWalk:
    """Return part of a tablebase as a graph: all positions within ``plies`` plies of a given one, and best play.

    With this graph, a program can show an ending or a solved board without the tables or the rules. Moves that leave
    the graph have a value but no target. A graph with more than ``most`` positions is an error.
    """
    if Board(tablebase.variant, position).outcome() is not None:
        raise InputError("the game is over, so there are no positions to follow", subject=f"position '{position}'")
    numbers: dict[Position, int] = {position: 0}
    waiting: list[tuple[Position, int]] = [(position, plies)]
    nodes: list[WalkNode] = []
    while len(nodes) < len(waiting):
        at, left = waiting[len(nodes)]
        nodes.append(_node(tablebase, at, left, numbers, waiting))
        if len(waiting) > most:
            raise InputError(
                f"leads to more than {most:,} positions", subject=f"position '{position}'", remedy="give fewer plies"
            )
    store = tablebase.store.root.name
    return TableWalk(variant=tablebase.variant.name, store=store, plies=plies, nodes=nodes)


def _node(
    tablebase: Tablebase,
    position: Position,
    left: int,
    numbers: dict[Position, int],
    waiting: list[tuple[Position, int]],
) -> WalkNode:
    """Return a position's node, and queue those of its successors that belong to the walk."""
    board = Board(tablebase.variant, position)
    verdict = tablebase.probe(board)
    moves = []
    for place, rated in enumerate(tablebase.best_moves(board)):
        board.push(rated.move)
        takes = tuple(square_name(square, board.size) for square in board.captured())
        to = None
        if board.outcome() is None:
            # Beyond the given number of plies, follow only best play from positions with a forced win, until the game
            # ends.
            wanted = left > 0 or (place == 0 and verdict.dtm is not None)
            to = numbers.get(board.position)
            if to is None and wanted:
                to = numbers[board.position] = len(numbers)
                waiting.append((board.position, max(0, left - 1)))
        board.pop()
        moves.append(WalkMove(move=str(rated.move), takes=takes, wdl=rated.wdl, dtm=rated.dtm, to=to))
    return WalkNode(position=str(position), wdl=verdict.wdl, dtm=verdict.dtm, moves=moves)


def published_text(stores: Iterable[Path | str]) -> str:
    """Return the content of ``published.json`` for the given stores, after checking every file in them."""
    games: dict[str, dict[str, Any]] = {}
    for path in stores:
        store = open_store(path)
        game = games.setdefault(store.variant.digest, {"variant": store.variant.name, "tiers": {}})
        for material in store.planned:
            tier = store.tier(*material)
            for damage in tier.check_contents():
                raise damage
            game["tiers"][tier_name(material)] = values_digest(tier.values())
    body = {"format": _FORMAT, "version": _VERSION, "games": games}
    return json.dumps(body, indent=1, sort_keys=True) + "\n"


def endings(store: str) -> Result:
    """Return a tablebase's summary: its tiers, the longest wins and all mutual zugzwangs."""
    return summarise(open_tablebase(store))


def walked(store: str, plies: str) -> Result:
    """Return the positions near a solved board's start, and the value of every move."""
    tablebase = open_tablebase(store)
    rules = tablebase.variant
    return walk(tablebase, Position.parse(rules.start_position, rules.size), int(plies))


def trees() -> Result:
    """Return the complete solution trees of all shipped puzzles. This takes two minutes."""
    limits = ProofLimits(nodes=200_000_000, memory_bytes=256 << 20)
    found = [puzzle_tree(puzzle, limits) for puzzle in read_puzzles(COLLECTION)]
    return PuzzleTrees(file=COLLECTION, nodes=sum(len(tree.nodes) for tree in found), puzzles=found)


def effort() -> Result:
    """Return the number of nodes after which the engine finds the first move of each shipped puzzle."""
    found = [_effort(puzzle) for puzzle in read_puzzles(COLLECTION) if puzzle.first]
    return PuzzleEfforts(limit=_NODES, puzzles=found)


def _effort(puzzle: Puzzle) -> PuzzleEffort:
    """Return the number of nodes from which on the engine's choice is always right, without a tablebase."""
    board = Board(puzzle.variant, puzzle.position)
    searcher, choices = Searcher(board.variant, hash_mib=16), list[Choice]()
    searcher.observer = choices.append
    choices.append(searcher.search(board, SearchLimits(nodes=_NODES)))
    right = [choice.move in (puzzle.first or ()) for choice in choices]
    wrong = len(right) - 1 - right[::-1].index(False) if False in right else -1
    return PuzzleEffort(id=puzzle.id, nodes=choices[wrong + 1].nodes if right[-1] else None)


SOURCES: dict[str, Callable[..., Result]] = {"endings": endings, "walk": walked, "trees": trees, "effort": effort}

if __name__ == "__main__":
    name, *arguments = sys.argv[1:]
    if name == "published":  # retrograde/tablebase/published.json, for the given stores
        sys.stdout.write(published_text(arguments))
        sys.exit()
    started = time.perf_counter()
    body = SOURCES[name](*arguments).model_dump(mode="json")
    line = shlex.join(["python", "-m", "reports.studies.sources", *sys.argv[1:]])
    made = origin(line, {"arguments": arguments}, None, time.perf_counter() - started, commit=commit())
    json.dump({**body, "provenance": made}, sys.stdout)
