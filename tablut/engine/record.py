"""The type of a tuple of tables below the entry of a kernel: told from others by a short name.

Every function below an entry takes one to three tuples of twenty to forty pointers. numba
compares such types item by item, millions of times in a compilation, and spells all
of their items out in the name of every function that takes them. `record` gives the same
tuple a type that is compared, and spelt, as one word; the code is the same.
"""

from __future__ import annotations

import hashlib
from typing import Any

from numba.core import types
from numba.extending import intrinsic, models, register_model

__all__ = ["Record", "record"]

_intrinsic: Any = intrinsic


class Record(types.NamedTuple):
    """A named tuple whose name stands for all that its type is.

    Parameters
    ----------
    whole : numba.types.NamedTuple
        The type that it stands for.
    """

    def __init__(self, whole: types.NamedTuple) -> None:
        super().__init__(whole.types, whole.instance_class)
        origin = whole.instance_class
        spelt = f"{origin.__module__}.{origin.__qualname__} {self.fields} {whole.types!r}"
        self.name = f"{origin.__name__}_{hashlib.sha256(spelt.encode()).hexdigest()[:16]}"

    @property
    def key(self) -> str:
        """What types are compared by."""
        return self.name

    @property
    def mangling_args(self) -> tuple[str, tuple[()]]:
        """What the names of functions are made of."""
        return self.name, ()


register_model(Record)(models.TupleModel)


@_intrinsic  # type: ignore[untyped-decorator]
def record(_typing_context: Any, whole: Any) -> Any:
    """Return a named tuple as one that is cheap to compile with."""

    def code(_context: Any, _builder: Any, _signature: Any, args: Any) -> Any:
        return args[0]

    return (Record(whole) if type(whole) is types.NamedTuple else whole)(whole), code
