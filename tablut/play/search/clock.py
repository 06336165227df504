"""The clock as compiled code reads it: the C library's own, without the interpreter and its lock.

A thread that waits for the interpreter's lock may wait long on a busy machine, so a
deadline that is only known to Python would be overstepped there.
"""

from __future__ import annotations

import ctypes
import time
from functools import cache
from typing import Any, Final

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

__all__ = ["CLOCK", "clock_address", "monotonic_ns", "read_clock"]

_intrinsic: Any = intrinsic

CLOCK: Final = getattr(time, "CLOCK_MONOTONIC", 0)
"""The number of the clock that only goes forward."""


@cache
def clock_address() -> int:
    """Return the address of ``clock_gettime``, 0 where the C library has none."""
    if not hasattr(time, "clock_gettime"):
        return 0
    function = getattr(ctypes.CDLL(None), "clock_gettime", None)
    return 0 if function is None else ctypes.cast(function, ctypes.c_void_p).value or 0


def monotonic_ns() -> int:
    """Return what compiled code would read now, in nanoseconds; only where there is a `clock_address`."""
    return time.clock_gettime_ns(CLOCK)


@_intrinsic  # type: ignore[untyped-decorator]
def read_clock(_typing_context: Any, _address: Any, _clock: Any, time_spec: Any) -> Any:
    """Call ``clock_gettime`` at an address.

    Parameters
    ----------
    _typing_context : object
        Of numba; a kernel gives the other three.
    _address : int64
        A `clock_address`.
    _clock : int64
        The clock's number.
    time_spec : pointer to int64
        Receives seconds and nanoseconds.

    Returns
    -------
    int64
        0, unless the clock cannot be read.
    """

    def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        number = ir.IntType(32)
        function = ir.FunctionType(number, [number, args[2].type])
        called = builder.inttoptr(args[0], function.as_pointer())
        result = builder.call(called, [builder.trunc(args[1], number), args[2]])
        return builder.sext(result, context.get_value_type(types.int64))

    return types.int64(types.int64, types.int64, time_spec), codegen
