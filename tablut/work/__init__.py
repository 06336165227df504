"""Persistent storage in folders, with one writer at a time, and records with digests that protect the data files."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
