"""Games of the engine with itself, for the collection of games that the toolkit ships.

The first plies are drawn, most of them among the engine's best moves, so that the games differ and show the openings
that are worth playing. After that, the engine makes its best move. It uses no tablebase.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import math
from collections import Counter
from contextlib import chdir
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from tablut.board import Board
from tablut.play.arena.plan import MatchPlan, Openings, contestant
from tablut.play.collection import write_collection
from tablut.play.collection_file import SHIPPED_FILE
from tablut.play.players import Choice, PlayerOptions
from tablut.play.players.registry import bare_choice
from tablut.play.search.limits import SearchLimits, worth_of
from tablut.play.search.searcher import Searcher
from tablut.variants import Variant
from tablut.work.files import write_bytes, write_text

if TYPE_CHECKING:
    from tablut.play.arena import MatchReport
    from tablut.work.progress import Observer

INDEXED: Final = 20
"""Number of plies of each game by which the shipped collection can be searched."""
PROVENANCE: Final = Path(str(SHIPPED_FILE)).with_suffix(".json")
"""File that describes the shipped collection and how it was made."""
DRAWN: Final = 8
"""Number of plies at the start of a game whose moves are drawn."""
_LINES: Final = 8
"""Number of best moves among which a move is drawn."""
_WIDTH: Final = 0.1
"""Loss of expected points that divides the probability of a move by e."""
_ANY: Final = 0.2
"""Share of the drawn moves that are drawn among all legal moves."""
_MOST: Final = 300
"""Number of plies after which a game is drawn."""


class VariedPlayer:
    """The engine. In the first plies it draws one of its best moves, and moves that lose fewer points more often."""

    def __init__(self, variant: Variant, options: PlayerOptions) -> None:
        self._searcher, self._random = Searcher(variant, hash_mib=1), Random(f"opening {options.seed}")

    def choose(self, board: Board, limits: SearchLimits) -> Choice:
        """Return the best move, or a drawn one in the first plies."""
        if board.ply >= DRAWN:
            return self._searcher.search(board, limits)
        if self._random.random() < _ANY:
            return bare_choice(self._random.choice(list(board.legal_moves)))
        best = self._searcher.search(board, limits, lines=_LINES)
        choices = [best, *best.others]
        points = [worth_of(one.score or 0, one.points) for one in choices]
        weights = [math.exp((one - max(points)) / _WIDTH) for one in points]
        return self._random.choices(choices, weights)[0]


def plan(variant: Variant, games: int, nodes: int, seed: int) -> MatchPlan:
    """Return the plan of the games, in which every move is searched with the given number of nodes."""
    player = contestant(VariedPlayer, SearchLimits(nodes=nodes))._replace(text=f"alphabeta@nodes={nodes}")
    return MatchPlan(variant, player, player, games, seed, Openings(0), most_plies=_MOST, paired=False)


def ship(store: Path, played: dict[str, MatchReport], provenance: dict[str, Any], observer: Observer) -> dict[str, Any]:
    """Write the games of a store to the shipped collection, and a description beside it. Return the description."""
    with TemporaryDirectory() as folder, chdir(store):  # the collection names the files as they are named in the store
        path = Path(folder, "games")
        write_collection(path, [Path(name) for name in played], None, observer, plies=INDEXED)
        content = lzma.compress(path.read_bytes(), preset=9)
    games = dict[str, Any]()
    for name, report in played.items():
        counts = Counter(one.game.winner for one in report.played)
        ends, plies = report.summary.termination, report.summary.plies
        games[name] = {"games": len(report.played), **counts, "plies": plies, "termination": ends}
    about = {"player": next(iter(played.values())).summary.a, "drawn_plies": DRAWN, "indexed_plies": INDEXED}
    about |= {"sha256": hashlib.sha256(content).hexdigest(), "games": games, "provenance": provenance}
    write_bytes(Path(str(SHIPPED_FILE)), content)
    write_text(PROVENANCE, json.dumps(about, indent=1) + "\n")
    return about
