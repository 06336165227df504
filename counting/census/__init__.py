"""Census: an exact count of the positions that are reachable from the start, ply by ply.

`census` is the main entry point.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
