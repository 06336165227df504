"""Check the claims of the documentation against the packages: ``python -m docs.building.checking``.

The program prints each claim that does not hold, and exits with code 1 if there is one. Sphinx itself checks the links
between pages, and that every page is in a table of contents; `tests/test_docs.py` runs the code blocks.
"""

from __future__ import annotations

import inspect
import re
import sys
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from importlib import import_module
from io import StringIO
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from numpydoc.validate import validate

import tablut
from counting import bounds
from docs.building.doors import ROOT, doors
from docs.building.pictures import FIGURES, pictures
from docs.building.sessions import NOTEBOOKS
from reports.census import results as censuses
from reports.reachable import GAMES, explanations, share
from tablut.cli.shell import run
from tablut.errors import MachineError, TablutError
from tablut.replay import read_fitting_record, replay
from tablut.variants import load_variant, rule_fields
from tablut.variants.schema import parse_variant
from tests.support.pages import PAGES, TUTORIALS, anchors, blocks_of, links, read, spans, without_blocks

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DOCS = ROOT / "docs"
PACKAGES = "symmetry|tablut|counting|retrograde|reports"
TOPS = ("benchmarks", "docs", "tests", *PACKAGES.split("|"))
# Files that pages mention although the repository does not contain them.
FOREIGN = {"census.json", "kernels.json", "ply-006.json", "count-007.json", "zarr.json", "my-rules.toml"}


@cache
def _help_of(name: str) -> str:
    """Return the help text of a command or a group, or an empty string if there is no such command."""
    out = StringIO()
    with redirect_stdout(out), redirect_stderr(StringIO()):
        code = run(["help", *name.split()])
    return "" if code else out.getvalue()


def commands(page: Path) -> Iterator[str]:
    """Yield the non-existent commands and options that a page mentions."""
    for span in spans(read(page)):
        words = span.split()[1:]
        if not re.match(r"tablut [a-z]", span) or words[0] == "help":
            continue
        name = " ".join(takewhile(str.isalpha, words[:2]))
        text = _help_of(name) or _help_of(words[0])
        if not text:
            yield f"`{span}`: no such command"
            continue
        for option in re.findall(r"(?<=\s)--?[a-z][a-z-]*", span):
            if not re.search(rf"{option}\b", text):
                yield f"`{span}`: no option {option}"


@cache
def _files() -> frozenset[str]:
    below = (path for top in (*TOPS, ".ci") for path in (ROOT / top).rglob("*"))
    return frozenset(path.relative_to(ROOT).as_posix() for path in (*below, *ROOT.glob("*.*")))


def names(page: Path) -> Iterator[str]:
    """Yield the non-existent files, folders and dotted names that a page mentions."""
    made = {block.marks["file"] for block in blocks_of(read(page)) if "file" in block.marks} | FOREIGN
    entry_points = re.findall(r'entry-points\."([\w.]+)"', read(ROOT / "pyproject.toml"))
    for span in spans(read(page)):
        for path in re.findall(r"[\w./-]+\.(?:py|j2|toml|json)\b", span):
            if path.split("/")[-1] not in made and not any(f"/{name}".endswith(f"/{path}") for name in _files()):
                yield f"`{path}`: no such file"
        if re.fullmatch(rf"(?:{PACKAGES})(?:\.\w+)+", span) and span not in entry_points and not _exists(span):
            yield f"`{span}`: no such name"
        is_folder = re.fullmatch(rf"(?:{'|'.join(TOPS)})(?:/\w+)+/?", span)
        if is_folder and not _files() & {span.rstrip("/"), f"{span}.py"}:
            yield f"`{span}`: no such folder"


def _exists(name: str) -> bool:
    """Return whether a dotted name refers to a module or to an attribute of a module."""
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        try:
            thing: Any = import_module(".".join(parts[:count]))
        except ModuleNotFoundError:
            continue
        for part in parts[count:]:
            if not hasattr(thing, part):
                return False
            thing = getattr(thing, part)
        return True
    return False


def broken_links(page: Path) -> Iterator[str]:
    """Yield the broken links on a page. Sphinx itself checks only the pages that it builds."""
    for target in links(read(page)):
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not re.match(r"[a-z]+:", target) and (not file.exists() or (anchor and anchor not in anchors(read(file)))):
            yield f"{target}: leads nowhere"


def stale_pictures() -> Iterator[str]:
    """Yield the pictures that are out of date or that no page shows with a description.

    Also yield the tutorials without a notebook, and the notebooks without a tutorial.
    """
    for path, text in pictures().items():
        if not path.exists() or read(path) != text:
            yield f"{path.relative_to(ROOT)}: is out of date, run python -m docs.building.pictures"
    shown = {
        (page.parent / target).resolve(): text
        for page in PAGES
        for text, target in re.findall(r"!\[([^\]]*)\]\(([^)\s]+)\)", read(page))
    }
    for figure in FIGURES.iterdir():
        if len(shown.get(figure, "")) < 12:
            yield f"{figure.relative_to(ROOT)}: no page shows it with a description"
    kept = {path.stem for path in NOTEBOOKS.iterdir()}
    for name in kept.symmetric_difference(page.stem for page in TUTORIALS):
        yield f"{name}: a tutorial without a notebook, or a notebook without a tutorial"


def blocks() -> Iterator[str]:
    """Yield the invalid samples, and the code blocks without a mark that explains why they are neither run nor used."""
    for page in PAGES:
        found = blocks_of(read(page))
        for number, block in enumerate(found):
            where = f"{page.name}:{block.line}"
            if "file" in block.marks:
                uses = block.marks["file"], f"{block.marks['file'].removesuffix('.py')}:"
                if not any(use in later.text for use in uses for later in found[number + 1 :]):
                    yield f"{where}: nothing below uses this file"
            elif "shown" not in block.marks and not (block.commands or block.is_python):
                yield f"{where}: a mark should say what this block is (tests/support/pages.py)"
            if any(block.marks.get(mark, "why") == "" for mark in ("slow", "not run", "shown", "instead")):
                yield f"{where}: a mark without a reason"
            for pair in filter(None, block.marks.get("instead", "").split("; ")):
                if pair.partition(" => ")[0] not in block.text:
                    yield f"{where}: {pair} replaces nothing"
    texts = [block.text for block in blocks_of(read(DOCS / "formats.md"))]
    texts += [
        block.text
        for name in ("native", "opentafl")
        for block in blocks_of(import_module(f"tablut.formats.{name}").__doc__ or "")
    ]
    for text in texts:
        if re.match(r"\[\w+[: ]", text) and "…" not in text and replay(read_fitting_record(text, None, "")).problems:
            yield f"formats: {text[:40]!r} breaks the rules"
    for block in blocks_of(read(DOCS / "variants.md")):
        if block.language == "toml":
            parse_variant(block.text, name="example", origin="docs/variants.md")


# -- numbers and tables ----------------------------------------------------------------------


def rows_of(page: str, first: str) -> Iterator[list[str]]:
    """Yield the rows of the table whose header begins with the given cells."""
    text = without_blocks(read(DOCS / page))
    for row in text[text.index(f"| {first} |") :].split("\n\n", 1)[0].splitlines()[2:]:
        yield [cell.strip().replace(",", "") for cell in row.strip("|").split("|")]


def tables() -> Iterator[str]:
    """Yield the table rows that contradict the stored results, the rules or the code."""
    for name, positions, classes, children, *_ in rows_of("notes/census.md", "census | positions | classes"):
        if positions:
            stored = censuses()[name.split()[0]]
            plies = re.search(r"to ply (\d+)", name)
            made = stored["plies"][: int(plies[1]) + 1] if plies else []
            last, whole = (made[-1], sum(ply["children"] for ply in made)) if plies else (stored, stored["children"])
            found = [last["total"], last["total_classes"], whole]
            if list(map(int, (positions, classes, children))) != found:
                yield f"notes/census.md: {name}: {found}"
    for name, *cells in rows_of("notes/reachability.md", "board (computed)"):
        of = explanations()[name]
        closed, excluded = of["closed"], of["excluded"]
        numbers = [of["counted"]["positions"], of["reached"]["positions"], excluded["locked"]["positions"]]
        numbers += [excluded["last_move"]["positions"], closed["all"]["positions"]]
        numbers += [closed["recurrent"]["positions"] + closed["after"]["positions"], len(closed["layers"])]
        if list(map(int, cells)) != numbers:
            yield f"notes/reachability.md: {name}: {numbers}"
    written = {name: cells for name, *cells in rows_of("reachable.md", "game | counted")}
    wanted = {name: found.row for name in GAMES if (found := share(name)) is not None}
    for name in sorted(written.keys() | wanted.keys()):
        if written.get(name) != wanted.get(name):
            yield f"reachable.md: {name}: {wanted.get(name, 'there is no stored estimate')}"
    documented = {name for row in rows_of("variants.md", "field | values") for name in re.findall(r"`(.*?)`", row[0])}
    for name in {field.name for field in rule_fields(load_variant("copenhagen").rules)} - documented:
        yield f"variants.md: no row for the field {name}"
    modules = [import_module(f"tablut.cli.{name}") for name in ("runtime", "shell", "streams")]
    codes = {value for module in modules for name, value in vars(module).items() if name.startswith("EXIT_")}
    codes |= {0, TablutError.exit_code, MachineError.exit_code}
    if {int(code) for code, _ in rows_of("command-line.md", "code | meaning")} != codes:
        yield f"command-line.md: exit codes are {sorted(codes)}"


def numbers_of_the_readme() -> Iterator[str]:
    """Yield the results that the README should quote but does not contain."""
    text = " ".join(read(ROOT / "README.md").split())
    rungs = [f"{rung.number:,}".replace(",", " ") for rung in bounds("ashton").ladder()]
    found = share("ashton")
    for number in (f"**{rungs[2]}**", *([] if found is None else [f"{float(found.low):.1f} %"])):
        if number not in text:
            yield f"README.md: {number} is missing"


def one_of_each() -> Iterator[str]:
    """Yield the version, modules and folders that a page should name but does not.

    The citations must contain the version. The page on Python must name every public module, and the page on the
    architecture must name every subpackage.
    """
    for file in (ROOT / "CITATION.cff", DOCS / "faq.md"):
        if tablut.__version__ not in read(file):
            yield f"{file.name}: the version is {tablut.__version__}"
    for door in doors():
        if f"`{door.name}`" not in read(DOCS / "api.md"):
            yield f"api.md: `{door.name}` is missing"
    named = [f"{span.rstrip('/')}/" for span in spans(read(DOCS / "architecture.md"))]
    for path in sorted(_files()):
        room = path.removesuffix("__init__.py")
        is_room = re.fullmatch(rf"(?:{PACKAGES})/\w+/__init__\.py", path)
        if is_room and not any(name.startswith(room) for name in named):
            yield f"architecture.md: `{room}` is missing"


# -- docstrings of exported objects ----------------------------------------------------------

_CHECKS = {"GL01", "GL02", "GL03", "GL08", "PR01", "PR02", "PR03", "PR04", "PR10", "RT01", "RT03", "SS03", "YD01"}


def _documented(thing: Any) -> Iterator[str]:
    """Yield the full name of an exported object. If it is a class, also yield the full names of its public methods."""
    name = f"{thing.__module__}.{thing.__qualname__}"
    yield name
    for member, value in vars(thing).items() if isinstance(thing, type) else ():
        is_method = inspect.isfunction(value) or isinstance(value, (property, classmethod, staticmethod))
        if is_method and not member.startswith("_"):
            yield f"{name}.{member}"


def docstrings() -> Iterator[str]:
    """Yield the faults that numpydoc finds in the docstrings of exported objects."""
    packages = [door for door in doors() if hasattr(import_module(door.name), "__path__")]
    things = {id(thing): thing for door in packages for name in door.names if callable(thing := _of(door.name, name))}
    for name in sorted({name for thing in things.values() for name in _documented(thing) if "<" not in name}):
        report = validate(name)
        checks, text = set(_CHECKS), report["docstring"]
        # No section of parameters is required if attributes or the text document them. Errors need no such section,
        # because their base class has one. Protocols, rule sets and members of enumerations need none either.
        by_hand = not re.search(r"'\*args'|'boundary'|'no_moves'", str(report["errors"]))
        if "\nAttributes\n---" in text or not by_hand or name.endswith("Error"):
            checks.discard("PR01")
        # A first paragraph that says what the function returns describes the result.
        if "\n" not in text.strip() or re.search(r"\b[Rr]eturn\b", text.strip().partition("\n\n")[0]):
            checks.discard("RT01")
        for code, problem in report["errors"]:
            named = code == "PR01" and all(f"``{one}``" in text for one in re.findall(r"'\**(\w+)'", problem))
            if code in checks and not named:
                yield f"{name}: {code} {problem}"


def _of(module: str, name: str) -> Any:
    return getattr(import_module(module), name)


def main() -> int:
    """Print every claim that does not hold, and return the exit code."""
    found = [*stale_pictures(), *blocks(), *tables(), *numbers_of_the_readme(), *one_of_each(), *docstrings()]
    for page in [*PAGES, ROOT / "CHANGELOG.md"]:
        for check in (commands, names, broken_links):
            found += [f"{page.relative_to(ROOT)}: {problem}" for problem in check(page)]
    for folder in ("rendered", "studies"):
        for page in sorted((ROOT / "reports" / folder).rglob("*.md")):
            found += [f"{page.relative_to(ROOT)}: {problem}" for problem in broken_links(page)]
    sys.stdout.write("".join(f"{problem}\n" for problem in found))
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
