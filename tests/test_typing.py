"""Types reach the user: a checker sees mistakes, an editor sees the names, both lists of a lazy package agree."""

import ast
import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
USER_CODE = ROOT / "tests" / "typing" / "user_code.py"
LAZY = [
    ".".join(path.relative_to(ROOT).parent.parts)
    for package in ("symmetry", "tablut", "counting", "retrograde", "reports")
    for path in sorted((ROOT / package).rglob("__init__.py"))
    if "__getattr__" in path.read_text(encoding="utf-8")
]


def found_by_mypy(path: Path, cache: Path) -> set[tuple[int, str]]:
    checked = subprocess.run(
        [
            sys.executable,
            "-m",
            "mypy",
            "--config-file",
            str(ROOT / "pyproject.toml"),
            "--cache-dir",
            str(cache),
            str(path),
        ],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "COLUMNS": "200"},
    )
    assert checked.returncode in (0, 1), checked.stdout + checked.stderr
    errors = re.findall(
        rf"^{re.escape(str(path.relative_to(ROOT)))}:(\d+): error: .*\[([\w-]+)\]$", checked.stdout, re.M
    )
    # Every error is in the file: none comes from the packages themselves.
    assert len(errors) == checked.stdout.count(": error:"), checked.stdout
    return {(int(line), kind) for line, kind in errors}


def test_a_checker_finds_a_users_mistakes_and_no_others() -> None:
    marked = {
        (number, kind)
        for number, line in enumerate(USER_CODE.read_text(encoding="utf-8").splitlines(), 1)
        for kind in re.findall(r"# E: ([\w-]+)$", line)
    }
    assert len(marked) > 10
    assert found_by_mypy(USER_CODE, ROOT / ".mypy_cache") == marked


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
