"""All policy on compiled code: how a kernel is compiled, cached and announced, and its bit intrinsics.

Kernels are compiled with bounds checks off, release the GIL, and are cached on
disk. numba keys its cache by the file of a function alone, so that a kernel would
survive a change of another module that it calls; the cache here is keyed by the
digest of every source that kernels share, and of the kernel's own folder, as well.

numba counts references to an array whenever it passes one on, by a call that nothing
moves out of a loop; a tuple of thirty arrays made one ply cost 200 ns. So a kernel
that Python calls turns its arrays into bare pointers (`pointer`) once, and everything
below it works on these. It also keeps arrays of its own alive with `keep` to its end,
because a pointer holds on to nothing.

Types: numba gives ``uint64 + 1`` the type int64 and lets ``1 << 70`` pass. Line
arithmetic is therefore int64 throughout (a line has at most 11 bits), and what is
64 bits wide (words, keys) goes through `U64` and never meets a bare literal.
"""

from __future__ import annotations

import hashlib
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, event, types
from numba.core.caching import FunctionCache
from numba.extending import intrinsic

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "I64",
    "U64",
    "address_of",
    "advance",
    "called",
    "fetch_subtract",
    "inlined",
    "items_at",
    "keep",
    "kernel",
    "pointer",
    "popcount",
    "trailing_zeros",
]

Function = TypeVar("Function", bound="Callable[..., Any]")

I64: Final[Any] = np.int64
U64: Final[Any] = np.uint64
"""Conversions inside kernels. `Any`, because a checker cannot know numba's integer types."""

_intrinsic: Any = intrinsic


@cache
def _source_digest(folder: Path) -> str:
    """Return the digest of the sources that kernels of a folder are made of.

    These are the engine's, the outcome codes, the compiled indices, and the folder's own.
    """
    here = Path(__file__).parent
    digest = hashlib.sha256()
    shared = {*here.glob("*.py"), here.parent / "rules" / "outcome.py", *(here.parent / "indexing").glob("*.py")}
    for path in sorted(shared | set(folder.glob("*.py"))):
        digest.update(path.read_bytes())
    return digest.hexdigest()


class _EngineCache(FunctionCache):
    """numba's cache on disk, with all sources of a kernel in the key."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._folder = Path(function.__code__.co_filename).parent

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        return (*super()._index_key(sig, codegen), _source_digest(self._folder))


class _Announcement(event.Listener):
    """Says once, on a terminal, that kernels are being compiled; a cached kernel triggers nothing."""

    def __init__(self) -> None:
        self.said = False

    def on_start(self, event: Any) -> None:
        module = getattr(getattr(event.data["dispatcher"], "py_func", None), "__module__", "")
        if not self.said and module.startswith("tablut."):
            self.said = True
            if sys.stderr.isatty():
                print("tablut: compiling the engine, once; this takes some seconds", file=sys.stderr)  # noqa: T201

    def on_end(self, event: Any) -> None:
        """Nothing to say at the end."""


event.register("numba:compile", _Announcement())


def kernel(function: Function) -> Function:
    """Compile a function that Python calls: cached on disk, without the GIL.

    Examples
    --------
    >>> @kernel
    ... def twice(x):
    ...     return 2 * x
    >>> twice(4)
    8
    """
    dispatcher: Any = numba.njit(nogil=True, boundscheck=False)(function)
    # A function without a source file (typed at a prompt) cannot be cached.
    if Path(function.__code__.co_filename).is_file():
        dispatcher._cache = _EngineCache(function)
    return cast("Function", dispatcher)


def inlined(function: Function) -> Function:
    """Compile a function that kernels call, into each of them: LLVM must inline it."""
    return cast("Function", numba.njit(nogil=True, boundscheck=False, forceinline=True)(function))


def called(function: Function) -> Function:
    """Compile a function that kernels call, as a function of its own: for what is too large to repeat."""
    return cast("Function", numba.njit(nogil=True, boundscheck=False)(function))


@_intrinsic  # type: ignore[untyped-decorator]
def popcount(_typing_context: Any, value: Any) -> Any:
    """Return the number of set bits of an integer, by LLVM's ``ctpop``; int64."""

    def code(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return context.cast(builder, builder.ctpop(args[0]), value, types.int64)

    return types.int64(value), code


@_intrinsic  # type: ignore[untyped-decorator]
def trailing_zeros(_typing_context: Any, value: Any) -> Any:
    """Return the index of the lowest set bit of a non-zero integer, by LLVM's ``cttz``; int64."""

    def code(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return context.cast(builder, builder.cttz(args[0], cgutils.true_bit), value, types.int64)

    return types.int64(value), code


@_intrinsic  # type: ignore[untyped-decorator]
def pointer(_typing_context: Any, array: Any) -> Any:
    """Return the address of an array's first item; indexing it knows neither bounds nor shapes."""

    def code(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return context.make_array(array)(context, builder, args[0]).data

    return types.CPointer(array.dtype)(array), code


@_intrinsic  # type: ignore[untyped-decorator]
def scalar(_typing_context: Any, _value: Any) -> Any:
    """Return an int64 as it is; LLVM does not turn the loop around it into vectors, where gathers cost more."""

    def code(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        word = ir.IntType(64)
        return builder.asm(ir.FunctionType(word, [word]), "", "=r,0", [args[0]], False)

    return types.int64(types.int64), code


@_intrinsic  # type: ignore[untyped-decorator]
def advance(_typing_context: Any, address: Any, _items: Any) -> Any:
    """Return a pointer moved on by a number of items."""

    def code(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.gep(args[0], [args[1]])

    return address(address, types.int64), code


@_intrinsic  # type: ignore[untyped-decorator]
def keep(_typing_context: Any, array: Any) -> Any:
    """Do nothing, late enough: an array is not freed before its last use."""

    def code(context: Any, _builder: Any, _signature: Any, _args: Any) -> Any:
        return context.get_constant(types.int64, 0)

    return types.int64(array), code


@_intrinsic  # type: ignore[untyped-decorator]
def address_of(_typing_context: Any, _address: Any, like: Any) -> Any:
    """Return an address, an int64, as a pointer of the type of another; what lies there must be kept alive."""

    def code(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.inttoptr(args[0], context.get_value_type(like))

    return like(types.int64, like), code


@_intrinsic  # type: ignore[untyped-decorator]
def items_at(_typing_context: Any, _address: Any, dtype: Any) -> Any:
    """Return an address, an int64, as a pointer to items of a numpy type; what lies there must be kept alive."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.inttoptr(args[0], context.get_value_type(signature.return_type))

    return types.CPointer(dtype.dtype)(types.int64, dtype), code


@_intrinsic  # type: ignore[untyped-decorator]
def fetch_subtract(_typing_context: Any, address: Any, _value: Any) -> Any:
    """Subtract from what a pointer shows, as one indivisible step, and return what was there; int64."""

    def code(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        item = context.get_value_type(address.dtype)
        old = builder.atomic_rmw("sub", args[0], builder.trunc(args[1], item), "monotonic")
        return builder.zext(old, context.get_value_type(types.int64))

    return types.int64(address, types.int64), code
