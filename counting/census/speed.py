"""How fast a census goes on this machine, for ``tablut bench``."""

from __future__ import annotations

from counting.census.run import census
from tablut.variants import load_variant

__all__ = ["census_pps"]


def census_pps() -> float:
    """Return children expanded, made canonical and freed of duplicates, per CPU second of one thread.

    Measured on the complete census of ``ashton-5-4v2``: 64 million children.

    Returns
    -------
    float
        At least 0.
    """
    report = census(load_variant("ashton-5-4v2"), plies=None)
    return report.children_per_cpu_second or 0.0
