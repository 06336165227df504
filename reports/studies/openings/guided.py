"""A proof put together of later ones: for white the move that the engine likes, then each answer of black.

A proof search keeps all moves of white alive that look nearly as good as the best. Where the engine is sure of
one, this spends everything on it. Black's answers come one after the other, since what one has found the next ones
find in the table.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from retrograde.proofs.proving import ProofRun
from tablut.cli.runtime import progress
from tablut.play.players import PlayerOptions, make_player
from tablut.play.search.limits import SearchLimits

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from retrograde.proofs.proving import FirstMove
    from tablut.board import Board
    from tablut.running.scheduling import Scheduler

_HASH: Final = 512
"""MiB for the engine."""


class GuidedProof:
    """The search for a win of white; each position has a folder of its own in the store."""

    def __init__(self, store: Path, scheduler: Scheduler, guide: int, options: dict[str, Any]) -> None:
        self._store, self._scheduler, self._guide, self._options = store, scheduler, guide, options

    def prove(self, board: Board, name: str, plies: int) -> ProofRun:
        """Search a position with one task; if that leaves it open, the positions after it, up to so many plies on."""
        run = self._run(board, name)
        after = list[ProofRun]()
        for move in [] if run.result().status != "open" or plies == 0 else self._moves(board, run):
            board.push_text(move)
            if not board.is_game_over():
                after.append(self.prove(board, f"{name} {move}", plies - 1))
            board.pop()
            if after and after[-1].whole is None:
                return run
        return self._run(board, name, after) if after else run

    def _run(self, board: Board, name: str, after: Sequence[ProofRun] = ()) -> ProofRun:
        """Take what the store has of a position, or search it; what is proved after it becomes its proof."""
        with progress(name) as observer:
            options = {"observer": observer, "tablebase": None, **self._options}
            run = ProofRun(board.variant, board.position, "white", **options)
            if after:
                run.adopt(after)
            run.run(self._scheduler, self._store / name.replace(" ", "_"), tasks=1)
        return run

    def _moves(self, board: Board, run: ProofRun) -> list[str]:
        """Return the moves to follow: the engine's for white; all of black's, those nearest to a proof first."""
        if board.turn == "black":
            return [one.move for one in sorted(run.result().first_moves, key=_far)]
        options = PlayerOptions(hash_mib=_HASH, threads=self._options["threads"])
        player = make_player("alphabeta", board.variant, options)
        return [str(player.choose(board, SearchLimits(nodes=self._guide)).move)]


def _far(move: FirstMove) -> float:
    """Return how far a proof after a move seems to be."""
    return 0.0 if move.proof == 0 else (move.proof or math.inf) / (move.disproof or 1)
