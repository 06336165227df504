"""Decorators that compile kernels, and low-level intrinsics that kernels use.

Kernels are compiled without bounds checks, release the GIL, and are cached on disk (`tablut.engine.kernel_cache`). The
functions that kernels call, the *parts*, are compiled only as far as linking requires (`tablut.engine.kernel_parts`).
Both use private numba APIs. With a version of numba that has not been tested, or if ``TABLUT_PUBLIC_NUMBA`` is set,
numba's public decorator is used instead, which compiles everything in each run.

numba updates an array's reference count whenever the array is passed to a function, and LLVM does not move these
updates out of loops. Therefore a kernel that Python calls converts its arrays to bare pointers once, using `pointer` or
`tablut.engine.kernel_records.flat`. A pointer does not keep its array alive, so at its end the kernel calls `keep` on
each array that it has allocated.

numba gives ``uint64 + 1`` the type int64, and accepts ``1 << 70`` without an error. Line arithmetic therefore uses
int64 throughout. Values of 64 bits are converted with `U64` and are never combined with a bare literal.
"""

from __future__ import annotations

import ctypes
import os
import time
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, event, types
from numba.extending import intrinsic

from tablut.work import clocks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

TESTED: Final = tuple(f"0.{minor}." for minor in range(63, 69))
"""Prefixes of the numba versions whose private APIs may be used."""
PRIVATE: Final = numba.__version__.startswith(TESTED) and not os.environ.get("TABLUT_PUBLIC_NUMBA")
"""Whether this process uses private numba APIs."""

if PRIVATE:
    from tablut.engine.kernel_cache import KernelCache, attach_cache, compile_beside
    from tablut.engine.kernel_parts import dispatcher_of
else:
    clocks.forget_kernels(
        "TABLUT_PUBLIC_NUMBA is set"
        if os.environ.get("TABLUT_PUBLIC_NUMBA")
        else f"numba {numba.__version__} is not among the tested versions ({TESTED[0]}x to {TESTED[-1]}x)"
    )

KERNELS: Final[list[Any]] = []
"""The numba dispatchers of all kernels in the modules imported so far."""

Function = TypeVar("Function", bound="Callable[..., Any]")

I64: Final[Any] = np.int64
U64: Final[Any] = np.uint64
"""Type conversions for kernels. They are declared as `Any` because type checkers do not model numba's integer types."""

_intrinsic: Any = intrinsic
_config: Any = numba.config
_njit: Any = numba.njit


class _Watch(event.Listener):
    """Listener that records the compilation time of this project's functions, and announces long compilations."""

    def on_start(self, event: Any) -> None:
        if _is_ours(event.data["dispatcher"]):
            clocks.begin()

    def on_end(self, event: Any) -> None:
        dispatcher, arguments = event.data["dispatcher"], tuple(event.data["args"])
        if _is_ours(dispatcher):
            done = arguments in dispatcher.overloads
            clocks.end(clocks.described(dispatcher.py_func, arguments), done=done)
            if PRIVATE and not done and isinstance(dispatcher._cache, KernelCache):
                dispatcher._cache.unlock(arguments)


_ours: Final[set[Callable[..., Any]]] = set()


def _is_ours(dispatcher: Any) -> bool:
    return dispatcher.py_func in _ours


event.register("numba:compile", _Watch())


def kernel(function: Function) -> Function:
    """Compile a function that Python calls. The result is cached on disk and runs without the GIL."""
    dispatcher: Any = _compiled(function, whole=True)
    KERNELS.append(dispatcher)
    return cast("Function", dispatcher)


def ahead(function: Callable[..., Any], *arguments: Any) -> None:
    """Start compiling a kernel for the given arguments' types in another process, before it is needed here.

    This function does nothing if numba may use only one processor.
    """
    if PRIVATE and _config.NUMBA_NUM_THREADS > 1:
        compile_beside(function, tuple(map(numba.typeof, arguments)))


def inlined(function: Function) -> Function:
    """Compile a function that kernels call, and force LLVM to inline it into each of them."""
    return cast("Function", _compiled(function, whole=False, no_cpython_wrapper=True, forceinline=True))


def called(function: Function) -> Function:
    """Compile a large function that kernels call, and let LLVM decide whether to inline it."""
    return cast("Function", _compiled(function, whole=False, no_cpython_wrapper=True))


def apart(function: Function) -> Function:
    """Compile a function that kernels call, and never inline it. This is meant for code that few rule sets need."""
    return cast("Function", _compiled(function, whole=False, no_cpython_wrapper=True, forceinline=False))


def by_type(decide: Callable[[Any], bool]) -> Any:
    """Return a predicate for kernels whose value ``decide`` computes at compile time from the type of its argument.

    numba removes a branch on this predicate without inferring types in it, provided that the argument is an argument of
    the function or a field of one.
    """

    @_intrinsic  # type: ignore[untyped-decorator]
    def predicate(_typing_context: Any, value: Any) -> Any:
        def codegen(context: Any, _builder: Any, _signature: Any, _args: Any) -> Any:
            return context.get_constant(types.boolean, int(decide(value)))

        return types.boolean(value), codegen

    predicate.decide_by_type = decide
    return predicate


def _compiled(function: Callable[..., Any], *, whole: bool, **options: bool) -> Any:
    """Return numba's dispatcher for a kernel (``whole``) or for a part, without a wrapper for calls from C."""
    _ours.add(function)
    options |= {"nogil": True, "no_cfunc_wrapper": True}
    if not PRIVATE:
        return _njit(boundscheck=False, **options)(function)
    dispatcher = dispatcher_of(function, whole=whole, **options)
    # A function without a source file, such as one defined at a prompt, cannot be cached.
    if Path(function.__code__.co_filename).is_file():
        attach_cache(dispatcher, function, whole=whole)
    return dispatcher


@_intrinsic  # type: ignore[untyped-decorator]
def popcount(_typing_context: Any, value: Any) -> Any:
    """Return the number of set bits of an integer (LLVM's ``ctpop``)."""

    def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return context.cast(builder, builder.ctpop(args[0]), value, types.int64)

    return types.int64(value), codegen


@_intrinsic  # type: ignore[untyped-decorator]
def trailing_zeros(_typing_context: Any, value: Any) -> Any:
    """Return the index of the lowest set bit of an integer (LLVM's ``cttz``). The result is undefined for 0."""

    def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return context.cast(builder, builder.cttz(args[0], cgutils.true_bit), value, types.int64)

    return types.int64(value), codegen


@_intrinsic  # type: ignore[untyped-decorator]
def leading_zeros(_typing_context: Any, value: Any) -> Any:
    """Return the number of zeros above the highest set bit of a word (``ctlz``). The result is undefined for 0."""

    def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.ctlz(args[0], cgutils.true_bit)

    return types.int64(value), codegen


@_intrinsic  # type: ignore[untyped-decorator]
def pointer(_typing_context: Any, array: Any) -> Any:
    """Return a pointer to the first item of an array. Indexing the pointer ignores bounds and shape."""

    def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return context.make_array(array)(context, builder, args[0]).data

    return types.CPointer(array.dtype)(array), codegen


@_intrinsic  # type: ignore[untyped-decorator]
def scalar(_typing_context: Any, _value: Any) -> Any:
    """Return an int64 unchanged, but keep LLVM from vectorising the loop around it.

    In the loops that use this function, vector gathers cost more than scalar loads.
    """

    def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        word = ir.IntType(64)
        return builder.asm(ir.FunctionType(word, [word]), "", "=r,0", [args[0]], False)

    return types.int64(types.int64), codegen


@_intrinsic  # type: ignore[untyped-decorator]
def advance(_typing_context: Any, address: Any, _items: Any) -> Any:
    """Return a pointer advanced by a number of items."""

    def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.gep(args[0], [args[1]])

    return address(address, types.int64), codegen


@_intrinsic  # type: ignore[untyped-decorator]
def prefetch(_typing_context: Any, address: Any) -> Any:
    """Prefetch the cache line at a pointer that will be read soon."""

    def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        fetch = builder.module.declare_intrinsic(
            "llvm.prefetch.p0", fnty=ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        )
        read, keep_it, data = (ir.Constant(word, number) for number in (0, 3, 1))
        builder.call(fetch, [builder.bitcast(args[0], byte), read, keep_it, data])
        return context.get_dummy_value()

    return types.void(address), codegen


@_intrinsic  # type: ignore[untyped-decorator]
def keep(_typing_context: Any, array: Any) -> Any:
    """Keep an array alive until this call, so that it is not freed while pointers to it are still in use."""

    def codegen(context: Any, _builder: Any, _signature: Any, _args: Any) -> Any:
        return context.get_constant(types.int64, 0)

    return types.int64(array), codegen


@_intrinsic  # type: ignore[untyped-decorator]
def address_of(_typing_context: Any, _address: Any, like: Any) -> Any:
    """Convert an address to a pointer of the same type as ``like``. The caller must keep the memory alive."""

    def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.inttoptr(args[0], context.get_value_type(like))

    return like(types.int64, like), codegen


@_intrinsic  # type: ignore[untyped-decorator]
def items_at(_typing_context: Any, _address: Any, dtype: Any) -> Any:
    """Convert an address to a pointer to items of a numpy type. The caller must keep the memory alive."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.inttoptr(args[0], context.get_value_type(signature.return_type))

    return types.CPointer(dtype.dtype)(types.int64, dtype), codegen


@_intrinsic  # type: ignore[untyped-decorator]
def fetch_subtract(_typing_context: Any, address: Any, _value: Any) -> Any:
    """Subtract a value atomically from the item at a pointer, and return the item's previous value."""

    def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        item = context.get_value_type(address.dtype)
        old = builder.atomic_rmw("sub", args[0], builder.trunc(args[1], item), "monotonic")
        return builder.zext(old, context.get_value_type(types.int64))

    return types.int64(address, types.int64), codegen


# -- atomic access to 64-bit words that several threads share, without ordering guarantees ---


# Common processors access an aligned word atomically anyway. Marking the access as atomic also prevents the compiler
# from splitting or repeating it, and from reusing a value that it has read before.


_BYTES = 8


@_intrinsic  # type: ignore[untyped-decorator]
def read_word(_typing_context: Any, address: Any) -> Any:
    """Read the 64-bit word at a pointer atomically."""

    def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        word = context.get_value_type(types.uint64)
        return builder.load_atomic(args[0], "monotonic", _BYTES, typ=word)

    return types.uint64(address), codegen


@_intrinsic  # type: ignore[untyped-decorator]
def write_word(_typing_context: Any, address: Any, _word: Any) -> Any:
    """Write the 64-bit word at a pointer atomically."""

    def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        builder.store_atomic(args[1], args[0], "monotonic", _BYTES)
        return context.get_dummy_value()

    return types.void(address, types.uint64), codegen


# -- the pseudorandom number generator SplitMix64, in Python for stored values and in compiled code for play


# G. L. Steele, D. Lea, C. H. Flood, Fast splittable pseudorandom number generators, OOPSLA 2014,
# https://doi.org/10.1145/2660193.2660195. The constants are from S. Vigna's public-domain ``splitmix64.c``.


_STEP: Final = 0x9E3779B97F4A7C15
_FIRST: Final = 0xBF58476D1CE4E5B9
_SECOND: Final = 0x94D049BB133111EB
_MASK: Final = (1 << 64) - 1


def split_mix(seed: int) -> Iterator[int]:
    """Yield the endless sequence of 64-bit outputs for a seed."""
    while True:
        seed = (seed + _STEP) & _MASK
        mixed = ((seed ^ (seed >> 30)) * _FIRST) & _MASK
        mixed = ((mixed ^ (mixed >> 27)) * _SECOND) & _MASK
        yield mixed ^ (mixed >> 31)


@inlined
def finalised(word: np.uint64) -> np.uint64:
    """Mix the bits of a word so that every input bit affects every output bit. The mapping is a bijection."""
    mixed = (word ^ (word >> U64(30))) * U64(_FIRST)
    mixed = (mixed ^ (mixed >> U64(27))) * U64(_SECOND)
    return U64(mixed ^ (mixed >> U64(31)))


@inlined
def next_random(state: NDArray[np.uint64]) -> np.uint64:
    """Return the next output and advance the state, which is a pointer to one uint64."""
    state[0] += U64(_STEP)
    return finalised(U64(state[0]))


@inlined
def random_below(state: NDArray[np.uint64], count: int) -> int:
    """Return a pseudorandom integer from 0 to ``count`` - 1. ``count`` must be below 2**31."""
    return I64(((next_random(state) >> U64(32)) * U64(count)) >> U64(32))


# -- the clock for compiled code: the C library's clock, read without the interpreter lock
# On a busy machine a thread may wait a long time for the interpreter lock, so a deadline that only
# Python code checks would be missed.


CLOCK: Final = getattr(time, "CLOCK_MONOTONIC", 0)
"""Identifier of the monotonic clock."""


@cache
def clock_address() -> int:
    """Return the address of ``clock_gettime``, or 0 if the C library lacks it."""
    if not hasattr(time, "clock_gettime"):
        return 0
    function = getattr(ctypes.CDLL(None), "clock_gettime", None)
    return 0 if function is None else ctypes.cast(function, ctypes.c_void_p).value or 0


def monotonic_ns() -> int:
    """Return the time in nanoseconds on the clock that compiled code reads. `clock_address` must not return 0."""
    return time.clock_gettime_ns(CLOCK)


@_intrinsic  # type: ignore[untyped-decorator]
def read_clock(_typing_context: Any, _address: Any, _clock: Any, time_spec: Any) -> Any:
    """Call ``clock_gettime`` through its address, and return its status."""

    def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        number = ir.IntType(32)
        function = ir.FunctionType(number, [number, args[2].type])
        called = builder.inttoptr(args[0], function.as_pointer())
        result = builder.call(called, [builder.trunc(args[1], number), args[2]])
        return builder.sext(result, context.get_value_type(types.int64))

    return types.int64(types.int64, types.int64, time_spec), codegen
