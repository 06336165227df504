"""What a player may be told when it is made."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["PlayerOptions"]


class PlayerOptions(NamedTuple):
    """Settings that a player takes as far as they concern it.

    Attributes
    ----------
    seed : int
        Of everything random in it.
    hash_mib : int
        Memory for transpositions.
    tablebase : str or None
        A store to probe; by default what ships with the installed packages.
    table_mib : int
        Memory for tables that search probes; what does not fit is probed at the root alone.
    """

    seed: int = 0
    hash_mib: int = 64
    tablebase: str | None = None
    table_mib: int = 512
