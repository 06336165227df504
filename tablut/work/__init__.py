"""Support for long work: folders with a single writer, files with digests, and tasks in threads or on clusters.

*Long work* is any computation that stores its results step by step, so that it can be killed and resumed. The package
also contains functions for files, clocks and the machine, which the whole toolkit uses.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
