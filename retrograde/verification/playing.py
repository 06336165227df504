"""Playing out positions with the naive rules, by forward search, without the compiled rules.

A short win or loss is verified by a search: it must exist, and there must be no shorter one. The stored values only
decide which moves to try first, so a wrong value costs time but cannot make a wrong result pass. A longer win or loss
is followed along the best moves of both sides: the right side must win after exactly the stored number of plies. A
position in which neither side can force a win is searched for a short win and a short loss, which must not exist. It is
then followed along moves that keep it unforced.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias

import numpy as np

from retrograde.tablebase.probing import Tablebase
from retrograde.tablebase.store import Store, StoredTier
from retrograde.verification.findings import Verification, describe
from tablut.indexing.values import code_of_value, is_loss, plies_of, value_of_code
from tablut.position import SIDES, Position, SideName
from tablut.rules.naive import NaiveGame, NaiveMove, NaivePosition, NaiveResult

_Kind: TypeAlias = tuple[StoredTier, SideName, int]

SEARCHED_PLIES: Final = 5
"""Longest win or loss, in plies, that is verified by a search."""
DRAW_PLIES: Final = 3
"""Depth in plies of the search for a win or loss in a position that is stored as unforced."""
FOLLOWED_PLIES: Final = 24
"""Number of plies for which the game is followed from an unforced position."""
_NODES: Final = 20_000
"""Maximum number of positions that a search visits before it is abandoned."""
_FAR: Final = 1 << 20


class _GivenUpError(Exception):
    """Raised when a search has visited too many positions."""


class ForwardCheck:
    """Checker of stored values. It searches for short wins and losses, and plays out the other positions."""

    def __init__(self, tablebase: Tablebase) -> None:
        self.tablebase = tablebase
        self.game = NaiveGame(tablebase.variant)
        self.nodes = 0

    def check(self, position: Position, value: int) -> str | None:
        """Check the stored value of a position; return a description of what is wrong, or None."""
        start = self.game.read(str(position))
        if value == 0:
            return self._check_unforced(start)
        plies, word = (value, "win") if value > 0 else (-value - 1, "loss")
        winner = _side(start) if value > 0 else _other(start)
        if plies > SEARCHED_PLIES:
            return self._follow(start, plies, winner)
        self.nodes = 0
        try:
            if not self.wins(start, plies, winner):
                return f"a search finds no {word} in {plies} plies"
            if plies and self.wins(start, plies - 1, winner):
                return f"a search finds a {word} in fewer than {plies} plies"
        except _GivenUpError:
            return f"a search of {_NODES:,} positions neither proves nor refutes a {word} in {plies} plies"
        return None

    def wins(self, position: NaivePosition, plies: int, winner: str) -> bool:
        """Return whether a side can force a win within ``plies`` plies; a side without a legal move has lost."""
        mine = _side(position) == winner
        if plies < 1:
            return not mine and not self.game.legal_moves(position)
        return (any if mine else all)(
            result.outcome.winner == winner if result.outcome else self.wins(result.position, plies - 1, winner)
            for _, result, _ in self._successors(position)
        )

    def _successors(self, position: NaivePosition) -> list[tuple[NaiveMove, NaiveResult, int]]:
        """Return the moves, their results, and the tablebase's values of the results for the mover, best first."""
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
        return sorted(found, key=lambda successor: -successor[2])

    def _follow(self, position: NaivePosition, plies: int, winner: str) -> str | None:
        """Play best moves until the game is over; return what is wrong, or None."""
        line, ended, _ = self._best_play(position, plies + 1)
        if ended is None:
            return f"best moves do not end the game in {plies} plies: {' '.join(line)}"
        if (ended, len(line)) != (winner, plies):
            return f"best moves end the game for {ended} in {len(line)} plies, not {plies}: {' '.join(line)}"
        return None

    def _check_unforced(self, position: NaivePosition) -> str | None:
        """Search for a short win and a short loss, then play moves that keep the position unforced."""
        self.nodes = 0
        try:
            for winner, word in ((_side(position), "win"), (_other(position), "loss")):
                if self.wins(position, DRAW_PLIES, winner):
                    return f"a search finds a {word} within {DRAW_PLIES} plies"
        except _GivenUpError:
            return f"a search of {_NODES:,} positions neither finds nor excludes a win within {DRAW_PLIES} plies"
        line, ended, merit = self._best_play(position, FOLLOWED_PLIES, unforced=True)
        if merit != 0:
            return f"the best move {'wins' if merit > 0 else 'loses'}: {' '.join(line)}"
        return None if ended is None else f"a side has no move after {' '.join(line) or 'no moves'}"

    def _best_play(
        self, position: NaivePosition, most: int, *, unforced: bool = False
    ) -> tuple[list[str], str | None, int]:
        """Play at most ``most`` best moves; with ``unforced``, stop once a side can force a win.

        Return the moves, the winner if the game ends, and the value of the last move for its mover.
        """
        line: list[str] = []
        merit = 0
        while len(line) < most:
            self.nodes = 0
            successors = self._successors(position)
            if not successors:
                return line, _other(position), merit
            move, result, merit = successors[0]
            line.append(self.game.move_name(move))
            if result.outcome is not None:
                return line, result.outcome.winner or "", merit
            if unforced and merit != 0:
                break
            position = result.position
        return line, None, merit


def _merit(tablebase: Tablebase, position: Position) -> int:
    """Return the merit of a successor for the side that moved. Quicker wins and slower losses rank higher."""
    value = tablebase.stored_value(position)
    if value == 0:
        return 0
    return _FAR + value if value < 0 else value - _FAR + 1


def _side(position: NaivePosition) -> SideName:
    return "white" if position.side == "w" else "black"


def _other(position: NaivePosition) -> SideName:
    return "black" if position.side == "w" else "white"


def sample_values(store: Store, number: int, seed: int) -> Iterator[tuple[StoredTier, Position, int]]:
    """Yield random positions with their values: wins, losses and unforced positions in turn, if they occur."""
    random = np.random.default_rng(seed)
    wins: list[_Kind] = []
    losses: list[_Kind] = []
    rest: list[_Kind] = []
    for material in store.tiers():
        tier = store.tier(*material)
        for side in SIDES:
            for code in getattr(tier.record, side).classes:
                (losses if is_loss(code) else wins if code else rest).append((tier, side, code))
    groups = [kinds for kinds in (wins, losses, rest) if kinds]
    for count in range(number if groups else 0):
        kinds = groups[count % len(groups)]
        tier, side, code = kinds[random.integers(len(kinds))]
        entry = _find(tier, side, code, int(random.integers(tier.entries)))
        yield tier, tier.index.unrank(entry, "w" if side == "white" else "b"), value_of_code(code)


def _find(tier: StoredTier, side: SideName, code: int, start: int) -> int:
    """Return the first entry from ``start`` on that has a code and is not an alias; wrap around at the end."""
    chunk = tier.record.chunk
    chunks = -(-tier.entries // chunk)
    for turn in range(chunks + 1):
        number = (start // chunk + turn) % chunks
        found = number * chunk + np.flatnonzero(tier.chunk(side, number) == code)
        if turn == 0:
            found = found[found >= start]
        for entry in found.tolist():
            if tier.index.entry(tier.index.unrank(entry, "w").cells) == entry:
                return int(entry)
    raise LookupError(f"tier {tier.record.name}: no entry with {side} to move has code {code}, unlike in its record")


def play_out(store: Store, number: int, seed: int, report: Verification) -> None:
    """Check a sample of positions, and add counts and failures to a report."""
    check = ForwardCheck(Tablebase(store))
    for tier, position, value in sample_values(store, number, seed):
        wrong = check.check(position, value)
        code = code_of_value(value)
        report.samples["searched" if code and plies_of(code) <= SEARCHED_PLIES else "followed"] += 1
        report.played["draws" if not code else "losses" if is_loss(code) else "wins"] += 1
        if wrong is not None:
            report.add(tier.record.name, f"stored {describe(code)}: {wrong}", str(position))
