"""An editor sees the names of a lazy package: both of its lists agree. What a checker sees: `tests/typing`."""

import ast
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
LAZY = [
    ".".join(path.relative_to(ROOT).parent.parts)
    for package in ("symmetry", "tablut", "counting", "retrograde", "reports")
    for path in sorted((ROOT / package).rglob("__init__.py"))
    if "__getattr__" in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("name", LAZY)
def test_what_is_promised_to_checkers_is_what_is_loaded(name: str) -> None:
    package = importlib.import_module(name)
    assert package.__file__ is not None
    promised = {
        alias.name: node.module
        for block in ast.parse(Path(package.__file__).read_text(encoding="utf-8")).body
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert promised
    for export, home in promised.items():
        assert home is not None
        assert getattr(package, export) is getattr(importlib.import_module(home), export)
    assert set(package.__all__) <= set(dir(package))
    assert promised.keys() <= set(package.__all__)
    with pytest.raises(AttributeError, match="no_such_name"):
        package.no_such_name  # noqa: B018
