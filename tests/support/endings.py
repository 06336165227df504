"""The game, the positions and the files that tests of damaged tablebases share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tablut.indexing import PlacementIndex
from tablut.variants import load_variant

if TYPE_CHECKING:
    from pathlib import Path

    from tablut.position import Position

__all__ = ["GAME", "MEN", "POSITIONS", "TIERS", "contents"]

GAME = load_variant("ashton-5-4v0")
MEN = 3
TIERS = ((1, 0), (2, 0))


def contents(root: Path) -> dict[str, bytes]:
    """Return the files of a store, but for what no two builds have in common."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and "provenance" not in path.parts and path.name != "lock"
    }


def every_position() -> list[Position]:
    """Return a seventh of all positions of the tiers."""
    placements = PlacementIndex(GAME)
    return [
        placements.unrank_in_tier(*material, rank, side)  # type: ignore[arg-type]
        for material in TIERS
        for rank in range(0, placements.tiers[material].size, 7)
        for side in "wb"
    ]


POSITIONS = every_position()
