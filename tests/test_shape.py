"""Functions stay of a size that a reader holds in the head."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
FOLDERS = ("symmetry", "tablut", "counting", "retrograde", "reports", "docs/building")
MODULES = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
MOST_PARAMETERS, MOST_LINES = 8, 80
# Kernels whose parts would need all of what they share. Do not add to them.
LARGER = {"_negamax", "_tally_lemmas"}


def body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def larger(path: Path) -> Iterator[str]:
    """Yield the names of functions that are too long or take too much; the parameters of a command are its options."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            many = len(node.args.posonlyargs + node.args.args) > MOST_PARAMETERS and not node.name.endswith("_command")
            if many or body_lines(node) > MOST_LINES:
                yield node.name


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_functions_are_short_and_take_few_parameters(path: Path) -> None:
    assert set(larger(path)) <= LARGER


def test_the_modules_are_found_and_no_exception_is_kept_for_nothing() -> None:
    assert len(MODULES) > 300
    assert {name for path in MODULES for name in larger(path)} == LARGER
