"""The naive twin of the census: sets of positions and the plain-Python rules.

Slow (about ten thousand positions a second) and independent: it uses no packed words, hashes,
leaves or kernels of the census, only the square's symmetries.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tablut.rules import NaiveGame, NaivePosition
from tablut.variants import as_variant

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tablut.variants import Variant, VariantLike

_Key = tuple[tuple[tuple[tuple[int, int], str], ...], str, str]


def naive_census(variant: VariantLike, plies: int | None = None) -> list[dict[str, int]]:
    """Return the numbers of every ply, found without symmetry; classes are counted afterwards."""
    variant = as_variant(variant)
    game = NaiveGame(variant)
    start = game.start()
    known = {_key(start, "")}
    frontier = [start]
    fresh: set[_Key] = set(known)
    captures = captured = 0
    found: list[dict[str, int]] = []
    while True:
        undecided = {item for item in fresh if not item[2]}
        decided = fresh - undecided
        if found and not fresh:
            return found
        legal = [(position, game.legal_moves(position)) for position in frontier]
        found.append(
            {
                "new": len(undecided),
                "new_classes": _classes(variant, undecided),
                "decided": len(decided),
                "decided_classes": _classes(variant, decided),
                "black_wins": sum(item[2] == "black" for item in decided),
                "captures": captures,
                "captured": captured,
                "moves": sum(len(moves) for _, moves in legal),
            }
        )
        if plies is not None and len(found) > plies:
            return found
        captures = captured = 0
        fresh, frontier = set(), []
        for position, moves in legal:
            for move in moves:
                result = game.apply(position, move)
                captures += bool(result.captured)
                captured += len(result.captured)
                winner = "" if result.outcome is None else str(result.outcome.winner)
                child = _key(result.position, winner)
                if child not in known:
                    known.add(child)
                    fresh.add(child)
                    if not winner:
                        frontier.append(result.position)


def _key(position: NaivePosition, winner: str) -> _Key:
    return tuple(sorted(position.pieces.items())), position.side, winner


def _classes(variant: Variant, keys: Iterable[_Key]) -> int:
    """Return how many classes some positions have under the symmetries that keep the start."""
    group, size = variant.start_symmetries, variant.size
    found = set()
    for pieces, side, winner in keys:
        images = []
        for symmetry in group:
            turned = ((divmod(symmetry.table[file + size * rank], size), piece) for (file, rank), piece in pieces)
            images.append(tuple(sorted(turned)))
        found.add((min(images), side, winner))
    return len(found)
