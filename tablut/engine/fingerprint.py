"""The behaviour fingerprint: one short signature of what the engine does on a fixed set of positions.

The set is made by the engine itself: from the start of every shipped variant a game
is played whose moves are chosen by the Zobrist keys, and some of its positions are
kept. Two plies from each are made and judged. Moves, captures, outcomes, keys, packing
and canonical forms all enter; their speed does not.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

from tablut.engine.engine import engine_for
from tablut.variants import shipped_variants

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tablut.engine.engine import Engine

__all__ = ["fingerprint"]

_PLIES = 24
_EVERY = 6


def fingerprint() -> str:
    """Return the signature, 16 hexadecimal digits.

    Returns
    -------
    str
        The beginning of the SHA-256 of everything observed.
    """
    digest = hashlib.sha256()
    for variant in shipped_variants():
        engine = engine_for(variant)
        for board in _game(engine):
            statistics = engine.perft_applied(board, 2)
            outcomes = sorted((str(outcome), count) for outcome, count in statistics.outcomes.items())
            children = engine.expand(engine.words(board))
            canonical, _ = engine.canonical(children.words)
            line = (variant.name, statistics.nodes, statistics.captured, statistics.key_sum, outcomes)
            digest.update(repr(line).encode())
            digest.update(np.ascontiguousarray(children.words, dtype="<u8").tobytes())
            digest.update(np.ascontiguousarray(canonical, dtype="<u8").tobytes())
    return digest.hexdigest()[:16]


def _game(engine: Engine) -> list[NDArray[np.uint32]]:
    """Return positions of a game in which the key of each position chooses the move."""
    board, kept = engine.start(), []
    for ply in range(_PLIES):
        if ply % _EVERY == 0:
            kept.append(board.copy())
        moves = engine.legal_moves(board)
        if not len(moves):
            break
        _, outcome = engine.make(board, int(moves[engine.key(board) % len(moves)]))
        if outcome:
            break
    return kept
