"""A puzzle solved move by move: which move is right, how the defence answers it, what refutes another one.

A move of the winner is right if it attains the shortest win that there is left. The defence answers with a move that
puts the end off longest. A wrong move is refuted by a reply after which no win is left within the plies that there
were. All of it is proved; what the limits leave open is None.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from retrograde.proofs.solution import ProofLimits
from retrograde.proofs.solver import Solver
from retrograde.proofs.win_search import Budget, WinSearch
from retrograde.puzzles.puzzle_file import rules_of
from tablut.board import Board
from tablut.engine import engine_for
from tablut.errors import InputError, UnknownError
from tablut.prober import find_prober
from tablut.store.files import excerpt

if TYPE_CHECKING:
    from collections.abc import Iterator

    from retrograde.proofs.solution import Solution
    from retrograde.puzzles.puzzle_file import Puzzle
    from tablut.position import Move, Position
    from tablut.prober import Prober
    from tablut.variants import Variant


class Answer(NamedTuple):
    """What a move of the winner is worth."""

    move: Move
    right: bool | None
    reply: Move | None
    over: bool


class PuzzleGame:
    """A won position being played."""

    def __init__(
        self,
        variant: Variant,
        position: Position,
        winner: Literal["white", "black"],
        plies: int,
        limits: ProofLimits | None = None,
        prober: Prober | None = None,
    ) -> None:
        limits = limits or ProofLimits()
        self.board = Board(variant, position)
        self.winner: Literal["white", "black"] = winner
        self.plies = plies
        self._engine = engine_for(variant)
        side = int(winner == "black")
        self._search = WinSearch(self._engine, side, limits.memory_bytes // 2, Budget(limits), prober)

    @property
    def nodes(self) -> int:
        """Moves that the proofs have made so far."""
        return self._search.budget.nodes

    @property
    def over(self) -> bool:
        """Whether the game is won."""
        return self.plies == 0

    def judge(self, move: Move) -> Answer:
        """Return whether a move of the winner is right, and what answers it; nothing is played."""
        with _Made(self.board, move) as outcome:
            if outcome is not None:
                return Answer(move, outcome == self.winner and self.plies == 1, None, True)
            right = self._wins_within(self.plies - 1)
            if right is None:
                return Answer(move, None, None, False)
            return Answer(move, right, self._longest(self.plies - 1) if right else self._refutation(), False)

    def right_moves(self) -> Iterator[Move]:
        """Yield the moves of the winner that attain the distance, in the order of generation."""
        for move in list(self.board.legal_moves):
            with _Made(self.board, move) as outcome:
                right = outcome == self.winner if outcome is not None else self._wins_within(self.plies - 1)
            if right:
                yield move

    def defence(self) -> Move | None:
        """Return the longest defence, the loser being to move; None if the limits ran out."""
        return self._longest(self.plies)

    def play(self, answer: Answer) -> None:
        """Make a right move and its answer."""
        self.board.push(answer.move)
        self.plies -= 1
        if answer.reply is not None:
            self.defend(answer.reply)

    def defend(self, move: Move) -> None:
        """Make a move of the defence, one of the longest."""
        self.board.push(move)
        self.plies -= 1

    def _wins_within(self, plies: int) -> bool | None:
        position = self.board.position
        return self._search.within(self._engine.board(position.cells, position.side), plies)

    def _longest(self, plies: int) -> Move | None:
        """Return a move of the loser after which the winner still needs all of the plies that are left."""
        for move in list(self.board.legal_moves):
            with _Made(self.board, move) as outcome:
                if outcome is not None:
                    lasts: bool | None = outcome == self.winner and plies == 1
                else:
                    sooner = self._wins_within(plies - 2)
                    lasts = None if sooner is None else not sooner
            if lasts is None:
                return None
            if lasts:
                return move
        return None

    def _refutation(self) -> Move | None:
        """Return a reply that leaves no win within the plies that there were; one that ends the game comes first."""
        found = None
        for move in list(self.board.legal_moves):
            with _Made(self.board, move) as outcome:
                if outcome is not None and outcome != self.winner:
                    return move
                if found is None and outcome is None and self._wins_within(self.plies - 2) is False:
                    found = move
        return found


class _Made:
    """A move made for a while; the context is who has won by it, ``draw``, or None if the game goes on."""

    def __init__(self, board: Board, move: Move) -> None:
        self._board, self._move = board, move

    def __enter__(self) -> str | None:
        self._board.push(self._move)
        outcome = self._board.outcome()
        return None if outcome is None else outcome.winner or "draw"

    def __exit__(self, *_: object) -> None:
        self._board.pop()


def open_puzzle(puzzle: Puzzle, limits: ProofLimits | None = None) -> PuzzleGame:
    """Return a puzzle ready to be played: its win is proved first."""
    found = solve_puzzle(puzzle, limits)
    if found.winner is None or found.dtm is None:
        raise InputError(f"puzzle {excerpt(puzzle.id)}: neither side can force a win, so there is nothing to play")
    return PuzzleGame(found.variant, puzzle.position, found.winner, found.dtm, limits, find_prober(found.variant))


def solve_puzzle(puzzle: Puzzle, limits: ProofLimits | None = None) -> Solution:
    """Return the solution of a puzzle's position, whatever the puzzle claims."""
    variant = rules_of(puzzle)
    found = Solver(variant, limits, find_prober(variant)).solve(puzzle.position)
    if found.wdl is None or (found.winner is not None and found.dtm is None):
        raise UnknownError(f"puzzle {excerpt(puzzle.id)}: {found.reason}; give it more with --nodes")
    return found
