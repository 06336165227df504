"""What is built and released: the kernels in a wheel, the versions of the dependencies, the workflow of a release."""

import hashlib
import importlib.util
import json
import platform
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, Generic, TypeVar

import pytest

from tablut import __version__
from tablut.cli.shell import run
from tablut.engine.jit import TESTED
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
    stub.BuildHookInterface = stub.MetadataHookInterface = Interface  # type: ignore[attr-defined]
    for module_name in (name, "hatchling.metadata.plugin.interface"):
        monkeypatch.setitem(sys.modules, module_name, stub)
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


def test_links_of_the_long_description_are_absolute(hook: ModuleType) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    targets = re.findall(r"\]\(([^)]+)\)", text)
    relative = [target for target in targets if not re.match(r"\w+:|#", target)]
    assert len(relative) > 5
    own, metadata = hook.ReadmeHook(), {"urls": {"Source": "https://example.org/tablut/"}}
    own.root = str(ROOT)
    own.update(metadata)
    found = metadata["readme"]["text"]
    links = re.findall(r"(!?)\[[^\]]*\]\(([^)]+)\)", found)
    assert len(links) == len(targets)
    assert all(re.match("https:|#", target) for _, target in links)
    for target in relative:
        kinds = {bool(picture) for picture, link in links if link.endswith(f"/HEAD/{target}")}
        assert kinds == {target.endswith((".png", ".svg"))}
    # The project has no address yet: no link is dead, and the words stay.
    plain = hook.long_description(text, None)
    assert not [link for link in re.findall(r"\]\(([^)]+)\)", plain) if link in relative]
    assert hook.long_description("see [the index](docs/index.md)", None) == "see the index"


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


# -- a release -----------------------------------------------------------------------------


@pytest.fixture
def release(tmp_path: Path) -> Path:
    """Make the files that the check of a release reads, all of version 1.2.3."""
    for name, text in {
        "tablut/__init__.py": '__version__ = "1.2.3"\n',
        "CITATION.cff": "version: 1.2.3\n",
        "CHANGELOG.md": "# Changelog\n\n## 1.2.3\n\n## 1.2.2\n",
        "pyproject.toml": '[project.urls]\nSource = "here"\n',
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "check_release.py", tmp_path / ".ci")
    return tmp_path


def checked(release: Path, *arguments: str) -> tuple[int, str]:
    command = [sys.executable, str(release / ".ci" / "check_release.py"), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


def test_a_release_whose_parts_agree_passes(release: Path) -> None:
    packages = ("dist/tablut-1.2.3.tar.gz", "dist/tablut-1.2.3-py3-none-any.whl")
    assert checked(release, "v1.2.3") == checked(release, "v1.2.3", *packages) == (0, "")


@pytest.mark.parametrize(
    ("name", "text", "arguments", "fault"),
    [
        (None, "", ["v1.2.4"], "the tag is v1.2.4"),
        (None, "", ["1.2.3"], "the tag is 1.2.3"),
        (None, "", ["v1.2.3", "tablut-1.2.2.tar.gz"], "tablut-1.2.2.tar.gz is not a package of 1.2.3"),
        (None, "", ["v1.2.3", "tablut-1.2.30-py3-none-any.whl"], "is not a package of 1.2.3"),
        ("CITATION.cff", "version: 1.2.2\n", ["v1.2.3"], "CITATION.cff"),
        ("CHANGELOG.md", "## 1.2.3 (unreleased)\n", ["v1.2.3"], "CHANGELOG.md"),
        ("CHANGELOG.md", "## 1.2.2\n", ["v1.2.3"], "CHANGELOG.md"),
        ("pyproject.toml", "# [project.urls]\n# Source = ...\n", ["v1.2.3"], "pyproject.toml"),
    ],
)
def test_a_release_that_contradicts_itself_is_refused(
    name: str | None, text: str, arguments: list[str], fault: str, release: Path
) -> None:
    if name is not None:
        (release / name).write_text(text)
    code, complaint = checked(release, *arguments)
    assert code == 1
    assert fault in complaint
    assert complaint.count("\n") == 1


def test_the_check_of_a_release_reads_the_project() -> None:
    """Of the tag of today's version, at most what is still to be done before a release is left to say."""
    code, complaint = checked(ROOT, f"v{__version__}")
    assert (code, complaint) == (0, "") or all(
        line.startswith(("CHANGELOG.md has no section", "pyproject.toml names no address"))
        for line in complaint.splitlines()
    )


WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_runs_only_actions_that_nobody_can_exchange_and_keeps_no_credentials(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    used = [number for number, line in enumerate(lines) if "uses:" in line]
    assert used
    for number in used:
        assert re.fullmatch(r"\s*(- )?uses: [\w/-]+@[0-9a-f]{40}  # v\d+\.\d+\.\d+", lines[number]), lines[number]
        if "actions/checkout@" in lines[number]:
            assert [line.strip() for line in lines[number + 1 : number + 3]] == ["with:", "persist-credentials: false"]


def test_nothing_is_published_that_was_not_checked_and_tried() -> None:
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    jobs = dict(re.findall(r"^  (\w+):\n((?:    .*\n|\n)+)", text, re.MULTILINE))
    builders = [name for name, body in jobs.items() if "upload-artifact" in body]
    assert f"needs: [{', '.join(builders)}]" in jobs["publish"]
    assert sum("gh-action-pypi-publish" in body for body in jobs.values()) == 1
    for name in builders:
        steps = jobs[name]
        order = [steps.index(word) for word in ("-m build", "dist/*\n", "tablut.selftest", "upload-artifact")]
        assert order == sorted(order), name
        assert steps.count('check_release.py "$GITHUB_REF_NAME" dist/*') == 1
    assert jobs[builders[0]].index("check_release.py") < jobs[builders[0]].index("-m build")


def test_the_help_names_the_folder_of_licence_security_policy_and_citation(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    folder = Path(capsys.readouterr().out.splitlines()[-1].partition(": ")[2])
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]["targets"]
    for source, place in wheel["wheel"]["force-include"].items():
        assert (ROOT / source).is_file()
        assert (folder / source).is_file()
        assert place == f"tablut/about/{source}"
    assert {"LICENSE", "SECURITY.md", "CITATION.cff"} <= wheel["wheel"]["force-include"].keys()


# -- versions of the dependencies ----------------------------------------------------------


def test_each_tested_version_of_numba_and_the_lowest_one_have_a_session() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (lowest,) = re.findall("^numba>=(.+)$", "\n".join(project["dependencies"]), re.MULTILINE)
    (listed,) = re.findall(r'@nox\.parametrize\("numba", (\[.*\])\)', (ROOT / "noxfile.py").read_text(encoding="utf-8"))
    versions = json.loads(listed)
    assert [f"{version.rpartition('.')[0]}." for version in versions] == list(TESTED)
    assert versions[0] == f"{lowest}.0"


def test_every_requirement_has_a_lowest_version_and_no_other_condition() -> None:
    """So the session `lowest` installs exactly these versions."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *(one for extra in extras.values() for one in extra)]
    assert all(re.fullmatch(r"[\w-]+>=[\d.]+", requirement) for requirement in wanted)
    # One requirement of two extras has the same bound in both.
    assert len({requirement.partition(">")[0] for requirement in wanted}) == len(set(wanted))
