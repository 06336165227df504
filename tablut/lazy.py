"""Names of a package that are loaded when they are first asked for (PEP 562).

`tablut --help` reads every package's `commands` and must load neither numba nor pydantic. So a package imports
what it exports under `TYPE_CHECKING`, for checkers and editors, and finds it there when it is asked for.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any


def lazy_exports(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the ``__getattr__`` and the ``__dir__`` of a package, by the imports in its block for checkers."""

    @cache
    def homes() -> dict[str, str]:
        import ast

        loader: Any = sys.modules[package].__loader__
        blocks = [block for block in ast.parse(loader.get_source(package)).body if isinstance(block, ast.If)]
        imports = [node for block in blocks for node in block.body if isinstance(node, ast.ImportFrom)]
        return {alias.name: node.module or "" for node in imports for alias in node.names}

    def _find(name: str) -> Any:
        if name not in homes():
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(homes()[name]), name)

    def _names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes()})

    return _find, _names
