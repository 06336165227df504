"""Tests that the symmetries of a rule set are automorphisms of its game, and the ``tablut symmetry`` commands."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
