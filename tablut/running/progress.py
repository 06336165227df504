"""Progress of long work: whoever wants to hear of it is an `Observer`."""

from __future__ import annotations

from typing import Final

_UNITS: Final = {"seconds": 1, "minutes": 60, "hours": 3600, "days": 86_400, "years": 365.25 * 86_400}
_MANY: Final = {"seconds": 120, "minutes": 120, "hours": 48, "days": 1000}
"""How many of a unit of time are said in a larger one."""


class Observer:
    """Takes notice of how far work is; this one does nothing with it."""

    def begin(self, step: str, total: int | None = None) -> None:
        """Take notice that a step begins, of so many units if that is known."""

    def advance(self, count: int = 1) -> None:
        """Take notice of so many more units that are done."""

    def note(self, text: str) -> None:
        """Take notice of what is being done within the step."""

    def say(self, text: str) -> None:
        """Take notice of something worth a line."""

    def announce(self, text: str, seconds: float) -> None:
        """Take notice of what is about to begin, and how long it may take."""


def duration(seconds: float) -> str:
    """Return a time in words, such as ``44 minutes``."""
    unit = next((unit for unit, many in _MANY.items() if seconds < many * _UNITS[unit]), "years")
    return f"{seconds / _UNITS[unit]:,.0f} {unit}"
