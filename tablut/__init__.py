"""The game of Tablut and its tafl relatives: variants as data, and the command line.

Importing the package is cheap: no compiled kernel, sympy or rich is loaded.
"""

from typing import Any

from tablut.errors import InputError, OutputError, TablutError, VariantError

__version__ = "0.1.0"

__all__ = ["InputError", "OutputError", "TablutError", "Variant", "VariantError", "load_variant", "variant_names"]


def __getattr__(name: str) -> Any:
    # Lazy (PEP 562): the variants need pydantic, which `tablut --help` does without.
    if name in ("Variant", "load_variant", "variant_names"):
        import tablut.variants

        return getattr(tablut.variants, name)
    raise AttributeError(f"module 'tablut' has no attribute {name!r}")
