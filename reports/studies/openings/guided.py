"""A search put together of later ones: for white the move that the engine likes, then each answer of black.

A proof search keeps all moves of white alive that look nearly as good as the best. Where the engine is sure of
one, this spends everything on it. Black's answers come one after the other, since what one has found the next ones
find in the table.
"""

from __future__ import annotations

from threading import Lock, get_ident
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from retrograde.proofs.certificate import after_moves, joined, text_of
from retrograde.proofs.proving import proved_task, run_task, search_of, settled
from retrograde.proofs.table import INFINITE
from tablut.board import Board
from tablut.engine import engine_for
from tablut.play.players import PlayerOptions, make_player
from tablut.play.search.limits import SearchLimits
from tablut.position import Move
from tablut.running.clocks import wall_clock

if TYPE_CHECKING:
    from collections.abc import Callable

    from retrograde.proofs.certificate import PackedStrategy
    from retrograde.proofs.proving import ProofRun, Task
    from tablut.running.progress import Observer

Answer = TypeVar("Answer")
_LOOK: Final = 2_000_000
"""Moves in which an answer is looked at, to find those that are nearest to a proof."""
_HASH: Final = 512
"""MiB for the engine."""


def given_moves(board: Board, line: str) -> dict[str, str]:
    """Return white's moves of a line from a board by their positions, in all images."""
    given = dict[str, str]()
    for move in line.split():
        if board.turn == "white":
            for symmetry in board.variant.symmetries:
                image = board.position.transformed(symmetry)
                given[str(image)] = str(Move.parse(move, image.size).transformed(symmetry))
        board.push_text(move)
    return given


def guided(
    task: Task, *, board: Board, guide: int, plies: int, observer: Observer, given: dict[str, str]
) -> dict[str, Any]:
    """Search for a win in the thread that does such tasks: what this proves, the next task finds in the table.

    The board is to be the image that tasks have of the position, for the table knows no other. A move that is given
    for a position comes before the engine's.
    """
    search = _GuidedSearch(task, board, guide, observer, given)
    return {"proved": search.proves(plies), "nodes": search.nodes}


class GuidedWork:
    """Does tasks of a run, guided, in threads of this process; the strategies that the run has are known to each.

    What is found is told with its plies, nodes and seconds. An outline is known too, but what rests on it is read out.
    """

    def __init__(
        self,
        run: ProofRun,
        *,
        guide: int,
        plies: int,
        observer: Observer,
        given: dict[str, str],
        found: Callable[[bytes, int, int, float], None],
        outline: PackedStrategy | None = None,
    ) -> None:
        self._run, self._found, self._outline = run, found, [] if outline is None else [outline]
        self._options: dict[str, Any] = {"guide": guide, "plies": plies, "observer": observer, "given": given}
        self._lock, self._told = Lock(), dict[int, int]()
        self._first: list[PackedStrategy] | None = None
        self._joined = 0

    def __call__(self, task: Task) -> dict[str, Any]:
        """Do a task."""
        began, engine = wall_clock(), engine_for(task.variant)
        self._tell(task)
        own = np.frombuffer(task.words, dtype=np.uint64)[None]
        board = Board(task.variant, text_of(engine, engine.boards(own)[0]))
        answer = guided(task, board=board, **self._options)
        if not answer["proved"]:
            left = run_task(task)
            left["rows"]["nodes"][0] += answer["nodes"]
            return left
        done = proved_task(task, answer["nodes"], self._known())
        with self._lock:
            self._found(task.words, int(done["rows"]["plies"][0]), answer["nodes"], wall_clock() - began)
        return done

    def _known(self) -> list[PackedStrategy]:
        """Return what the run has, those that were there at first as one."""
        with self._lock:
            now = self._run.strategies
            if self._first is None:
                self._joined = len(now)
                self._first = [joined(self._run.engine, now)] if now else []
            return [*self._first, *now[self._joined :]]

    def _tell(self, task: Task) -> None:
        """Write what is known to the table of this thread, in all images, but once."""
        search, engine, known = search_of(task), engine_for(task.variant), [*self._outline, *self._known()]
        fresh = known[self._told.get(get_ident(), 0) :]
        for words, left in (after for strategy in fresh for after in after_moves(engine, strategy)):
            for symmetry in task.variant.symmetries:
                search.learn(engine.canonical(words, (symmetry,))[0], left)
        self._told[get_ident()] = len(known)


class _GuidedSearch:
    def __init__(self, task: Task, board: Board, guide: int, observer: Observer, given: dict[str, str]) -> None:
        self._task, self._board, self._guide, self._observer = task, board, guide, observer
        self._given = given
        self._search, self._engine = search_of(task), engine_for(task.variant)
        self.nodes = 0

    def proves(self, plies: int) -> bool:
        """Return whether a win is found, by one search or, up to so many plies on, by those of later positions."""
        board, most = self._board, self._task.nodes
        proof, disproof = self._numbers(most)
        self._observer.note(f"{' '.join(map(str, board.move_stack))}: proof {proof:,}, disproof {disproof:,}")
        if 0 in (proof, disproof) or plies == 0:
            return proof == 0
        if (move := self._given.get(str(board.position))) is not None:
            moves = [move]
        elif (board.turn == "white") == (self._task.prover == 0):
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
