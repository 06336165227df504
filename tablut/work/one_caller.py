"""`OneCaller`, the base class of objects that serve one caller at a time, such as a search.

Compiled code writes to their arrays without the interpreter lock, so two simultaneous calls could mix their results.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from threading import Lock
from typing import Any, NoReturn, TypeVar, cast

from tablut.errors import UseError

Method = TypeVar("Method", bound=Callable[..., Any])


class OneCaller:
    """Base class of objects that serve one caller at a time and can be neither copied nor pickled."""

    def __reduce__(self) -> NoReturn:
        raise UseError("cannot be copied or pickled", subject=type(self).__name__, remedy="create a new one")


class Stoppable(OneCaller):
    """Base class of objects whose calls another thread can stop, even just before a call begins."""

    _stop_asked = False

    def clear_stop(self) -> None:
        """Cancel a stop request that came too late, when the call to be stopped had already ended."""
        self._stop_asked = False


def alone(method: Method) -> Method:
    """Make a method raise `UseError` while another method with this decorator runs on the same object."""

    @wraps(method)
    def guarded(self: OneCaller, *arguments: Any, **options: Any) -> Any:
        serving = vars(self).setdefault("_serving", Lock())
        if not serving.acquire(blocking=False):
            raise UseError(
                "is serving another call",
                subject=type(self).__name__,
                remedy="wait until that call ends, or create one object for each thread",
            )
        try:
            return method(self, *arguments, **options)
        finally:
            serving.release()

    return cast("Method", guarded)
