"""Who is told how far a census is."""

from __future__ import annotations

from typing import Protocol

__all__ = ["Observer", "Silent"]


class Observer(Protocol):
    """Whoever wants to know how far the search is."""

    def begin(self, ply: int, step: str, total: int) -> None:
        """Hear that a step of a ply begins, with so many children to deal with."""

    def advance(self, count: int) -> None:
        """Hear that so many children have been dealt with."""

    def say(self, text: str) -> None:
        """Hear something worth a line."""


class Silent:
    """An observer that does nothing."""

    def begin(self, ply: int, step: str, total: int) -> None:
        """See `Observer`."""

    def advance(self, count: int) -> None:
        """See `Observer`."""

    def say(self, text: str) -> None:
        """See `Observer`."""
