"""The strategies behind proofs: one move for every position that a side may have to face.

A proof that a side wins within n plies is a tree where the winner has one move in each position and the loser has all
legal moves. After the search, `strategy_of` reads the winner's moves from the search table, and `needed` selects the
positions that play can reach.

In a proof of a win, the number of plies falls with every move. A proof that a side never loses contains no numbers of
plies. Such a proof is a set of positions where that side, the *holder*, is to move. Each position has a move after
which the other side has not won. Every reply to this move leads back into the set or ends the game without a loss for
the holder. Play that follows these moves may go on forever.

`HoldingSearch` grows such a set from a given position. Each position gets the move that requires the fewest positions
outside the set, provided that a short search after the move finds no win for the other side. A position without such a
move is marked as lost, and another move is chosen for the positions that relied on it. When every position that play
can reach has a move, the set is closed. Such sets are parts of a greatest fixed point, which is computed only as far as
necessary [1]_.

References
----------
.. [1] X. Liu, S. A. Smolka, Simple linear-time algorithms for minimal fixed points, ICALP 1998
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from retrograde.proofs.table import LONGEST
from retrograde.proofs.win_search import ProofBudget, ProofLimits
from tablut.engine.engine import position_keys
from tablut.engine.layout import ATTACKERS_AT, DEFENDERS_AT, SIDE_AT, head
from tablut.errors import TablutError
from tablut.indexing.values import MISSING
from tablut.position import Move, Position
from tablut.rules.outcome import OUTCOMES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from retrograde.proofs.win_search import WinSearch
    from symmetry import Symmetry
    from tablut.engine import Engine
    from tablut.prober import Prober

    Group = Sequence[Symmetry]
    Parts = Sequence["PackedStrategy"]
    Indices = list["_StrategyIndex"]

_LINES: Final = 4096
"""Number of lines that are written together."""
_EXPANDED: Final = 1 << 16
"""Number of positions that are expanded together."""
_CHOSEN: Final = 256
"""Number of positions for which `HoldingSearch` chooses moves together."""
_LOOK: Final = 2000
"""Maximum number of moves in the search for the other side's win after a move."""


class NotWonError(TablutError):
    """Raised when a proof contradicts itself, because it relies on a win in a position that is not won."""


class PackedStrategy(NamedTuple):
    """Strategy as arrays: packed positions with the winner to move, in ascending order, and their plies and moves.

    From each position, the winner wins within the number of plies given for the position. If the strategy is for a side
    that never loses, all numbers of plies are 0.
    """

    engine: Engine
    words: NDArray[np.uint64]
    plies: NDArray[np.int64]
    moves: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.plies)

    def chosen(self, which: Any) -> PackedStrategy:
        """Return the strategy for the selected positions."""
        return PackedStrategy(self.engine, self.words[which], self.plies[which], self.moves[which])

    def lookup(self) -> _StrategyIndex:
        """Return an index for looking up the positions."""
        return _StrategyIndex(position_keys(self.words), self.plies)

    def lines(self) -> Iterator[str]:
        """Yield a proof file's lines. Lines with the fewest plies come first."""
        size = self.engine.variant.size
        order = np.argsort(self.plies, kind="stable")
        for start in range(0, len(self), _LINES):
            chosen = order[start : start + _LINES]
            boards = self.engine.boards(self.words[chosen])
            for board, plies, code in zip(
                boards, self.plies[chosen].tolist(), self.moves[chosen].tolist(), strict=True
            ):
                yield json.dumps([text_of(self.engine, board), plies, str(Move.from_code(code, size))])


def text_of(engine: Engine, board: NDArray[Any]) -> str:
    """Return a board array's position as one line of text."""
    cells, side = engine.cells(board)
    return str(Position(cells, side))  # type: ignore[arg-type]


def joined(engine: Engine, parts: Parts) -> PackedStrategy:
    """Join several strategies of one winner. For each position, keep the entry with the fewest plies."""
    words, plies, moves = (np.concatenate([part[at] for part in parts]) for at in (1, 2, 3))
    order = np.lexsort((plies, *words.T[::-1]))
    fresh = np.ones(len(words), dtype=bool)
    fresh[1:] = (words[order][1:] != words[order][:-1]).any(axis=1)
    first = order[fresh]
    return PackedStrategy(engine, words[first], plies[first], moves[first])


def _turned(strategy: PackedStrategy) -> PackedStrategy:
    """Return a strategy whose positions and moves are in canonical form."""
    engine, group = strategy.engine, strategy.engine.variant.symmetries
    words, elements = engine.canonical(strategy.words, group)
    pairs, place = np.unique(np.column_stack([elements, strategy.moves]), axis=0, return_inverse=True)
    images = [Move.from_code(code, engine.variant.size).transformed(group[at]).code for at, code in pairs.tolist()]
    moves = np.array(images, dtype=np.int32)[place]
    return joined(engine, [PackedStrategy(engine, words, strategy.plies, moves)])


def _replies(engine: Engine, words: NDArray[np.uint64], left: NDArray[np.int64], group: Group) -> PackedStrategy:
    """Return the undecided positions after the loser's moves, and the least number of plies left in each."""
    children = engine.expand(words)
    on = children.outcomes == 0
    images, _ = engine.canonical(children.words[on], group)
    return joined(engine, [PackedStrategy(engine, images, left[children.parents[on]] - 1, children.moves[on])])


def after_moves(engine: Engine, strategy: PackedStrategy) -> Iterator[tuple[NDArray[np.uint64], NDArray[np.int64]]]:
    """Yield batches of the undecided positions after a strategy's moves, and the number of plies left in each.

    Positions that are won within three plies are skipped, because after each reply some move wins immediately.
    """
    strategy = strategy.chosen((strategy.plies < 1) | (strategy.plies > 3))
    for start in range(0, len(strategy), _EXPANDED):
        part = strategy.chosen(slice(start, start + _EXPANDED))
        children = engine.expand(part.words)
        made = (children.moves == part.moves[children.parents]) & (children.outcomes == 0)
        yield children.words[made], part.plies[children.parents[made]] - 1


def after_replies(engine: Engine, strategy: PackedStrategy, group: Group) -> Iterator[PackedStrategy]:
    """Yield batches of the positions two plies after a strategy's positions, and the fewest plies left in each."""
    return (_replies(engine, words, left, group) for words, left in after_moves(engine, strategy))


def first_positions(engine: Engine, prover: int, board: NDArray[Any], plies: int, group: Group) -> PackedStrategy:
    """Return a strategy's first positions with the winner to move, up to a group's symmetries."""
    words = engine.words(board)
    if int(head(board)[SIDE_AT]) != prover:
        return _replies(engine, words, np.array([plies]), group)
    image, _ = engine.canonical(words, group)
    return PackedStrategy(engine, image, np.array([plies]), np.zeros(1, dtype=np.int32))


class _StrategyIndex(NamedTuple):
    """Index of a strategy: the sorted keys of its positions, and each position's plies."""

    keys: NDArray[Any]
    plies: NDArray[np.int64]

    def find(self, words: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return each position's index and plies. If a position is missing, its ply count is `LONGEST`."""
        wanted = position_keys(words)
        places = np.minimum(np.searchsorted(self.keys, wanted), max(0, len(self.keys) - 1))
        if not len(self.keys):
            return places, np.full(len(words), LONGEST)
        return places, np.where(self.keys[places] == wanted, self.plies[places], LONGEST)


def strategy_of(search: WinSearch, board: NDArray[Any], plies: int, most: int, others: Parts = ()) -> PackedStrategy:
    """Return the strategy behind a proof. The strategy may contain positions that are not needed.

    Positions that a tablebase or another strategy covers are left out, as are positions with a move that wins
    immediately. Raise `TablutError` if more than ``most`` positions remain.
    """
    engine, beyond = search.engine, [part.lookup() for part in others]
    # The search table contains the positions that were reached, not their canonical forms.
    as_met = engine.variant.symmetries[:1]
    first = first_positions(engine, search.prover, board, plies, as_met)
    # To keep sorting cheap, merge new positions into the small strategy `recent`. When `recent` has grown, merge it
    # into the large strategy `older`.
    older = recent = first.chosen(slice(0))
    waiting: Iterable[PackedStrategy] = [first]
    while True:
        known = [part.lookup() for part in (older, recent)]
        # Most of the next positions are won immediately. Look up all of them before expanding further.
        fresh = joined(engine, [older.chosen(slice(0)), *(_read(search, part, known, beyond) for part in waiting)])
        if not len(fresh):
            return _turned(joined(engine, [older, recent]))
        recent = joined(engine, [recent, fresh])
        if len(older) < 4 * len(recent):
            older, recent = joined(engine, [older, recent]), recent.chosen(slice(0))
        if len(older) + len(recent) > most:
            where = text_of(engine, board)
            remedy = "allow more positions or fewer nodes"
            raise TablutError(f"has more than {most:,} positions", subject=f"proof of '{where}'", remedy=remedy)
        waiting = after_replies(engine, fresh, as_met)


def _read(search: WinSearch, fresh: PackedStrategy, known: Indices, beyond: Indices) -> PackedStrategy:
    """Return the positions that a strategy needs but does not contain yet, and their moves.

    ``known`` is the strategy so far. ``beyond`` contains other strategies, in canonical form, whose positions need not
    be repeated.
    """
    for part in known:
        fresh = fresh.chosen(part.find(fresh.words)[1] > fresh.plies)
    images = fresh.engine.canonical(fresh.words, fresh.engine.variant.symmetries)[0] if beyond else fresh.words
    for part in beyond:
        unknown = part.find(images)[1] > fresh.plies
        fresh, images = fresh.chosen(unknown), images[unknown]
    if search.prober is not None:
        fresh = fresh.chosen(search.prober.probe_words(fresh.words) == MISSING)
    kept, engine = search.winning_moves(fresh.words, fresh.plies), fresh.engine
    for at in np.flatnonzero(kept[:, 1] < 0):
        board = engine.boards(fresh.words[at : at + 1])[0]
        plies = int(fresh.plies[at])
        if not (won := search.wins(board, plies=plies)):
            if won is False:
                raise NotWonError(f"there is no win within {plies} plies from '{text_of(engine, board)}'")
            where = f"proof of '{text_of(engine, board)}'"
            raise TablutError("the limits were reached", subject=where, remedy="allow more `nodes` or `seconds`")
        kept[at] = search.move, search.distance
    fresh = PackedStrategy(engine, fresh.words, kept[:, 1], kept[:, 0].astype(np.int32))
    return fresh.chosen(fresh.plies > 1)


def needed(
    strategy: PackedStrategy, prover: int, board: NDArray[Any], prober: Prober | None = None
) -> tuple[PackedStrategy, set[tuple[int, int]]]:
    """Return the part of a strategy that is reachable from a position.

    Also return the materials of the tablebase tables where such play ends.
    """
    engine, leaves = strategy.engine, set()
    kept, known = np.zeros(len(strategy), dtype=bool), strategy.lookup()
    group = engine.variant.symmetries
    waiting: Iterable[PackedStrategy] = [first_positions(engine, prover, board, LONGEST, group)]
    while True:
        before = kept.copy()
        for fresh in waiting:
            places, plies = known.find(fresh.words)
            kept[places[plies < LONGEST]] = True
            if prober is not None:
                beyond = fresh.words[plies == LONGEST]
                values = prober.probe_words(beyond)
                heads = head(engine.boards(beyond[(values >= 0) & (values != 1)]))
                leaves |= set(map(tuple, heads[:, [ATTACKERS_AT, DEFENDERS_AT]].tolist()))
        if (before == kept).all():
            return strategy.chosen(kept), leaves
        waiting = after_replies(engine, strategy.chosen(kept & ~before), group)


# -- strategies that keep a side from losing -----------------------------------------------


class HoldingSearch:
    """A search for a set of positions where one side, the holder, does not lose.

    The holder is the opponent of the prover in ``search``. Positions that turn out to be lost are remembered for later
    searches.
    """

    def __init__(self, search: WinSearch) -> None:
        self.engine, self._search = search.engine, search
        other = ("white", "black")[search.prover]
        self._losing = np.array([end is not None and end.winner == other for end in OUTCOMES])
        self._lost: set[bytes] = set()
        # The chosen move in each position, and the positions after the replies to this move.
        self._moves: dict[bytes, tuple[int, list[bytes]]] = {}
        self._wanted: set[bytes] = set()
        self._users: dict[bytes, set[bytes]] = defaultdict(set)
        self.made = 0

    def run(self, words: NDArray[np.uint64], limits: ProofLimits) -> PackedStrategy | None:
        """Find a closed set of positions for play from a given position, and return a move for each position in it.

        Return None if the position is lost or the limits are exceeded.
        """
        board = self.engine.boards(words)[0]
        if int(head(board)[SIDE_AT]) == self._search.prover and self._losing[self.engine.expand(words).outcomes].any():
            return None
        begin = first_positions(self.engine, 1 - self._search.prover, board, 0, self.engine.variant.symmetries)
        first = [row.tobytes() for row in begin.words]
        while self._lost.isdisjoint(first):
            reached, fresh = self._reached(first)
            if not fresh:
                return self._strategy(reached)
            for start in range(0, len(fresh), _CHOSEN):
                if self.made > limits.nodes or len(self._moves) > limits.positions:
                    return None
                self._choose(fresh[start : start + _CHOSEN])
        return None

    def _reached(self, first: list[bytes]) -> tuple[list[bytes], list[bytes]]:
        """Return the positions that play can reach: first those that have a move, then those that still need a move."""
        seen, waiting = set(first), list(first)
        self._wanted = seen
        reached, fresh = list[bytes](), list[bytes]()
        while waiting:
            name = waiting.pop()
            known = self._moves.get(name)
            (fresh if known is None else reached).append(name)
            for after in () if known is None else known[1]:
                if after not in seen:
                    seen.add(after)
                    waiting.append(after)
        return reached, fresh

    def _packed(self, names: list[bytes]) -> NDArray[np.uint64]:
        return np.frombuffer(b"".join(names), dtype=np.uint64).reshape(len(names), self.engine.tables.words)

    def _strategy(self, reached: list[bytes]) -> PackedStrategy:
        """Return the chosen moves as a strategy.

        The strategy contains no entry for a position where a move ends the game without a loss, or for a position whose
        value is in a tablebase.
        """
        chosen = [name for name in reached if self._moves[name][0] >= 0]
        moves = np.array([self._moves[name][0] for name in chosen], dtype=np.int32)
        strategy = PackedStrategy(self.engine, self._packed(chosen), np.zeros(len(moves), dtype=np.int64), moves)
        return joined(self.engine, [strategy])

    def _choose(self, names: list[bytes]) -> None:
        """Choose a move for each position, or mark it as lost."""
        # Find the positions after the replies to each move.
        words = self._packed(names)
        moves = self.engine.expand(words)
        on = np.flatnonzero(moves.outcomes == 0)
        answers = self.engine.expand(moves.words[on])
        quiet = answers.outcomes == 0
        images, _ = self.engine.canonical(answers.words[quiet], self.engine.variant.symmetries)
        distinct, place = np.unique(images, axis=0, return_inverse=True)
        after = [row.tobytes() for row in distinct]
        self.made += len(moves.words) + len(answers.words)
        # Find the moves that lose immediately or lead to a lost position. Count the new positions that each move needs.
        losing_moves, outside = self._losing[moves.outcomes], np.zeros(len(moves.words), dtype=np.int64)
        losing_moves[on[answers.parents[self._losing[answers.outcomes]]]] = True
        parents = on[answers.parents[quiet]]
        losing_moves[parents[np.array([name in self._lost for name in after], dtype=bool)[place]]] = True
        np.add.at(outside, parents, np.array([name not in self._wanted for name in after], dtype=np.int64)[place])
        begins = np.searchsorted(parents, np.arange(len(losing_moves) + 1))
        values = np.full(len(names), MISSING) if self._search.prober is None else self._search.prober.probe_words(words)
        for at, (name, value) in enumerate(zip(names, values.tolist(), strict=True)):
            mine = np.flatnonzero(moves.parents == at)
            ends = (moves.outcomes[mine] != 0) & ~losing_moves[mine]
            if ends.any() or (value >= 0 and value != MISSING):
                self._moves[name] = -1, []
                continue
            ways = [] if value != MISSING else sorted(mine[~losing_moves[mine]].tolist(), key=outside.__getitem__)
            way = next((way for way in ways if not self._is_won(moves.words[way])), None)
            if way is None:
                self._lose(name)
            else:
                below = [after[reply] for reply in place[begins[way] : begins[way + 1]].tolist()]
                self._moves[name] = int(moves.moves[way]), below
                self._wanted.update(below)
                for reply in below:
                    self._users[reply].add(name)

    def _is_won(self, words: NDArray[np.uint64]) -> bool:
        """Return whether a short search finds a win for the other side."""
        self._search.budget = ProofBudget(ProofLimits(nodes=_LOOK))
        won = self._search.wins(self.engine.boards(words[None])[0])
        self.made += self._search.budget.nodes
        return bool(won)

    def _lose(self, name: bytes) -> None:
        """Mark a position as lost, and drop the moves of all positions whose moves relied on it."""
        self._lost.add(name)
        for user in self._users.pop(name, ()):
            if name in self._moves.get(user, (0, ()))[1]:
                del self._moves[user]
