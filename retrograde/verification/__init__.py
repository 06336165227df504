"""Verification: every stored value proved anew out of those of its successors, and games played out by the naive rules.

`verify` is the front door. This is all that it shares with the solver (`retrograde.solver`):

* **The rules in compiled code** (`tablut.engine`): the legal moves, and what a ply does to a
  board. They are held to the naive rules by tests of their own.
* **The index** (`tablut.indexing`): the orbits of the king's cells, and the entry of a position.
  The proof tests it as well: each image of each placement must have the same entry, and the
  orbits must add up to the number of placements.
* **What a code says** (`tablut.indexing.values`).

It shares no pass, no counter, no move backward and no array with the solver, and it lists the
placements of a tier by itself. Positions that are played out (`retrograde.verification.playing`)
share less: they are judged by the naive rules, which share nothing with the compiled ones.
Stored values say there which move to try first, found by the plain index.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
