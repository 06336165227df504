"""The game of Tablut and its tafl relatives: variants, positions, rules, engine and the command line.

Importing the package is cheap: no compiled kernel, sympy or rich is loaded.
"""

from importlib import import_module
from typing import Any

from tablut.errors import IllegalMoveError, InputError, OutputError, TablutError, VariantError

__version__ = "0.1.0"

__all__ = [
    "Board",
    "IllegalMoveError",
    "InputError",
    "Move",
    "OutputError",
    "Position",
    "Status",
    "TablutError",
    "Variant",
    "VariantError",
    "load_variant",
    "variant_names",
]

# Loaded when first asked for (PEP 562): they need pydantic, which `tablut --help` does without.
_LAZY = {
    "Board": "tablut.board",
    "Move": "tablut.position",
    "Position": "tablut.position",
    "Status": "tablut.status",
    "Variant": "tablut.variants",
    "load_variant": "tablut.variants",
    "variant_names": "tablut.variants",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'tablut' has no attribute {name!r}")
