"""How many: the published bounds of Tablut's complexity regenerated, corrected and tightened.

`bounds` is the front door; `counting.brute` is the naive twin that enumerates
small boards placement by placement.
"""

from typing import Any

__all__ = ["BoundsReport", "bounds"]


def __getattr__(name: str) -> Any:
    # Lazy (PEP 562): `tablut --help` reads counting.commands and must load nothing heavy.
    if name in __all__:
        import counting.complexity

        return getattr(counting.complexity, name)
    raise AttributeError(f"module 'counting' has no attribute {name!r}")
