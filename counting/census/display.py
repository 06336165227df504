"""Who shows the progress of a census: a bar where somebody watches, only what takes long elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counting.census.observer import Silent
from tablut.cli.streams import complain
from tablut.running.clocks import wall_clock

if TYPE_CHECKING:
    from rich.progress import Progress

    from counting.census.observer import Observer

_LONG: Final = 60
"""Seconds from which on an estimate is printed where there is no terminal."""


def observer_on(display: Progress) -> Observer:
    """Return who shows the progress of a census."""
    return _Display(display) if display.console.is_terminal else _Quiet()


class _Display:
    """Shows the progress on a rich display, with a rate; see `counting.census.observer.Observer`."""

    def __init__(self, display: Progress) -> None:
        self.display = display
        self.task = display.add_task("", total=None)
        self.name, self.began, self.count = "", 0.0, 0

    def begin(self, ply: int, step: str, total: int) -> None:
        """Start a bar for a step of a ply."""
        self.name, self.began, self.count = f"ply {ply} {step}", wall_clock(), 0
        self.display.reset(self.task, description=self.name, total=max(1, total))

    def advance(self, count: int) -> None:
        """Move the bar on and show the rate."""
        self.count += count
        rate = self.count / (wall_clock() - self.began) / 1e6
        self.display.update(self.task, advance=count, description=f"{self.name} {rate:.1f} M/s")

    def say(self, text: str) -> None:
        """Print a line above the bar."""
        self.display.console.print(text, soft_wrap=True)

    def announce(self, text: str, _seconds: float) -> None:
        """Print what begins, however short it is."""
        self.say(text)


class _Quiet(Silent):
    """Where nobody watches, says only what will take long."""

    def announce(self, text: str, seconds: float) -> None:
        """Print what begins if it takes long."""
        if seconds >= _LONG:
            complain(f"census: {text}")
