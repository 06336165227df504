"""What the person who starts the explorer decides: where it listens, and how much a visitor may ask for."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")
"""Addresses that only this machine reaches."""


def _half_of_the_cores() -> int:
    return max(1, (os.cpu_count() or 1) // 2)


@dataclass(frozen=True)
class Settings:
    """Where the explorer listens, and its limits."""

    host: str = "127.0.0.1"
    stores: tuple[Path | str, ...] = ()
    searches: int = field(default_factory=_half_of_the_cores)
    waiting: int = 4
    patience: float = 10.0
    movetime: float = 20.0
    proof_seconds: float = 10.0
    analysis_seconds: float = 120.0
    nodes: int = 50_000_000
    sequences: int = 2_000_000_000
    hash_mib: int = 32
    table_mib: int = 8
    proof_mib: int = 64
    body_bytes: int = 192 << 10
    record_bytes: int = 3 << 20
    in_flight: int = 64
    request_seconds: float = 15.0

    @property
    def local(self) -> bool:
        """Whether only this machine reaches the explorer."""
        return self.host in LOOPBACK
