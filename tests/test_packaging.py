"""What is built and released: the kernels in a wheel, the versions of the dependencies, the workflow of a release."""

import hashlib
import importlib.util
import json
import platform
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, Generic, TypeVar

import pytest

from tablut.engine.kernel_cache import seal

ROOT = Path(__file__).resolve().parents[1]
Configuration = TypeVar("Configuration")


# -- the kernels in a wheel ----------------------------------------------------------------


class Interface(Generic[Configuration]):
    """As much of hatchling's interface as the hook uses."""

    target_name, root = "wheel", ""


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    name = "hatchling.builders.hooks.plugin.interface"
    stub = ModuleType(name)
    stub.BuildHookInterface = Interface  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, name, stub)
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Make a folder of two kernels of a small package, as `tablut warmup --into` leaves it."""
    sources = {"small.engine": b"ENGINE = 1\n", "small": b""}
    for place, content in (("small/engine.py", b"ENGINE = 1\n"), ("small/__init__.py", b"")):
        (tmp_path / place).parent.mkdir(exist_ok=True)
        (tmp_path / place).write_bytes(content)
    kernels = {f"{name}-1.py311.0.kernel": seal(name.encode() * 32, b"code of " + name.encode()) for name in "ab"}
    (tmp_path / "kernels").mkdir()
    for name, content in kernels.items():
        (tmp_path / "kernels" / name).write_bytes(content)
    record = {
        "python": sys.version_info[:2],
        "platform": [sys.platform, platform.machine()],
        "sources": {name: digest(content) for name, content in sources.items()},
        "kernels": {name: digest(content) for name, content in kernels.items()},
    }
    (tmp_path / "kernels" / "kernels.json").write_text(json.dumps(record))
    return tmp_path / "kernels"


def built(hook: ModuleType, folder: Path) -> dict[str, Any]:
    """Return what the hook tells hatchling to build."""
    own, found = hook.KernelsHook(), {"force_include": {}}
    own.root = str(folder.parent)
    own.initialize("1.0", found)
    return found


def test_a_wheel_contains_the_kernels_and_nothing_else(
    hook: ModuleType, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TABLUT_KERNELS", raising=False)
    assert built(hook, folder) == {"force_include": {}}
    monkeypatch.setenv("TABLUT_KERNELS", str(folder))
    found = built(hook, folder)
    names = ["a-1.py311.0.kernel", "b-1.py311.0.kernel"]
    assert found["force_include"] == {str(folder / name): f"tablut/engine/compiled/{name}" for name in names}
    assert found["pure_python"] is False
    assert found["tag"].startswith(f"cp{sys.version_info[0]}{sys.version_info[1]}-none-")


def recorded(**values: Any) -> Callable[[Path], None]:
    """Return a function that changes a folder's record."""

    def change(folder: Path) -> None:
        record = json.loads((folder / "kernels.json").read_text())
        (folder / "kernels.json").write_text(json.dumps(record | values))

    return change


def relisted(folder: Path) -> None:
    """Describe whatever is in a folder, so that the record does not contradict it."""
    recorded(kernels={path.name: digest(path.read_bytes()) for path in folder.glob("*.kernel")})(folder)


def text_as_kernel(folder: Path) -> None:
    (folder / "a-1.py311.0.kernel").write_text("once upon a time\n" * 99)
    relisted(folder)


def cut_short(folder: Path) -> None:
    path = folder / "a-1.py311.0.kernel"
    path.write_bytes(path.read_bytes()[:-1])
    relisted(folder)


def changed_byte(folder: Path) -> None:
    path = folder / "a-1.py311.0.kernel"
    content = bytearray(path.read_bytes())
    content[20] ^= 1  # in the key
    path.write_bytes(content)
    relisted(folder)


FAULTS: dict[str, tuple[Callable[[Path], object], str]] = {
    "no folder": (lambda folder: folder.rename(folder.with_name("moved")), "has no kernels.json"),
    "no record": (lambda folder: (folder / "kernels.json").unlink(), "has no kernels.json"),
    "no JSON": (lambda folder: (folder / "kernels.json").write_text("{"), "does not describe kernels"),
    "other JSON": (lambda folder: (folder / "kernels.json").write_text("[1]"), "does not describe kernels"),
    "other Python": (recorded(python=[3, 9]), "Python (3, 9)"),
    "other machine": (recorded(platform=["linux", "pdp11"]), "pdp11"),
    "no kernels": (recorded(kernels={}), "has no kernels"),
    "a text beside": (lambda folder: (folder / "notes.txt").write_text("mine"), "notes.txt is not one of the kernels"),
    "a folder beside": (lambda folder: (folder / "old").mkdir(), "old is not one of the kernels"),
    "a kernel beside": (
        lambda folder: (folder / "c-1.py310.0.kernel").write_bytes(seal(bytes(32), b"old")),
        "c-1.py310.0.kernel is not one of the kernels",
    ),
    "a kernel missing": (lambda folder: (folder / "b-1.py311.0.kernel").unlink(), "b-1.py311.0.kernel is missing"),
    "a kernel of other sources": (
        lambda folder: (folder / "a-1.py311.0.kernel").write_bytes(seal(bytes(32), b"older")),
        "a-1.py311.0.kernel is not the kernel",
    ),
    "a text as kernel": (text_as_kernel, "a-1.py311.0.kernel is not a compiled kernel"),
    "cut short": (cut_short, "a-1.py311.0.kernel is not a compiled kernel"),
    "a changed key": (changed_byte, "a-1.py311.0.kernel is not a compiled kernel"),
    "edited sources": (
        lambda folder: (folder.parent / "small" / "engine.py").write_text("ENGINE = 2\n"),
        "another version of small.engine",
    ),
    "a source gone": (
        lambda folder: (folder.parent / "small" / "engine.py").unlink(),
        "another version of small.engine",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_kernels_that_do_not_fit_are_not_packed(
    name: str, hook: ModuleType, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spoil, fault = FAULTS[name]
    spoil(folder)
    monkeypatch.setenv("TABLUT_KERNELS", str(folder))
    with pytest.raises(ValueError, match=r"^[^\n]*$") as caught:
        built(hook, folder)
    assert fault in str(caught.value)


def test_the_hook_reads_what_the_cache_writes(hook: ModuleType) -> None:
    assert hook._is_sealed(seal(bytes(32), b"payload"))
