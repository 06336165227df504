"""The rules of the game: outcomes, and a slow implementation in plain Python as a reference for the engine."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
