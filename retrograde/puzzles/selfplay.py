"""Positions from self-play: games of careless, greedy and careful players, seeded.

The players know little, and differ. All take a win of the moment. A greedy one
captures where it can; a careful one rejects moves after which the other side wins within
three plies, as long as it finds another. Random play falls apart in a few plies;
careful play stays in tension, and that is where long wins are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from retrograde.proofs.solution import ProofLimits
from retrograde.proofs.win_search import Budget, WinSearch
from tablut.engine import engine_for
from tablut.engine.layout import ATTACKERS_AT, DEFENDERS_AT, KING_AT, SIDE_AT, head
from tablut.position import Position
from tablut.rules.outcome import OUTCOMES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from tablut.engine import Engine
    from tablut.variants import Variant

_TABLE_BYTES = 1 << 20
_LOOK = 3


class Style(NamedTuple):
    """How a player chooses."""

    greed: float
    care: int
    roam: float


STYLES = (Style(0.0, 0, 0.0), Style(0.6, 0, 0.5), Style(0.5, 6, 0.4), Style(0.9, 12, 0.1))


def self_play(
    variant: Variant, rng: np.random.Generator, plies: int, styles: tuple[Style, Style] | None = None
) -> Iterator[Position]:
    """Yield the undecided positions of a game, the start first."""
    engine = engine_for(variant)
    if styles is None:
        first, second = rng.integers(len(STYLES), size=2)
        styles = STYLES[first], STYLES[second]
    budget = Budget(ProofLimits())
    searches = [WinSearch(engine, side, _TABLE_BYTES, budget) for side in (0, 1)]
    board = engine.start()
    for ply in range(plies + 1):
        cells, side = engine.cells(board)
        yield Position(cells, side)  # type: ignore[arg-type]
        if ply == plies:
            return
        chosen = _choose(engine, board, styles[side == "b"], searches, rng)
        if chosen is None:
            return
        board = chosen


def _choose(
    engine: Engine,
    board: NDArray[np.uint32],
    style: Style,
    searches: list[WinSearch],
    rng: np.random.Generator,
) -> NDArray[np.uint32] | None:
    """Return the position after a player's move; None if the game ends."""
    mover = int(head(board)[SIDE_AT])
    children = engine.expand(engine.words(board))
    if not len(children.words) or any(
        outcome is not None and outcome.winner == ("white", "black")[mover]
        for outcome in map(OUTCOMES.__getitem__, children.outcomes)
    ):
        return None
    boards = engine.boards(children.words[children.outcomes == 0])
    if not len(boards):
        return None
    soldiers = [ATTACKERS_AT, DEFENDERS_AT]
    captures = head(boards)[:, soldiers].sum(axis=1) < head(board)[soldiers].sum()
    order = rng.permutation(len(boards))
    if mover == 0 and rng.random() < style.roam:
        king = head(boards)[:, KING_AT] != head(board)[KING_AT]
        order = np.concatenate([order[king[order]], order[~king[order]]])
    if rng.random() < style.greed:
        order = np.concatenate([order[captures[order]], order[~captures[order]]])
    enemy = searches[mover ^ 1]
    for place in order[: style.care]:
        child = boards[place]
        if engine.count_moves(child, mover ^ 1) and not enemy.within(child, _LOOK, 20_000):
            return np.array(child)
    chosen = np.array(boards[order[0]])
    return chosen if engine.count_moves(chosen, mover ^ 1) else None
