"""Census: which positions are reachable, ply by ply, exactly.

`census` is the front door. `counting.census.naive` is the twin in plain Python.
"""

from typing import Any

__all__ = ["CensusReport", "census"]


def __getattr__(name: str) -> Any:
    # Lazy (PEP 562): naming the package must not load numba.
    if name in __all__:
        import counting.census.report

        return getattr(counting.census.report, name)
    raise AttributeError(f"module 'counting.census' has no attribute {name!r}")
