"""Kernel arithmetic with unsigned integers that consist of several 64-bit words.

A number is a tuple of words (uint64), the low word first, such as ``(low, high)`` for 128 bits. The number of words is
part of its type. The functions therefore work for any number of words, and LLVM compiles them for the given number. The
results wrap around like those of machine integers. In a table, each number takes the same number of consecutive words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from tablut.engine.jit import inlined

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

_intrinsic: Any = intrinsic
_UniTuple: Any = types.UniTuple
_BITS: Final = 64
_WORD: Final = ir.IntType(_BITS)
_REAL: Final = ir.DoubleType()

Words = tuple[Any, ...]
"""A number in a kernel."""


def table_of(values: Iterable[int], words: int) -> NDArray[np.uint64]:
    """Return a table of numbers. An OverflowError is raised if a number does not fit."""
    content = b"".join(value.to_bytes(8 * words, "little") for value in values)
    return np.frombuffer(content, dtype="<u8").astype(np.uint64)


# -- operations ----------------------------------------------------------------------------


def _joined(builder: Any, value: Any, kind: Any, count: int) -> Any:
    """Return a tuple of words as one LLVM integer of ``count`` words."""
    whole = ir.IntType(_BITS * count)
    total = whole(0)
    for place in range(kind.count):
        word = builder.zext(builder.extract_value(value, place), whole)
        total = builder.or_(total, builder.shl(word, whole(_BITS * place)))
    return total


def _split(context: Any, builder: Any, kind: Any, total: Any) -> Any:
    """Return an LLVM integer as a tuple of words of the given type."""
    words = [builder.lshr(total, total.type(_BITS * place)) for place in range(kind.count)]
    return context.make_tuple(builder, kind, [builder.trunc(word, _WORD) for word in words])


def _operation(kind_of: Callable[[Any, Any], Any], build: Callable[[Any, Any, Any], Any]) -> Any:
    """Return an operation on two numbers, given the type of its result and the LLVM instruction for it."""

    @_intrinsic  # type: ignore[untyped-decorator]
    def operation(_typing_context: Any, one: Any, other: Any) -> Any:
        made = kind_of(one, other)

        def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
            count = max(kind.count for kind in (one, other, made) if isinstance(kind, _UniTuple))
            values = (_joined(builder, value, kind, count) for value, kind in zip(args, (one, other), strict=True))
            result = build(builder, *values)
            return _split(context, builder, made, result) if isinstance(made, _UniTuple) else result

        return made(one, other), codegen

    return operation


below: Final = _operation(
    lambda _one, _other: types.boolean, lambda builder, one, other: builder.icmp_unsigned("<", one, other)
)
"""Return whether a number is less than another."""
plus: Final = _operation(lambda one, _other: one, lambda builder, one, other: builder.add(one, other))
"""Return the sum of two numbers. It has as many words as the first number."""
minus: Final = _operation(lambda one, _other: one, lambda builder, one, other: builder.sub(one, other))
"""Return the difference of two numbers. It has as many words as the first number."""
times: Final = _operation(
    lambda one, other: _UniTuple(types.uint64, one.count + other.count),
    lambda builder, one, other: builder.mul(one, other),
)
"""Return the whole product of two numbers. It has as many words as both numbers together."""
common: Final = _operation(lambda one, _other: one, lambda builder, one, other: builder.and_(one, other))
"""Return the bits that two numbers have in common."""
lowest: Final = _operation(lambda _one, other: other, lambda _builder, one, _other: one)
"""Return the low words of a number, as many as those of another."""


@_intrinsic  # type: ignore[untyped-decorator]
def shifted(_typing_context: Any, number: Any, _count: Any) -> Any:
    """Return a number shifted down by a number of bits, which must be less than the number's length."""

    def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        whole = _joined(builder, args[0], number, number.count)
        distance = builder.zext(args[1], whole.type)
        return _split(context, builder, number, builder.lshr(whole, distance))

    return number(number, types.int64), codegen


@_intrinsic  # type: ignore[untyped-decorator]
def bits_of(_typing_context: Any, number: Any) -> Any:
    """Return the number of bits of a number. It is 0 for 0."""

    def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        whole = _joined(builder, args[0], number, number.count)
        zeros = builder.ctlz(whole, ir.Constant(ir.IntType(1), 0))
        return builder.trunc(builder.sub(whole.type(_BITS * number.count), zeros), _WORD)

    return types.int64(number), codegen


@_intrinsic  # type: ignore[untyped-decorator]
def real_of(_typing_context: Any, number: Any) -> Any:
    """Return a number as a float. With n words, its relative error is at most n * 2**-53."""

    def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        total = _REAL(0.0)
        for place in reversed(range(number.count)):
            word = builder.uitofp(builder.extract_value(args[0], place), _REAL)
            total = builder.fadd(builder.fmul(total, _REAL(2.0**_BITS)), word)
        return total

    return types.float64(number), codegen


@_intrinsic  # type: ignore[untyped-decorator]
def whole_of(_typing_context: Any, _value: Any, like: Any) -> Any:
    """Return a non-negative float, rounded down, as a number with as many words as ``like``. It must fit."""

    def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        left, words = args[0], []
        for place in reversed(range(like.count)):
            unit = _REAL(2.0 ** (_BITS * place))
            words.append(builder.fptoui(builder.fdiv(left, unit), _WORD))
            left = builder.fsub(left, builder.fmul(builder.uitofp(words[-1], _REAL), unit))
        return context.make_tuple(builder, like, words[::-1])

    return like(types.float64, like), codegen


def _reading(table: Any, count: int, like: Any) -> Any:
    """Return the signature and the code of a function that reads a number of ``count`` words from a table."""
    made = _UniTuple(types.uint64, count)

    def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        first = builder.gep(args[0], [builder.mul(args[1], _WORD(count))])
        words = [builder.load(builder.gep(first, [_WORD(place)])) for place in range(count)]
        return context.make_tuple(builder, made, words)

    return made(table, types.int64, like), codegen


@_intrinsic  # type: ignore[untyped-decorator]
def words_at(_typing_context: Any, table: Any, _index: Any, like: Any) -> Any:
    """Return the number at the given index of a table. The table's numbers have as many words as ``like``."""
    return _reading(table, like.count, like)


@_intrinsic  # type: ignore[untyped-decorator]
def half_at(_typing_context: Any, table: Any, _index: Any, like: Any) -> Any:
    """Return the number at an index of a table. The table's numbers have half as many words as ``like``."""
    return _reading(table, like.count // 2, like)


@_intrinsic  # type: ignore[untyped-decorator]
def put_words(_typing_context: Any, table: Any, _index: Any, number: Any) -> Any:
    """Write a number to an index of a table."""

    def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        first = builder.gep(args[0], [builder.mul(args[1], _WORD(number.count))])
        for place in range(number.count):
            builder.store(builder.extract_value(args[2], place), builder.gep(first, [_WORD(place)]))
        return context.get_dummy_value()

    return types.void(table, types.int64, number), codegen


# -- searches and division ------------------------------------------------------------------


@inlined
def last_not_above(table: NDArray[np.uint64], guess: int, number: Words) -> int:
    """Return the index of the last entry in an ascending table that is at most a given number.

    The search starts at a guess. The first entry must be 0, and the last entry must be greater than the number.
    """
    while below(number, words_at(table, guess, number)):
        guess -= 1
    while not below(number, words_at(table, guess + 1, number)):
        guess += 1
    return guess


@inlined
def quotient(number: Words, divisor: Words) -> tuple[Words, Words]:
    """Divide a number of at most four words, and return the quotient and the remainder.

    Both have as many words as the divisor. The divisor must have one or two words and must not be 0, and the quotient
    must fit. A floating-point estimate of the quotient, which is slightly too low, is multiplied by the divisor, and
    the product is subtracted. This is repeated until the remainder is less than the divisor. The estimate is computed
    with eight roundings at most, so its relative error would be below 2**-49 without the factor. Every round therefore
    determines at least 47 bits of the quotient.
    """
    result, scale = minus(divisor, divisor), (1.0 - 2.0**-49) / real_of(divisor)
    while not below(number, divisor):
        estimate = real_of(number) * scale
        part = whole_of(estimate if estimate > 1.0 else 1.0, divisor)
        result = plus(result, part)
        number = minus(number, times(part, divisor))
    return result, lowest(number, divisor)
