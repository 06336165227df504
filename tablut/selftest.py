"""A check of an installation: ``python -m tablut.selftest`` runs a few commands and compares their answers."""

from __future__ import annotations

import io
import json
import re
import shlex
import subprocess
import sys
import time
from contextlib import redirect_stderr, redirect_stdout
from typing import TYPE_CHECKING, Any, Final
from urllib.request import urlopen

from tablut.work.progress import plural

if TYPE_CHECKING:
    from collections.abc import Callable

_CASES: Final[tuple[tuple[str, Callable[[Any], object], object], ...]] = (
    ("variants", lambda found: "ashton" in {rules["name"] for rules in found["variants"]}, True),
    ("bounds -v ashton", lambda found: found["terms"][4]["exact"], "947889249256532407079664255"),
    ("perft -v brandubh -d 3", lambda found: found["perft"], [40, 960, 39_512]),
    ("probe -v brandubh-5-4v0", lambda found: (found["wdl"], found["dtm"]), ("loss", 6)),
    ("bestmove -v ashton-5-4v0 --nodes 1000", lambda found: found["mate"], 3),
    ("puzzle list", lambda found: len(found["puzzles"]) > 0, True),
)
"""Commands, each with the part of its answer to check and the expected value."""


def main() -> int:
    """Run all checks, print a line for each, and return the exit code: 0 if all pass, and 1 otherwise."""
    failures = 0
    for name, check in (*((case[0], lambda case=case: _answer(*case)) for case in _CASES), ("serve", _page)):
        started = time.perf_counter()
        problem = check()
        failures += bool(problem)
        print(f"{'failed' if problem else 'ok':6}  {time.perf_counter() - started:5.1f} s  tablut {name}{problem}")  # noqa: T201
    from tablut.work.clocks import compiled_kernels

    print(f"{plural(compiled_kernels(), 'kernel')} compiled, {plural(failures, 'check')} failed")  # noqa: T201
    return min(failures, 1)


def _answer(command: str, part: Callable[[Any], object], expected: object) -> str:
    """Run a command, and return how its answer differs from the expected one, or an empty text."""
    from tablut.cli.shell import run

    output, complaints = io.StringIO(), io.StringIO()
    with redirect_stdout(output), redirect_stderr(complaints):
        code = run([*shlex.split(command), "--json"])
    if code:
        return f": exit code {code}: {complaints.getvalue().strip()}"
    found = part(json.loads(output.getvalue()))
    return "" if found == expected else f": {found!r} instead of {expected!r}"


def _page() -> str:
    """Serve the explorer for a moment, and return what is wrong with its first page, or an empty text."""
    command = [sys.executable, "-P", "-m", "tablut", "serve", "--port", "0", "--no-browser", "--seconds", "60"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as server:
        try:
            assert server.stdout is not None
            for line in server.stdout:
                address = re.search(r"http://127\.0\.0\.1:\d+/", line)
                if address:
                    with urlopen(address[0], timeout=30) as page:
                        text = page.read().decode()
                    return "" if "<html" in text else f": {text[:80]!r} is not a page"
            return ": it ended without printing an address"
        finally:
            server.terminate()


if __name__ == "__main__":
    raise SystemExit(main())
