"""A plain install has what the packages import, and nothing else; what an extra is for says so when it is missing."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.test_architecture import imports

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PACKAGES = ("symmetry", "tablut", "counting", "retrograde", "reports")

# Parts of a dependency that are distributions of their own.
PARTS = {
    "llvmlite": "numba",
    "pydantic_core": "pydantic",
    "shellingham": "typer",
    "click": "typer",
    "markupsafe": "jinja2",
    "gymnasium": "pettingzoo",
    "pyspiel": "open_spiel",
}
# Modules that an extra is for.
OPTIONAL = {
    "distributed": {"tablut/running/scheduling.py"},
    "open_spiel": {"tablut/env/__init__.py", "tablut/env/openspiel.py"},
    "pettingzoo": {"tablut/env/__init__.py", "tablut/env/aec.py"},
    "sphinx": {"reports/site/building.py"},
}


def imported_by_packages() -> dict[str, set[str]]:
    """Return the files that import each module from outside, also by its name in a string; studies do not ship."""
    found: dict[str, set[str]] = {}
    files = {path for package in PACKAGES for path in (ROOT / package).rglob("*.py")}
    # Studies are run from a checkout, with the extra `test`.
    for path in files - set((ROOT / "reports" / "studies").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        names = [name for name, _ in imports(ast.parse(text))] + re.findall(r'\bimport_module\("([\w.]+)"', text)
        for top in {name.split(".")[0] for name in names} - set(sys.stdlib_module_names) - set(PACKAGES):
            found.setdefault(PARTS.get(top, top), set()).add(path.relative_to(ROOT).as_posix())
    return found


def named(requirements: list[str]) -> set[str]:
    return {requirement.split(">")[0] for requirement in requirements}


def test_a_plain_install_has_what_is_imported_and_nothing_else() -> None:
    imported = imported_by_packages()
    assert {name: imported.pop(name) for name in OPTIONAL} == OPTIONAL
    assert set(imported) == named(PROJECT["dependencies"])


@pytest.mark.slow
def test_commands_work_without_what_is_optional() -> None:
    """The shell, the census and the tablebases, where no optional package can be imported."""
    blocked = "".join(f"sys.modules[{name!r}] = None\n" for name in (*OPTIONAL, "dask", "pytest"))
    script = (
        f"import sys, tempfile\n{blocked}from tablut.cli.shell import run\n"
        "assert run(['--help']) == 0\n"
        "assert run(['census', '-v', 'ashton-5-4v0', '--plies', '2', '--threads', '2']) == 0\n"
        "cluster = ['--scheduler', 'tcp://127.0.0.1:8786']\n"
        "store = tempfile.mkdtemp() + '/base'\n"
        "assert run(['tablebase', 'build', '-v', 'brandubh-5-4v0', '--men', '2', '--store', store]) == 0\n"
        "assert run(['census', '-v', 'ashton-5-4v0', '--plies', '2', '--store', store + '-census', *cluster]) == 2\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stderr.splitlines() if "scheduler" in line]
    assert len(lines) == 1, done.stderr
    assert lines[0].endswith("pip install 'tablut[cluster]'")
