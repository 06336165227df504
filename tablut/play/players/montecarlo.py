"""The Monte Carlo players of the McGill paper, sections IV and V: one player, four sets of defaults."""

from __future__ import annotations

import math
import time
from random import Random
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple

import numpy as np

from tablut.engine import engine_for
from tablut.play.players.kernels import playouts as at
from tablut.play.players.kernels.budget import NODES, UNLIMITED, spending
from tablut.play.players.kernels.scoring import path_tables
from tablut.play.players.registry import Setting, read_settings
from tablut.play.players.simple import WIN_FIRST, MoveScores
from tablut.play.search.limits import Choice, SearchLimits, moves_asked_about

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tablut.board import Board
    from tablut.play.players.registry import PlayerOptions
    from tablut.position import Move
    from tablut.variants import Variant

SETTINGS: Final[Mapping[str, Setting]] = {
    "depth": Setting(8, least=1, most=at.MOST_DEPTH),
    "from": Setting("root", ("root", "leaf")),
    "c": Setting(math.sqrt(2), least=0, most=1000),
    "objective": Setting("wins", ("wins", "net")),
    "uct": Setting("state", ("state", "next")),
    "expanded": Setting("none", ("none", "both", "white", "black")),
    "turn": Setting("aware", ("aware", "blind")),
    "filter": Setting("no", ("no", "yes")),
    "margin": Setting(0, least=0),
    "keep": Setting("no", ("no", "yes")),
    **WIN_FIRST,
}


class MoveStatistics(NamedTuple):
    """What playouts found out about a move, for the side that makes it."""

    move: Move
    visits: int
    wins: int
    losses: int


class MonteCarloPlayer:
    """``mcts``: traditional Monte Carlo of S. Pilarski, *Designing an Effective Tablut AI*, section IV-A.

    UCT with c = √2, an objective of wins/total, and 8 explored steps a simulation.

    Chosen where the paper leaves it open, each with its alternative as an option: the steps
    count from the root (``from=leaf``: from the first new state); the move of the highest objective
    is played, among equals one of the most visits, then any; a simulation that ends undecided adds
    to the total alone; one new state a simulation is remembered (`tablut.play.players.kernels.playouts`).
    What was learnt is forgotten between moves (``keep=yes``: it is not). A single move is played at once.
    """

    name: ClassVar[str] = "mcts"
    defaults: ClassVar[Mapping[str, str]] = {}

    def __init__(self, variant: Variant, options: PlayerOptions) -> None:
        said = options._replace(settings=(*self.defaults.items(), *options.settings))
        self.settings = read_settings(self.name, said, SETTINGS)
        self.variant = variant
        self._engine = engine_for(variant)
        self._paths = path_tables(variant)
        self._random = Random(options.seed)
        self._tree = at.new_tree(variant.size, options.hash_mib, options.seed)
        self._tree.exploration[0] = self.settings["c"]
        self._scores: MoveScores | None = None
        if self.settings["filter"] == "yes":
            self._scores = MoveScores(variant, win_first=self.settings["win"] == "first")
        self._warm_up(options.seed)

    def _warm_up(self, seed: int) -> None:
        """Load or compile the kernels, so that no move pays for it."""
        array = self._engine.start()
        if moves := self._engine.legal_moves(array).tolist():
            self._prepare(array, moves, plies_left=None)
            with spending(self._tree.budget, SearchLimits(), time.perf_counter()):
                at.run_playouts(self._engine.tables, self._paths, self._tree, 1)
            at.root_statistics(self._engine.tables, self._tree, np.zeros((1, 3), dtype=np.int64))
        self.forget()
        self._tree.random[0] = seed % (1 << 64)

    def forget(self) -> None:
        """Forget all states."""
        tree = self._tree
        tree.keys[tree.taken[: tree.counters[at.FILLED]]] = 0
        tree.counters[at.FILLED] = 0

    def choose(self, board: Board, limits: SearchLimits) -> Choice:
        """Return the move of the highest objective after as many playouts as the limits allow."""
        began = time.perf_counter()
        limits.checked("movetime", "nodes", "playouts")
        moves = moves_asked_about(board, self.variant)
        if self._scores is not None:
            moves = self._scores.best(board, moves, int(self.settings["margin"]))
        if len(moves) == 1:
            return Choice(moves[0], score=None, mate=None, depth=0, nodes=0, pv=(moves[0],))
        found = self.statistics(board, moves, limits, began)
        chosen = self._chosen(found)
        counters = self._tree.counters
        return Choice(
            chosen.move,
            score=_centi_logits(chosen),
            mate=None,
            depth=int(counters[at.DEEPEST]),
            nodes=int(self._tree.budget[NODES]),
            pv=(chosen.move,),
            playouts=int(counters[at.PLAYOUTS]),
        )

    def statistics(
        self, board: Board, moves: Sequence[Move], limits: SearchLimits, began: float | None = None
    ) -> list[MoveStatistics]:
        """Return what playouts within limits find out about some legal moves."""
        tree = self._tree
        limit = self.variant.rules.move_limit
        array = self._engine.board(board.position.cells, board.position.side)
        self._prepare(array, [move.code for move in moves], None if limit is None else limit - board.ply)
        most = UNLIMITED if limits.playouts is None else limits.playouts
        with spending(tree.budget, limits, time.perf_counter() if began is None else began):
            at.run_playouts(self._engine.tables, self._paths, tree, most)
        found = np.zeros((len(moves), 3), dtype=np.int64)
        at.root_statistics(self._engine.tables, tree, found)
        return [MoveStatistics(move, *map(int, row)) for move, row in zip(moves, found, strict=True)]

    def _prepare(self, array: np.ndarray, codes: list[int], plies_left: int | None) -> None:
        tree, counters, settings = self._tree, self._tree.counters, self.settings
        if settings["keep"] == "no" or 2 * counters[at.FILLED] > len(tree.keys):
            self.forget()
        side = "black" if self._engine.cells(array)[1] == "b" else "white"
        tree.root[:] = array
        tree.root_moves[: len(codes)] = codes
        counters[at.ROOT_MOVES] = len(codes)
        counters[at.DEPTH] = settings["depth"]
        counters[at.FROM_LEAF] = settings["from"] == "leaf"
        counters[at.LOSSES_COUNT] = settings["objective"] == "net"
        counters[at.NEXT_STATES] = settings["uct"] == "next"
        counters[at.DEFINITIONS] = at.NONE
        if settings["expanded"] in ("both", side):
            counters[at.DEFINITIONS] = at.BLIND if settings["turn"] == "blind" else at.AWARE
        counters[at.LIMIT_PLY] = UNLIMITED if plies_left is None else plies_left
        counters[[at.PLAYOUTS, at.DEEPEST]] = 0

    def _chosen(self, found: Sequence[MoveStatistics]) -> MoveStatistics:
        losses_count = self.settings["objective"] == "net"

        def merit(row: MoveStatistics) -> tuple[float, int]:
            if row.visits == 0:
                return -math.inf, 0
            return (row.wins - losses_count * row.losses) / row.visits, row.visits

        best = max(map(merit, found))
        return self._random.choice([row for row in found if merit(row) == best])


class ExpandedPlayer(MonteCarloPlayer):
    """``mcts-expanded``: `MonteCarloPlayer` with expanded definitions of win and loss (sections IV-B and V, table IV).

    A victory path ends a simulation as won for white, a king that can be captured as won for black.

    The paper says of this player that as black it takes being able to kill the king for a win "before
    actually killing the king", and loses every game to the greedy one. That is so only if a state is
    looked at without regard to whose turn it is, and the king's danger first: ``turn=blind``, the
    default here, with which it does lose them. ``turn=aware`` asks only what the side to move can do. As
    table V has it, ``expanded=white`` uses the definitions as white alone.
    """

    name = "mcts-expanded"
    defaults: ClassVar[Mapping[str, str]] = {"expanded": "both", "turn": "blind"}


class ImprovedPlayer(MonteCarloPlayer):
    """``mcts-improved``: improved Monte Carlo (section IV-B and figure 8).

    An objective of (wins − losses)/total; under the logarithm of UCT how often all next states were
    seen; and the expanded definitions. These "prevent a random non-capture in the simulation", which
    concerns the side to move: ``turn=aware`` is the default here.
    """

    name = "mcts-improved"
    defaults: ClassVar[Mapping[str, str]] = {"expanded": "both", "objective": "net", "uct": "next"}


class FilteredPlayer(MonteCarloPlayer):
    """``mcts-heuristic``: the heuristic's best moves, then improved Monte Carlo among them (IV-B, figure 9, VII).

    The filter keeps the moves of the best score, those among which the heuristic player draws
    (``margin`` lets in those that score so much less). States are remembered by their hash from move to
    move (section VII); they are forgotten when they fill half of the memory.
    """

    name = "mcts-heuristic"
    defaults: ClassVar[Mapping[str, str]] = {**ImprovedPlayer.defaults, "filter": "yes", "keep": "yes"}


def _centi_logits(row: MoveStatistics) -> int:
    """Return how a move is expected to end, undecided playouts counted half, one of each kind added."""
    undecided = row.visits - row.wins - row.losses
    return round(100 * math.log((row.wins + undecided / 2 + 1) / (row.losses + undecided / 2 + 1)))
