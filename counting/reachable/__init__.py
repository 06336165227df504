"""Which counted positions can be reached: lemmas, proof games, certificates and estimates.

`estimate` and `check_file` are the front door. `lemmas` and its twin `naive` exclude positions, `games` finds
proof games, `backward` lists whole backward trees, `drawing` draws samples, `certificates` and `checker` keep and check
what was found.
"""

from typing import Any

__all__ = ["check_file", "estimate"]


def __getattr__(name: str) -> Any:
    # Lazy (PEP 562): the command line's help must load nothing heavy.
    if name == "estimate":
        from counting.reachable.estimate import estimate

        return estimate
    if name == "check_file":
        from counting.reachable.checker import check_file

        return check_file
    raise AttributeError(f"module 'counting.reachable' has no attribute {name!r}")
