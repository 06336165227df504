"""Cost and benefit of probing tablebases in the search: ``pytest benchmarks/test_tree_probe.py --benchmark-enable -s``.

``TABLUT_TABLEBASE`` must name a tablebase of ashton with up to five men. This tablebase provides the true values, while
the search uses only its tiers of up to four men. Times are CPU seconds of the process.
`docs/notes/search-speed.md` quotes the figures.
"""

import os
import time
from pathlib import Path
from random import Random

import numpy as np
import pytest

from retrograde.tablebase import Tablebase, open_tablebase
from retrograde.tablebase.store import open_store
from tablut.board import Board
from tablut.engine import engine_for
from tablut.indexing import PlacementIndex
from tablut.play.search.limits import SearchLimits
from tablut.play.search.searcher import Searcher

pytestmark = [
    pytest.mark.benchmark(timer=time.process_time),
    pytest.mark.skipif("TABLUT_TABLEBASE" not in os.environ, reason="TABLUT_TABLEBASE names no tablebase"),
]

_SOLDIERS = 3
_MEMORY = 16 << 20
"""Memory, in bytes, that suffices for all tiers of at most `_SOLDIERS` soldiers."""


class Lower(Tablebase):
    """A tablebase restricted to tiers of at most `_SOLDIERS` soldiers."""

    def covers(self, attackers, defenders):
        return attackers + defenders <= _SOLDIERS and super().covers(attackers, defenders)

    def load_tiers(self, memory):
        return super().load_tiers(min(memory, _MEMORY))


@pytest.fixture(scope="module")
def truth():
    return open_tablebase(Path(os.environ["TABLUT_TABLEBASE"]))


def test_loading(benchmark, truth):
    values = benchmark.pedantic(truth.load_tiers, (512 << 20,), rounds=3, warmup_rounds=1)
    size = sum(part.nbytes for part in (*values.arrays, *values.tiers) if isinstance(part, np.ndarray))
    if benchmark.enabled:
        seconds = benchmark.stats.stats.min
        print(f"\n{len(values.tiers.attackers)} tiers, {size >> 20} MiB: {seconds:.2f} s")  # noqa: T201


@pytest.mark.parametrize("material", [(2, 2), (3, 1)])
def test_long_wins_and_losses(benchmark, truth, material):
    """Search random positions that are decided in nine plies or more, with and without tables."""
    variant, placements, random = truth.variant, PlacementIndex(truth.variant), Random(9)
    engine, tier = engine_for(variant), placements.tiers[material].size
    drawn = [
        placements.unrank_in_tier(*material, random.randrange(tier), random.choice("wb"))
        for _ in range(100_000 if benchmark.enabled else 5000)
    ]
    boards = np.array([engine.board(position.cells, position.side) for position in drawn])
    values = truth.probe_words(engine.words(boards))
    plies = np.where(values > 0, values, -values - 1)
    chosen = np.flatnonzero((values != 0) & (plies >= 9))[:100]
    tables = Searcher(variant, hash_mib=16, prober=Lower(open_store(truth.store.root)))
    alone = Searcher(variant, hash_mib=16)
    proved = np.zeros((len(chosen), 2), dtype=np.int64)

    def search():
        for row, number in enumerate(chosen.tolist()):
            board = Board(variant, drawn[number])
            for column, searcher in enumerate((alone, tables)):
                searcher.forget()
                found = searcher.search(board, SearchLimits(nodes=100_000))
                if found.mate is not None:
                    assert (found.mate > 0) == (values[number] > 0)
                    assert abs(found.mate) >= plies[number]
                    proved[row, column] = _nodes_to_proof(searcher, board)

    benchmark.pedantic(search, rounds=1)
    both = proved[(proved > 0).all(axis=1)].sum(axis=0)
    if benchmark.enabled:
        found = (proved > 0).sum(axis=0)
        print(  # noqa: T201
            f"\n{material}: of {len(chosen)} proved {found[0]} without tables, {found[1]} with; "
            f"nodes where both did {both[0]:,} and {both[1]:,}"
        )


def _nodes_to_proof(searcher, board):
    """Return the nodes that a search needs at the least depth that proves a win or a loss, or 0 if no depth does."""
    for depth in range(1, 100):
        searcher.forget()
        found = searcher.search(board, SearchLimits(depth=depth))
        if found.mate is not None:
            return found.nodes
    return 0
