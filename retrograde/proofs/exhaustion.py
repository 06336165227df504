"""Every position reachable from one, valued: what a search cannot show, a draw, shown where play is narrow.

The closure of a position under legal moves is listed, and the values spread backwards
through it, distance by distance. It is exact for all positions of the closure, hence
proves draws too. It is for small boards and for few pieces: the list is given up at a
limit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tablut.engine import engine_for
from tablut.errors import InputError
from tablut.indexing import PlacementIndex
from tablut.indexing.values import MISSING, unforced, verdict_of
from tablut.rules.outcome import OUTCOMES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tablut.indexing.values import Verdict
    from tablut.position import Position
    from tablut.variants import Variant

_BATCH = 1 << 15


class ReachableValues:
    """The values of all positions reachable from one; a `tablut.prober.Prober` for these."""

    def __init__(self, variant: Variant, words: NDArray[np.uint64], values: NDArray[np.int16]) -> None:
        self.variant = variant
        self.words = words
        self.values = values
        self._keys = _keys(words)

    def covers(self, attackers: int, defenders: int) -> bool:  # noqa: ARG002 (the protocol's)
        """Return whether positions of a material are known: those that are reachable, so no material as such."""
        return False

    def probe(self, position: Position) -> Verdict:
        """Return the verdict on a position of the closure."""
        engine = engine_for(self.variant)
        (value,) = self.probe_words(engine.words(engine.board(position.cells, position.side)))
        if value == MISSING:
            raise InputError(f"position '{position}': is not among the {len(self.words)} positions listed")
        return verdict_of(int(value), unforced=unforced(self.variant))

    def probe_words(self, words: NDArray[np.uint64]) -> NDArray[np.int16]:
        """Return the values of packed positions; `MISSING` beyond the closure."""
        keys = _keys(words)
        places = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return np.where(self._keys[places] == keys, self.values[places], MISSING).astype(np.int16)


def reachable_values(variant: Variant, words: NDArray[np.uint64], most: int) -> ReachableValues | None:
    """Return the values of all positions reachable from one."""
    positions = _closure(variant, words, most)
    if positions is None:
        return None
    black = engine_for(variant).boards(positions)[:, 2 * variant.size + 1] != 0
    return ReachableValues(variant, positions, _values(black, *_moves(variant, positions)))


def may_be_listed(variant: Variant, position: Position, most: int) -> bool:
    """Return whether a listing is worth trying: whether no more than eight times as many placements exist at all.

    Counted are the undecided placements with the material of the position or less, for
    both sides to move.
    """
    attackers, defenders = position.material
    tiers = PlacementIndex(variant).tiers.values()
    sizes = [tier.size for tier in tiers if tier.attackers <= attackers and tier.defenders <= defenders]
    return 2 * sum(sizes) <= 8 * most


def _keys(words: NDArray[np.uint64]) -> NDArray[Any]:
    """Return positions as single items that sort and compare by all their words."""
    if words.shape[1] == 1:
        return words[:, 0]
    rows = np.ascontiguousarray(words.astype(">u8"))
    return rows.view(np.dtype((np.void, rows.shape[1] * 8))).ravel()


def _closure(variant: Variant, words: NDArray[np.uint64], most: int) -> NDArray[np.uint64] | None:
    """Return the positions reachable from one, ascending; None if there are more than so many."""
    engine = engine_for(variant)
    known = fresh = words[:1]
    while len(fresh):
        found = [known]
        for batch in _batches(fresh):
            children = engine.expand(batch)
            found.append(_unique(children.words[children.outcomes == 0]))
        union = _unique(np.concatenate(found))
        if len(union) > most:
            return None
        fresh = union[~np.isin(_keys(union), _keys(known), assume_unique=True)]
        known = union
    return known


def _moves(
    variant: Variant, positions: NDArray[np.uint64]
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.uint8]]:
    """Return for each move of a closed set the numbers of parent and child (-1 if decided) and the outcome."""
    engine = engine_for(variant)
    keys = _keys(positions)
    parents, children, outcomes = [], [], []
    for number, batch in enumerate(_batches(positions)):
        found = engine.expand(batch)
        parents.append((found.parents + number * _BATCH).astype(np.int32))
        places = np.searchsorted(keys, _keys(found.words)).astype(np.int32)
        children.append(np.where(found.outcomes == 0, places, np.int32(-1)))
        outcomes.append(found.outcomes)
    return np.concatenate(parents), np.concatenate(children), np.concatenate(outcomes)


def _batches(words: NDArray[np.uint64]) -> list[NDArray[np.uint64]]:
    return [words[start : start + _BATCH] for start in range(0, len(words), _BATCH)]


def _unique(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    keys = _keys(words)
    _, first = np.unique(keys, return_index=True)
    return words[first]


def _values(
    black: NDArray[np.bool_], parents: NDArray[np.int32], children: NDArray[np.int32], outcomes: NDArray[np.uint8]
) -> NDArray[np.int16]:
    """Return the value of each position, spread backwards distance by distance."""
    values = np.zeros(len(black), dtype=np.int16)
    settled = np.zeros(len(black), dtype=bool)
    # Moves of the side to move that are not yet known to lose.
    hopes = np.bincount(parents, minlength=len(black))
    values[hopes == 0], settled[hopes == 0] = -1, True
    black_wins = np.array([outcome is not None and outcome.winner == "black" for outcome in OUTCOMES])

    order = np.argsort(children, kind="stable")
    sources, targets = parents[order], children[order]
    ends = np.searchsorted(targets, np.arange(len(black) + 1))
    decided = outcomes != 0
    good = black_wins[outcomes] == black[parents]
    # Wins and losses of the moment, as the parents see them: moves that win, moves that lose.
    winning, losing = parents[decided & good], parents[decided & ~good]
    front = np.flatnonzero(settled)
    distance = 1
    while len(front) or len(winning) or len(losing):
        edges = np.concatenate([np.arange(ends[place], ends[place + 1]) for place in front]) if len(front) else front
        lost = values[targets[edges]] < 0
        winning = np.concatenate([winning, sources[edges[lost]]])
        losing = np.concatenate([losing, sources[edges[~lost]]])
        new_wins = np.unique(winning[~settled[winning]])
        values[new_wins], settled[new_wins] = distance, True
        np.subtract.at(hopes, losing, 1)
        losing = np.unique(losing)
        new_losses = losing[(hopes[losing] == 0) & ~settled[losing]]
        values[new_losses], settled[new_losses] = -distance - 1, True
        front = np.concatenate([new_wins, new_losses])
        winning = losing = np.empty(0, dtype=np.int64)
        distance += 1
    return values
