"""Puzzles: files of positions with what is to be shown, and the collection that ships.

`Puzzle` is one line of a file. Positions are solved by `retrograde.proofs`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
