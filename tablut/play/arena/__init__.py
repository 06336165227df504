"""Matches and tournaments between players, with openings, records, confidence intervals and sequential tests."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
