"""Compiled kernels on disk: a damaged file is rebuilt, never believed and never fatal."""

import ast
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numba
import pytest
from filelock import FileLock
from hypothesis import given
from hypothesis import strategies as st

from tablut.engine import kernel_cache
from tablut.engine.jit import kernel
from tablut.engine.kernel_cache import seal, unseal
from tablut.errors import MachineError
from tablut.work import clocks
from tests.support.effort import slow_but

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("symmetry", "tablut", "counting", "retrograde", "reports")
KEY = hashlib.sha256(b"sources").digest()

# Kernels of one file; two are called through dispatchers of their own, so that every call asks the cache.
MODULE = '''
from tablut.work import clocks
from tablut.engine.jit import kernel

def double(x):
    return 2 * x

def triple(x):
    return 3 * x

@kernel
def fourfold(x):
    return 4 * x

def answers():
    """Return both answers by new dispatchers, and how many kernels were compiled for them."""
    before = clocks.compiled_kernels()
    return [int(kernel(function)(7)) for function in (double, triple)], clocks.compiled_kernels() - before
'''


# Processes that wait for one another, so that all miss the cache at once.
TOGETHER = """
import json, time
from pathlib import Path
from module import answers

folder = Path({folder!r})
(folder / "ready-{name}").touch()
while len(list(folder.glob("ready-*"))) < 2:
    time.sleep(0.002)
print(json.dumps([answers() for _ in range(3)]))
"""


@pytest.fixture
def run(tmp_path):
    """Run Python with the module at hand and a cache of its own; return what it printed, as JSON."""
    (tmp_path / "module.py").write_text(MODULE, encoding="utf-8")

    def run(script: str) -> object:
        process = start(tmp_path, script)
        output, complaints = process.communicate(timeout=300)
        assert process.returncode == 0, complaints
        return json.loads(output)

    return run


def start(folder, script, **settings):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache"), "PYTHONPATH": str(folder), **settings}
    environment["PYTHONDONTWRITEBYTECODE"] = "1"  # Python takes a source of the same second and length for the old one
    return subprocess.Popen(
        [sys.executable, "-c", script], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_what_is_edited_under_a_running_process_is_compiled_anew_by_the_next(run, tmp_path):
    new = MODULE.replace("2 * x", "5 * x")
    path = str(tmp_path / "module.py")
    # An editor, or a copy of an older version, may leave any date.
    edited = f"import os\nfrom pathlib import Path\nPath({path!r}).write_text({new!r}); os.utime({path!r}, (1e9, 1e9))"
    asked = "import json; from module import answers"
    assert run(f"{asked}\n{edited}\nprint(json.dumps(answers()[0]))") == [14, 21]
    assert run(f"{asked}; print(json.dumps(answers()))") == [[35, 21], 2]


def test_a_source_dated_in_the_future_is_compiled_once(run, tmp_path):
    """The clock of the machine that wrote it may be ahead."""
    os.utime(tmp_path / "module.py", (time.time() + 86400,) * 2)
    for compiled in (2, 0):
        assert run("import json; from module import answers; print(json.dumps(answers()))") == [[14, 21], compiled]


@pytest.mark.slow
def test_several_processes_at_once(run, tmp_path):
    (tmp_path / "module.py").write_text(MODULE, encoding="utf-8")
    processes = [start(tmp_path, TOGETHER.format(folder=str(tmp_path), name=name)) for name in range(2)]
    compiled = 0
    for process in processes:
        output, complaints = process.communicate(timeout=300)
        assert process.returncode == 0, complaints
        runs = json.loads(output)
        assert [values for values, _ in runs] == [[14, 21]] * 3
        assert runs[1][1] == runs[2][1] == 0
        compiled += runs[0][1]
    assert compiled == 2  # each kernel once: who comes second waits for the file
    assert run("import json\nfrom module import answers\nprint(json.dumps(answers()))") == [[14, 21], 0]
    assert not [path for path in (tmp_path / "cache").rglob(".*") if path.is_file()]


PARTS = """
from tablut.engine.jit import inlined

PART = {part}

@inlined
def part(x):
    return x + PART
"""
BETWEEN = """
from tablut.far.parts import part

__all__ = ["part"]
"""
USER = """
import json
from typing import TYPE_CHECKING

from tablut.work import clocks
from tablut.engine.jit import kernel
from {home} import part

if TYPE_CHECKING:
    from tablut.far.unrelated import Anything

@kernel
def total(x):
    return part(x) + 1

if __name__ == "counting.user":
    print(json.dumps([int(total(7)), clocks.compiled_kernels()]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("home", ["counting.between", "tablut.far", "tablut.far.parts"])
def test_a_kernel_is_compiled_anew_when_what_it_inlines_changes_and_for_nothing_else(home, tmp_path):
    """In a copy of the packages, wherever the changed part is at home."""
    packages = tmp_path / "packages"
    for name in ("symmetry", "tablut", "counting"):
        shutil.copytree(ROOT / name, packages / name, ignore=shutil.ignore_patterns("__pycache__", "data"))
    (packages / "tablut" / "far").mkdir()
    (packages / "tablut" / "far" / "parts.py").write_text(PARTS.format(part=10))
    (packages / "tablut" / "far" / "unrelated.py").write_text("class Anything: ...\n")
    (packages / "tablut" / "far" / "__init__.py").write_text(
        "import lazy_loader\n\n__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)\n"
    )
    (packages / "tablut" / "far" / "__init__.pyi").write_text("from .parts import part as part\n")
    (packages / "counting" / "between.py").write_text(BETWEEN)
    (packages / "counting" / "user.py").write_text(USER.format(home=home))
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(packages)}

    def answer():
        call = [sys.executable, "-c", "import counting.user"]
        done = subprocess.run(call, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    assert answer() == [18, 1]
    for unrelated in ("tablut/engine/perft.py", "tablut/far/unrelated.py", "counting/spaces.py"):
        with (packages / unrelated).open("a") as file:
            file.write("# a comment\n")
    assert answer() == [18, 0]
    (packages / "tablut" / "far" / "parts.py").write_text(PARTS.format(part=20))
    assert answer() == [28, 1]


def test_what_modules_import_when_they_run_is_found():
    """By the text of the lines as by Python's parser, for every fourth module that ships."""
    paths = [path for name in PACKAGES for path in modules_of(name)]
    assert len(paths) > 100
    for path in paths[::4]:
        source = path.read_text(encoding="utf-8")
        wanted = set()
        for node in imports_that_run(ast.parse(source).body):
            for alias in node.names:
                target = alias.name if isinstance(node, ast.Import) else f"{node.module}.{alias.name}"
                wanted.add(target)
        own = {target for target in wanted if target.split(".")[0] in PACKAGES}
        assert len(kernel_cache.imported_modules(source)) == len(own), (path, own)


def modules_of(package):
    return [path for path in sorted((ROOT / package).rglob("*.py")) if not path.name.startswith("__")]


def imports_that_run(nodes):
    for node in nodes:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield node
        # The compiler of `PRIVATE` is in every key of its own.
        elif isinstance(node, ast.If) and not re.search("TYPE_CHECKING|PRIVATE", ast.unparse(node.test)):
            yield from imports_that_run(node.body + node.orelse)
        elif isinstance(node, (ast.Try, ast.With)):
            yield from imports_that_run(node.body)


@given(st.binary(max_size=200), st.data())
def test_what_is_sealed_is_unsealed_and_nothing_else(payload, data):
    content = seal(KEY, payload)
    assert unseal(KEY, content) == payload
    assert unseal(hashlib.sha256(b"others").digest(), content) is None
    end = data.draw(st.integers(0, len(content) - 1))
    assert unseal(KEY, content[:end]) is None
    changed = bytearray(content)
    changed[end] ^= 1 << data.draw(st.integers(0, 7))
    assert unseal(KEY, bytes(changed)) is None
    assert unseal(KEY, content + b"\0") is None


def _plus(x):
    return x + 1


def full(path, content):
    raise MachineError(f"output file {str(path)!r}: No space left on device")


@pytest.mark.parametrize("locators", [[], [kernel_cache._ReadOnly]])
def test_without_a_folder_it_works_and_says_so_once(monkeypatch, capsys, locators):
    """numba finds no place at all, or one that cannot be written."""
    monkeypatch.setattr(kernel_cache, "_warnings", [])
    monkeypatch.setattr(kernel_cache, "write_bytes", full)
    monkeypatch.setattr(kernel_cache._Implementation, "_locator_classes", locators)
    assert [kernel(_plus)(1), kernel(_plus)(2)] == [2, 3]
    assert capsys.readouterr().err.count("set NUMBA_CACHE_DIR") == 1


def test_a_full_disk_costs_the_cache_only(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(kernel_cache, "_warnings", [])
    monkeypatch.setattr(kernel_cache, "write_bytes", full)
    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(tmp_path))
    assert kernel(_plus)(1) == 2
    assert "No space left on device" in capsys.readouterr().err


def test_a_damaged_kernel_is_compiled_anew(monkeypatch, tmp_path):
    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(tmp_path))
    assert kernel(_plus)(1) == 2
    (path,) = tmp_path.rglob("*.kernel")
    whole = path.read_bytes()
    for content in (
        b"",
        whole[:-1],
        whole[:60] + bytes([whole[60] ^ 1]) + whole[61:],
        bytes(len(whole)),
        b"\x80\x04N.",
    ):
        path.write_bytes(content)
        before = clocks.compiled_kernels()
        assert kernel(_plus)(1) == 2
        assert clocks.compiled_kernels() == before + 1
        assert unseal(whole[16:48], path.read_bytes()) is not None


SHARED = """
from tablut.engine.jit import called, kernel

@called
def part(x):
    return x + 10

@kernel
def twice(x):
    return 2 * part(x)

@kernel
def thrice(x):
    return 3 * part(x)
"""


def test_a_part_is_kept_for_kernels_of_other_processes_and_compiled_anew_if_it_is_damaged(run, tmp_path):
    (tmp_path / "shared.py").write_text(SHARED, encoding="utf-8")

    def kept(name):
        (path,) = (tmp_path / "cache").rglob(f"shared.{name}-*.kernel")
        return path

    assert run("import shared; print(shared.twice(7))") == 34
    whole, written = kept("part").read_bytes(), kept("part").stat().st_mtime_ns
    assert run("import shared; print(shared.thrice(7))") == 51
    assert kept("part").stat().st_mtime_ns == written
    for content in (whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:], kept("twice").read_bytes()):
        kept("part").write_bytes(content)
        kept("thrice").unlink()
        assert run("import shared; print(shared.thrice(7))") == 51
        assert kept("part").read_bytes() != content


def test_who_waits_in_vain_compiles(monkeypatch, tmp_path):
    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(kernel_cache, "_PATIENCE", 0.1)
    with kernel_locked(kernel(_plus)):
        assert kernel(_plus)(1) == 2
    assert list(tmp_path.rglob("*.kernel"))


def kernel_locked(dispatcher):
    """Return a held lock: another process compiles the version for an integer."""
    path = dispatcher._cache.path((numba.typeof(1),), dispatcher.targetctx.codegen())
    path.parent.mkdir(parents=True, exist_ok=True)
    return FileLock(path.with_name(f".{path.name}.lock"))


def test_another_compiler_or_machine_has_files_of_its_own(monkeypatch, tmp_path):
    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(tmp_path))
    cache = kernel(_plus)._cache

    class Codegen:
        def __init__(self, *parts):
            self.parts = parts

        def magic_tuple(self):
            return self.parts

    names = {cache.path((), Codegen("x86", "cpu", features)).name for features in ("+avx", "+avx512")}
    monkeypatch.setattr("numba.__version__", "0.0")
    names.add(cache.path((), Codegen("x86", "cpu", "+avx")).name)
    monkeypatch.setattr("llvmlite.__version__", "0.0")
    names.add(cache.path((), Codegen("x86", "cpu", "+avx")).name)
    assert len(names) == 4


def test_what_killed_processes_left_is_swept_and_what_others_write_is_not(tmp_path):
    old, new = tmp_path / ".a.kernel.x1.tmp", tmp_path / ".b.kernel.x2.tmp"
    locked = tmp_path / ".c.kernel.lock"
    for path in (old, new, locked):
        path.write_bytes(b"half")
    past = time.time() - 7200
    for path in (old, locked):
        os.utime(path, (past, past))
    kernel_cache._sweep(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [new.name]


@pytest.mark.slow
def test_another_process_compiles_ahead(run):
    """The kernel is kept when that process ends; it was called with the same types, and not compiled here."""
    script = """
import json
from types import SimpleNamespace
import numba
from module import fourfold
from tablut.engine import jit, kernel_cache
from tablut.work import clocks

numba.config.NUMBA_NUM_THREADS = 2
started = []
kernel_cache.atexit = SimpleNamespace(register=lambda end, process: started.append(process))
for _ in range(2):
    jit.ahead(fourfold, 7)
for process in started:
    process.communicate()
print(json.dumps([len(started), int(fourfold(7)), clocks.compiled_kernels()]))
"""
    assert run(script) == [1, 28, 0]


# A process that may write only below one folder, or nowhere.
ANOTHER_USER = """
import json, os, tempfile
from types import SimpleNamespace
from numba.core import caching

def try_to_write(dir):
    if not {writable!r} or not dir.startswith({writable!r}):
        raise PermissionError(13, "Permission denied", dir)
    return tempfile.TemporaryFile(dir=dir)

caching.tempfile = SimpleNamespace(TemporaryFile=try_to_write)
if {homeless}:
    os.path.expanduser = lambda path: path
    os.environ.pop("XDG_CACHE_HOME", None)
from module import answers
from tablut.engine import kernel_cache
from tablut.work import clocks

os.chdir({folder!r})
print(json.dumps([*answers(), kernel_cache._warnings]))
"""


@pytest.mark.parametrize(
    ("writable", "homeless"), slow_but([("", True), ("home", False)], [("", False), ("here", True)])
)
def test_kernels_that_the_owner_of_an_installation_compiled_are_used_by_others(run, tmp_path, writable, homeless):
    """`here` is the current folder, where numba alone would create a folder named ~."""
    for name in ("home", "here"):
        (tmp_path / name).mkdir()
    settings = {"NUMBA_CACHE_DIR": "", "HOME": str(tmp_path / "home"), "XDG_CACHE_HOME": str(tmp_path / "home")}

    def answer(script):
        process = start(tmp_path, script, **settings)
        output, complaints = process.communicate(timeout=300)
        assert process.returncode == 0, complaints
        return json.loads(output)

    assert answer("import json; from module import answers; print(json.dumps(answers()))") == [[14, 21], 2]
    assert len(list(tmp_path.glob("__pycache__/*.kernel"))) == 2
    place = writable and str(tmp_path / writable)
    other = ANOTHER_USER.format(writable=place, homeless=homeless, folder=str(tmp_path / "here"))
    assert answer(other) == [[14, 21], 0, []]
    assert list((tmp_path / "here").iterdir()) == []


SHIPPING = """
import json, sys
from pathlib import Path
from tablut.engine import kernel_cache
from tablut.work import clocks

kernel_cache.SHIPPED = Path({folder!r})
import module

answer = int(module.fourfold(7))
if {ship}:
    for arguments in module.fourfold.overloads:
        module.fourfold._cache.ship(arguments, module.fourfold.targetctx.codegen(), kernel_cache.SHIPPED)
print(json.dumps([answer, clocks.compiled_kernels()]))
"""


@pytest.mark.skipif(kernel_cache.baseline() is None, reason="this processor lacks features of the baseline")
def test_a_shipped_kernel_is_used_until_it_is_damaged_or_its_source_changes(run, tmp_path, monkeypatch):
    folder = tmp_path / "shipped"
    folder.mkdir()

    def answer(*, ship=False):
        shutil.rmtree(tmp_path / "cache", ignore_errors=True)
        return run(SHIPPING.format(folder=str(folder), ship=ship))

    with monkeypatch.context() as settings:
        settings.setenv("NUMBA_CPU_NAME", kernel_cache.baseline())
        settings.setenv("NUMBA_CPU_FEATURES", "")
        assert answer(ship=True) == [28, 1]
        assert answer() == [28, 1]  # whoever chooses a processor gets code for it
    [shipped] = folder.iterdir()
    assert answer() == [28, 0]
    nowhere = ANOTHER_USER.partition("from module")[0].format(writable="", homeless=False)
    assert run(f"{nowhere}\n{SHIPPING.format(folder=str(folder), ship=False)}") == [28, 0]
    content = shipped.read_bytes()
    shipped.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    assert answer() == [28, 1]
    shipped.write_bytes(content)
    (tmp_path / "module.py").write_text(MODULE.replace("4 * x", "6 * x"), encoding="utf-8")
    assert answer() == [42, 1]
