"""A solution read off known values: from a tablebase, or from an exhaustive listing.

Everything is asked of a `tablut.prober.Prober`: the value of the position, of its
children, and of theirs along the line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tablut.indexing.values import MISSING, unforced, value_of, verdict_of
from tablut.position import Move
from tablut.rules.outcome import OUTCOMES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tablut.engine import Engine
    from tablut.indexing.values import Verdict
    from tablut.prober import Prober


class KnownMove(NamedTuple):
    """A move with what it is worth.

    Attributes
    ----------
    move : Move
        The move.
    verdict : Verdict
        For the side that makes it; ``dtm`` counts the move.
    words : ndarray of uint64, shape (1, W)
        The position that it leads to.
    decided : bool
        Whether the move ends the game.
    """

    move: Move
    verdict: Verdict
    words: NDArray[np.uint64]
    decided: bool


def known_value(prober: Prober, words: NDArray[np.uint64]) -> Verdict | None:
    """Return the verdict on an undecided position; None if the prober does not know it."""
    (value,) = prober.probe_words(words)
    return None if value == MISSING else verdict_of(int(value), unforced=unforced(prober.variant))


def first_moves(engine: Engine, prober: Prober, words: NDArray[np.uint64]) -> list[KnownMove] | None:
    """Return all moves from an undecided position with their verdicts; None if one leads out of what is known."""
    children = engine.expand(words)
    open_children = children.outcomes == 0
    values = iter(prober.probe_words(children.words[open_children]).tolist() if open_children.any() else [])
    black = bool(engine.boards(words)[0, 2 * engine.variant.size + 1])
    found = []
    for row, (code, number) in enumerate(zip(children.moves.tolist(), children.outcomes.tolist(), strict=True)):
        outcome = OUTCOMES[number]
        if outcome is not None:
            verdict = verdict_of(1 if (outcome.winner == "black") == black else -2)
        else:
            value = next(values)
            if value == MISSING:
                return None
            verdict = _a_ply_earlier(verdict_of(value, unforced=unforced(engine.variant)))
        move = Move.from_code(code, engine.variant.size)
        found.append(KnownMove(move, verdict, children.words[row : row + 1], outcome is not None))
    return found


def _a_ply_earlier(verdict: Verdict) -> Verdict:
    """Return what a move is worth to its maker that leads to a position with a verdict."""
    if verdict.dtm is None:
        return verdict
    other = {"win": "loss", "loss": "win"}[verdict.wdl]
    return type(verdict)(other, verdict.dtm + 1)  # type: ignore[arg-type]


def known_line(engine: Engine, prober: Prober, words: NDArray[np.uint64]) -> tuple[Move, ...]:
    """Return best play by both sides from a won or lost position, as far as it is known."""
    line = []
    verdict = known_value(prober, words)
    while verdict is not None and verdict.dtm:
        moves = first_moves(engine, prober, words)
        best = None if moves is None else next(move for move in moves if move.verdict == verdict)
        if best is None:
            break
        line.append(best.move)
        if best.decided:
            break
        words = best.words
        verdict = known_value(prober, words)
    assert verdict is None or value_of(verdict) != 0
    return tuple(line)
