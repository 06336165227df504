"""The rules of the game: outcomes, and a slow plain Python implementation that serves as a reference for the engine."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
