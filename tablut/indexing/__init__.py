"""Perfect indices between integers and placements: undecided ones, whole or tier by tier, and final ones.

`placements` numbers all of them, in Python integers; `tiers` numbers the classes under
the symmetries, one tier at a time, as the solver stores them; `tier_kernels` is the
same numbering, compiled.
"""

from tablut.indexing.placements import (
    ENDINGS,
    Ending,
    EndingIndex,
    FinalPlacement,
    PlacementIndex,
    PlacementTier,
    rank_combination,
    unrank_combination,
)

__all__ = [
    "ENDINGS",
    "Ending",
    "EndingIndex",
    "FinalPlacement",
    "PlacementIndex",
    "PlacementTier",
    "rank_combination",
    "unrank_combination",
]
