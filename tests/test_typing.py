"""A lazy package loads all that its stub promises. What a checker sees: `tests/typing`."""

import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
LAZY = [
    ".".join(path.relative_to(ROOT).parent.parts)
    for package in ("symmetry", "tablut", "counting", "retrograde", "reports")
    for path in sorted((ROOT / package).rglob("__init__.pyi"))
]


@pytest.mark.parametrize("name", LAZY)
def test_what_is_promised_to_checkers_is_loaded(name: str) -> None:
    package = importlib.import_module(name)
    assert package.__all__
    assert set(package.__all__) <= set(dir(package))
    for export in package.__all__:
        assert getattr(package, export) is not None
    with pytest.raises(AttributeError):
        package.no_such_name  # noqa: B018
