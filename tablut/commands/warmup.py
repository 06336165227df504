"""The command ``tablut warmup``, which compiles all kernels in advance by running every command that needs them."""

from __future__ import annotations

import hashlib
import io
import json
import os
import platform
import shlex
import subprocess
import sys
import tempfile
import time
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tablut.cli.command import command
from tablut.cli.options import check_folder
from tablut.cli.requests import Option, Request
from tablut.cli.runtime import EXIT_NO, EXIT_UNKNOWN, Reply, progress
from tablut.cli.streams import EXIT_INTERRUPTED
from tablut.errors import InputError, MachineError, TablutError
from tablut.results import Result
from tablut.work.clocks import compiled_kernels, prepared_kernels, quiet, why_forgotten
from tablut.work.files import excerpt, write_text, writing
from tablut.work.progress import plural
from tablut.work.run import ending_orderly

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


class WarmupRequest(Request):
    """The request of ``tablut warmup``."""

    into: Path | None = Option(
        None,
        "New or empty folder for kernels that a wheel can contain. They are compiled for a baseline processor.",
        metavar="FOLDER",
    )


@command()
def warmup_command(request: WarmupRequest) -> Reply:
    """Compile all kernels for this machine in advance, so that later commands start faster.

    Kernels that are already compiled are only loaded. The command runs small cases of every command
    that needs kernels.
    """
    started = time.perf_counter()
    if request.into is not None:
        kernels = compiled = _compile_for_wheels(request.into)
    else:
        before = compiled_kernels()
        with quiet():
            run_cases()
        kernels, compiled = len(prepared_kernels()), compiled_kernels() - before
    result = _Warmup(kernels=kernels, compiled=compiled, seconds=round(time.perf_counter() - started, 3))
    return Reply(result, lambda console: _show(console, result))


def _compile_for_wheels(folder: Path) -> int:
    """Compile all kernels for the baseline processor in another process, and return their number."""
    from tablut.engine.jit import KERNELS  # noqa: F401 (decides whether kernels can be kept)
    from tablut.engine.kernel_cache import baseline

    check_folder(folder, "--into")
    if reason := why_forgotten():
        raise InputError(f"compiled kernels cannot be kept, because {reason}", subject="--into")
    name = baseline()
    if name is None:
        raise MachineError("lacks features that the kernels of a wheel use", subject="this processor")
    with writing(f"folder {excerpt(str(folder))}"):
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise InputError("is not empty", subject=f"--into {excerpt(str(folder))}", remedy="choose a new folder")
    program = "from tablut.commands.warmup import ship; ship()"
    with tempfile.TemporaryDirectory(prefix="tablut-kernels-") as cache:
        settings = {"NUMBA_CPU_NAME": name, "NUMBA_CPU_FEATURES": "", "NUMBA_CACHE_DIR": cache}
        command = [sys.executable, "-P", "-c", program, str(folder.absolute())]
        with ending_orderly():  # ends the other process as well
            code = subprocess.run(command, env=os.environ | settings, check=False).returncode
    if code:
        raise MachineError(f"ended with exit code {code}", subject="compiling for wheels")
    return len(list(folder.glob("*.kernel")))


def ship() -> None:
    """Run all cases, and copy their kernels, with a record for `hatch_build.py`, to the folder on the command line."""
    from tablut.engine.jit import KERNELS

    try:
        with quiet():
            run_cases()
    except KeyboardInterrupt:
        sys.exit(1)  # without a message, because the process that has started this one reports the interrupt
    folder, sources = Path(sys.argv[1]), dict[str, bytes]()
    for kernel in KERNELS:
        for arguments in kernel.overloads:
            sources |= kernel._cache.ship(arguments, kernel.targetctx.codegen(), folder)
    kernels = {path.name: path.read_bytes() for path in folder.glob("*.kernel")}
    record: dict[str, Any] = {"python": sys.version_info[:2], "platform": [sys.platform, platform.machine()]}
    for what, contents in (("sources", sources), ("kernels", kernels)):
        record[what] = {name: hashlib.sha256(content).hexdigest() for name, content in sorted(contents.items())}
    write_text(folder / "kernels.json", json.dumps(record))


def run_cases() -> None:
    """Run all cases, and show the progress on a terminal."""
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
    if code == EXIT_INTERRUPTED:
        raise KeyboardInterrupt
    if code not in (0, EXIT_NO, EXIT_UNKNOWN):
        raise TablutError(f"`tablut {case}` failed with exit code {code}: {complaints.getvalue()}", subject="warmup")


def _show(console: PeopleConsole, result: _Warmup) -> None:
    console.print(f"{plural(result.kernels, 'kernel')} ready, {result.compiled} of them newly compiled")
    console.print(f"{result.seconds:.1f} s", style="dim")
