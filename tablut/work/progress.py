"""Progress of long computations: the `Observer` interface, and functions that format numbers for people."""

from __future__ import annotations

from typing import Final

_UNITS: Final = {"seconds": 1, "minutes": 60, "hours": 3600, "days": 86_400, "years": 365.25 * 86_400}
_MANY: Final = {"seconds": 120, "minutes": 120, "hours": 48, "days": 1000}
"""For each unit of time, the number of units at which the next larger unit is used instead."""


class Observer:
    """Receiver of progress reports; this base class ignores them."""

    def begin(self, step: str, total: int | None = None) -> None:
        """Report the start of a step. ``total`` is the number of units in the step, if known."""

    def advance(self, count: int = 1) -> None:
        """Report that ``count`` further units of the step are done."""

    def note(self, text: str) -> None:
        """Report the current activity within the step."""

    def say(self, text: str) -> None:
        """Report an event that deserves its own line of output."""

    def announce(self, text: str, seconds: float) -> None:
        """Report what is about to begin and how long it may take, in seconds."""


# -- numbers formatted for people ------------------------------------------------------------


def plural(count: int, noun: str) -> str:
    """Return a number and its noun, such as ``1 ply`` or ``2 plies``."""
    several = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}es" if noun.endswith("s") else f"{noun}s"
    return f"{count:,} {noun if count == 1 else several}"


def size_text(count: int) -> str:
    """Return a number of bytes in a suitable unit, such as ``1.0 MB`` for 999,999."""
    if count < 1000:
        return plural(count, "byte")
    for exponent, unit in enumerate(("kB", "MB", "GB", "TB"), 1):
        if count < 999.95 * 1000**exponent:
            return f"{count / 1000**exponent:.1f} {unit}"
    return f"{count:.1e} bytes".replace("e+", "e")


def rate_text(rate: float) -> str:
    """Return a rate per second as text, in millions if it is one million or more."""
    return f"{rate / 1e6:,.1f} million a second" if rate >= 1e6 else f"{rate:,.0f} a second"


def seconds_text(seconds: float) -> str:
    """Return a time in seconds with one decimal, such as ``1.5 s``."""
    return f"{seconds:,.1f} s" if seconds >= 0.05 else "less than 0.1 s"


def duration(seconds: float) -> str:
    """Return a time in a suitable unit, such as ``44 minutes``."""
    unit = next((unit for unit, many in _MANY.items() if seconds < many * _UNITS[unit]), "years")
    return f"{seconds / _UNITS[unit]:,.0f} {unit}"
