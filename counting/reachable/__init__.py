"""Estimates of the number of counted positions that can be reached, based on lemmas, proof games and certificates.

`estimate` and `check_file` are the main entry points. The module `lemmas` excludes positions, `tallies` applies the
lemmas to many samples, `games` finds proof games and lists whole backward trees, and `drawing` draws samples. The
module `certificates` stores the results, and `checker` checks them with the naive rules.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
