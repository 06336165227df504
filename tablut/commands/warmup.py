"""``tablut warmup``: compiles every kernel, so that no later command has to."""

from __future__ import annotations

import io
import shlex
import tempfile
import time
from contextlib import redirect_stderr, redirect_stdout
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

from tablut.cli.runtime import EXIT_NO, EXIT_UNKNOWN, Reply, command, progress
from tablut.compilation import compiled_kernels, prepared_kernels, quiet
from tablut.errors import TablutError
from tablut.results import Result

if TYPE_CHECKING:
    from tablut.cli.people import PeopleConsole

__all__ = ["run_cases", "warmup_command"]


class _Warmup(Result):
    kernels: int
    compiled: int
    seconds: float


@command
def warmup_command() -> Reply:
    """Compile every kernel once, for this machine; what has been compiled is only loaded.

    It runs small cases of every command that needs kernels.
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
    """Run all cases that the packages register, showing progress on a terminal.

    Raises
    ------
    TablutError
        If a case fails, with what it said.
    """
    cases = [case for entry in sorted(entry_points(group="tablut.warmup"), key=_floor) for case in entry.load()]
    if not cases:
        raise TablutError("warmup: no package registers a case; install the toolkit anew")
    with tempfile.TemporaryDirectory(prefix="tablut-warmup-") as folder, progress("warmup") as display:
        task = display.add_task("", total=len(cases))
        for case in cases:
            if callable(case):
                case()
            else:
                display.update(task, description=case.replace("{folder}/", ""))
                _run(case.format(folder=folder))
            display.advance(task)


def _floor(entry: object) -> str:
    return str(getattr(entry, "name", ""))


def _run(case: str) -> None:
    from tablut.cli.shell import run

    answers, complaints = io.StringIO(), io.StringIO()
    with redirect_stdout(answers), redirect_stderr(complaints):
        code = run(shlex.split(case))
    if code not in (0, EXIT_NO, EXIT_UNKNOWN):
        raise TablutError(f"warmup: `tablut {case}` ended with {code}: {complaints.getvalue()}")


def _show(console: PeopleConsole, result: _Warmup) -> None:
    console.print(f"{result.kernels} kernels ready, {result.compiled} of them compiled just now")
    console.print(f"{result.seconds:.1f} s", style="dim")
