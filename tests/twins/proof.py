"""The plain proof of a tier: the oracle of `retrograde.verification.proof`; and of a win within some plies.

It takes the rules in plain Python (`tablut.rules.NaiveGame`) and the plain index, and shares nothing compiled with the
fast one. Some hundred values a second.
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, NamedTuple

from retrograde.proofs.certificate import ProofCertificate
from retrograde.proofs.strategy_checker import StrategyCheck
from tablut.position import Position
from tablut.rules import NaiveGame

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import numpy as np

    from tablut.indexing.tiers import TierIndex
    from tablut.variants import Variant

    Codes = Mapping[tuple[int, int], tuple[np.ndarray, np.ndarray]]


class PlainProof(NamedTuple):
    """What the proof of a tier finds; a wrong value is (entry, side to move, code by the successors)."""

    checked: int
    aliases: int
    orbits: int
    codes: Counter[tuple[int, int]]
    wrong: list[tuple[int, int, int]]


def plain_proof(
    index: TierIndex, indices: Mapping[tuple[int, int], TierIndex], codes: Codes, entries: Iterable[int] | None = None
) -> PlainProof:
    """Prove all values of a tier, or those of some entries; the stored codes and the indices are by material."""
    variant = index.variant
    game = NaiveGame(replace(variant, rules=variant.rules.model_copy(update={"move_limit": None})))
    material = index.attackers, index.defenders
    aliases = orbits = 0
    counts: Counter[tuple[int, int]] = Counter()
    wrong = []

    def stored(position: Position) -> int:
        return int(codes[position.material][position.side == "b"][indices[position.material].rank(position)])

    for entry in range(index.size) if entries is None else entries:
        if index.rank(index.unrank(entry, "w")) != entry:
            aliases += 1
            continue
        orbits += len({str(index.unrank(entry, "w").transformed(symmetry)) for symmetry in index.kings.group})
        for side in (0, 1):
            position = index.unrank(entry, "wb"[side])
            found = int(codes[material][side][entry])
            counts[side, found] += 1
            proved = _value(game, position, stored)
            if proved != found:
                wrong.append((entry, side, proved))
    return PlainProof(counts.total(), aliases, orbits, counts, wrong)


def _value(game, position: Position, stored) -> int:
    """Return the code that a position has by its successors: 2 * plies for a win, one more for a loss, or 0."""
    start = game.read(str(position))
    wins, losses, is_open = [], [], False
    for move in game.legal_moves(start):
        result = game.apply(start, move)
        if result.outcome is not None:
            (wins if result.outcome.winner[0] == position.side else losses).append(1)
            continue
        code = stored(Position.parse(game.write(result.position), game.size))
        if code == 0:
            is_open = True
        else:
            (wins if code % 2 else losses).append(code // 2 + 1)
    if wins:
        return 2 * min(wins)
    return 0 if is_open else 2 * max(losses, default=0) + 1


def wins_within(variant: Variant, position: str, winner: Literal["white", "black"], plies: int) -> bool:
    """Return whether a side can force a win within so many plies, by trying everything in plain Python.

    The twin of `retrograde.proofs.win_search.WinSearch.within`.
    """
    claim = ProofCertificate(
        variant=None, game=variant.digest, position=position, winner=winner, plies=0, plies_left=None, strategy={}
    )
    check = StrategyCheck(variant, claim, most_plies=sys.maxsize)
    return check.wins_within(check.root, plies)
