"""The game of Tablut and its tafl relatives: variants, positions, rules, engine and the command line.

Importing the package is cheap: no compiled kernel, sympy or rich is loaded.
"""

import os
import sys

if sys.version_info < (3, 11):  # noqa: UP036 (pip refuses older versions, but a checkout can be on the path)
    raise ImportError(f"tablut needs Python 3.11 or later, not {sys.version_info[0]}.{sys.version_info[1]}")
if [os.path.basename(word) for word in sys.orig_argv[-len(sys.argv) :][:1]] == ["tablut"]:  # noqa: PTH119
    # This is the program (`tablut` or `python -m tablut`), and the imports below take most of the time until it runs.
    from tablut.cli import await_start

    await_start()

import warnings
from importlib.machinery import PathFinder
from pathlib import Path

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__version__ = "1.0.0"


def _name_hidden_packages() -> None:
    """Name each file that hides one of the installed packages, such as a user's own ``counting.py``."""
    installed = Path(__file__).resolve().parents[1]
    for name in ("symmetry", "counting", "retrograde", "reports"):
        spec = PathFinder.find_spec(name)
        found = Path(spec.origin) if spec is not None and spec.origin else None
        if found is not None and found.resolve().parents[1] != installed:
            problem = f"{found} hides the package {name!r} of tablut: rename the file, or start Python with -P"
            if name == "symmetry":
                raise ImportError(problem)
            warnings.warn(problem, RuntimeWarning, stacklevel=3)


_name_hidden_packages()
