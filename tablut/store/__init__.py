"""Persistent storage in folders: one writer at a time, records with digests, and data files checked by them."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
