"""Puzzles: files of positions, each with a claim to prove, and the built-in collection.

A `Puzzle` corresponds to one line of a file. `retrograde.proofs` solves the positions.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
