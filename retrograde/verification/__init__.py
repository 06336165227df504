"""Verification of tablebases: every value is derived from the successors' values, and positions are played out.

`verify` is the public entry point. Verification shares only the following with the solver (`retrograde.solver`):

* **The rules in compiled code** (`tablut.engine`): the legal moves, and the effect of a ply on a
  board. Separate tests compare the compiled rules with the plain rules (`tablut.rules.naive`).
* **The index** (`tablut.indexing`): the orbits of the king's cells, and the entry of a position.
  The proof tests the index as well: each image of each placement must have the same entry, and the
  orbits must add up to the number of placements.
* **The meaning of value codes** (`tablut.indexing.values`).

Verification does not share passes, counters, reverse moves or arrays with the solver, and it enumerates a tier's
placements independently. Playing out positions (`retrograde.verification.verifying`) shares even less: it uses the
plain rules, which have nothing in common with the compiled rules. Stored values are looked up with the plain Python
index, and affect only which move is tried first.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
