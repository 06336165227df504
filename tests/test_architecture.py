"""The house as docs/architecture.md draws it: imports point one way, rooms are small, light commands stay light."""

import ast
import re
import subprocess
import sys
from collections import Counter
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
STUDIES = "reports.studies"
# The program starts in these two, before it can import anything else.
ENTRANCES = {"tablut", "tablut.cli"}
MOST_IN_A_ROOM, MOST_PARAMETERS, MOST_LINES = 16, 8, 100


@cache
def modules() -> dict[str, tuple[Path, ast.Module]]:
    """Return all modules of the packages, doors included, by name."""
    return {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): (
            path,
            ast.parse(path.read_text(encoding="utf-8")),
        )
        for package in BELOW
        for path in sorted((ROOT / package).rglob("*.py"))
    }


def statements(node: ast.AST) -> Iterator[ast.stmt]:
    """Yield the statements within, nested ones too: of a module they are few beside its expressions."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
            if isinstance(child, ast.stmt):
                yield child
            yield from statements(child)


@cache
def imports(tree: ast.Module) -> list[tuple[str, str]]:
    """Return what a module imports anywhere, also for checkers alone: the module, and the name taken."""
    found = []
    for node in statements(tree):
        if isinstance(node, ast.Import):
            found += [(alias.name, "") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, ast.unparse(node)
            found += [(node.module or "", alias.name) for alias in node.names]
    return found


def test_imports_point_downward_and_take_nothing_private() -> None:
    for name, (_, tree) in modules().items():
        package = name.split(".")[0]
        for module, taken in imports(tree):
            top = module.split(".")[0]
            if not name.startswith(STUDIES):
                assert top not in {"tests", "benchmarks"}, f"{name} imports {module}"
                assert not module.startswith(STUDIES), f"{name} imports the study {module}"
            if top in BELOW and top != package:
                assert top in BELOW[package], f"{name} imports {module}"
                private = [part for part in [*module.split("."), taken] if part.startswith("_") and part[:2] != "__"]
                assert not private, f"{name} imports {private} from {module}"


def room_of(name: str) -> str:
    """Return a module's room: the folder within its package, or the module itself at the top."""
    parts, (path, _) = name.split("."), modules()[name]
    return ".".join(parts[:2]) if len(parts) > 2 or path.name == "__init__.py" else name


def test_no_modules_and_no_rooms_import_each_other_in_a_circle() -> None:
    between_modules, between_rooms = nx.DiGraph(), nx.DiGraph()
    for name, (_, tree) in modules().items():
        if name in ENTRANCES:
            continue
        for module, taken in imports(tree):
            target = f"{module}.{taken}" if f"{module}.{taken}" in modules() else module
            if target in modules() and target != name:
                between_modules.add_edge(name, target)
                if room_of(name) != room_of(target):
                    between_rooms.add_edge(room_of(name), room_of(target))
    assert between_modules.number_of_edges() > 500
    for graph in (between_modules, between_rooms):
        assert [circle for circle in nx.strongly_connected_components(graph) if len(circle) > 1] == []


def test_doors_define_nothing() -> None:
    """A package's ``__init__`` only imports names, now or when they are first used."""
    for name, (path, tree) in modules().items():
        if path.name == "__init__.py" and name not in ENTRANCES:
            assert not [node for node in statements(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)], name


def test_rooms_are_not_crowded() -> None:
    rooms = Counter(name.rpartition(".")[0] for name, (path, _) in modules().items() if not path.name.startswith("__"))
    assert {room: size for room, size in rooms.items() if size > MOST_IN_A_ROOM} == {}


def test_functions_are_short_and_take_few_parameters() -> None:
    """A command's parameters are its options."""
    for name, (_, tree) in modules().items():
        for node in statements(tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                body = node.body[1:] if ast.get_docstring(node) is not None else node.body
                lines = (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0
                taken = len(node.args.posonlyargs + node.args.args)
                assert lines <= MOST_LINES, f"{name}.{node.name}: {lines} lines"
                kernel = any(ast.unparse(decorator) == "kernel" for decorator in node.decorator_list)
                most = MOST_PARAMETERS + 2 * kernel  # what comes out of a kernel is a parameter as well
                assert taken <= most or node.name.endswith("_command"), f"{name}.{node.name}: takes {taken}"


def loaded_by(code: str) -> set[str]:
    script = f"import sys\n{code}\nprint('LOADED', *sorted(sys.modules))"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(result.stdout.split("LOADED", 1)[1].split())


def test_importing_the_packages_and_asking_for_help_loads_nothing_heavy() -> None:
    heavy = {"numba", "sympy", "rich", "matplotlib", "numpy", "pydantic", "networkx"}
    assert not loaded_by("import symmetry, tablut, counting, retrograde, reports") & heavy
    loaded = loaded_by("from tablut.cli.shell import run\nassert run(['--help']) == 0")
    assert not loaded & (heavy | {"fastapi", "starlette", "uvicorn", "asyncio"})


def test_boards_need_no_numba() -> None:
    board = "from tablut import Board\nb = Board('mcgill')\nstr(b), b.status(), b._repr_svg_(), b.copy()"
    assert "numba" not in loaded_by(board)


@pytest.mark.parametrize(
    ("command", "most"),
    [
        ("bestmove -v brandubh --nodes 100 --json", 62),
        ("perft -d 2", 37),
        ("bounds --json", 34),
        ("--help", 10),
    ],
)
def test_a_command_loads_few_modules(command: str, most: int) -> None:
    loaded = loaded_by(f"from tablut.cli.shell import run\nassert run({command.split()}) == 0")
    own = {name for name in loaded & modules().keys() if modules()[name][0].name != "__init__.py"}
    assert len(own) <= most, sorted(own)
    strangers = ("tablut.play.arena", "tablut.play.competition", "tablut.play.protocol", "tablut.play.bridges.")
    assert [name for name in own if name.startswith(strangers)] in ([], ["tablut.play.bridges.factory"])
    assert "rich" not in loaded or not command.startswith("bestmove")
    if command.startswith("bounds"):
        assert not loaded & {"numba", "matplotlib", "networkx"}


# How boards, moves and undo records are laid out is known to one module.
LAYOUT = re.compile(
    r"\[2 \* (?:\w+\.)*size\] *(?:[-^|+]?=|\))|2 \* (?:\w+\.)*size \+ \d"
    r"|>> 14\) & 15|undo >> 14|undo & 0x3FFF|& 127|<< 7\b(?!``)"
)


def test_layout_is_known_to_one_module() -> None:
    for name, (path, _) in modules().items():
        code = re.sub(r'"""(?:.|\n)*?"""|#.*', "", path.read_text(encoding="utf-8"))
        if name not in {"tablut.engine.layout", "tablut.position"}:
            assert not (found := LAYOUT.findall(code)), f"{name}: {found}; see tablut.engine.layout"
        if name != "tablut.work.machine":
            assert "sysconf" not in code, f"{name}: see tablut.work.machine"


@pytest.mark.parametrize("name", ["symmetry", "counting", "retrograde", "reports"])
def test_a_file_that_hides_a_package_is_named(name: str, tmp_path: Path) -> None:
    hiding = tmp_path / f"{name}.py"
    hiding.write_text("", encoding="utf-8")
    script = "import tablut; print(tablut.Board('brandubh').turn)"
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode == 0) == (name != "symmetry")
    assert str(hiding) in done.stderr.splitlines()[-1 if name == "symmetry" else 0]
