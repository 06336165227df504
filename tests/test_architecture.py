"""Imports point one way, and the light commands stay light."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import networkx as nx
import pytest

ROOT = Path(__file__).resolve().parents[1]

# Each package with those it may import from.
BELOW = {
    "symmetry": set(),
    "tablut": {"symmetry"},
    "counting": {"tablut", "symmetry"},
    "retrograde": {"tablut", "symmetry"},
    "reports": {"retrograde", "counting", "tablut", "symmetry"},
}


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def imported_modules(path: Path) -> list[tuple[str, list[str]]]:
    found = []
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            found += [(alias.name, []) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path}: relative import"
            found.append((node.module, [alias.name for alias in node.names]))
    return found


MODULES = [(package, path) for package in BELOW for path in sorted((ROOT / package).rglob("*.py"))]


@pytest.mark.parametrize(("package", "path"), MODULES, ids=lambda value: getattr(value, "stem", value))
def test_imports_point_downward_and_take_nothing_private(package: str, path: Path) -> None:
    for module, names in imported_modules(path):
        top = module.split(".")[0]
        if top in BELOW and top != package:
            assert top in BELOW[package], f"{path} imports {module}"
            private = [part for part in [*module.split("."), *names] if part.startswith("_") and part[:2] != "__"]
            assert not private, f"{path} imports {private} from {module}"


NAMES = {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path for _, path in MODULES}


def run_time_imports(nodes: list[ast.stmt]) -> Iterator[ast.ImportFrom]:
    """Yield the imports that run, wherever they stand: all but those for checkers."""
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            yield node
        if not (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)):
            yield from run_time_imports(getattr(node, "body", []))
        for field in ("orelse", "finalbody", "handlers"):
            yield from run_time_imports(getattr(node, field, []))


def test_no_modules_import_each_other_in_a_circle() -> None:
    """Not at the top, and not within functions either."""
    graph = nx.DiGraph()
    for name, path in NAMES.items():
        for node in run_time_imports(parsed(path).body):
            for alias in node.names:
                target = f"{node.module}.{alias.name}"
                graph.add_edge(name, target if target in NAMES else node.module)
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    assert graph.number_of_edges() > 1000
    assert [circle for circle in nx.strongly_connected_components(graph) if len(circle) > 1] == []


def test_nothing_that_ships_imports_what_does_not() -> None:
    for name, path in NAMES.items():
        for module, _ in imported_modules(path):
            assert module.split(".")[0] not in {"tests", "benchmarks"}, f"{name} imports {module}"


def test_the_shells_room_holds_no_command_and_nothing_that_serves_only_one() -> None:
    users: dict[str, set[str]] = {name: set() for name in NAMES if name.startswith("tablut.cli.")}
    for name, path in NAMES.items():
        for module, names in imported_modules(path):
            for target in {module, *(f"{module}.{alias}" for alias in names)} & users.keys():
                users[target].add(name)
    sources = {name: path.read_text(encoding="utf-8") for name, path in NAMES.items()}
    commands = {name for name, source in sources.items() if re.search(r"^@command\b", source, re.MULTILINE)}
    assert len(commands) > 10
    assert not commands & users.keys()
    for module, found in users.items():
        # One door, the main function, leads to the shell; whatever else the room holds serves the shell or several.
        assert len(found) > 1 or any(user.startswith("tablut.cli") for user in found), f"{module}: only {found}"


def loaded_by(code: str) -> set[str]:
    script = f"import sys\n{code}\nprint('LOADED', *sorted(sys.modules))"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(result.stdout.split("LOADED", 1)[1].split())


def test_importing_the_packages_loads_nothing_heavy() -> None:
    loaded = loaded_by("import symmetry, tablut, counting, retrograde, reports")
    assert not loaded & {"numba", "sympy", "rich", "matplotlib", "numpy", "pydantic", "networkx"}


def test_help_loads_nothing_heavy() -> None:
    loaded = loaded_by("from tablut.cli.shell import run\nassert run(['--help']) == 0")
    assert not loaded & {"numba", "sympy", "rich", "matplotlib", "numpy", "pydantic", "networkx"}
    assert not loaded & {"fastapi", "starlette", "uvicorn", "asyncio"}


def test_bounds_never_loads_numba() -> None:
    loaded = loaded_by("from tablut.cli.shell import run\nassert run(['bounds', '--json']) == 0")
    assert "numba" not in loaded
    assert "matplotlib" not in loaded


def test_a_board_is_shown_and_judged_without_numba() -> None:
    loaded = loaded_by("from tablut import Board\nb = Board('mcgill')\nstr(b), b.status(), b._repr_svg_(), b.copy()")
    assert "numba" not in loaded


# How boards, moves and undo records are laid out is known to one module; what the slides' table means to two.
LAYOUT = re.compile(r"\[2 \* (?:\w+\.)*size(?: \+ \d)?\] *(?:[-^|+]?=|\))|>> 14\) & 15|undo >> 14|& 127|<< 7\b(?!``)")
SLIDES = re.compile(r"\.slides\[")
KNOWS_LAYOUT = {"tablut/engine/layout.py", "tablut/position.py"}
KNOWS_SLIDES = {"tablut/engine/attacks.py", "tablut/engine/lines.py", "retrograde/solver/kernels/workspace.py"}


def code_of(path: Path) -> str:
    """Return a module's source without its docstrings and comments."""
    source = path.read_text(encoding="utf-8")
    return re.sub(r'"""(?:.|\n)*?"""|#.*', "", source)


def test_layout_is_known_to_one_module() -> None:
    for _, path in MODULES:
        name = path.relative_to(ROOT).as_posix()
        code = code_of(path)
        assert name in KNOWS_LAYOUT or not (found := LAYOUT.findall(code)), f"{name}: {found}; see tablut.engine.layout"
        assert name in KNOWS_SLIDES or not SLIDES.search(code), f"{name}: see tablut.engine.attacks"


def test_no_file_holds_what_a_merge_left_open() -> None:
    folders = [ROOT / name for name in (*BELOW, "docs", "tests", "benchmarks")]
    written = [*ROOT.glob("*"), *(path for folder in folders for path in folder.rglob("*"))]
    texts = [path for path in written if path.suffix in (".md", ".py", ".toml")]
    assert len(texts) > 300
    for path in texts:
        left = re.search(r"^(<{7}|>{7}) ", path.read_text(encoding="utf-8", errors="replace"), re.MULTILINE)
        assert left is None, f"{path}: {left}"


def test_one_module_asks_the_system_what_the_machine_has() -> None:
    """`os.sysconf` is not everywhere, and may not know: one module asks it, and guards the answer."""
    asking = {name for name, path in NAMES.items() if "sysconf" in path.read_text(encoding="utf-8")}
    assert asking == {"tablut.running.machine"}
