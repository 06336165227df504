"""Solving a puzzle move by move, with the correct moves, the defence's replies and refutations of wrong moves.

A move by the winner is correct if it attains the shortest win from the position. The defence replies with a move that
delays the end as long as possible. A wrong move is refuted by a reply after which there is no win within the plies that
were left. All of these results are proved. A result is None if the limits were reached before it was proved.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from retrograde.proofs.solver import Solver
from retrograde.proofs.win_search import ProofBudget, ProofLimits, WinSearch
from retrograde.puzzles.puzzle_file import Puzzle, rules_of
from tablut.board import Board
from tablut.engine import engine_for
from tablut.errors import InputError, UnknownError
from tablut.position import Move, Position, SideName
from tablut.prober import Prober, Solution, find_prober
from tablut.results import Result, SparseResult
from tablut.variants import Variant
from tablut.work.files import excerpt

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class JudgedMove(NamedTuple):
    """A judged move by the winner: whether it is correct, the reply to it, and whether the move ends the game."""

    move: Move
    right: bool | None
    reply: Move | None
    over: bool


class PuzzleGame:
    """A game played from a won position. ``plies`` is the number of plies left until the end of the game."""

    def __init__(
        self,
        variant: Variant,
        position: Position,
        winner: SideName,
        plies: int,
        limits: ProofLimits | None = None,
        prober: Prober | None = None,
    ) -> None:
        limits = limits or ProofLimits()
        self.board = Board(variant, position)
        self.winner: SideName = winner
        self.plies = plies
        self._engine = engine_for(variant)
        side = int(winner == "black")
        self._search = WinSearch(self._engine, side, limits.memory_bytes // 2, ProofBudget(limits), prober)

    @property
    def nodes(self) -> int:
        """Number of moves that the proofs have made so far."""
        return self._search.budget.nodes

    def stop(self) -> None:
        """End the proof that another thread is waiting for, and all later ones. Their results are None."""
        self._search.budget.stop()

    @property
    def spent(self) -> bool:
        """Whether the limits were reached, so that a result that is missing may only be unproved."""
        return self._search.budget.left == 0

    @property
    def over(self) -> bool:
        """Whether the game is won."""
        return self.plies == 0

    def judge(self, move: Move) -> JudgedMove:
        """Judge a move by the winner, without playing it."""
        with _made(self.board, move) as outcome:
            if outcome is not None:
                return JudgedMove(move, outcome == self.winner and self.plies == 1, None, True)
            right = self._wins_within(self.plies - 1)
            if right is None:
                return JudgedMove(move, None, None, False)
            return JudgedMove(move, right, self._longest(self.plies - 1) if right else self._refutation(), False)

    def right_moves(self) -> Iterator[Move]:
        """Yield the winner's moves that attain the distance, in the order of generation."""
        yield from (move for move in list(self.board.legal_moves) if self._attains(move, self.plies))

    def defence(self) -> Move | None:
        """Return a move that delays the loss longest, or None if the limits were reached. The loser must be to move."""
        return self._longest(self.plies)

    def play(self, judged: JudgedMove) -> None:
        """Make a correct move and the reply to it."""
        self.board.push(judged.move)
        self.plies -= 1
        if judged.reply is not None:
            self.defend(judged.reply)

    def defend(self, move: Move) -> None:
        """Make a move for the loser that delays the end as long as possible."""
        self.board.push(move)
        self.plies -= 1

    def _wins_within(self, plies: int) -> bool | None:
        return self._search.within(self._array(), plies)

    def _array(self) -> NDArray[np.uint32]:
        """Return the current position's array."""
        position = self.board.position
        return self._engine.board(position.cells, position.side)

    def _longest(self, plies: int) -> Move | None:
        """Return a move by the loser after which the winner still needs all the remaining plies, or None if unknown."""
        for move in list(self.board.legal_moves):
            lasts = self._attains(move, plies)
            if lasts is not False:
                return move if lasts else None
        return None

    def _attains(self, move: Move, plies: int) -> bool | None:
        """Return whether a move of either side leads to a win in exactly ``plies`` plies; None if this is unknown."""
        with _made(self.board, move) as outcome:
            if outcome is not None:
                return outcome == self.winner and plies == 1
            return self._search.attains(self._array(), None, plies)

    def _refutation(self) -> Move | None:
        """Return a reply after which there is no win within the plies left. A reply that ends the game is preferred."""
        refutation = None
        for move in list(self.board.legal_moves):
            with _made(self.board, move) as outcome:
                if outcome is not None and outcome != self.winner:
                    return move
                if refutation is None and outcome is None and self._wins_within(self.plies - 2) is False:
                    refutation = move
        return refutation


@contextmanager
def _made(board: Board, move: Move) -> Iterator[str | None]:
    """Make a move within a context. Yield the winner's name, ``draw``, or None if the game continues."""
    board.push(move)
    try:
        outcome = board.outcome()
        yield None if outcome is None else outcome.winner or "draw"
    finally:
        board.pop()


def open_puzzle(puzzle: Puzzle, limits: ProofLimits | None = None) -> PuzzleGame:
    """Prove a puzzle's win, and return a game that can be played from its position."""
    solution = solve_puzzle(puzzle, limits)
    if solution.winner is None or solution.dtm is None:
        raise InputError(
            "cannot be played, because neither side can force a win", subject=f"puzzle {excerpt(puzzle.id)}"
        )
    return PuzzleGame(
        solution.variant, puzzle.position, solution.winner, solution.dtm, limits, find_prober(solution.variant)
    )


def solve_puzzle(puzzle: Puzzle, limits: ProofLimits | None = None) -> Solution:
    """Solve a puzzle's position, ignoring the puzzle's claims."""
    variant = rules_of(puzzle)
    solution = Solver(variant, limits, find_prober(variant)).solve(puzzle.position)
    if solution.wdl is None or (solution.winner is not None and solution.dtm is None):
        raise UnknownError(solution.reason, subject=f"puzzle {excerpt(puzzle.id)}", remedy="allow more `nodes`")
    return solution


# -- the whole solution as a tree, which `reports.studies.puzzle_trees` makes --------------
# With the tree, a program can play the puzzle without an implementation of the rules: the tree contains every legal
# move and the pieces that it captures. A position that can be reached by several lines of play is one node.


class TreeMove(SparseResult):
    """A move by the winner and the reply to it. ``to`` is the number of the node after both moves."""

    takes: tuple[str, ...] = ()
    reply: str | None = None
    reply_takes: tuple[str, ...] = ()
    to: int | None = None


class TreeNode(Result):
    """A position with the winner to move."""

    position: str
    plies: int
    right: dict[str, TreeMove]
    wrong: dict[str, TreeMove]


class PuzzleTree(Result):
    """A puzzle with every position that can occur while a player solves it."""

    id: str
    variant: str
    position: str
    winner: str
    plies: int
    opening: str | None = None
    opening_takes: tuple[str, ...] = ()
    nodes: list[TreeNode]


class PuzzleTrees(Result):
    """The trees of a file's puzzles."""

    file: str
    nodes: int
    interrupted: bool = False
    puzzles: list[PuzzleTree]
