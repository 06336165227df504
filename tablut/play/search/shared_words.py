"""Words of 64 bits that several threads read and write: each is read or written whole, in no promised order.

On common processors this is what a plain access does; said aloud, the compiler may not split
an access, repeat it, or take a word for the one that it read before.
"""

from __future__ import annotations

from typing import Any

from numba.core import types
from numba.extending import intrinsic

__all__ = ["read_word", "write_word"]

_intrinsic: Any = intrinsic
_BYTES = 8


@_intrinsic  # type: ignore[untyped-decorator]
def read_word(_typing_context: Any, address: Any) -> Any:
    """Return the word at a pointer.

    Parameters
    ----------
    _typing_context : numba.core.typing.BaseContext
        Not used.
    address : pointer to uint64
        Aligned.

    Returns
    -------
    uint64
        As some thread wrote it.
    """

    def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        word = context.get_value_type(types.uint64)
        return builder.load_atomic(args[0], "monotonic", _BYTES, typ=word)

    return types.uint64(address), codegen


@_intrinsic  # type: ignore[untyped-decorator]
def write_word(_typing_context: Any, address: Any, _word: Any) -> Any:
    """Write the word at a pointer.

    Parameters
    ----------
    _typing_context : numba.core.typing.BaseContext
        Not used.
    address : pointer to uint64
        Aligned.
    _word : uint64
        What to write.

    Returns
    -------
    None
        Nothing.
    """

    def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        builder.store_atomic(args[1], args[0], "monotonic", _BYTES)
        return context.get_dummy_value()

    return types.void(address, types.uint64), codegen
