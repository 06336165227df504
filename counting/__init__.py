"""How many: the published bounds of Tablut's complexity regenerated, corrected and tightened.

`bounds` is the front door; `tests.twins.brute` is the naive twin that enumerates
small boards placement by placement.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
