"""The game of Tablut and related tafl games: rule sets, positions, moves, the engine, and the command line.

Importing the package is cheap, because it does not load compiled kernels, sympy or rich.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__version__ = "0.1.0"
