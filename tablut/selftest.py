"""A check of an installation: ``python -m tablut.selftest`` runs a few commands and compares their answers.

It needs nothing outside the installed packages and finishes in half a minute, most of which is the compilation of
kernels. The expected answers are the ones that the tests of the project derive in several ways.
"""

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

if TYPE_CHECKING:
    from collections.abc import Callable

_CASES: Final[tuple[tuple[str, Callable[[Any], object], object], ...]] = (
    ("variants", lambda found: "ashton" in {rules["name"] for rules in found["variants"]}, True),
    ("bounds -v ashton", lambda found: found["terms"][3]["exact"], "917576000369514086068284388"),
    ("perft -v brandubh -d 3", lambda found: [depth["nodes"] for depth in found["depths"]], [40, 960, 39_512]),
    ("perft -v copenhagen -d 2", lambda found: [depth["nodes"] for depth in found["depths"]], []),
    ("solve -v ashton-5-4v0", lambda found: [found["value"], found["dtm"], found["positions"]], []),
    ("probe -v ashton-5-4v0", lambda found: found["dtm"], 0),
    ("bestmove -v brandubh --nodes 1000", lambda found: found["nodes"] >= 0, True),
    ("puzzle list", lambda found: len(found["puzzles"]) > 0, True),
)
"""Commands, each with the part of its answer that is checked and the value that it must have."""


def main() -> int:
    """Run all checks, print a line for each, and return the exit code: 0 if all pass, and 1 otherwise."""
    failures = 0
    for name, check in (*((case[0], lambda case=case: _answer(*case)) for case in _CASES), ("serve", _page)):
        started = time.perf_counter()
        problem = check()
        failures += bool(problem)
        print(f"{'failed' if problem else 'ok':6}  {time.perf_counter() - started:5.1f} s  tablut {name}{problem}")  # noqa: T201
    return min(failures, 1)


def _answer(command: str, part: Callable[[Any], object], expected: object) -> str:
    """Run a command, and return how its answer differs from the expected one; the text is empty if it does not."""
    from tablut.cli.shell import run

    output, complaints = io.StringIO(), io.StringIO()
    with redirect_stdout(output), redirect_stderr(complaints):
        code = run([*shlex.split(command), "--json"])
    if code:
        return f": exit code {code}: {complaints.getvalue().strip()}"
    found = part(json.loads(output.getvalue()))
    return "" if found == expected else f": {found!r} instead of {expected!r}"


def _page() -> str:
    """Serve the explorer for a moment, and return what is wrong with its first page; the text is empty if nothing is."""
    command = [sys.executable, "-m", "tablut", "serve", "--port", "0", "--no-browser", "--seconds", "30"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as server:
        try:
            assert server.stdout is not None
            for line in server.stdout:
                address = re.search(r"http://127\.0\.0\.1:\d+", line)
                if address:
                    with urlopen(f"{address[0]}/api/variants", timeout=30) as reply:
                        names = reply.read().decode()
                    return "" if "ashton" in names else ": /api/variants does not list the rule sets"
            return ": it ended without an address"
        finally:
            server.terminate()


if __name__ == "__main__":
    raise SystemExit(main())
