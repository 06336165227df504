"""A plain install has what the packages import, and nothing else; what an extra is for says so when it is missing."""

import ast
import hashlib
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from pydantic import BaseModel

from counting.reachable.certificates import Header, PositionCertificate, lines_digest, write_file
from retrograde.tablebase.store import RootRecord, RulesRecord
from tablut.play.arena.plan import MatchPlan, contestant
from tablut.play.search.limits import SearchLimits
from tablut.variants import load_variant, variant_names
from tablut.work.sealed_records import digest_of, record_text
from tests.test_architecture import imports

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PACKAGES = ("symmetry", "tablut", "counting", "retrograde", "reports")

# Parts of a dependency that are distributions of their own.
PARTS = {
    "llvmlite": "numba",
    "pydantic_core": "pydantic",
    "markupsafe": "jinja2",
    "gymnasium": "pettingzoo",
    "pyspiel": "open_spiel",
    "PIL": "pillow",
}
# Modules that an extra is for.
OPTIONAL = {
    "distributed": {"tablut/work/run.py"},
    "open_spiel": {"tablut/env/environments.py", "tablut/env/openspiel.py"},
    "pettingzoo": {"tablut/env/environments.py", "tablut/env/aec.py"},
    "sphinx": {"reports/site/site_builder.py"},
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


def test_how_pydantic_writes_a_model_changes_no_digest(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Its versions write models differently; stores, certificates and matches made under any of them stay valid."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a digest rests on how pydantic writes")

    for name in ("model_dump", "model_dump_json"):
        monkeypatch.setattr(BaseModel, name, refuse)
    found = hashlib.sha256()
    for name in variant_names():
        variant = load_variant(name)
        rules = RulesRecord.of(variant).model_copy(update={"title": "Räuber", "source": "a test"})
        record = RootRecord(variant=rules, tiers=((1, 0),))
        found.update((name + variant.digest + record_text(record) + digest_of(record)).encode())
    assert found.hexdigest() == "7ed5bd08702c0cd61727b0dcccadfba18970b270949f326a73bd1161d4e9c01b"
    lines = [PositionCertificate(i=0, n="12", game="AQID"), PositionCertificate(i=1, n="3", unknown=True)]
    assert lines_digest(lines) == "7ee3f2db8632c29328ab350458650c88ff755925c6a07fe210d39edb3ab3309d"
    header = Header(
        version=1,
        variant="räuber",
        digest="0" * 64,
        generator="Philox4x64-10",
        seed=1,
        first=0,
        count=2,
        reachable=1,
        unreachable=0,
        unknown=1,
        interval95=[0.25, 1.0],
        interval99=[0.125, 1.0],
    )
    write_file(tmp_path / "lines.jsonl", header, lines)
    assert (
        hashlib.sha256((tmp_path / "lines.jsonl").read_bytes()).hexdigest()
        == "491a676712ead9dd04884b8034d6c13bce442f750c52e021ff9d6e6b36b916fc"
    )
    first, second = (contestant(name, SearchLimits(nodes=100)) for name in ("alphabeta", "random"))
    plan = MatchPlan(load_variant("ashton"), first, second, 2)
    assert plan.digest == "3dd20ac118afdf0150574e914e8cdca7fdced951f471b1b790e5d1c0ff753f30"
