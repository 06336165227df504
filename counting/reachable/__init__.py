"""Which counted positions can be reached: lemmas, proof games, certificates and estimates.

`estimate` and `check_file` are the front door. `lemmas` excludes positions, `games` finds proof games and lists whole
backward trees, `drawing` draws samples, `certificates` and `checker` keep and check what was found, the latter by the
plain rules.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
