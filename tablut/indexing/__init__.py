"""Perfect indices, which are bijections between integers and undecided or final placements.

`placements` numbers all placements of a variant with Python integers. `tiers` numbers the classes of placements under
the symmetries, one tier at a time, in the solver's storage order. A tier consists of all undecided
placements with the same material. `tier_kernels` is the compiled implementation of the numbering in `tiers`.
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
