"""Positions, moves and games in the notations of other programs; `tablut.formats.reading` recognises any of them."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
