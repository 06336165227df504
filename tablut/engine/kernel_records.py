"""Convert records of arrays into what kernels accept, using only their field declarations.

A record is a NamedTuple of integers, arrays and further records. `flat` replaces every array in it with a bare pointer.
`directory` converts it to an array of numbers and addresses, which `record_at` reads inside a kernel.

numba compares record types item by item, millions of times during a compilation, and includes all items in function
names. A `RecordType` is therefore compared by a short name, which also represents it in function names.
"""

from __future__ import annotations

import hashlib
import re
import sys
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numba import from_dtype
from numba.core import types
from numba.extending import intrinsic, models, register_model

if TYPE_CHECKING:
    from collections.abc import Iterator


_intrinsic: Any = intrinsic
_ARRAY = re.compile(r"NDArray\[np\.(\w+)\]")
WIDER: Final = {np.dtype(f"u{size}"): np.dtype(f"u{2 * size}") for size in (1, 2, 4)}
"""Dtypes of arrays on wide boards (`tablut.engine.layout`), keyed by the declared dtype."""


@cache
def field_kinds(record: type[tuple[Any, ...]]) -> dict[str, Any]:
    """Return the declared kind of each field in a record: ``int``, a dtype or a record class."""
    return {name: _kind(record, name, declared) for name, declared in record.__annotations__.items()}


def _kind(record: type, name: str, declared: Any) -> Any:
    # If the evaluation of annotations is postponed, a NamedTuple stores them as text.
    text = str(getattr(declared, "__forward_arg__", None) or getattr(declared, "__name__", declared))
    array = _ARRAY.fullmatch(text)
    if array is not None:
        return np.dtype(getattr(np, array[1]))
    inner = int if text == "int" else vars(sys.modules[record.__module__]).get(text)
    if inner is not int and not hasattr(inner, "_fields"):
        raise TypeError(f"{record.__name__}.{name}: a record holds integers, arrays and records, not {text}")
    return inner


def directory(record: tuple[Any, ...]) -> Any:
    """Convert a record to an array of numbers and addresses for `record_at`.

    The caller must keep the record's arrays alive. The dtype is int64, or uint64 if a nested record is an instance of a
    subclass of its declared class. A record with the wider arrays of wide boards is returned unchanged.
    """
    if _is_wide(record):
        return record
    items = np.array(list(_items(record)), dtype=np.int64)
    return items.view(np.uint64) if _is_less(record) else items


def _is_wide(record: tuple[Any, ...]) -> bool:
    kinds = field_kinds(type(record)).values()
    return any(
        _is_wide(value) if hasattr(kind, "_fields") else kind is not int and value.dtype == WIDER.get(kind)
        for kind, value in zip(kinds, record, strict=True)
    )


def _is_less(record: tuple[Any, ...]) -> bool:
    kinds = field_kinds(type(record)).values()
    return any(
        type(value) is not kind or _is_less(value)
        for kind, value in zip(kinds, record, strict=True)
        if hasattr(kind, "_fields")
    )


def _items(record: tuple[Any, ...]) -> Iterator[int]:
    for (name, kind), value in zip(field_kinds(type(record)).items(), record, strict=True):
        if kind is int:
            yield value
        elif not isinstance(kind, np.dtype):
            yield from _items(value)
        elif isinstance(value, np.ndarray) and value.dtype == kind and value.flags.c_contiguous:
            yield value.ctypes.data
        else:
            raise TypeError(f"{type(record).__name__}.{name}: expected a contiguous array of {kind}")


# -- in kernels ----------------------------------------------------------------------------


class RecordType(types.NamedTuple):
    """Named-tuple type that numba compares by a short name, which contains a digest of the full type."""

    def __init__(self, whole: types.NamedTuple) -> None:
        super().__init__(whole.types, whole.instance_class)
        origin = whole.instance_class
        spelt = f"{origin.__module__}.{origin.__qualname__} {self.fields} {whole.types!r}"
        self.name = f"{origin.__name__}_{hashlib.sha256(spelt.encode()).hexdigest()[:16]}"

    @property
    def key(self) -> str:
        """Key that numba uses to compare types."""
        return self.name

    @property
    def mangling_args(self) -> tuple[str, tuple[()]]:
        """Components that represent this type in mangled function names."""
        return self.name, ()


@register_model(RecordType)
class _RecordModel(models.TupleModel):
    """Data model of a record in a kernel. The record is passed as one value, without reference counts."""

    def traverse(self, _builder: Any) -> list[Any]:
        return []

    def get_argument_type(self) -> Any:
        return self.get_value_type()

    def as_argument(self, _builder: Any, value: Any) -> Any:
        return value

    def from_argument(self, _builder: Any, value: Any) -> Any:
        return value


def _record(fields: list[Any], cls: type) -> Any:
    """Return the type of a record with the given field types. numba uses a special type if they are all equal."""
    whole = types.BaseTuple.from_types(fields, cls)
    return RecordType(whole) if type(whole) is types.NamedTuple else whole


def _is_record(field: Any) -> bool:
    return isinstance(field, types.BaseNamedTuple)


def _pointers(record: Any) -> Any:
    """Return the type of a record with its arrays replaced by pointers."""
    fields = [
        _pointers(field) if _is_record(field) else types.CPointer(field.dtype) if hasattr(field, "ndim") else field
        for field in record.types
    ]
    return _record(fields, record.instance_class)


def _flattened(context: Any, builder: Any, record: Any, value: Any) -> Any:
    values = [builder.extract_value(value, number) for number in range(len(record.types))]
    for number, field in enumerate(record.types):
        if _is_record(field):
            values[number] = _flattened(context, builder, field, values[number])
        elif isinstance(field, types.Array):
            values[number] = context.make_array(field)(context, builder, values[number]).data
    return context.make_tuple(builder, _pointers(record), values)


@_intrinsic  # type: ignore[untyped-decorator]
def flat(_typing_context: Any, record: Any) -> Any:
    """Return a record with its arrays replaced by pointers.

    Kernels pass records in this form to all functions that they call. Indexing a pointer does not check bounds.
    """

    def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return _flattened(context, builder, record, args[0])

    return _pointers(record)(record), codegen


def _declared(cls: type[tuple[Any, ...]], *, less: bool) -> Any:
    """Return the type of a record created by `record_at`.

    If ``less`` is true, each declared class is replaced by its subclass, if it has one.
    """
    cls = next(iter(cls.__subclasses__()), cls) if less else cls
    fields = [
        types.int64
        if kind is int
        else types.CPointer(from_dtype(kind))
        if isinstance(kind, np.dtype)
        else _declared(kind, less=less)
        for kind in field_kinds(cls).values()
    ]
    return _record(fields, cls)


def _loaded(context: Any, builder: Any, made: Any, numbers: Iterator[Any]) -> Any:
    values = []
    for field in made.types:
        if _is_record(field):
            values.append(_loaded(context, builder, field, numbers))
            continue
        item = builder.load(next(numbers))
        pointer = isinstance(field, types.CPointer)
        values.append(builder.inttoptr(item, context.get_value_type(field)) if pointer else item)
    return context.make_tuple(builder, made, values)


@_intrinsic  # type: ignore[untyped-decorator]
def record_at(_typing_context: Any, items: Any, record: Any) -> Any:
    """Return the record described by a `directory` or by a pointer to one, with pointers in place of arrays.

    The caller must keep the memory at the addresses alive.
    """
    if _is_record(items):
        return _pointers(items)(items, record), lambda context, builder, _, args: _flattened(
            context, builder, items, args[0]
        )
    made = _declared(record.instance_class, less=items.dtype == types.uint64)

    def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        def _places() -> Iterator[Any]:
            number, start = 0, args[0]
            if isinstance(items, types.Array):
                start = context.make_array(items)(context, builder, start).data
            while True:
                yield builder.gep(start, [context.get_constant(types.int64, number)])
                number += 1

        return _loaded(context, builder, made, _places())

    return made(items, record), codegen
