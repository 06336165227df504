"""Exact values of positions, and the interfaces through which search, players and analysis use them.

`PositionValues` is a source of values: a tablebase, a solved game, or a list of reachable positions. A subclass defines
the value of one position. Values under a move limit, rated moves and best lines follow from it.

The interfaces are defined here so that the search does not have to import the solver. `find_prober` and `find_prover`
find the installed implementations. To provide an implementation, a package registers two functions under the entry
point group ``tablut.probers``. ``tables`` takes a variant and a store (or None for the
built-in tablebases) and returns a `Prober`; ``proofs`` takes a variant and a number of nodes and returns a `Prover`.
Both return None if they do not support the variant.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from tablut.board import Board
from tablut.errors import InputError, TablutError
from tablut.formats.reading import PositionLike, as_position
from tablut.indexing.values import Verdict, Wdl, a_ply_earlier, unforced, verdict_of, within_limit
from tablut.position import Move, Position, SideName
from tablut.variants import Variant, VariantLike, as_variant
from tablut.work.files import brief

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from tablut.indexing.tier_tables import TierValues

__all__ = [
    "Bounds",
    "MissingTableError",
    "PositionValues",
    "Prober",
    "Prover",
    "RatedMove",
    "Solution",
    "TierProber",
    "find_prober",
    "find_prover",
]


class MissingTableError(TablutError, LookupError):
    """Error for a position that no tablebase covers."""


# -- values of positions -------------------------------------------------------------------


class RatedMove(NamedTuple):
    """A move and its value for the side that makes it.

    Attributes
    ----------
    move : Move
        The move.
    wdl : {'win', 'draw', 'loss', 'unresolved'}
        The move's value for the side that makes it.
    dtm : int or None
        Plies to the end of the game, including the move itself; None if neither side can force a win.
    """

    move: Move
    wdl: Wdl
    dtm: int | None


class PositionValues(ABC):
    """A source of exact values of positions in one variant.

    Every position is valued as if a game began with it. Subclasses define `_stored`; the other methods follow from it.
    """

    variant: Variant

    @abstractmethod
    def _stored(self, position: Position) -> int:
        """Return the value of an undecided position, as if there were no move limit."""

    def stored_value(self, position: PositionLike) -> int:
        """Return the value of an undecided position, as if there were no move limit.

        Parameters
        ----------
        position : Position, Board or str
            The position. The history of a board is ignored.

        Returns
        -------
        int
            The value; see `tablut.indexing.values.verdict_of`.

        Raises
        ------
        MissingTableError
            If the position is not covered.
        InputError
            If the position is not undecided in this variant, or is on a board of another variant.
        """
        return self._stored(as_position(position, self.variant))

    def value(self, position: PositionLike) -> int:
        """Return the value of an undecided position under the move limit. Raises the same errors as `stored_value`.

        Parameters
        ----------
        position : Position, Board or str
            The position. Under a move limit, the plies already made on a board count.

        Returns
        -------
        int
            The value; see `tablut.indexing.values.verdict_of`.
        """
        limit = self.variant.rules.move_limit
        plies = position.ply if isinstance(position, Board) else 0
        return within_limit(self.stored_value(position), None if limit is None else limit - plies)

    def probe(self, position: PositionLike) -> Verdict:
        """Return the value of an undecided position and its distance to the end. See `value`.

        Parameters
        ----------
        position : Position, Board or str
            The position. Under a move limit, the plies already made on a board count.

        Returns
        -------
        Verdict
            Value of the position for the side to move.
        """
        return verdict_of(self.value(position), unforced=unforced(self.variant))

    def best_moves(self, board: Board) -> list[RatedMove]:
        """Return the legal moves on a board and their values for the side to move, from the best to the worst.

        Wins come first, beginning with the quickest win. Losses come last, beginning with the slowest loss. A move that
        ends the game has the value that follows from the rules. The same applies if the game ends by repetition or by
        the move limit.

        Parameters
        ----------
        board : Board
            The board. It is not changed.

        Returns
        -------
        list of RatedMove
            All legal moves, from the best to the worst.

        Raises
        ------
        MissingTableError
            If a move leads to material that is not covered.
        InputError
            If the board belongs to another game.
        """
        self.value(board)
        return rated_moves(board, self.value)

    def line(self, position: PositionLike) -> tuple[Move, ...]:
        """Return best play from a position to the end of the game.

        Parameters
        ----------
        position : Position, Board or str
            The position at the start of the line.

        Returns
        -------
        tuple of Move
            The moves; empty if neither side can force a win.
        """
        board, line = unlimited_board(self.variant, as_position(position, self.variant)), []
        forced = self.value(board.position) != 0
        while forced and board.outcome() is None:
            line.append(rated_moves(board, lambda after: self.stored_value(after.position))[0].move)
            board.push(line[-1])
        return tuple(line)


def rated_moves(board: Board, value: Callable[[Board], int]) -> list[RatedMove]:
    """Return the legal moves on a board with their values for the side to move, from the best to the worst.

    ``value`` is a function that returns the value of an undecided position on a board for the side to move.
    """
    board, word = board.copy(), unforced(board.variant)
    rated = []
    for move in list(board.legal_moves):
        mover = board.turn
        board.push(move)
        outcome = board.outcome()
        if outcome is None:
            verdict = verdict_of(a_ply_earlier(value(board)), unforced=word)
        elif outcome.winner is None:
            verdict = Verdict("draw", None)
        else:
            verdict = Verdict("win" if outcome.winner == mover else "loss", 1)
        board.pop()
        rated.append(RatedMove(move, *verdict))
    return sorted(rated, key=_merit)


def unlimited_board(variant: Variant, position: Position) -> Board:
    """Return a board without a move limit, for use with stored values, which ignore the limit."""
    return Board(replace(variant, rules=variant.rules.model_copy(update={"move_limit": None})), position)


def _merit(rated: RatedMove) -> tuple[int, int]:
    if rated.wdl == "win":
        return 0, rated.dtm or 0
    return (2, -(rated.dtm or 0)) if rated.wdl == "loss" else (1, 0)


class Prober(PositionValues):
    """A tablebase, as search, players and analysis use it."""

    @abstractmethod
    def covers(self, attackers: int, defenders: int) -> bool:
        """Return whether the values of all positions with the given material are known."""

    @abstractmethod
    def probe_words(self, words: NDArray[np.uint64]) -> NDArray[np.int16]:
        """Return the values of undecided positions, given as packed words."""


class TierProber(Prober):
    """A prober that also makes the values of `Prober.probe_words` available to compiled code.

    They ignore the history; the search itself accounts for the plies already made.
    """

    @abstractmethod
    def load_tiers(self, memory: int) -> TierValues | None:
        """Return the values of as many tiers as fit into ``memory`` bytes. Tiers with fewer men take precedence."""


# -- proofs --------------------------------------------------------------------------------


ProofSource = Literal["search", "tablebase", "exhaustion", "rules"]


@dataclass(frozen=True)
class Bounds:
    """Proved bounds on a side's win.

    The side wins within ``win_within`` plies (None if no win is known), but not within ``no_win_within`` plies. If
    ``never`` is True, the side never wins.
    """

    win_within: int | None = None
    no_win_within: int = -1
    never: bool = False


@brief
@dataclass(frozen=True)
class Solution:
    """A position's solution, as far as it has been proved.

    Attributes
    ----------
    variant : Variant
        The rule set.
    position : Position
        The position that was solved.
    status : {'proved', 'unknown'}
        ``proved`` if the value, distance, first moves and line are all proved. Otherwise, ``reason`` states what is
        missing, and the other fields still contain only proved facts.
    wdl : {'win', 'draw', 'loss', 'unresolved'} or None
        Value for the side to move; None if unknown.
    dtm : int or None
        Plies to the end under best play, for a win or loss whose shortest distance is proved.
    line : tuple of Move
        Best play by both sides. If the status is ``proved``, it takes ``dtm`` plies and leads to the end of the game.
    winning_moves : tuple of Move
        All first moves that attain ``dtm``: those that win fastest or, in a lost position, those that delay the loss
        longest. Empty if ``dtm`` is None.
    other_winning_moves : tuple of Move or None
        Moves that win more slowly; None if they were not requested.
    open_moves : tuple of Move
        First moves for which it is unknown whether they belong to ``winning_moves`` or ``other_winning_moves``.
    bounds : dict
        The proved bounds on a win by each side, under the keys ``white`` and ``black``.
    nodes : int
        Number of moves that the search made on the board.
    seconds : float
        Wall time in seconds, excluding the time spent on compiling.
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
        """The side that wins; None if neither side wins or the winner is not known."""
        if self.wdl not in ("win", "loss"):
            return None
        return "white" if (self.position.side == "w") == (self.wdl == "win") else "black"


class Prover(Protocol):
    """A proof search for one variant."""

    def solve(self, position: PositionLike, *, plies_left: int | None = None) -> Solution:
        """Solve a position, as far as the node limit allows."""

    def stop(self) -> None:
        """Stop the proof that another thread is running, or the next one, within about a quarter of a second."""


# -- the installed implementations ---------------------------------------------------------


@cache
def _registered(name: str) -> tuple[EntryPoint, ...]:
    """Return the entry points registered under a name. They are cached, because a lookup takes tens of milliseconds."""
    return tuple(entry_points(group="tablut.probers", name=name))


def _first(name: str, *arguments: Any) -> Any:
    """Return the first result of the registered functions that is not None, or None if there is no such result."""
    return next((found for entry in _registered(name) if (found := entry.load()(*arguments)) is not None), None)


def find_prober(variant: VariantLike, store: Path | str | None = None) -> Prober | None:
    """Return a prober for a variant, or None if no package has a tablebase for it."""
    variant = as_variant(variant)
    prober: Prober | None = _first("tables", variant, store)
    if prober is None and store is not None:
        raise InputError(f"cannot be probed for {variant.name} by any installed package", subject=f"tablebase {store}")
    return prober


def find_prover(variant: VariantLike, nodes: int) -> Prover | None:
    """Return a prover for a variant, or None if no package has one."""
    prover: Prover | None = _first("proofs", as_variant(variant), nodes)
    return prover
