"""The advice of refusals: each remedy is followed, and what follows is not refused for the same reason.

`REFUSED` provokes refusals. What a remedy advises is read from its words, or stands after the arrow if no program can
follow the words. In the same way, every command that any message or help text advises is run with its words filled in.
"""

import ast
import io
import json
import re
import shlex
import shutil
import tomllib
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tablut.cli.shell import run
from tablut.errors import TablutError
from tablut.variants import load_variant
from tests.support.commands import command_tree
from tests.support.effort import slow_but

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "tests" / "data"
SMALL = "brandubh-5-4v0"

# A command a line, and after an arrow what a person would do who reads the remedy. Names in braces are files; a blank
# within a word is written as _.
LINES = """
probe => probe -p 9/9/9/9/4K4/4b4/9/9/9_w
probe -v brandubh-5-4v4
probe ashton-5 -p 9/9/9/9/4K4/4b4/9/9/9_w => probe {shipped} -p 9/9/9/9/4K4/4b4/9/9/9_w
probe {mine}
probe -v nosuch
solve
solve -v ashton-7-4v1 --memory 1
tablebase build
tablebase build --men 25 => tablebase build --men 2
tablebase build --men 4 --memory 1 => tablebase build --men 3 --memory 1
tablebase verify {store} --quick --sample 5
tablebase verify {store} --quick --record {new}
tablebase query {store} --wdl unresolved => tablebase query {store} --wdl draw
tablebase bulid
census --plies 3 --all
census --graph {new} -v brandubh-5-4v0
census --all => census --plies 1 --store {new}
census --passes 2 --all => census --passes 2 --plies 2
census count --full
census --part 1/2
census --again
census verify {folder} => census verify {census}
bounds --latex --bfile
bounds brandubh
bounds nonsense
bounds -v asthon
bounds -v ashton.tml
bounds -v rules => bounds -v ./rules
perft --corpus {corpus} --position x --divide
perft --divide --applied
perft -d 0 --divide
perft --corpus {corpus} -v leiden
perft --corpus {unknown} => perft --corpus {unknown} -v named.toml
convert {record} --to grid => replay {record} --save {new}
convert --to berkeley
replay {archive}
replay {archive} -v ashton
replay {archive} --game 1
replay {bare} -v ashton --gif {bare} => replay {bare} -v ashton --gif {new}
replay {latin} => replay {record}
replay {record} --repetition draw
analyse {archive} -v ashton --nodes 1 --proof-nodes 0
games {archive}
games {archive} --repetition ignore --into {new}
games - {archive} -v ashton => games {record} {archive} -v ashton
book make {new} {archive}
variants --toml
variants asthon
variants copenhagen --tomll
show -v brandubh-5-4v0 -p nonsense => show -v brandubh-5-4v0
show -v brandubh-5-4v0 -p 2b2/2b2/bbKbb/2b2/2b2 => show -v brandubh-5-4v0 -p 2b2/2b2/bbKbb/2b2/2b2_w
symmetry show --svg {text} => symmetry show --svg {new}
puzzle show ashton-1
puzzle show nosuch
puzzle list nosuch => puzzle list endings
puzzle check {empty} => puzzle check {proof}
puzzle make
prove
prove --claim not-white -v berkeley --memory 1 => prove --claim white -v ashton-5-4v0 -p {won} --memory 1
prove --claim white --resume -v ashton-5-4v0 -p {won} --memory 1
match random nobody => match random random -n 2 --nodes 1
match random random --tc 1 --movetime 1 --nodes 1 -n 2 --most-plies 4
match random random --errors 0.1 0.1 --nodes 1 -n 2 --most-plies 4
match greedy@threads=2 random --nodes 1 -n 2 => match greedy random --nodes 1 -n 2 --most-plies 4
match random@depth=3,depth=4 random => match random@depth=3 random --nodes 1 -n 2 --most-plies 4
match random random --nodes 1 -n 2 --most-plies 4 --store {text} => match random random --nodes 1 -n 2 --store {new}
match random random --nodes 1 -n 2 --most-plies 4 --openings {archive}
match random random --nodes 1 -n 2 -v copenhagen --adjudicate-tables shipped
bestmove --player heuristic --threads 2
bestmove --player greedy --lines 2 => bestmove --player alphabeta --lines 2 --nodes 10 --hash 1
bestmove --player grredy --nodes 1
bestmove --player mcts --depth 3 => bestmove --player mcts --playouts 3 --hash 1
bestmove --nodes 1 --hash 99999999 => bestmove --nodes 1 --hash 1
bestmove --nodes 1 --hash 1 --book {text}
play --role white --side none --player random --nodes 1
play --server 127.0.0.1 --role white --port 9 --wait 0 --hash 1
play --server 127.0.0.1 --role white --timeout 9 --write-script {new}
play --server 127.0.0.1 --role white --timeout 9 --position x --port 9 --wait 0 --hash 1
engine --protocol uci --nodes 5 => engine --protocol uci
referee --port-white 9 --port-black 9 --timeout 1 => referee --port-white 0 --port-black 0 --timeout 1 --wait 0.1
report --check --out {new}
report --out {new} --site {new}
serve --port 0 --seconds 0.1 --tablebase {folder} => serve --port 0 --seconds 0.1 --no-browser --tablebase {store}
serve --port 0 --seconds 0.1 --games {archive}
reachable estimate --space decided --samples 2 --lemma-samples 5
verify {folder} => verify {store}
nosuch
tablebase build --men 3 --trace x
--json
--versoin
tablebase --json
"""
CASES = [line for line in LINES.splitlines() if line]


class Started(TablutError):  # noqa: N818
    """Long work has begun, so the command was not refused."""

    exit_code = 0


def started(*_: object, **__: object) -> None:
    raise Started


@pytest.fixture
def places(tmp_path: Path, made: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Make the files and folders that the lines name, and make their folder the current one."""
    for name, path in made.items():
        (shutil.copytree if path.is_dir() else shutil.copy)(path, tmp_path / name)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "notes").write_text("not ours\n")
    (tmp_path / "empty").touch()
    (tmp_path / "text").write_text("once upon a time\n")
    (tmp_path / "bare").write_text("1. e4-f4 d1-c1\n")
    (tmp_path / "latin").write_bytes("1. e4-f4 {\xe9} d1-c1\n".encode("latin-1"))
    start = load_variant("ashton").start_position
    (tmp_path / "corpus").write_text(f"variant ashton\nstart; {start}; 1=56; counted\n")
    (tmp_path / "unknown").write_text(f"variant named\nstart; {start}; 1=56; counted\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    for long in (
        "reports.cli.progress",
        "retrograde.solver.build.build_tablebase",
        "retrograde.solver.solver_report.solve_report",
    ):
        monkeypatch.setattr(long, started)
    data = ROOT / "retrograde" / "data"
    names = [*made, "folder", "empty", "text", "bare", "latin", "corpus", "unknown", "new"]
    return {name.partition(".")[0]: name for name in names} | {
        "rules": "rules.toml",
        "store": str(data / SMALL),
        "shipped": str(data / "ashton-5"),
    }


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Make what takes a moment to make, once."""
    folder = tmp_path_factory.mktemp("made")
    rules = (ROOT / "tablut" / "variants" / "data" / f"{SMALL}.toml").read_text(encoding="utf-8")
    first = {"white": "black", "black": "white"}[load_variant(SMALL).rules.first]
    (folder / "rules").write_text(re.sub('first = ".*"', f'first = "{first}"', rules), encoding="utf-8")
    shutil.copy(folder / "rules", folder / "rules.toml")
    named = (ROOT / "tablut" / "variants" / "data" / "ashton.toml").read_text(encoding="utf-8")
    (folder / "named.toml").write_text(named, encoding="utf-8")
    shutil.copy(DATA / "records" / "ashton.txt", folder / "record.txt")
    (folder / "archive").write_text("e4-f4 d1-c1 e3-f3,0,0,Ongoing\n")
    mine, proof = str(folder / "mine"), str(folder / "proof")
    assert run(["tablebase", "build", "-v", str(folder / "rules.toml"), "--men", "3", "--store", mine]) == 0
    assert run(["puzzle", "solve", "-v", "ashton-5-4v0", "-p", "5/5/1K3/5/b3b w", "--save-proof", proof]) == 0
    assert run(["census", "--plies", "1", "--store", str(folder / "census")]) == 0
    return {path.name: path for path in folder.iterdir()}


# -- following advice ----------------------------------------------------------------------

FILLS = {
    "RULES": "ashton",
    "RULES.toml": "rules.toml",
    "N": "1",
    "ID": "ashton-01",
    "MOVE": "e4-f4",
    "COMMAND": "bounds",
}
"""Values for the words in capitals that advice contains; `filled` finds those for files."""
WRITES = ("--save", "--save-proof", "--into", "--store", "--out", "--site", "--record", "--write-script")
"""Options that name a file or folder to be made."""


def filled(command: list[str], there: str) -> list[str]:
    """Replace the words in capitals of an advised command; ``there`` is a file that exists."""

    def value(number: int, word: str) -> str:
        if word in FILLS or not word.isupper():
            return FILLS.get(word, word)
        return f"new-{word}" if number and command[number - 1] in WRITES else there

    return [value(number, word) for number, word in enumerate(command)]


def without(command: list[str], name: str) -> list[str]:
    """Remove an option with its values."""
    tree = command_tree()
    path = max((known for known in tree if command[: len(known.split())] == known.split()), key=len)
    option = next((item for item in tree[path].params if name in item.opts), None)
    values = 0 if option is None or option.is_flag else option.nargs
    found = [number for number, word in enumerate(command) if word in (name if option is None else option.opts)]
    gone = {number + more for number in found for more in range(1 + values)}
    return [word for number, word in enumerate(command) if number not in gone]


def ways(command: list[str], error: dict[str, Any]) -> Iterator[list[str]]:
    """Yield the command lines that a remedy advises, as far as its words follow a pattern."""
    subject, remedy = error["subject"] or "", error["remedy"] or ""
    there = next((word for word in command if Path(word).is_file()), "record.txt")
    surplus = re.match("argument '(.*)'", subject)
    kept = [word for word in command if surplus is None or word != surplus[1]]
    for text in re.findall("`tablut ([^`]*)`", remedy):
        yield filled(shlex.split(text), there)
    for word in re.findall("did you mean '([^']*)'", remedy):
        wrong = re.sub("^.* ", "", subject).strip("'")
        yield [word if one == wrong else one for one in command]
    for text in re.findall(r"(?:add|with|such as|use|or choose one with) (--?[a-z][^;,`]*)", remedy):
        option, *values = text.removesuffix(" or more").split(" or ")[0].split()
        rest = without(kept, option) if option in kept else kept
        yield filled([*rest, option, *values], there)
    if "leave out --" in remedy:
        rest = command
        for name in re.findall("--[a-z-]+", remedy):
            rest = without(rest, name)
        yield rest
    elif re.search("leave (it|one|one of them) out|omit it|(give|choose) (only )?one of them", remedy):
        for name in re.findall("--[a-z-]+", subject):
            yield without(command, name)
    for size in re.findall("([0-9,]+) MiB", remedy):
        yield [*without(command, "--memory"), "--memory", size.replace(",", "")]


def answer(command: list[str], capfd: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any]]:
    """Run a command, and return its exit code, and the parts of its error."""
    capfd.readouterr()
    code = run([*command, "--json"])
    out = capfd.readouterr().out
    error = json.loads(out) if code in (2, 74) else {}
    return code, {part: error.get(part) for part in ("subject", "problem", "remedy")}


@pytest.mark.parametrize("line", CASES, ids=lambda line: line[:60])
def test_following_a_remedy_does_not_end_in_the_same_refusal(
    line: str, places: dict[str, str], capfd: pytest.CaptureFixture[str]
) -> None:
    wrong, arrow, right = line.partition("=>")
    command = words(wrong, places)
    code, error = answer(command, capfd)
    assert code in (2, 74)
    assert error["remedy"], "this refusal gives no advice"
    advised = [words(right, places)] if arrow else list(ways(command, error))
    modules = re.findall(r"python -m ([\w.]+)", error["remedy"])
    assert advised or modules, f"say after an arrow how to follow: {error['remedy']}"
    assert all(map(find_spec, modules))
    for way in advised:
        code, again = answer(way, capfd)
        assert code != 70
        assert code != 2 or (again["problem"], again["remedy"]) != (error["problem"], error["remedy"]), shlex.join(way)
        # What stands after an arrow, and a whole command, must work.
        assert code != 2 or not (arrow or f"`tablut {shlex.join(way)}`" in error["remedy"]), (shlex.join(way), again)


def words(line: str, places: dict[str, str]) -> list[str]:
    return [re.sub("_([wb])$", r" \1", word) for word in line.format(**places, won="5/5/1K3/5/b3b_w").split()]


# -- commands without arguments ------------------------------------------------------------

STAYS = {"bench", "engine", "play", "referee", "report", "serve", "warmup"}
"""Commands that run until somebody ends them, that need a minute, or that write into the checkout."""
LONG = {"bestmove", "measure", "puzzle solve", "reachable estimate", "symmetry verify"}


@pytest.mark.parametrize("name", slow_but(sorted(command_tree().keys() - STAYS - LONG), sorted(LONG)))
def test_a_command_without_arguments_works_or_says_what_it_needs(
    name: str, places: dict[str, str], capfd: pytest.CaptureFixture[str]
) -> None:
    code, error = answer(name.split(), capfd)
    assert code in (0, 3) or (code == 2 and error["remedy"])


# -- commands in any message ---------------------------------------------------------------


def texts() -> Iterator[tuple[str, str]]:
    """Yield the place and the text of every string in the packages but for docstrings and help; values become x.

    Files without anything to follow are left out.
    """
    for file in (file for package in PACKAGES for file in sorted((ROOT / package).rglob("*.py"))):
        source = file.read_text(encoding="utf-8")
        if not re.search(r"`tablut |tablut\[|docs/", source):
            continue
        tree = ast.parse(source)
        silent = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        silent |= {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.keyword) and node.arg == "help"}
        fields = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and len(node.args) > 1]
        silent |= {id(node.args[1]) for node in fields if ast.unparse(node.func) in ("Argument", "Option")}
        silent |= {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
        for node in (node for node in ast.walk(tree) if id(node) not in silent):
            parts = node.values if isinstance(node, ast.JoinedStr) else [node]
            text = "".join(str(part.value) if isinstance(part, ast.Constant) else "x" for part in parts)
            yield f"{file.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}", text


PACKAGES = ("tablut", "counting", "retrograde", "reports", "symmetry")


def test_what_a_message_advises_is_there(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """Commands with their options and arguments, extras and pages. `x` stands for what a message fills in."""
    monkeypatch.setattr("tablut.cli.runtime.respond", lambda _: 0)
    found = [*texts()]
    commands = {line: where for where, text in found for line in re.findall("`tablut ([a-z-][^`]*)`", text)}
    assert len(commands) > 20
    for line, where in commands.items():
        command = shlex.split(line)
        assert command[0] == "x" or run(filled(command, "x")) == 0, (where, capfd.readouterr().err)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = {name for _, text in found for name in re.findall(r"tablut\[(\w+)\]", text)}
    assert {"cluster", "docs", "env"} <= extras <= project["optional-dependencies"].keys()
    pages = {name for _, text in found for name in re.findall(r"docs/[\w/-]+\.md", text)}
    assert pages
    assert all((ROOT / name).is_file() for name in pages)
