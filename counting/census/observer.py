"""Progress of a census: who hears of it."""

from __future__ import annotations

from typing import Protocol

__all__ = ["Observer", "Silent"]


class Observer(Protocol):
    """Hears how far the search is."""

    def begin(self, ply: int, step: str, total: int) -> None:
        """Hear that a step of a ply begins.

        Parameters
        ----------
        ply : int
            The ply.
        step : str
            Its name: ``expand``, ``merge``, ``verify`` or ``parents``.
        total : int
            How many rows the step has to deal with.
        """

    def advance(self, count: int) -> None:
        """Hear how many more rows have been dealt with.

        Parameters
        ----------
        count : int
            Rows since the last call.
        """

    def say(self, text: str) -> None:
        """Hear something worth a line.

        Parameters
        ----------
        text : str
            The line.
        """

    def announce(self, text: str, seconds: float) -> None:
        """Hear what is about to begin.

        Parameters
        ----------
        text : str
            What it takes.
        seconds : float
            How long, about.
        """


class Silent:
    """An observer that does nothing."""

    def begin(self, ply: int, step: str, total: int) -> None:
        """See `Observer`.

        Parameters
        ----------
        ply : int
            As for `Observer`.
        step : str
            As for `Observer`.
        total : int
            As for `Observer`.
        """

    def advance(self, count: int) -> None:
        """See `Observer`.

        Parameters
        ----------
        count : int
            As for `Observer`.
        """

    def say(self, text: str) -> None:
        """See `Observer`.

        Parameters
        ----------
        text : str
            As for `Observer`.
        """

    def announce(self, text: str, seconds: float) -> None:
        """See `Observer`.

        Parameters
        ----------
        text : str
            As for `Observer`.
        seconds : float
            As for `Observer`.
        """
