"""Functions of the solver's house stay of a size that a reader holds in the head."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("retrograde/solver", "retrograde/tablebase", "retrograde/verification", "tablut/indexing")
MODULES = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
MOST_PARAMETERS, MOST_LINES = 8, 80


def body_lines(function: ast.FunctionDef) -> int:
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return body[-1].end_lineno - body[0].lineno + 1 if body else 0


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_functions_are_short_and_take_few_parameters(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef):
            assert len(node.args.posonlyargs + node.args.args) <= MOST_PARAMETERS, node.name
            assert body_lines(node) <= MOST_LINES, node.name


def test_the_modules_are_found() -> None:
    assert len(MODULES) > 40
