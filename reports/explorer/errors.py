"""Why the explorer refuses a request, beside the errors of the toolkit itself."""

from __future__ import annotations

from tablut.errors import TablutError

__all__ = ["BusyError", "NotFoundError"]


class BusyError(TablutError):
    """The server has enough to do; the same request will be answered later.

    Parameters
    ----------
    message : str
        One line.
    status : int
        429 if the visitor asks for too much, 503 if all of them together do.
    retry_after : int
        Seconds after which to try again.
    """

    def __init__(self, message: str, status: int = 503, retry_after: int = 2) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after = retry_after


class NotFoundError(TablutError):
    """Nothing has the name that was asked for."""
