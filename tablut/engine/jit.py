"""All policy on compiled code: how a kernel is compiled, cached and announced, and its bit intrinsics.

Kernels are compiled with bounds checks off, release the GIL, and are cached on disk
(`tablut.engine.kernel_cache`); what they are made of is compiled as far as linking needs
(`tablut.engine.parts`); the time it takes is counted (`tablut.running.clocks`).
Both rest on parts of numba that nobody promises to keep. Under another numba than the one
that is tested, or with ``TABLUT_PUBLIC_NUMBA`` set, its public decorator does all of it:
the same answers, compiled anew in each run, in twice the time.

numba counts references to an array whenever it passes one on, by a call that nothing
moves out of a loop; a tuple of thirty arrays made one ply cost 200 ns. So a kernel
that Python calls turns its arrays into bare pointers (`pointer`) once, and everything
below it works on these. It also keeps arrays of its own alive with `keep` to its end,
because a pointer holds on to nothing.

Types: numba gives ``uint64 + 1`` the type int64 and lets ``1 << 70`` pass. Line
arithmetic is therefore int64 throughout (a half of a line has at most 19 bits), and what is
64 bits wide (words, keys) goes through `U64` and never meets a bare literal.
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

from tablut.running import clocks

if TYPE_CHECKING:
    from collections.abc import Callable

TESTED: Final = "0.68."
"""The versions of numba whose inner parts are used."""
PRIVATE: Final = numba.__version__.startswith(TESTED) and not os.environ.get("TABLUT_PUBLIC_NUMBA")
"""Whether they are used in this process; the one place that decides it."""

if PRIVATE:
    from tablut.engine.kernel_cache import KernelCache, attach_cache, compile_beside
    from tablut.engine.parts import dispatcher_of

KERNELS: Final[list[Any]] = []
"""All kernels of the modules that have been imported, as numba's dispatchers."""

Function = TypeVar("Function", bound="Callable[..., Any]")

I64: Final[Any] = np.int64
U64: Final[Any] = np.uint64
"""Conversions inside kernels. `Any`, because a checker cannot know numba's integer types."""

_intrinsic: Any = intrinsic
_config: Any = numba.config
_njit: Any = numba.njit


class _Watch(event.Listener):
    """Counts the time spent on compiling our functions, and announces it if it lasts; those of others do not count."""

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
    """Compile a function that Python calls: cached on disk, without the GIL."""
    dispatcher: Any = _compiled(function, whole=True)
    KERNELS.append(dispatcher)
    return cast("Function", dispatcher)


def ahead(function: Callable[..., Any], *arguments: Any) -> None:
    """Have a kernel compiled by another processor for such arguments, if there is one, before it is called here."""
    if PRIVATE and _config.NUMBA_NUM_THREADS > 1:
        compile_beside(function, tuple(map(numba.typeof, arguments)))


def inlined(function: Function) -> Function:
    """Compile a function that kernels call, into each of them: LLVM must inline it."""
    return cast("Function", _compiled(function, whole=False, no_cpython_wrapper=True, forceinline=True))


def called(function: Function) -> Function:
    """Compile a function that kernels call, as a function of its own: for what is too large to repeat."""
    return cast("Function", _compiled(function, whole=False, no_cpython_wrapper=True))


def apart(function: Function) -> Function:
    """Compile a function that kernels call, for what few rule sets need: numba would inline it where its caller is."""
    return cast("Function", _compiled(function, whole=False, no_cpython_wrapper=True, forceinline=False))


def by_type(decide: Callable[[Any], bool]) -> Any:
    """Return a question that kernels may ask of a value and that its type answers.

    numba types and lowers a branch that never runs as well, in every kernel that has it; a branch on such a
    question, asked of an argument or of a field of one, is left out.
    """

    @_intrinsic  # type: ignore[untyped-decorator]
    def asked(_typing_context: Any, value: Any) -> Any:
        def codegen(context: Any, _builder: Any, _signature: Any, _args: Any) -> Any:
            return context.get_constant(types.boolean, int(decide(value)))

        return types.boolean(value), codegen

    asked.answer_by_type = decide
    return asked


def _compiled(function: Callable[..., Any], *, whole: bool, **options: bool) -> Any:
    """Return numba's dispatcher of a whole kernel or of a part; nothing here is called from C."""
    _ours.add(function)
    options |= {"nogil": True, "no_cfunc_wrapper": True}
    if not PRIVATE:
        return _njit(boundscheck=False, **options)(function)
    dispatcher = dispatcher_of(function, whole=whole, **options)
    # A function without a source file (typed at a prompt) cannot be cached.
    if Path(function.__code__.co_filename).is_file():
        attach_cache(dispatcher, function, whole=whole)
    return dispatcher


@_intrinsic  # type: ignore[untyped-decorator]
def popcount(_typing_context: Any, value: Any) -> Any:
    """Return the number of set bits of an integer, by LLVM's ``ctpop``."""

    def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return context.cast(builder, builder.ctpop(args[0]), value, types.int64)

    return types.int64(value), codegen


@_intrinsic  # type: ignore[untyped-decorator]
def trailing_zeros(_typing_context: Any, value: Any) -> Any:
    """Return the index of the lowest set bit of an integer, by LLVM's ``cttz``."""

    def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return context.cast(builder, builder.cttz(args[0], cgutils.true_bit), value, types.int64)

    return types.int64(value), codegen


@_intrinsic  # type: ignore[untyped-decorator]
def leading_zeros(_typing_context: Any, value: Any) -> Any:
    """Return the number of zeros above the highest set bit of a word, by LLVM's ``ctlz``."""

    def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.ctlz(args[0], cgutils.true_bit)

    return types.int64(value), codegen


@_intrinsic  # type: ignore[untyped-decorator]
def pointer(_typing_context: Any, array: Any) -> Any:
    """Return the address of an array's first item; indexing it knows neither bounds nor shapes."""

    def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return context.make_array(array)(context, builder, args[0]).data

    return types.CPointer(array.dtype)(array), codegen


@_intrinsic  # type: ignore[untyped-decorator]
def scalar(_typing_context: Any, _value: Any) -> Any:
    """Return an int64 as it is; LLVM does not turn the loop around it into vectors, where gathers cost more."""

    def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        word = ir.IntType(64)
        return builder.asm(ir.FunctionType(word, [word]), "", "=r,0", [args[0]], False)

    return types.int64(types.int64), codegen


@_intrinsic  # type: ignore[untyped-decorator]
def advance(_typing_context: Any, address: Any, _items: Any) -> Any:
    """Return a pointer moved on by a number of items."""

    def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.gep(args[0], [args[1]])

    return address(address, types.int64), codegen


@_intrinsic  # type: ignore[untyped-decorator]
def prefetch(_typing_context: Any, address: Any) -> Any:
    """Ask for the cache line at a pointer, which will be read soon; what lies there is not touched."""

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
    """Do nothing, late enough: an array is not freed before its last use."""

    def codegen(context: Any, _builder: Any, _signature: Any, _args: Any) -> Any:
        return context.get_constant(types.int64, 0)

    return types.int64(array), codegen


@_intrinsic  # type: ignore[untyped-decorator]
def address_of(_typing_context: Any, _address: Any, like: Any) -> Any:
    """Return an address as a pointer of the type of another; what lies there must be kept alive."""

    def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.inttoptr(args[0], context.get_value_type(like))

    return like(types.int64, like), codegen


@_intrinsic  # type: ignore[untyped-decorator]
def items_at(_typing_context: Any, _address: Any, dtype: Any) -> Any:
    """Return an address as a pointer to items of a numpy type; what lies there must be kept alive."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.inttoptr(args[0], context.get_value_type(signature.return_type))

    return types.CPointer(dtype.dtype)(types.int64, dtype), codegen


@_intrinsic  # type: ignore[untyped-decorator]
def fetch_subtract(_typing_context: Any, address: Any, _value: Any) -> Any:
    """Subtract from the item at a pointer, as one indivisible step, and return what was there."""

    def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        item = context.get_value_type(address.dtype)
        old = builder.atomic_rmw("sub", args[0], builder.trunc(args[1], item), "monotonic")
        return builder.zext(old, context.get_value_type(types.int64))

    return types.int64(address, types.int64), codegen


# -- words of 64 bits that several threads read and write: each is read or written whole, in no promised order ---


# On common processors this is what a plain access does; said aloud, the compiler may not split
# an access, repeat it, or take a word for the one that it read before.


_BYTES = 8


@_intrinsic  # type: ignore[untyped-decorator]
def read_word(_typing_context: Any, address: Any) -> Any:
    """Return the word at a pointer."""

    def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        word = context.get_value_type(types.uint64)
        return builder.load_atomic(args[0], "monotonic", _BYTES, typ=word)

    return types.uint64(address), codegen


@_intrinsic  # type: ignore[untyped-decorator]
def write_word(_typing_context: Any, address: Any, _word: Any) -> Any:
    """Write the word at a pointer."""

    def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        builder.store_atomic(args[1], args[0], "monotonic", _BYTES)
        return context.get_dummy_value()

    return types.void(address, types.uint64), codegen


# -- the clock as compiled code reads it: the C library's own, without the interpreter and its lock ---


# A thread that waits for the interpreter's lock may wait long on a busy machine, so a
# deadline that is only known to Python would be overstepped there.


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
    """Call ``clock_gettime`` at an address."""

    def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        number = ir.IntType(32)
        function = ir.FunctionType(number, [number, args[2].type])
        called = builder.inttoptr(args[0], function.as_pointer())
        result = builder.call(called, [builder.trunc(args[1], number), args[2]])
        return builder.sext(result, context.get_value_type(types.int64))

    return types.int64(types.int64, types.int64, time_spec), codegen
