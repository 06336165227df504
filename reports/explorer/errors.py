"""Why the explorer refuses a request, beside the errors of the toolkit itself."""

from __future__ import annotations

from tablut.errors import TablutError


class BusyError(TablutError):
    """The server has enough to do; the same request will be answered later."""

    def __init__(self, message: str, status: int = 503, retry_after: int = 2) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after = retry_after


class NotFoundError(TablutError):
    """Nothing has the name that was asked for."""
