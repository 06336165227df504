"""Wins played out by the naive rules, forward, without tables or kernels of any kind.

A win of few plies is searched: that it is one, and that there is none shorter. The stored
values only say which moves to try first, so a wrong one costs time and proves nothing.
A longer win is followed along best moves of both sides: the game must end, won by the
right side, after exactly as many plies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from retrograde.tablebase.probing import Tablebase
from retrograde.tablebase.store import SIDES, SideName
from retrograde.verification.findings import Wrong, describe
from tablut.position import Position
from tablut.rules.naive import NaiveGame, NaiveMove, NaivePosition, NaiveResult

if TYPE_CHECKING:
    from collections.abc import Iterator

    from retrograde.tablebase.store import Store, StoredTier
    from retrograde.verification.findings import Verification

__all__ = ["SEARCHED_PLIES", "ForwardCheck", "play_out", "sample_wins"]

SEARCHED_PLIES: Final = 5
"""The longest win that is searched."""
_NODES: Final = 20_000
"""Positions that a search may visit before it is given up."""


class _GivenUpError(Exception):
    """A search that has taken too long."""


class ForwardCheck:
    """Searches and follows wins.

    Parameters
    ----------
    tablebase : Tablebase
        What is to be checked, and what orders the moves.
    """

    def __init__(self, tablebase: Tablebase) -> None:
        self.tablebase = tablebase
        self.game = NaiveGame(tablebase.variant)
        self.nodes = 0

    def check(self, position: Position, plies: int) -> str | None:
        """Return what is wrong with a win in so many plies; None if it is right."""
        start = self.game.read(str(position))
        if plies > SEARCHED_PLIES:
            return self._follow(start, plies)
        self.nodes = 0
        try:
            if not self.wins(start, plies):
                return f"a search finds no win in {plies} plies"
            if self.wins(start, plies - 1):
                return f"a search finds a win in fewer than {plies} plies"
        except _GivenUpError:
            return f"a search of {_NODES:,} positions neither proves nor refutes a win in {plies} plies"
        return None

    def wins(self, position: NaivePosition, plies: int) -> bool:
        """Return whether the side to move can force a win within so many plies."""
        if plies < 1:
            return False
        return any(
            result.outcome.winner == _side(position) if result.outcome else self.loses(result.position, plies - 1)
            for _, result, _ in self._children(position)
        )

    def loses(self, position: NaivePosition, plies: int) -> bool:
        """Return whether the side to move cannot avoid to lose within so many plies; without a move it has lost."""
        if plies < 1:
            return not self.game.legal_moves(position)
        return all(
            result.outcome.winner not in (None, _side(position))
            if result.outcome
            else self.wins(result.position, plies - 1)
            for _, result, _ in self._children(position)
        )

    def _children(self, position: NaivePosition) -> list[tuple[NaiveMove, NaiveResult, int]]:
        """Return moves, what they lead to, and what that is worth to the mover by the tablebase; the best first."""
        self.nodes += 1
        if self.nodes > _NODES:
            raise _GivenUpError
        found = []
        for move in self.game.legal_moves(position):
            result = self.game.apply(position, move)
            if result.outcome is not None:
                merit = _FAR if result.outcome.winner == _side(position) else -_FAR
            else:
                merit = _merit(self.tablebase, Position.parse(self.game.write(result.position), self.game.size))
            found.append((move, result, merit))
        return sorted(found, key=lambda child: -child[2])

    def _follow(self, position: NaivePosition, plies: int) -> str | None:
        """Play best moves until the game is over."""
        winner = _side(position)
        line: list[str] = []
        self.nodes = 0
        while True:
            children = self._children(position)
            if not children:
                ended = "white" if _side(position) == "black" else "black"
                break
            move, result, _ = children[0]
            line.append(self.game.move_name(move))
            if result.outcome is not None:
                ended = result.outcome.winner or ""
                break
            if len(line) > plies:
                return f"best moves do not end the game in {plies} plies: {' '.join(line)}"
            position = result.position
        if (ended, len(line)) != (winner, plies):
            return f"best moves end the game for {ended} in {len(line)} plies, not {plies}: {' '.join(line)}"
        return None


_FAR: Final = 1 << 20


def _merit(tablebase: Tablebase, position: Position) -> int:
    """Return what a child is worth to the side that moved there."""
    value = tablebase.stored_value(position)
    if value == 0:
        return 0
    return _FAR + value if value < 0 else value - _FAR + 1


def _side(position: NaivePosition) -> Literal["white", "black"]:
    return "white" if position.side == "w" else "black"


def sample_wins(store: Store, number: int, seed: int) -> Iterator[tuple[StoredTier, Position, int]]:
    """Yield won positions with their distances, spread over tiers, sides to move and distances.

    Parameters
    ----------
    store : Store
        The tablebase.
    number : int
        How many.
    seed : int
        Decides which: a tier, a side and a distance that occurs there are drawn first, each
        as likely as any other, then the first position of that kind from a random entry on.
    """
    random = np.random.default_rng(seed)
    kinds = []
    for material in store.tiers():
        tier = store.tier(*material)
        for side in SIDES:
            wins = [code for code in getattr(tier.record, side).classes if code and not code & 1]
            kinds += [(tier, side, code) for code in wins]
    for _ in range(number if kinds else 0):
        tier, side, code = kinds[random.integers(len(kinds))]
        entry = _find(tier, side, code, int(random.integers(tier.entries)))
        yield tier, tier.index.unrank(entry, "w" if side == "white" else "b"), code >> 1


def _find(tier: StoredTier, side: SideName, code: int, start: int) -> int:
    """Return the first entry from ``start`` on, around the end, that has a code and is no alias."""
    chunk = tier.record.chunk
    chunks = -(-tier.entries // chunk)
    for turn in range(chunks + 1):
        number = (start // chunk + turn) % chunks
        found = number * chunk + np.flatnonzero(tier.chunk(side, number) == code)
        if turn == 0:
            found = found[found >= start]
        for entry in found.tolist():
            if tier.ranker.rank(tier.index.unrank(entry, "w").cells) == entry:
                return int(entry)
    raise LookupError(f"tier {tier.record.name}: no entry with {side} to move has code {code}, against its record")


def play_out(store: Store, number: int, seed: int, report: Verification) -> None:
    """Check a sample of wins, and add what is found to a report."""
    check = ForwardCheck(Tablebase(store))
    for tier, position, plies in sample_wins(store, number, seed):
        wrong = check.check(position, plies)
        report.samples["searched" if plies <= SEARCHED_PLIES else "followed"] += 1
        if wrong is not None:
            report.add(Wrong(tier.record.name, f"stored {describe(2 * plies)}: {wrong}", str(position)))
