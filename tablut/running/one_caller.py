"""`OneCaller`: base of objects that serve one caller at a time, such as a search with its memory.

Compiled code writes into the arrays of such an object without the interpreter's lock. If a second call ran at the same
time, both would get moves of the other's board.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from threading import Lock
from typing import Any, NoReturn, TypeVar, cast

from tablut.errors import UseError

Method = TypeVar("Method", bound=Callable[..., Any])


class OneCaller:
    """Base of objects that serve one caller at a time; they can neither be copied nor pickled."""

    def __reduce__(self) -> NoReturn:
        raise UseError(f"{type(self).__name__}: cannot be copied or pickled; make a new one instead")


class Stoppable(OneCaller):
    """Base of those whose call can be stopped by another thread, also just before it begins."""

    _stop_asked = False

    def clear_stop(self) -> None:
        """Cancel a stop that came after the call for which it was meant."""
        self._stop_asked = False


def alone(method: Method) -> Method:
    """Refuse a call of a method while another one marked like this runs on the same object.

    A call from within the first one, by an observer for instance, would wait for ever; so no call waits.
    """

    @wraps(method)
    def guarded(self: OneCaller, *arguments: Any, **options: Any) -> Any:
        serving = vars(self).setdefault("_serving", Lock())
        if not serving.acquire(blocking=False):
            raise UseError(f"{type(self).__name__}: is serving another call; wait for its end, or make one a thread")
        try:
            return method(self, *arguments, **options)
        finally:
            serving.release()

    return cast("Method", guarded)
