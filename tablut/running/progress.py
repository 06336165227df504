"""Progress of long work: whoever wants to hear of it is an `Observer`."""

from __future__ import annotations


class Observer:
    """Takes notice of how far work is; this one does nothing with it."""

    def begin(self, step: str, total: int | None = None) -> None:
        """Take notice that a step begins, of so many units if that is known."""

    def advance(self, count: int = 1) -> None:
        """Take notice of so many more units that are done."""

    def say(self, text: str) -> None:
        """Take notice of something worth a line."""

    def announce(self, text: str, seconds: float) -> None:
        """Take notice of what is about to begin, and how long it may take."""
