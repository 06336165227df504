"""Perfect indices: between integers and the undecided placements, whole or tier by tier.

`placements` numbers all of them, in Python integers; `tiers` numbers the classes under
the symmetries, one tier at a time, as the solver stores them; `tier_kernels` is the
same numbering, compiled.
"""

from tablut.indexing.placements import PlacementIndex, PlacementTier, rank_combination, unrank_combination

__all__ = ["PlacementIndex", "PlacementTier", "rank_combination", "unrank_combination"]
