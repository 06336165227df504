"""The command ``tablut warmup``, which compiles all kernels in advance by running every command that needs them."""

from __future__ import annotations

import io
import shlex
import tempfile
import time
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING

from tablut.cli.command import command
from tablut.cli.runtime import EXIT_NO, EXIT_UNKNOWN, Reply, progress
from tablut.errors import TablutError
from tablut.results import Result
from tablut.work.clocks import compiled_kernels, prepared_kernels, quiet
from tablut.work.progress import plural

if TYPE_CHECKING:
    from tablut.cli.people import PeopleConsole

_CASES = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").splitlines()
"""Command lines that together use all kernels, for small boards (one machine word) and for large ones.

``{folder}`` stands for a temporary folder that all cases share.
"""


class _Warmup(Result):
    kernels: int
    compiled: int
    seconds: float


@command()
def warmup_command() -> Reply:
    """Compile all kernels for this machine in advance, so that later commands start faster.

    Kernels that are already compiled are only loaded. The command runs small cases of every command
    that needs kernels.
    """
    started = time.perf_counter()
    before = compiled_kernels()
    with quiet():
        run_cases()
    result = _Warmup(
        kernels=len(prepared_kernels()),
        compiled=compiled_kernels() - before,
        seconds=round(time.perf_counter() - started, 3),
    )
    return Reply(result, lambda console: _show(console, result))


def run_cases() -> None:
    """Run all cases, with progress shown on a terminal."""
    with tempfile.TemporaryDirectory(prefix="tablut-warmup-") as folder, progress("warmup") as observer:
        observer.begin("", len(_CASES))
        for case in _CASES:
            observer.note(case.replace("{folder}/", ""))
            _run(case.format(folder=folder))
            observer.advance()


def _run(case: str) -> None:
    from tablut.cli.shell import run

    answers, complaints = io.StringIO(), io.StringIO()
    with redirect_stdout(answers), redirect_stderr(complaints):
        code = run(shlex.split(case))
    if code not in (0, EXIT_NO, EXIT_UNKNOWN):
        raise TablutError(f"`tablut {case}` failed with exit code {code}: {complaints.getvalue()}", subject="warmup")


def _show(console: PeopleConsole, result: _Warmup) -> None:
    console.print(f"{plural(result.kernels, 'kernel')} ready, {result.compiled} of them newly compiled")
    console.print(f"{result.seconds:.1f} s", style="dim")
