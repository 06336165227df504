"""Monte Carlo players from the McGill player paper, sections IV and V, as one player with four sets of defaults."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from typing import ClassVar, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tablut.board import Board
from tablut.engine import engine_for
from tablut.engine.attacks import NO_MOVE, king_capture, winner_of
from tablut.engine.jit import I64, U64, called, inlined, kernel, random_below
from tablut.engine.kernel_records import flat
from tablut.engine.kernels import generate, key_change, make, position_key, unmake
from tablut.engine.layout import board_items, king_of, new_board, side_of, start_of
from tablut.engine.tables import Tables
from tablut.play.players.base import NODES, UNLIMITED, ReproducedPlayer, is_spent, new_budget, spending
from tablut.play.players.registry import PlayerOptions, Setting, bare_choice
from tablut.play.players.simple import WIN_FIRST, MoveScores, PathTables, path_tables, victory_path
from tablut.play.search.limits import Choice, SearchLimits
from tablut.position import Move
from tablut.rules.outcome import UNDECIDED
from tablut.variants import Variant
from tablut.work.machine import check_memory

# ------------------------------------------------------------------------------------------
# Compiled Monte Carlo search with UCT over hashed states (McGill player paper, sections IV and VII)


# A playout consists of a fixed number of plies from the root. As long as the states on its path are stored, UCT chooses
# the next move. It first tries moves that lead to states never seen before. The first new state is stored, and all
# moves after it are random. The result is added to every stored state on the path, from the point of view of the side
# that moved into the state. A playout that ends undecided counts as a visit, but neither as a win nor as a loss.
#
# There is no tree of nodes. States are stored in a hash table and found by their Zobrist keys, as in section VII of the
# paper. As a result, transpositions share their statistics, and the statistics can be kept for the next move. When
# seven eighths of the table's slots are occupied, no further states are stored.
#
# Playouts ignore repetition. A playout that reaches the move limit ends without a winner.


# Indices into `Tree.counters`.
ROOT_MOVES: Final = 0
"""Number of root moves to choose from."""
DEPTH: Final = 1
"""Length of a playout in plies."""
FROM_LEAF: Final = 2
"""1 if a playout's length is counted from the first new state, 0 if it is counted from the root."""
LOSSES_COUNT: Final = 3
"""Objective to maximise: 1 for (wins − losses)/total, 0 for wins/total."""
NEXT_STATES: Final = 4
"""Visits in the logarithm of UCT: 1 to count all next states (figure 8), 0 to count the state itself."""
DEFINITIONS: Final = 5
"""Additional conditions that end a playout: `NONE`, `AWARE` or `BLIND`."""
LIMIT_PLY: Final = 6
"""Number of plies, counted from the root, after which the game is drawn."""
PLAYOUTS: Final = 7
FILLED: Final = 8
"""Number of occupied slots in the state table."""
DEEPEST: Final = 9
"""Distance in plies from the root to the deepest stored state that a playout has reached."""
COUNTERS: Final = 10

NONE: Final = 0
"""Value of `DEFINITIONS` that ends playouts only under the rules of the game."""
AWARE: Final = 1
"""Value that also ends playouts if the side to move has a victory path (white) or can capture the king (black)."""
BLIND: Final = 2
"""Value that also ends playouts if white has a victory path or black can capture the king, whoever is to move."""

MOST_DEPTH: Final = 512
_BYTES_A_PLACE: Final = 28


class Tree(NamedTuple):
    """Working memory for a Monte Carlo player on a board of size N with C cells. M is a power of two.

    - ``root``, ``board``: Root position, and current position of a playout.
    - ``root_moves``, ``moves``: Root moves to choose from, and a buffer for the moves of other states.
    - ``places``: Slots, in the state table, of the states that these moves lead to.
    - ``keys``: Zobrist keys of the stored states, or 0 in empty slots.
    - ``visits``, ``wins``, ``losses``: Visits to each state, and wins and losses of the side that moved into it.
    - ``taken``, ``path``: Occupied slots in order of time, and slots of the states on the path of a playout.
    - ``counters``, ``budget``: Settings and results, and the budget for the move (`tablut.play.players.base`).
    - ``random``: State of the random number generator.
    - ``exploration``, ``mask``: Exploration constant c of UCT, and M - 1.
    """

    root: NDArray[np.uint32]
    board: NDArray[np.uint32]
    root_moves: NDArray[np.int32]
    moves: NDArray[np.int32]
    places: NDArray[np.int64]
    keys: NDArray[np.uint64]
    visits: NDArray[np.int32]
    wins: NDArray[np.int32]
    losses: NDArray[np.int32]
    taken: NDArray[np.int64]
    path: NDArray[np.int64]
    counters: NDArray[np.int64]
    budget: NDArray[np.int64]
    random: NDArray[np.uint64]
    exploration: NDArray[np.float64]
    mask: int


def new_tree(size: int, mebibytes: int, seed: int) -> Tree:
    """Return an empty tree of at most the given size in MiB."""
    check_memory("hash_mib", mebibytes)
    places = 1 << (((mebibytes << 20) // _BYTES_A_PLACE).bit_length() - 1)
    room = 4 * size * size
    return Tree(
        root=new_board(size),
        board=new_board(size),
        root_moves=np.zeros(room, dtype=np.int32),
        moves=np.zeros(room, dtype=np.int32),
        places=np.zeros(room, dtype=np.int64),
        keys=np.zeros(places, dtype=np.uint64),
        visits=np.zeros(places, dtype=np.int32),
        wins=np.zeros(places, dtype=np.int32),
        losses=np.zeros(places, dtype=np.int32),
        taken=np.zeros(places, dtype=np.int64),
        path=np.zeros(2 * MOST_DEPTH + 2, dtype=np.int64),
        counters=np.zeros(COUNTERS, dtype=np.int64),
        budget=new_budget(),
        random=np.array([seed % (1 << 64)], dtype=np.uint64),
        exploration=np.zeros(1, dtype=np.float64),
        mask=places - 1,
    )


# -- states --------------------------------------------------------------------------------


@inlined
def _place_of(tree: Tree, key: np.uint64) -> int:
    """Return a state's slot in the table, or the empty slot where the state would be stored."""
    place = I64(key >> U64(1)) & tree.mask
    while tree.keys[place] != U64(0) and tree.keys[place] != key:
        place = (place + 1) & tree.mask
    return place


@inlined
def _key_after(t: Tables, board: NDArray[np.uint32], key: np.uint64, move: int) -> np.uint64:
    """Return the state's key after a move. The key is never 0, because 0 marks an empty slot."""
    side = side_of(t, board)
    is_king = side == 0 and start_of(t, move) == king_of(t, board)
    undo, _ = make(t, board, move)
    unmake(t, board, undo)
    after = U64(key ^ key_change(t, side, is_king, undo))
    return after if after != U64(0) else U64(1)


@inlined
def _remember(tree: Tree, place: int, key: np.uint64) -> bool:
    """Store a state in a free slot, or return False if too few slots are left."""
    filled = I64(tree.counters[FILLED])
    if filled > tree.mask - (tree.mask >> 3):
        return False
    tree.keys[place] = key
    tree.visits[place] = tree.wins[place] = tree.losses[place] = np.int32(0)
    tree.taken[filled] = place
    tree.counters[FILLED] = filled + 1
    return True


# -- a playout -----------------------------------------------------------------------------


@called
def _by_uct(t: Tables, tree: Tree, key: np.uint64, place: int, moves: NDArray[np.int32], count: int) -> int:
    """Return the index of the move that UCT chooses, in O(moves). New states come first, in random order."""
    unseen, chosen, total = I64(0), I64(0), I64(0)
    for index in range(count):
        next_place = _place_of(tree, _key_after(t, tree.board, key, I64(moves[index])))
        tree.places[index] = next_place
        if tree.keys[next_place] == U64(0):
            unseen += 1
            if random_below(tree.random, unseen) == 0:
                chosen = I64(index)
        else:
            total += I64(tree.visits[next_place])
    if unseen != 0:
        return chosen
    seen = total if tree.counters[NEXT_STATES] != 0 else I64(tree.visits[place])
    logarithm = math.log(max(seen, I64(1)))
    best = -1e300
    for index in range(count):
        value = _value(tree, tree.places[index]) + tree.exploration[0] * math.sqrt(
            logarithm / max(tree.visits[tree.places[index]], 1)
        )
        if value > best:
            best, chosen = value, I64(index)
    return chosen


@inlined
def _value(tree: Tree, place: int) -> float:
    """Return the value of the objective in a stored state, for the side that moved into it."""
    gained = I64(tree.wins[place]) - tree.counters[LOSSES_COUNT] * I64(tree.losses[place])
    return gained / max(I64(tree.visits[place]), I64(1))


@inlined
def _defined_winner(t: Tables, paths: PathTables, board: NDArray[np.uint32], definitions: int) -> int:
    """Return the winner according to the expanded definitions: 1 for white, 2 for black, 0 for an undecided state."""
    side = side_of(t, board)
    blind = definitions == BLIND
    winner = I64(0)
    if (side == 1 or blind) and king_capture(t, board) != NO_MOVE:
        winner = I64(2)
    if (side == 0 or blind) and winner == 0 and victory_path(t, paths, board) != NO_MOVE:
        winner = I64(1)
    return winner


@called
def _playout(t: Tables, paths: PathTables, tree: Tree, root_key: np.uint64) -> None:
    board, counters = tree.board, tree.counters
    for item in range(board_items(t.size)):
        board[item] = tree.root[item]
    first_side = side_of(t, board)
    key = U64(root_key)
    place = _place_of(tree, key)
    known = tree.keys[place] != U64(0) or _remember(tree, place, key)
    length, ply, left, winner = I64(0), I64(0), I64(counters[DEPTH]), I64(0)
    if known:
        tree.path[0], length = place, I64(1)
    while left > 0 and winner == 0 and ply < counters[LIMIT_PLY]:
        if ply == 0:
            moves, count = tree.root_moves, I64(counters[ROOT_MOVES])
        else:
            moves = tree.moves
            count = generate(t, board, moves)
        side = side_of(t, board)
        if count == 0:
            winner = I64(2) - side
            break
        index = _by_uct(t, tree, key, place, moves, count) if known else random_below(tree.random, count)
        move = I64(moves[index])
        if known:
            key = _key_after(t, board, key, move)
            place = _place_of(tree, key)
        _, outcome = make(t, board, move)
        ply, left = ply + 1, left - 1
        tree.budget[NODES] += 1
        if known:
            known = tree.keys[place] != U64(0)
            if known or _remember(tree, place, key):
                tree.path[length] = place
                length += 1
                counters[DEEPEST] = max(counters[DEEPEST], ply)
            if not known and counters[FROM_LEAF] != 0:
                left = I64(counters[DEPTH])
        if outcome != UNDECIDED:
            winner = I64(1) + winner_of(outcome)
        elif counters[DEFINITIONS] != NONE:
            winner = _defined_winner(t, paths, board, I64(counters[DEFINITIONS]))
        known = known and length < MOST_DEPTH
    # States at even indices of the path were entered by the opponent of the side to move at the root.
    for index in range(length):
        entered, mover = tree.path[index], first_side ^ (index & 1) ^ 1
        tree.visits[entered] += np.int32(1)
        if winner == mover + 1:
            tree.wins[entered] += np.int32(1)
        elif winner != 0:
            tree.losses[entered] += np.int32(1)


@kernel
def run_playouts(tables: Tables, paths: PathTables, tree: Tree, most: int) -> None:
    """Run playouts until their number reaches ``most`` or the budget is used up."""
    t, p, s = flat(tables), flat(paths), flat(tree)
    key = position_key(t, s.root)
    if key == U64(0):
        key = U64(1)
    while s.counters[PLAYOUTS] < most and not is_spent(s.budget):
        _playout(t, p, s, key)
        s.counters[PLAYOUTS] += 1


@kernel
def root_statistics(tables: Tables, tree: Tree, statistics: NDArray[np.int64]) -> None:
    """Write the numbers of visits, wins and losses for each root move into ``statistics``."""
    t, s = flat(tables), flat(tree)
    key = position_key(t, s.root)
    if key == U64(0):
        key = U64(1)
    for index in range(len(statistics)):
        place = _place_of(s, _key_after(t, s.root, key, I64(s.root_moves[index])))
        known = s.keys[place] != U64(0)
        statistics[index, 0] = I64(s.visits[place]) if known else I64(0)
        statistics[index, 1] = I64(s.wins[place]) if known else I64(0)
        statistics[index, 2] = I64(s.losses[place]) if known else I64(0)


# -- the players: one class with four sets of defaults


SETTINGS: Final[Mapping[str, Setting]] = {
    "depth": Setting(8, least=1, most=MOST_DEPTH),
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
    """Statistics of a move, collected from playouts, for the side that makes the move."""

    move: Move
    visits: int
    wins: int
    losses: int


class MonteCarloPlayer(ReproducedPlayer):
    """``mcts``: traditional Monte Carlo player of Pilarski, *Designing an Effective Tablut AI*, section IV-A.

    It uses UCT with c = √2, the objective wins/total, and 8 steps in each simulation. The paper leaves some points
    open. Here the steps are counted from the root or, if ``from=leaf`` is set, from the first new state. The player
    chooses the move with the highest objective, breaks ties by the number of visits, and then at random. A simulation
    that ends undecided counts only as a visit, and each simulation stores one new state. Statistics are discarded
    between moves, unless ``keep=yes`` is set.
    """

    name = "mcts"
    declared = SETTINGS

    def __init__(self, variant: Variant, options: PlayerOptions) -> None:
        super().__init__(variant, options)
        self._engine = engine_for(variant)
        self._paths = path_tables(variant)
        self._tree = new_tree(variant.size, options.hash_mib, options.seed)
        self._tree.exploration[0] = self.settings["c"]
        self._scores: MoveScores | None = None
        if self.settings["filter"] == "yes":
            self._scores = MoveScores(variant, win_first=self.settings["win"] == "first")
        self._warm_up(options.seed)

    def _warm_up(self, seed: int) -> None:
        """Load or compile the kernels now, so that the first move loses no time."""
        array = self._engine.start()
        if moves := self._engine.legal_moves(array).tolist():
            self._prepare(array, moves, plies_left=None)
            with spending(self._tree.budget, SearchLimits(), time.perf_counter()):
                run_playouts(self._engine.tables, self._paths, self._tree, 1)
            root_statistics(self._engine.tables, self._tree, np.zeros((1, 3), dtype=np.int64))
        self.forget()
        self._tree.random[0] = seed % (1 << 64)

    def forget(self) -> None:
        """Remove all stored states."""
        tree = self._tree
        tree.keys[tree.taken[: tree.counters[FILLED]]] = 0
        tree.counters[FILLED] = 0

    def _choice(self, board: Board, moves: list[Move], limits: SearchLimits, began: float) -> Choice:
        """Run as many playouts as the limits allow, and return the move with the highest objective."""
        if self._scores is not None:
            moves = self._scores.best(board, moves, int(self.settings["margin"]))
        if len(moves) == 1:
            return bare_choice(moves[0])
        found = self.statistics(board, moves, limits, began)
        chosen = self._chosen(found)
        counters = self._tree.counters
        return bare_choice(chosen.move)._replace(
            score=_centi_logits(chosen),
            depth=int(counters[DEEPEST]),
            nodes=int(self._tree.budget[NODES]),
            playouts=int(counters[PLAYOUTS]),
        )

    def statistics(
        self, board: Board, moves: Sequence[Move], limits: SearchLimits, began: float | None = None
    ) -> list[MoveStatistics]:
        """Run playouts within the limits and return statistics for the given legal moves."""
        tree = self._tree
        limit = self.variant.rules.move_limit
        array = self._engine.board(board.position.cells, board.position.side)
        self._prepare(array, [move.code for move in moves], None if limit is None else limit - board.ply)
        most = UNLIMITED if limits.playouts is None else limits.playouts
        with spending(tree.budget, limits, time.perf_counter() if began is None else began):
            run_playouts(self._engine.tables, self._paths, tree, most)
        found = np.zeros((len(moves), 3), dtype=np.int64)
        root_statistics(self._engine.tables, tree, found)
        return [MoveStatistics(move, *map(int, row)) for move, row in zip(moves, found, strict=True)]

    def _prepare(self, array: np.ndarray, codes: list[int], plies_left: int | None) -> None:
        tree, counters, settings = self._tree, self._tree.counters, self.settings
        if settings["keep"] == "no" or 2 * counters[FILLED] > len(tree.keys):
            self.forget()
        side = "black" if self._engine.cells(array)[1] == "b" else "white"
        tree.root[:] = array
        tree.root_moves[: len(codes)] = codes
        counters[ROOT_MOVES] = len(codes)
        counters[DEPTH] = settings["depth"]
        counters[FROM_LEAF] = settings["from"] == "leaf"
        counters[LOSSES_COUNT] = settings["objective"] == "net"
        counters[NEXT_STATES] = settings["uct"] == "next"
        counters[DEFINITIONS] = NONE
        if settings["expanded"] in ("both", side):
            counters[DEFINITIONS] = BLIND if settings["turn"] == "blind" else AWARE
        counters[LIMIT_PLY] = UNLIMITED if plies_left is None else plies_left
        counters[[PLAYOUTS, DEEPEST]] = 0

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

    A simulation ends with a win for white if there is a victory path, and with a win for black if the king can be
    captured. In the paper, this player loses every game as black to the greedy player. This happens only if the
    definitions ignore whose turn it is and the danger to the king is checked first (``turn=blind``, the default here).
    With ``turn=aware``, a definition counts only for the side to move. ``expanded=white`` uses the definitions only as
    white, as in table V.
    """

    name = "mcts-expanded"
    defaults: ClassVar[Mapping[str, str]] = {"expanded": "both", "turn": "blind"}


class ImprovedPlayer(MonteCarloPlayer):
    """``mcts-improved``: improved Monte Carlo (section IV-B and figure 8).

    It uses the objective (wins − losses)/total, the visits to all next states in the logarithm of UCT, and the expanded
    definitions with ``turn=aware``, because the paper says that they "prevent a random non-capture in the simulation".
    """

    name = "mcts-improved"
    defaults: ClassVar[Mapping[str, str]] = {"expanded": "both", "objective": "net", "uct": "next"}


class FilteredPlayer(MonteCarloPlayer):
    """``mcts-heuristic``: improved Monte Carlo limited to the heuristic player's best moves (IV-B, figure 9, VII).

    With ``margin``, it also keeps moves whose score is lower by no more than this margin. Stored states are kept from
    move to move (section VII) and are removed when they fill half of the memory.
    """

    name = "mcts-heuristic"
    defaults: ClassVar[Mapping[str, str]] = {**ImprovedPlayer.defaults, "filter": "yes", "keep": "yes"}


def _centi_logits(row: MoveStatistics) -> int:
    """Return the score of a move in centi-logits.

    One win and one loss are added to keep the score finite.
    """
    undecided = row.visits - row.wins - row.losses
    return round(100 * math.log((row.wins + undecided / 2 + 1) / (row.losses + undecided / 2 + 1)))
