"""Inputs and results of a solver: limits, proved bounds and solutions; and solving by listing all positions.

If only few positions are reachable from a given one, all of them are listed and valued, and the solution is taken from
these values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tablut.engine import engine_for
from tablut.errors import TablutError
from tablut.indexing import PlacementIndex
from tablut.indexing.values import MISSING, Verdict, Wdl, unforced, verdict_of
from tablut.prober import MissingTableError
from tablut.rules.outcome import OUTCOMES
from tablut.work.files import brief

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tablut.position import Move, Position, SideName
    from tablut.variants import Variant


class NotWonError(TablutError):
    """A contradiction in a proof: it relies on a win in a position that is not won."""


ProofSource = Literal["search", "tablebase", "exhaustion", "rules"]


@dataclass(frozen=True)
class ProofLimits:
    """Limits of the work of a solver.

    Attributes
    ----------
    nodes : int
        Maximum number of moves made on the board.
    seconds : float or None
        Maximum wall time in seconds; None for no limit. It is checked about every quarter of a second.
    memory_bytes : int
        Memory of the transposition tables, in bytes.
    positions : int
        Maximum number of positions in an exhaustive listing; 0 to list none.
    """

    nodes: int = 50_000_000
    seconds: float | None = None
    memory_bytes: int = 256 << 20
    positions: int = 250_000


@dataclass(frozen=True)
class Bounds:
    """Proved bounds on a side's win: plies within which it wins, or does not win, and whether it never wins."""

    win_within: int | None = None
    no_win_within: int = -1
    never: bool = False


@brief
@dataclass(frozen=True)
class Solution:
    """The solution of a position, as far as it was proved.

    Attributes
    ----------
    variant : Variant
        The rule set.
    position : Position
        The position that was solved.
    status : {'proved', 'unknown'}
        ``proved`` if value, distance, first moves and line are all proved. Otherwise ``reason`` says what is missing;
        all other fields still contain only proved facts.
    wdl : {'win', 'draw', 'loss', 'unresolved'} or None
        Value for the side to move; None if unknown.
    dtm : int or None
        Plies to the end under best play, for a win or loss whose shortest distance is proved.
    line : tuple of Move
        Best play by both sides. If the status is ``proved``, it takes ``dtm`` plies and leads to the end of the game.
    winning_moves : tuple of Move
        All first moves that attain ``dtm``: the winner's shortest wins, or the
        loser's longest defences. Empty if ``dtm`` is None.
    other_winning_moves : tuple of Move or None
        Moves that win more slowly; None if they were not requested.
    open_moves : tuple of Move
        First moves for which it is unknown whether they belong to ``winning_moves`` or ``other_winning_moves``.
    bounds : dict
        `Bounds` of ``white`` and ``black``.
    nodes : int
        Number of moves made on the board by the search.
    seconds : float
        Wall time in seconds, without time spent compiling.
    source : {'search', 'tablebase', 'exhaustion', 'rules'}
        Method of the proof. ``rules`` means that the side to move has no legal move.
    reason : str
        Reason why the status is ``unknown``; empty if it is ``proved``.
    """

    variant: Variant
    position: Position
    status: Literal["proved", "unknown"]
    wdl: Wdl | None
    dtm: int | None
    line: tuple[Move, ...]
    winning_moves: tuple[Move, ...]
    other_winning_moves: tuple[Move, ...] | None
    open_moves: tuple[Move, ...]
    bounds: dict[SideName, Bounds]
    nodes: int
    seconds: float
    source: ProofSource
    reason: str = ""

    @property
    def winner(self) -> SideName | None:
        """The side that wins; None if neither does or it is not proved."""
        if self.wdl not in ("win", "loss"):
            return None
        return "white" if (self.position.side == "w") == (self.wdl == "win") else "black"


# -- every position reachable from one, valued -------------------------------------------
# The closure of a position under legal moves is listed, and values are propagated backwards
# through it, one distance at a time. The result is exact for every position of the closure, so
# it proves draws, too. This works for small boards and few pieces; a limit ends a listing that grows too long.


_BATCH = 1 << 15


class ReachableValues:
    """Values of all positions reachable from one, as a `tablut.prober.Prober` for these positions."""

    def __init__(self, variant: Variant, words: NDArray[np.uint64], values: NDArray[np.int16]) -> None:
        self.variant = variant
        self.words = words
        self.values = values
        self._keys = keys_of(words)

    def covers(self, attackers: int, defenders: int) -> bool:  # noqa: ARG002 (the protocol's)
        """Return False: only reachable positions are known, so no material is covered as a whole."""
        return False

    def probe(self, position: Position) -> Verdict:
        """Return the verdict on a position of the closure."""
        engine = engine_for(self.variant)
        (value,) = self.probe_words(engine.words(engine.board(position.cells, position.side)))
        if value == MISSING:
            raise MissingTableError(
                f"is not one of the {len(self.words):,} listed positions", subject=f"position '{position}'"
            )
        return verdict_of(int(value), unforced=unforced(self.variant))

    def probe_words(self, words: NDArray[np.uint64]) -> NDArray[np.int16]:
        """Return the values of packed positions; `MISSING` outside the closure."""
        keys = keys_of(words)
        places = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return np.where(self._keys[places] == keys, self.values[places], MISSING).astype(np.int16)


def reachable_values(variant: Variant, words: NDArray[np.uint64], most: int) -> ReachableValues | None:
    """Return the values of all positions reachable from one; None if there are more than ``most``."""
    positions = _closure(variant, words, most)
    if positions is None:
        return None
    black = engine_for(variant).boards(positions)[:, 2 * variant.size + 1] != 0
    return ReachableValues(variant, positions, _values(black, *_moves(variant, positions)))


def may_be_listed(variant: Variant, position: Position, most: int) -> bool:
    """Return whether it is worth trying to list all positions reachable from one, at most ``most``.

    It is if the undecided placements with the position's material or less, counted for
    both sides to move, are at most eight times ``most``.
    """
    attackers, defenders = position.material
    tiers = PlacementIndex(variant).tiers.values()
    sizes = [tier.size for tier in tiers if tier.attackers <= attackers and tier.defenders <= defenders]
    return 2 * sum(sizes) <= 8 * most


def keys_of(words: NDArray[np.uint64]) -> NDArray[Any]:
    """Return packed positions as single items, which can be sorted and compared by all their words."""
    if words.shape[1] == 1:
        return words[:, 0]
    rows = np.ascontiguousarray(words.astype(">u8"))
    return rows.view(np.dtype((np.void, rows.shape[1] * 8))).ravel()


def _closure(variant: Variant, words: NDArray[np.uint64], most: int) -> NDArray[np.uint64] | None:
    """Return the positions reachable from one, in ascending order; None if there are more than ``most``."""
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
        fresh = union[~np.isin(keys_of(union), keys_of(known), assume_unique=True)]
        known = union
    return known


def _moves(
    variant: Variant, positions: NDArray[np.uint64]
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.uint8]]:
    """Return, for each move in a closed set, the numbers of parent and child (-1 if decided) and the outcome."""
    engine = engine_for(variant)
    keys = keys_of(positions)
    parents, children, outcomes = [], [], []
    for number, batch in enumerate(_batches(positions)):
        found = engine.expand(batch)
        parents.append((found.parents + number * _BATCH).astype(np.int32))
        places = np.searchsorted(keys, keys_of(found.words)).astype(np.int32)
        children.append(np.where(found.outcomes == 0, places, np.int32(-1)))
        outcomes.append(found.outcomes)
    return np.concatenate(parents), np.concatenate(children), np.concatenate(outcomes)


def _batches(words: NDArray[np.uint64]) -> list[NDArray[np.uint64]]:
    return [words[start : start + _BATCH] for start in range(0, len(words), _BATCH)]


def _unique(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    keys = keys_of(words)
    _, first = np.unique(keys, return_index=True)
    return words[first]


def _values(
    black: NDArray[np.bool_], parents: NDArray[np.int32], children: NDArray[np.int32], outcomes: NDArray[np.uint8]
) -> NDArray[np.int16]:
    """Return the value of each position, propagated backwards one distance at a time."""
    values = np.zeros(len(black), dtype=np.int16)
    moves = np.bincount(parents, minlength=len(black))
    values[moves == 0] = -1
    black_wins = np.array([outcome is not None and outcome.winner == "black" for outcome in OUTCOMES])
    # The value of each move for its mover: 1, -1, or 0 if it is not known yet.
    worth = np.where(outcomes == 0, 0, np.where(black_wins[outcomes] == black[parents], 1, -1)).astype(np.int8)
    quiet = children >= 0
    distance, settled = 0, moves >= 0
    while settled.any():
        distance += 1
        worth[quiet] = -np.sign(values[children[quiet]])
        won = np.bincount(parents[worth > 0], minlength=len(black)) > 0
        lost = np.bincount(parents[worth < 0], minlength=len(black)) == moves
        settled = (values == 0) & (won | lost)
        values[settled & won], values[settled & lost] = distance, -distance - 1
    return values
