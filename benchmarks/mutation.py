"""Mutation testing: small changes to the sources, which the default tests of the changed package should notice.

    python -m benchmarks.mutation                       # ten mutants of each room
    python -m benchmarks.mutation spaces formats --mutants 50 --seed 2 --workers 2 --record mutants.jsonl

A *mutant* is the project with one change, for example ``<`` for ``<=``. A *room* is some source files with the test
files that mirror them. The mutants of a room are drawn at random; the same seed draws the same mutants from the same
sources. Every mutant is made in a copy of the checkout. A mutant is killed if a test fails or does not end in time. A
mutant that survives shows a gap in the tests, unless it is equivalent, that is, unless it computes the same.

The kernels of a mutant are compiled, because their pointers and intrinsics have no meaning in Python. This takes a
minute or more. The mutants of plain Python are faster.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import itertools
import json
import os
import queue
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Room:
    """Source files, as patterns, and the tests that mirror them."""

    sources: tuple[str, ...]
    tests: tuple[str, ...]


ROOMS: Final = {
    "rules": Room(
        ("tablut/rules/*.py",),
        (
            "tablut/rules",
            "tests/tablut/test_rules.py",
            "tests/tablut/test_family_rules.py",
            "tests/tablut/test_forts.py",
            "tests/tablut/test_claims.py",
            "tests/tablut/test_board.py",
            "tests/tablut/test_engine_twin.py",
            "tests/reports/test_rulebook.py",
        ),
    ),
    "spaces": Room(("counting/spaces.py",), ("counting/spaces.py", "tests/counting/test_spaces.py")),
    "exclusions": Room(("counting/exclusions/*.py",), ("counting/exclusions", "tests/counting/test_exclusions.py")),
    "lemmas": Room(
        ("counting/reachable/lemmas.py",),
        (
            "counting/reachable/lemmas.py",
            "tests/counting/reachable/test_lemmas.py",
            "tests/counting/reachable/test_pockets.py",
            "tests/counting/reachable/test_endings.py",
        ),
    ),
    "chunks": Room(
        ("counting/reachable/chunks.py",),
        (
            "counting/reachable/chunks.py",
            "tests/counting/reachable/test_estimate.py",
            "tests/counting/reachable/test_certificates.py",
        ),
    ),
    "statistics": Room(
        ("tablut/play/arena/statistics.py",), ("tablut/play/arena/statistics.py", "tests/tablut/test_arena.py")
    ),
    "indexing": Room(
        ("tablut/indexing/*.py",),
        (
            "tablut/indexing",
            "tests/tablut/test_indexing.py",
            "tests/tablut/test_codes.py",
            "tests/retrograde/test_tiers.py",
            "tests/retrograde/test_verification.py",
        ),
    ),
    "formats": Room(
        ("tablut/formats/*.py",),
        (
            "tablut/formats",
            "tests/tablut/test_formats.py",
            "tests/tablut/test_formats_records.py",
            "tests/tablut/test_parsers.py",
            "tests/tablut/test_records_*.py",
        ),
    ),
}


# -- mutants -------------------------------------------------------------------------------


@dataclass(frozen=True, order=True)
class Mutant:
    """A change: the bytes from ``start`` to ``end`` of a file are replaced."""

    file: str
    start: int
    end: int
    new: str
    what: str

    def applied(self, content: bytes) -> bytes:
        """Return the changed content of the file."""
        return content[: self.start] + self.new.encode() + content[self.end :]


_COMPARISONS: Final = {
    "<": "<=",
    "<=": "<",
    ">": ">=",
    ">=": ">",
    "==": "!=",
    "!=": "==",
    "is": "is not",
    "is not": "is",
    "in": "not in",
    "not in": "in",
}
_OPERATORS: Final = {
    "+": "-",
    "-": "+",
    "*": "+",
    "**": "*",
    "/": "*",
    "//": "*",
    "%": "//",
    "&": "|",
    "|": "&",
    "<<": ">>",
    ">>": "<<",
}
_WORDS: Final = {"and": "or", "or": "and"}
_RETURNED: Final = {"bool": ("True", "False"), "int": ("0", "1"), "str": ('""',)}


class _Finder(ast.NodeVisitor):
    """Finds all mutants of a file, but for changes of annotations, docstrings and f-strings.

    Changes that are known to compute the same are left out as well: exchanged arguments of ``max`` and ``min``, and
    the argument ``strict`` of ``zip``, which only matters if there is a mistake already.
    """

    def __init__(self, file: str, content: bytes) -> None:
        self.file, self.content, self.found = file, content, set[Mutant]()
        self._lines = [0]
        for line in content.split(b"\n"):
            self._lines.append(self._lines[-1] + len(line) + 1)
        self._returns = [""]

    def _span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._lines[node.lineno - 1] + node.col_offset, self._lines[node.end_lineno - 1] + node.end_col_offset

    def _text(self, node: ast.expr | ast.stmt) -> str:
        start, end = self._span(node)
        return self.content[start:end].decode()

    def _replace(self, node: ast.expr | ast.stmt, new: str, what: str) -> None:
        if self._text(node) != new:
            self.found.add(Mutant(self.file, *self._span(node), new, what))

    def _between(self, left: ast.expr, right: ast.expr, words: dict[str, str]) -> None:
        """Exchange the operator between two operands."""
        start, end = self._span(left)[1], self._span(right)[0]
        gap = self.content[start:end].decode()
        pattern = "|".join(
            rf"\b{re.escape(word).replace(' ', 's+')}\b" if word[0].isalpha() else re.escape(word)
            for word in sorted(words, key=len, reverse=True)
        )
        if (match := re.search(pattern, re.sub("#[^\n]*", lambda comment: " " * len(comment[0]), gap))) is not None:
            first, last = (start + len(gap[:place].encode()) for place in match.span())
            new = words[" ".join(match[0].split())]
            self.found.add(Mutant(self.file, first, last, new, f"{new} for {match[0]}"))

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        for default in (*node.args.defaults, *(one for one in node.args.kw_defaults if one is not None)):
            self.visit(default)
        self._returns.append("" if node.returns is None else self._text(node.returns))
        for statement in node.body:
            self.visit(statement)
        self._returns.pop()

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for statement in node.body:
            self.visit(statement)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self.visit(node.body)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_Assign(self, node: ast.Assign) -> None:
        if not any(isinstance(target, ast.Name) and target.id == "__all__" for target in node.targets):
            self.visit(node.value)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Do nothing, because positions within f-strings are not exact in all versions of Python."""

    def visit_If(self, node: ast.If) -> None:
        if "TYPE_CHECKING" not in ast.unparse(node.test):
            self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):
            self._replace(node, "pass", "statement deleted")
            self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._replace(node, "pass", "statement deleted")
        self._between_statement(node)
        self.visit(node.value)

    def _between_statement(self, node: ast.AugAssign) -> None:
        self._between(node.target, node.value, {f"{old}=": f"{new}=" for old, new in _OPERATORS.items()})

    def visit_Raise(self, node: ast.Raise) -> None:
        self._replace(node, "pass", "statement deleted")
        self.generic_visit(node)

    def visit_Continue(self, node: ast.Continue) -> None:
        self._replace(node, "pass", "statement deleted")

    def visit_Break(self, node: ast.Break) -> None:
        self._replace(node, "pass", "statement deleted")

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is not None:
            for value in _RETURNED.get(self._returns[-1], ("None",)):
                self._replace(node, f"return {value}", "constant returned")
            self.visit(node.value)

    def visit_Compare(self, node: ast.Compare) -> None:
        for left, right in zip([node.left, *node.comparators], node.comparators, strict=False):
            self._between(left, right, _COMPARISONS)
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        for left, right in zip(node.values, node.values[1:], strict=False):
            self._between(left, right, _WORDS)
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        self._between(node.left, node.right, _OPERATORS)
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not):
            self._replace(node, f"({self._text(node.operand)})", "not removed")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, bool):
            self._replace(node, str(not node.value), f"{not node.value} for {node.value}")
        elif isinstance(node.value, int):
            for value in (node.value - 1, node.value + 1):
                self._replace(node, str(value), f"{value} for {node.value}")

    def visit_keyword(self, node: ast.keyword) -> None:
        if node.arg != "strict":
            self.visit(node.value)

    def visit_Call(self, node: ast.Call) -> None:
        commutes = isinstance(node.func, ast.Name) and node.func.id in ("max", "min")
        for left, right in zip(node.args, node.args[1:], strict=False) if not commutes else ():
            if not isinstance(left, ast.Starred) and not isinstance(right, ast.Starred):
                (start, middle), (next_, end) = self._span(left), self._span(right)
                gap = self.content[middle:next_].decode()
                new = f"{self._text(right)}{gap}{self._text(left)}"
                if new != self.content[start:end].decode():
                    self.found.add(Mutant(self.file, start, end, new, "arguments exchanged"))
        self.generic_visit(node)


def mutants_of(room: str, root: Path = ROOT) -> list[Mutant]:
    """Return all mutants of a room in a fixed order. A few of them are no Python, which `drawn` leaves out."""
    found: list[Mutant] = []
    for pattern in ROOMS[room].sources:
        for path in sorted(root.glob(pattern)):
            content = path.read_bytes()
            finder = _Finder(path.relative_to(root).as_posix(), content)
            finder.visit(ast.parse(content))
            found += sorted(finder.found)
    return found


def _parses(mutant: Mutant, root: Path) -> bool:
    try:
        ast.parse(mutant.applied((root / mutant.file).read_bytes()))
    except SyntaxError:
        return False
    return True


def drawn(room: str, number: int, seed: int, root: Path = ROOT) -> list[Mutant]:
    """Return the mutants of a room that a seed draws, or all mutants if there are no more than ``number``."""
    every = mutants_of(room, root)
    shuffled = random.Random(f"{room} {seed}").sample(every, len(every))
    return list(itertools.islice((mutant for mutant in shuffled if _parses(mutant, root)), number))


# -- running the tests ---------------------------------------------------------------------


@dataclass(frozen=True)
class Verdict:
    """What happened to a mutant. ``killer`` is the test that failed, empty for a survivor."""

    room: str
    mutant: Mutant
    outcome: str
    killer: str
    seconds: float


def copy_checkout(target: Path) -> None:
    """Copy the checkout's files and compiled kernels."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    names = [name for name in listed.stdout.decode().split("\0") if name]
    kernels = [path.relative_to(ROOT).as_posix() for path in ROOT.glob("*/**/__pycache__/*.kernel")]
    for name in (*names, *kernels):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)


def run_tests(folder: Path, room: str, limit: float) -> tuple[str, str]:
    """Run a room's tests in a copy of the checkout, and return the outcome and the test that failed."""
    paths = [path for name in ROOMS[room].tests for path in sorted(folder.glob(name))]
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *map(str, paths)]
    environment = os.environ | {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1", "TABLUT_MUTANT": "1"}
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
        _running.add(process.pid)
        try:
            code = process.wait(limit)
        except subprocess.TimeoutExpired:
            return "timed out", ""
        finally:
            # The tests may have started processes of their own.
            _kill_group(process.pid)
            process.wait()
            _running.discard(process.pid)
        output.seek(0)
        text = output.read()
    if code == 0:
        return "survived", ""
    failed = re.search(r"^(?:FAILED|ERROR) (.*?)(?: - .*)?$", text, re.MULTILINE)
    return "killed", failed[1] if failed else f"exit code {code}: {text[-200:]}"


_running: Final[set[int]] = set()
"""Process groups of the tests that are running."""


def _kill_group(group: int) -> None:
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        return


def judged(folder: Path, room: str, mutant: Mutant, limit: float) -> Verdict:
    """Make a mutant in a copy of the checkout, run the tests, and restore the file."""
    path, started = folder / mutant.file, time.monotonic()
    content, stamp = path.read_bytes(), path.stat()
    path.write_bytes(mutant.applied(content))
    try:
        outcome, killer = run_tests(folder, room, limit)
    finally:
        path.write_bytes(content)
        os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    return Verdict(room, mutant, outcome, killer, round(time.monotonic() - started, 1))


def say(text: str) -> None:
    """Print a text at once, also into a file."""
    print(text, flush=True)  # noqa: T201


def place_of(mutant: Mutant) -> str:
    """Return the file and line of a mutant."""
    content = (ROOT / mutant.file).read_bytes()
    return f"{mutant.file}:{content[: mutant.start].count(10) + 1}"


def difference(mutant: Mutant) -> str:
    """Return the change as a diff."""
    content = (ROOT / mutant.file).read_bytes()
    old, new = (text.decode().splitlines(keepends=True) for text in (content, mutant.applied(content)))
    return "".join(list(difflib.unified_diff(old, new, n=1))[3:])


def campaign(rooms: list[str], arguments: argparse.Namespace) -> list[Verdict]:
    """Judge all drawn mutants that are not yet in the record, and print each verdict."""
    record: Path | None = arguments.record
    known: dict[tuple[str, Mutant], Verdict] = {}
    if record is not None and record.exists():
        for line in record.read_text(encoding="utf-8").splitlines():
            stored = json.loads(line)
            verdict = Verdict(**stored | {"mutant": Mutant(**stored["mutant"])})
            known[verdict.room, verdict.mutant] = verdict
    wanted = [(room, mutant) for room in rooms for mutant in drawn(room, arguments.mutants, arguments.seed)]
    copies: queue.Queue[Path] = queue.Queue()
    stopped = threading.Event()

    def judge(room: str, mutant: Mutant) -> Verdict:
        verdict = known.get((room, mutant))
        if verdict is None:
            folder = copies.get()
            verdict = judged(folder, room, mutant, limits[room])
            copies.put(folder)
            if stopped.is_set():
                raise KeyboardInterrupt  # the tests were ended, so the verdict is void
            if record is not None:
                with record.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(asdict(verdict)) + "\n")
        said = (f"{room:<10}", f"{verdict.outcome:<9}", f"{verdict.seconds:>6.1f} s", place_of(mutant), mutant.what)
        say("  ".join((*said, verdict.killer)))
        return verdict

    with tempfile.TemporaryDirectory(prefix="tablut-mutants-") as place:
        for number in range(arguments.workers):
            folder = Path(place, str(number))
            copy_checkout(folder)
            copies.put(folder)
        limits = {room: max(arguments.limit, 10 * _time_unchanged(Path(place, "0"), room)) for room in rooms}
        with ThreadPoolExecutor(arguments.workers) as pool:
            try:
                return list(pool.map(lambda pair: judge(*pair), wanted))
            except KeyboardInterrupt:
                stopped.set()
                pool.shutdown(wait=False, cancel_futures=True)
                for group in tuple(_running):
                    _kill_group(group)
                raise


def _time_unchanged(folder: Path, room: str) -> float:
    """Return how many seconds the tests of a room take without a change. End the program if one fails."""
    started = time.monotonic()
    outcome, killer = run_tests(folder, room, 3600)
    seconds = time.monotonic() - started
    say(f"{room:<10}  unchanged  {seconds:>6.1f} s")
    if outcome != "survived":
        sys.exit(f"{room}: the tests do not pass without a change: {killer or outcome}")
    return seconds


def summary(rooms: list[str], verdicts: list[Verdict]) -> Iterator[str]:
    """Yield the lines that sum up a campaign: the survivors with their changes, and the share killed by room."""
    for verdict in verdicts:
        if verdict.outcome == "survived":
            yield f"\nsurvived: {place_of(verdict.mutant)}: {verdict.mutant.what}\n{difference(verdict.mutant)}"
    for room in (*rooms, "all"):
        mine = [verdict for verdict in verdicts if room in (verdict.room, "all")]
        gone = sum(verdict.outcome != "survived" for verdict in mine)
        late = sum(verdict.outcome == "timed out" for verdict in mine)
        share = f", {gone / len(mine):.0%}" if mine else ""
        yield f"{room:<10}  {gone} of {len(mine)} killed{share}" + (
            f", {late} of them by the time limit" if late else ""
        )


def main() -> None:
    """Run a campaign, or only list the drawn mutants."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mutation", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("rooms", nargs="*", metavar="ROOM", help=f"some of {', '.join(ROOMS)} [default: all]")
    parser.add_argument("--mutants", type=int, default=10, metavar="N", help="number of mutants of each room [10]")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="seed of the draw [1]")
    limited = "time for one mutant, or ten times that of the unchanged sources if this is longer [120]"
    parser.add_argument("--limit", type=float, default=120, metavar="SECONDS", help=limited)
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="mutants that are tested in parallel [1]")
    parser.add_argument("--record", type=Path, metavar="FILE", help="file of verdicts, from which a run resumes")
    parser.add_argument("--list", action="store_true", help="only show the drawn mutants")
    arguments = parser.parse_args()
    if unknown := [room for room in arguments.rooms if room not in ROOMS]:
        parser.error(f"{unknown[0]} is not a room; choose from {', '.join(ROOMS)}")
    rooms = arguments.rooms or list(ROOMS)
    if arguments.list:
        for room in rooms:
            say(f"{room}: {len(mutants_of(room)):,} mutants")
            for mutant in drawn(room, arguments.mutants, arguments.seed):
                say(f"{place_of(mutant)}: {mutant.what}\n{difference(mutant)}")
        return
    try:
        say("\n".join(summary(rooms, campaign(rooms, arguments))))
    except KeyboardInterrupt:
        sys.exit("interrupted" + (f"; continue with the same command ({arguments.record})" if arguments.record else ""))


if __name__ == "__main__":
    main()
