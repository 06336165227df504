"""Progress of a census: who hears of it."""

from __future__ import annotations

from typing import Protocol


class Observer(Protocol):
    """Hears how far the search is."""

    def begin(self, ply: int, step: str, total: int) -> None:
        """Hear that a step of a ply begins."""

    def advance(self, count: int) -> None:
        """Hear how many more rows have been dealt with."""

    def say(self, text: str) -> None:
        """Hear something worth a line."""

    def announce(self, text: str, seconds: float) -> None:
        """Hear what is about to begin."""


class Silent:
    """An observer that does nothing."""

    def begin(self, ply: int, step: str, total: int) -> None:
        """See `Observer`."""

    def advance(self, count: int) -> None:
        """See `Observer`."""

    def say(self, text: str) -> None:
        """See `Observer`."""

    def announce(self, text: str, seconds: float) -> None:
        """See `Observer`."""
