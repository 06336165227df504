"""The openings of the construction: games from the start to placements with everything parked but full camps.

One camp, the token camp, has lost one, two or three attackers; these are parked above, as are four defenders; the
other four defenders are parked below. The king is on the castle or parked above.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np

from counting.reachable.checker import Checker
from counting.reachable.construction.layout import CAMPS, CASTLE, SIZE
from counting.reachable.construction.plies import parked
from counting.reachable.construction.steps import StepChecks, full_board
from counting.reachable.construction.summing import RegionMaterial
from counting.reachable.games import finder_for
from tablut.engine import engine_for
from tablut.rules import NaivePosition
from tablut.variants import load_variant

CENTRE: Final = 0b0001
TIP: Final = 0b1000
_FULL: Final = 0b1111


class Opening(NamedTuple):
    """One opening."""

    camp: int
    held: int
    king: int
    side: str


OPENINGS: Final = tuple(
    Opening(camp, held, king, side)
    for camp in range(len(CAMPS))
    for held in range(1, _FULL)
    if bool(held & CENTRE) != bool(held & TIP)
    for king in (0, 1)
    for side in "wb"
)


def opening_position(opening: Opening) -> NaivePosition:
    """Return the position in which an opening ends."""
    out = 4 - opening.held.bit_count()
    regions = {0: parked(RegionMaterial(out, 4, opening.king)), 1: parked(RegionMaterial(0, 4, 0))}
    pieces = full_board(regions)
    if not opening.king:
        pieces[CASTLE % SIZE, CASTLE // SIZE] = "K"
    for number, camp in enumerate(CAMPS):
        held = opening.held if number == opening.camp else _FULL
        pieces |= {(cell % SIZE, cell // SIZE): "b" for bit, cell in enumerate(camp) if held >> bit & 1}
    return NaivePosition(pieces, opening.side)


@lru_cache(maxsize=1)
def _games() -> dict[Opening, tuple[tuple[int, int], ...]]:
    """Return a game to each opening; none where the search gave up."""
    variant = load_variant("ashton")
    engine = engine_for(variant)
    positions = [opening_position(opening) for opening in OPENINGS]
    boards = [
        engine.board("".join(p.pieces.get((c % SIZE, c // SIZE), ".") for c in range(SIZE * SIZE)), p.side)
        for p in positions
    ]
    found = finder_for(variant).find(np.array(boards))
    return {opening: game.moves for opening, game in zip(OPENINGS, found, strict=True) if game.status == "game"}


def opening_moves(opening: Opening) -> tuple[tuple[int, int], ...]:
    """Return a game from the start to an opening's position."""
    return _games()[opening]


def check_openings() -> StepChecks:
    """Replay a game to every opening by the plain rules."""
    checker = Checker(load_variant("ashton"))
    failures = []
    for opening in OPENINGS:
        moves = _games().get(opening)
        wrong = "no game was found" if moves is None else checker.game(opening_position(opening), list(moves))
        if wrong is not None:
            failures.append(f"{opening}: {wrong}")
    return StepChecks(len(OPENINGS), tuple(failures))
