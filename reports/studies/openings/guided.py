"""Tasks in a proof search where the engine suggests white's moves and all tasks share what has been proved.

A proof search normally pursues all white moves that look nearly as good as the best move. Here the engine chooses a
move, and the search continues after this move; the other moves are tried only if it fails. Whatever a task proves is
extracted immediately. This keeps it and enters it in all other tasks' tables, with all its symmetric images. All of
black's replies must be proved to lose. The easy replies are searched first, because their results help with the others.
"""

from __future__ import annotations

from threading import Lock, get_ident
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from retrograde.proofs.proving import Rows, run_task, search_of
from retrograde.proofs.strategy import PackedStrategy, after_moves, joined, text_of
from retrograde.proofs.table import INFINITE
from tablut.board import Board
from tablut.engine import engine_for
from tablut.play.players import PlayerOptions, make_player
from tablut.play.search.limits import SearchLimits
from tablut.position import Move

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from retrograde.proofs.proving import ProofRun, Task
    from tablut.work.progress import Observer

_OTHERS: Final = 64
"""Factor applied to the proof numbers of all moves except the chosen one."""
_HASH: Final = 512
"""Size of the engine's transposition table in MiB."""


def given_moves(board: Board, line: str) -> dict[str, str]:
    """Return the moves that white makes in a line of play, as a dictionary from positions to moves.

    The line starts at the given board. All symmetric images are included.
    """
    given = dict[str, str]()
    for move in line.split():
        if board.turn == "white":
            for symmetry in board.variant.symmetries:
                image = board.position.transformed(symmetry)
                given[str(image)] = str(Move.parse(move, image.size).transformed(symmetry))
        board.push_text(move)
    return given


class GuidedWork:
    """Worker that runs a proof's tasks in threads of this process. All tasks use the strategies proved so far.

    A given move for a position takes precedence over the engine's choice. The tasks also treat the positions in an
    outline as won, but proofs that depend on them are still extracted.
    """

    def __init__(
        self,
        run: ProofRun,
        *,
        guide: int,
        given: dict[str, str],
        observer: Observer,
        outline: PackedStrategy | None = None,
    ) -> None:
        self._run, self._outline = run, [] if outline is None else [outline]
        run.tree.easy = True
        self._guide, self._given, self._observer = guide, given, observer
        self._lock, self._told = Lock(), dict[int, int]()
        self._parts, self._joined = list[PackedStrategy](), 0

    def __call__(self, task: Task) -> Rows:
        """Run a task and return its result."""
        self._learn(task)
        if task.plies:
            return run_task(task, self._known())
        rows = run_task(task)
        if rows["proof"][0] == 0:
            return np.concatenate([rows, run_task(task._replace(plies=int(rows["plies"][0])), self._known())])
        if rows["disproof"][0] and self._run.tree.nodes[task.words].mine:
            self._prefer(task, rows)
        return rows

    def _prefer(self, task: Task, rows: NDArray[Any]) -> None:
        """Make the tree continue after the given move, or after the engine's choice if no move is given."""
        engine = engine_for(task.variant)
        board = Board(task.variant, text_of(engine, engine.boards(rows["words"][:1])[0]))
        move = self._given.get(str(board.position))
        if move is None:
            player = make_player("alphabeta", task.variant, PlayerOptions(hash_mib=_HASH, threads=task.threads))
            move = str(player.choose(board, SearchLimits(nodes=self._guide)).move)
        board.push_text(move)
        words = engine.words(engine.board(board.position.cells, board.position.side))
        (chosen,), _ = engine.canonical(words, task.variant.symmetries)
        others = (rows["words"] != chosen).any(axis=1) & (rows["proof"] < INFINITE)
        others[0] = False
        rows["proof"][others] = np.minimum(rows["proof"][others] * _OTHERS, INFINITE - 1)
        self._observer.note(f"{board.position} after {move}")

    def _known(self) -> list[PackedStrategy]:
        """Return the run's strategies, merged into a few larger strategies."""
        with self._lock:
            now, engine = self._run.strategies, self._run.engine
            if fresh := now[self._joined :]:
                part = joined(engine, fresh)
                while self._parts and len(self._parts[-1]) < 4 * len(part):
                    part = joined(engine, [self._parts.pop(), part])
                self._parts.append(part)
            self._joined = len(now)
            return list(self._parts)

    def _learn(self, task: Task) -> None:
        """Enter the positions from new strategies, with their symmetric images, in this thread's table."""
        search, engine, known = search_of(task), engine_for(task.variant), [*self._outline, *self._run.strategies]
        fresh = known[self._told.get(get_ident(), 0) :]
        for words, left in (after for strategy in fresh for after in after_moves(engine, strategy)):
            for symmetry in task.variant.symmetries:
                search.learn(engine.canonical(words, (symmetry,))[0], left)
        self._told[get_ident()] = len(known)
