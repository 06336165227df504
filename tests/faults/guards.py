"""Memory that ends where its pages end: an access past an array is a fault, at the very byte.

Both numpy and the compiled code of this process take their arrays from here: numpy by the
allocator that all of its arrays share, compiled code by the one function of numba's that
`np.empty` comes down to there. Each array gets pages of its own between pages that nobody may
touch. It lies against the page after it, or (``before``) against the one before it. What is not
cleared is filled with `GARBAGE`, and pages that were given back are never used again.

Memory that something else owns is out of reach: mapped files, and what `numpy.frombuffer` is
given, which is therefore copied. Linux alone.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import signal
import sys
from functools import cache, partial
from itertools import product
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from llvmlite import binding
from numba import cfunc, njit
from numba.core.registry import cpu_target
from numba.core.runtime import _nrt_python as nrt
from numba.core.runtime import rtsys

from tablut.engine.jit import I64, KERNELS, fetch_subtract, items_at

if TYPE_CHECKING:
    from collections.abc import Callable


GARBAGE: Final = 0xA5
_PAGE: Final = mmap.PAGESIZE
_SPACE: Final = 1 << 38
"""Bytes of addresses; memory is taken for those in use alone."""
_OWN: Final = ("counting", "reports", "retrograde", "symmetry", "tablut")
_ON, _BEFORE, _TOP = 0, 1, 2
_DEFAULT_HANDLER: Final = 306
"""Where numpy's table of functions has its allocator, NEP 49."""


class _Handler(ctypes.Structure):
    """``PyDataMem_Handler``."""

    _fields_ = (
        ("name", ctypes.c_char * 127),
        ("version", ctypes.c_uint8),
        *((field, ctypes.c_size_t) for field in ("context", "malloc", "calloc", "realloc", "free")),
    )


def _c(name: str, result: Any, *arguments: Any) -> Any:
    function = getattr(ctypes.CDLL(None), name)
    function.restype, function.argtypes = result, arguments
    return function


def guard(*, before: bool = False) -> None:
    """Guard every array that is made from now on, in this process and its forks."""
    _switch_on(before)
    for module, name, function in _exact():
        setattr(module, name, function)
    np.frombuffer = lambda *args, **options: _frombuffer(*args, **options).copy()


def _switch_on(before: bool) -> None:
    state = prepare()
    state[_BEFORE], state[_ON] = before, 1


def check() -> None:
    """Raise a RuntimeError unless an access beside an array, by one byte, ends a process, and none within it does."""
    prepare()
    makers = (
        njit(lambda size: np.empty(size, np.uint8)),
        partial(np.empty, dtype=np.uint8),
        partial(np.zeros, dtype="u1"),
    )
    for before, make, size in product((False, True), makers, (1, 24, 5000)):
        make(size)
        for place in (0, size - 1, -1 if before else size):
            pid = os.fork()
            if pid == 0:
                _switch_on(before)
                array = make(size)
                ctypes.string_at(array.ctypes.data + place, 1)
                os._exit(0)
            code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            if code != (0 if 0 <= place < size else -signal.SIGSEGV):
                raise RuntimeError(f"byte {place} of an array of {size}: {code}")


@cache
def _exact() -> list[tuple[Any, str, Callable[..., Any]]]:
    """Return what makes arrays with room around them or keeps them, wherever it is named, and what is to do so here."""
    from retrograde.solver.slices import slice_plan as plan
    from retrograde.tablebase import bulk_probing as scratch
    from tablut.play.search import transposition
    from tablut.work import direct as memory

    def of_bytes(count: int) -> Any:
        # Whole words: what lies in them may be words.
        return np.empty(count + -count % 8, dtype=np.uint8)[:count]

    def kept(module: Any, name: str, array: Any) -> Any:
        # Until the thread asks for memory of the same name: kernels may have its address alone.
        setattr(module._held, name, array)
        return array

    def buffered(buffer: Any, count: int) -> Any:
        buffer._held = of_bytes(count)
        return buffer._held

    exact = {
        memory.aligned: of_bytes,
        plan.room: lambda name, count: kept(plan, name, np.empty(max(count, 1), np.uint16)[:count]),
        scratch.mapped_array: lambda _path, size, dtype: np.zeros(size, dtype=dtype),
        transposition.own_lines: lambda items, dtype: np.zeros(items, dtype=dtype),
        transposition.empty_table: lambda mebibytes: np.zeros(1 << ((mebibytes << 17).bit_length() - 1), np.uint64),
    }
    return [(memory.Buffer, "bytes", buffered)] + [
        (module, name, exact[value])
        for path, module in sys.modules.items()
        if path.split(".")[0] in _OWN
        for name, value in vars(module).items()
        if isinstance(value, FunctionType) and value in exact
    ]


_frombuffer = np.frombuffer


@cache
def prepare() -> Any:
    """Put the allocator in its places, where it does nothing yet, and return its state; before any kernel is loaded."""
    word, number = ctypes.c_ssize_t, ctypes.c_int
    mapped = _c("mmap", word, word, word, number, number, number, word)
    allow, fill, copy = (
        _c(name, word, word, *rest)
        for name, rest in (("mprotect", (word, number)), ("memset", (number, word)), ("memcpy", (word, word)))
    )
    malloc, calloc, realloc, free = (
        _c(name, word, *(word,) * count) for name, count in (("malloc", 1), ("calloc", 2), ("realloc", 2), ("free", 1))
    )
    no_reserve, exactly_there = 0x4000, 0x10  # as Linux numbers them
    anonymous = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | no_reserve
    fixed, usable = anonymous | exactly_there, mmap.PROT_READ | mmap.PROT_WRITE
    space = mapped(0, _SPACE, 0, anonymous, -1, 0)
    # By page, the size of the array that begins there.
    sizes = mapped(0, _SPACE // _PAGE * 8, usable, anonymous, -1, 0)
    state = np.array([0, 0, space + _PAGE], dtype=np.int64)
    at_state = state.ctypes.data

    @njit
    def is_on() -> bool:
        return items_at(I64(at_state), np.int64)[_ON] != 0

    @njit
    def is_ours(address: int) -> bool:
        return space <= address < space + _SPACE

    @njit
    def take(size: int) -> int:
        length = (max(size, 1) + _PAGE - 1) // _PAGE * _PAGE
        block = fetch_subtract(items_at(I64(at_state + 8 * _TOP), np.int64), -length - _PAGE)
        if block + length >= space + _SPACE or allow(block, length, usable) != 0:
            return I64(0)
        items_at(I64(sizes), np.int64)[(block - space) // _PAGE] = size
        return block if items_at(I64(at_state), np.int64)[_BEFORE] != 0 else block + length - size

    @njit
    def give_back(address: int) -> None:
        block = address // _PAGE * _PAGE
        size = items_at(I64(sizes), np.int64)[(block - space) // _PAGE]
        mapped(block, (max(size, 1) + _PAGE - 1) // _PAGE * _PAGE, 0, fixed, -1, 0)

    @cfunc("intp(intp, intp)")
    def new(_context: int, size: int) -> int:
        if not is_on():
            return malloc(size)
        address = take(size)
        if address != 0:
            fill(address, GARBAGE, size)
        return address

    @cfunc("intp(intp, intp, intp)")
    def cleared(_context: int, count: int, size: int) -> int:
        return take(count * size) if is_on() else calloc(count, size)

    @cfunc("void(intp, intp, intp)")
    def release(_context: int, address: int, _size: int) -> None:
        if is_ours(address):
            give_back(address)
        else:
            free(address)

    @cfunc("intp(intp, intp, intp)")
    def resized(_context: int, address: int, size: int) -> int:
        if not is_ours(address):
            return realloc(address, size)
        other = take(size)
        if other != 0:
            old = items_at(I64(sizes), np.int64)[(address // _PAGE * _PAGE - space) // _PAGE]
            copy(other, address, min(old, size))
            give_back(address)
        return other

    # In compiled code an array is a counted reference to what the allocator returned.
    rtsys.initialize(cpu_target.target_context)
    original = ctypes.CFUNCTYPE(word, word, ctypes.c_uint32)(nrt.c_helpers["MemInfo_alloc_aligned"])
    table = ctypes.CFUNCTYPE(ctypes.POINTER(word))(nrt.c_helpers["get_api"])()
    manage = ctypes.CFUNCTYPE(word, word, word)(table[2])

    @cfunc("void(intp)")
    def release_data(address: int) -> None:
        give_back(address)

    releasing = release_data.address

    @cfunc("intp(intp, uint32)")
    def new_data(size: int, align: int) -> int:
        if not is_on():
            return original(size, align)
        address = take(size)
        if address == 0:
            return I64(0)
        fill(address, GARBAGE, size)
        return manage(address, releasing)

    if any(kernel.overloads for kernel in KERNELS):
        raise RuntimeError("kernels that are loaded already have numba's allocator")
    binding.add_symbol("NRT_MemInfo_alloc_aligned", new_data.address)
    content = _c("PyCapsule_GetPointer", word, ctypes.py_object, ctypes.c_char_p)
    functions = ctypes.cast(content(np._core._multiarray_umath._ARRAY_API, None), ctypes.POINTER(word))
    capsule = ctypes.cast(functions[_DEFAULT_HANDLER], ctypes.POINTER(ctypes.py_object)).contents.value
    handler = _Handler.from_address(content(capsule, b"mem_handler"))
    handler.malloc, handler.calloc = new.address, cleared.address
    handler.realloc, handler.free = resized.address, release.address
    # For as long as the process lives.
    prepare.kept = (new, cleared, release, resized, new_data, release_data, state)  # type: ignore[attr-defined]
    return state
