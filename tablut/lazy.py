"""Names of a package that are loaded when they are first asked for (PEP 562).

`tablut --help` reads every package's `commands` and must load neither numba nor pydantic.
What a package exports is therefore imported on first use. For checkers and editors the
package imports the same names under `TYPE_CHECKING`; a test holds both lists equal.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def lazy_exports(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the ``__getattr__`` and the ``__dir__`` of a package."""

    def _find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(homes[name]), name)

    def _names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes})

    return _find, _names
