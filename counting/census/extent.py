"""How far a census can go: where it ends, and how many positions the board has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from counting.spaces import spaces

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counting.census.count_record import CountRecord
    from counting.census.records import PlyRecord
    from tablut.variants import Variant


def ended(variant: Variant, records: Sequence[PlyRecord | CountRecord]) -> bool:
    """Return whether no more positions can be reached than those of the records, which begin with ply 0."""
    limit = variant.rules.move_limit
    return records[-1].counters["new_classes"] == 0 or (limit is not None and records[-1].ply >= limit)


def excess(variant: Variant, records: Sequence[PlyRecord | CountRecord]) -> str | None:
    """Return where more positions were reached than the board has, or None.

    A ply has one side to move, so the positions of every other ply are different
    placements: each material has so many of them, undecided.
    """
    bound = spaces(variant)["no_end"].material().rows
    for parity in (0, 1):
        some = records[parity::2]
        if not some:
            continue
        reached = np.sum([np.array(record.material, dtype=object)[0] for record in some], axis=0)
        for attackers, defenders in np.argwhere(reached > np.array(bound, dtype=object)).tolist():
            return (
                f"{reached[attackers][defenders]:,} positions with {attackers} attackers and {defenders} defenders "
                f"in plies {parity}, {parity + 2} and so on, where the board has {bound[attackers][defenders]:,}"
            )
    return None
