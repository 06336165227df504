"""Census: which positions are reachable, ply by ply, exactly.

`census` is the front door.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
