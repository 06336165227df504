"""Proving that a side never loses, by finding a set of positions that it never has to leave.

In a proof of a win, the number of plies falls with every move. A proof that a side never loses has no such number. It
is a set of positions with that side, the *holder*, to move. Each position has a move after which the other side has not
won, and every reply to it leads back into the set or ends the game without a loss for the holder. Play by these moves
may last for ever.

The set is grown from the position in question. Each position gets the move that requires the fewest positions outside
the set, provided that a short search after the move finds no win for the other side. A position without such a move is
lost, and positions that relied on it choose another move.
When every position that play can reach has a move, the set is closed. It is a greatest fixed point, but is computed
only as far as the question requires [1]_.

References
----------
.. [1] X. Liu, S. A. Smolka, Simple linear-time algorithms for minimal fixed points, ICALP 1998
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

import numpy as np

from retrograde.proofs.certificate import PackedStrategy, first_positions, joined
from retrograde.proofs.solution import ProofLimits
from retrograde.proofs.win_search import ProofBudget
from tablut.engine.layout import SIDE_AT, head
from tablut.indexing.values import MISSING
from tablut.rules.outcome import OUTCOMES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from retrograde.proofs.win_search import WinSearch

_BATCH: Final = 256
_LOOK: Final = 2000
"""Maximum number of moves in the search for the other side's win after a move."""


class HoldingSearch:
    """Search for a set in which one side holds against the prover of another search. Lost positions are remembered."""

    def __init__(self, search: WinSearch) -> None:
        self.engine, self._search = search.engine, search
        other = ("white", "black")[search.prover]
        self._losing = np.array([end is not None and end.winner == other for end in OUTCOMES])
        self._lost: set[bytes] = set()
        # By position: the move, and the positions to which the replies to it lead.
        self._moves: dict[bytes, tuple[int, list[bytes]]] = {}
        self._wanted: set[bytes] = set()
        self._users: dict[bytes, set[bytes]] = defaultdict(set)
        self.made = 0

    def run(self, words: NDArray[np.uint64], limits: ProofLimits) -> PackedStrategy | None:
        """Return a set that holds from a position, shape (1, W), with a move for each position in it.

        Return None if the position is lost or the limits are exceeded.
        """
        board = self.engine.boards(words)[0]
        if int(head(board)[SIDE_AT]) == self._search.prover and self._losing[self.engine.expand(words).outcomes].any():
            return None
        begin = first_positions(self.engine, 1 - self._search.prover, board, 0, self.engine.variant.symmetries)
        first = [row.tobytes() for row in begin.words]
        while self._lost.isdisjoint(first):
            met, fresh = self._met(first)
            if not fresh:
                return self._strategy(met)
            for start in range(0, len(fresh), _BATCH):
                if self.made > limits.nodes or len(self._moves) > limits.positions:
                    return None
                self._choose(fresh[start : start + _BATCH])
        return None

    def _met(self, first: list[bytes]) -> tuple[list[bytes], list[bytes]]:
        """Return the positions that play can reach: those that have a move, and those that still need one."""
        seen, waiting = set(first), list(first)
        self._wanted = seen
        met, fresh = list[bytes](), list[bytes]()
        while waiting:
            name = waiting.pop()
            known = self._moves.get(name)
            (fresh if known is None else met).append(name)
            for after in () if known is None else known[1]:
                if after not in seen:
                    seen.add(after)
                    waiting.append(after)
        return met, fresh

    def _packed(self, names: list[bytes]) -> NDArray[np.uint64]:
        return np.frombuffer(b"".join(names), dtype=np.uint64).reshape(len(names), self.engine.tables.words)

    def _strategy(self, met: list[bytes]) -> PackedStrategy:
        """Return the chosen moves.

        A position needs none if a move ends the game or if a tablebase contains its value.
        """
        chosen = [name for name in met if self._moves[name][0] >= 0]
        moves = np.array([self._moves[name][0] for name in chosen], dtype=np.int32)
        found = PackedStrategy(self.engine, self._packed(chosen), np.zeros(len(moves), dtype=np.int64), moves)
        return joined(self.engine, [found])

    def _choose(self, names: list[bytes]) -> None:
        """Choose a move for each position, or mark it as lost."""
        words = self._packed(names)
        moves = self.engine.expand(words)
        on = np.flatnonzero(moves.outcomes == 0)
        answers = self.engine.expand(moves.words[on])
        quiet = answers.outcomes == 0
        images, _ = self.engine.canonical(answers.words[quiet], self.engine.variant.symmetries)
        found, place = np.unique(images, axis=0, return_inverse=True)
        after = [row.tobytes() for row in found]
        self.made += len(moves.words) + len(answers.words)
        bad, strange = self._losing[moves.outcomes], np.zeros(len(moves.words), dtype=np.int64)
        bad[on[answers.parents[self._losing[answers.outcomes]]]] = True
        parents = on[answers.parents[quiet]]
        bad[parents[np.array([name in self._lost for name in after], dtype=bool)[place]]] = True
        np.add.at(strange, parents, np.array([name not in self._wanted for name in after], dtype=np.int64)[place])
        begins = np.searchsorted(parents, np.arange(len(bad) + 1))
        values = np.full(len(names), MISSING) if self._search.prober is None else self._search.prober.probe_words(words)
        for at, (name, value) in enumerate(zip(names, values.tolist(), strict=True)):
            mine = np.flatnonzero(moves.parents == at)
            ends = (moves.outcomes[mine] != 0) & ~bad[mine]
            if ends.any() or (value >= 0 and value != MISSING):
                self._moves[name] = -1, []
                continue
            ways = [] if value != MISSING else sorted(mine[~bad[mine]].tolist(), key=strange.__getitem__)
            way = next((way for way in ways if not self._is_won(moves.words[way])), None)
            if way is None:
                self._lose(name)
            else:
                below = [after[one] for one in place[begins[way] : begins[way + 1]].tolist()]
                self._moves[name] = int(moves.moves[way]), below
                self._wanted.update(below)
                for one in below:
                    self._users[one].add(name)

    def _is_won(self, words: NDArray[np.uint64]) -> bool:
        """Return whether a short search finds a win for the other side."""
        self._search.budget = ProofBudget(ProofLimits(nodes=_LOOK))
        won = self._search.wins(self.engine.boards(words[None])[0])
        self.made += self._search.budget.nodes
        return bool(won)

    def _lose(self, name: bytes) -> None:
        """Mark a position as lost, and drop the moves of all positions that relied on it."""
        self._lost.add(name)
        for user in self._users.pop(name, ()):
            if name in self._moves.get(user, (0, ()))[1]:
                del self._moves[user]
