"""Make again what pages are rendered from and no command answers; each is printed as one JSON object.

::

    python -m reports.sources endings STORE > reports/data/endings/NAME.json
    python -m reports.sources walk STORE PLIES > reports/data/walks/NAME.json
    python -m reports.sources trees > reports/data/puzzles/trees.json
"""

from __future__ import annotations

import json
import shlex
import sys
import time
from collections.abc import Callable

from retrograde.answers import summarise, walk
from retrograde.proofs import ProofLimits
from retrograde.puzzles.game import PuzzleTrees, puzzle_tree
from retrograde.puzzles.puzzle_file import COLLECTION, read_puzzles
from retrograde.tablebase import open_tablebase
from retrograde.tablebase.store import published_text
from tablut.cli.runtime import commit, origin
from tablut.position import Position
from tablut.results import Result


def endings(store: str) -> Result:
    """Return a tablebase as a whole: its tiers, the longest wins, all mutual zugzwangs."""
    return summarise(open_tablebase(store))


def walked(store: str, plies: str) -> Result:
    """Return the positions near the start of a solved board, every move with its value."""
    tablebase = open_tablebase(store)
    rules = tablebase.variant
    return walk(tablebase, Position.parse(rules.start_position, rules.size), int(plies))


def trees() -> Result:
    """Return the whole solutions of all puzzles that ship; it takes two minutes."""
    limits = ProofLimits(nodes=200_000_000, memory_bytes=256 << 20)
    found = [puzzle_tree(puzzle, limits) for puzzle in read_puzzles(COLLECTION)]
    return PuzzleTrees(file=COLLECTION, nodes=sum(len(tree.nodes) for tree in found), puzzles=found)


SOURCES: dict[str, Callable[..., Result]] = {"endings": endings, "walk": walked, "trees": trees}

if __name__ == "__main__":
    name, *arguments = sys.argv[1:]
    if name == "published":  # retrograde/tablebase/published.json, of the stores that are named
        sys.stdout.write(published_text(arguments))
        sys.exit()
    started = time.perf_counter()
    body = SOURCES[name](*arguments).model_dump(mode="json")
    line = shlex.join(["python", "-m", "reports.sources", *sys.argv[1:]])
    made = origin(line, {"arguments": arguments}, None, time.perf_counter() - started, commit=commit())
    json.dump({**body, "provenance": made}, sys.stdout)
