"""A search put together of later ones: for white the move that the engine likes, then each answer of black.

A proof search keeps all moves of white alive that look nearly as good as the best. Where the engine is sure of
one, this spends everything on it. Black's answers come one after the other, since what one has found the next ones
find in the table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

from retrograde.proofs.certificate import after_moves
from retrograde.proofs.proving import search_of, settled
from retrograde.proofs.table import INFINITE
from tablut.engine import engine_for
from tablut.play.players import PlayerOptions, make_player
from tablut.play.search.limits import SearchLimits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from retrograde.proofs.certificate import PackedStrategy
    from retrograde.proofs.proving import Task
    from tablut.board import Board
    from tablut.running.progress import Observer

Answer = TypeVar("Answer")
_LOOK: Final = 2_000_000
"""Moves in which an answer is looked at, to find those that are nearest to a proof."""
_HASH: Final = 512
"""MiB for the engine."""


def guided(
    task: Task, *, board: Board, guide: int, plies: int, observer: Observer, known: Iterable[PackedStrategy]
) -> dict[str, Any]:
    """Search for a win in the thread that does such tasks: what this proves, the next task finds in the table.

    The board is to be the image that tasks have of the position, for the table knows no other. What strategies of the
    same winner prove is told in all images.
    """
    told, engine = search_of(task), engine_for(task.variant)
    for words, left in (after for strategy in known for after in after_moves(engine, strategy)):
        for symmetry in task.variant.symmetries:
            told.learn(engine.canonical(words, (symmetry,))[0], left)
    search = _GuidedSearch(task, board, guide, observer)
    return {"proved": search.proves(plies), "nodes": search.nodes}


class _GuidedSearch:
    def __init__(self, task: Task, board: Board, guide: int, observer: Observer) -> None:
        self._task, self._board, self._guide, self._observer = task, board, guide, observer
        self._search, self._engine = search_of(task), engine_for(task.variant)
        self.nodes = 0

    def proves(self, plies: int) -> bool:
        """Return whether a win is found, by one search or, up to so many plies on, by those of later positions."""
        board, most = self._board, self._task.nodes
        proof, disproof = self._numbers(most)
        self._observer.note(f"{' '.join(map(str, board.move_stack))}: proof {proof:,}, disproof {disproof:,}")
        if 0 in (proof, disproof) or plies == 0:
            return proof == 0
        if (board.turn == "white") == (self._task.prover == 0):
            player = make_player("alphabeta", board.variant, PlayerOptions(hash_mib=_HASH, threads=self._task.threads))
            moves = [str(player.choose(board, SearchLimits(nodes=self._guide)).move)]
        else:
            moves = sorted(map(str, board.legal_moves), key=self._far)
        # With what it rests on in the table, the position is proved there too.
        return all(self._after(move, lambda: self.proves(plies - 1)) for move in moves) and self._numbers(most)[0] == 0

    def _far(self, move: str) -> float:
        """Return how far a proof after a move seems to be."""
        proof, disproof = self._after(move, lambda: self._numbers(min(self._task.nodes, _LOOK)))
        return proof / max(1, disproof)

    def _after(self, move: str, ask: Callable[[], Answer]) -> Answer:
        """Return the answer to a question about the position after a move."""
        self._board.push_text(move)
        answer = ask()
        self._board.pop()
        return answer

    def _numbers(self, nodes: int) -> tuple[int, int]:
        """Return proof and disproof number of the position on the board, of a search with so many moves."""
        if self._board.is_game_over():
            return (0, INFINITE) if self._board.result() == ("white", "black")[self._task.prover] else (INFINITE, 0)
        position = self._engine.board(self._board.position.cells, self._board.position.side)
        proof, disproof, _, made = settled(self._search, position, nodes)
        self.nodes += made
        return proof, disproof
