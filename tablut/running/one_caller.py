"""`OneCaller`: base of objects that serve one caller at a time, such as a search with its memory.

Compiled code writes into the arrays of such an object without the interpreter's lock. If a second call ran at the same
time, both would get moves of the other's board.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from threading import Lock
from typing import Any, NoReturn, Self, TypeVar, cast

from tablut.errors import UseError

Method = TypeVar("Method", bound=Callable[..., Any])


class OneCaller:
    """Base of objects that serve one caller at a time; they can neither be copied nor pickled."""

    _serving: Lock

    def __new__(cls, *_arguments: Any, **_options: Any) -> Self:
        """Make an object that is free; a subclass need not call an initialiser for it."""
        made = super().__new__(cls)
        made._serving = Lock()
        return made

    def __reduce__(self) -> NoReturn:
        raise UseError(f"{type(self).__name__}: cannot be copied or pickled; make a new one instead")


def alone(method: Method) -> Method:
    """Refuse a call of a method while another one marked like this runs on the same object.

    A call from within the first one, by an observer for instance, would wait for ever; so no call waits.
    """

    @wraps(method)
    def guarded(self: OneCaller, *arguments: Any, **options: Any) -> Any:
        if not self._serving.acquire(blocking=False):
            raise UseError(f"{type(self).__name__}: is serving another call; wait for its end, or make one a thread")
        try:
            return method(self, *arguments, **options)
        finally:
            self._serving.release()

    return cast("Method", guarded)
