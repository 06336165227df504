"""One sealed store on a file system: folders with one writer, records with digests, and the files they bind."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
