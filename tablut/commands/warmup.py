"""``tablut warmup``: compiles what the commands need, by small cases of each, so that no later command has to."""

from __future__ import annotations

import io
import shlex
import tempfile
import time
from contextlib import redirect_stderr, redirect_stdout
from typing import TYPE_CHECKING

from tablut.cli.runtime import EXIT_NO, EXIT_UNKNOWN, Reply, command, progress
from tablut.errors import TablutError
from tablut.results import Result
from tablut.running.clocks import compiled_kernels, prepared_kernels, quiet

if TYPE_CHECKING:
    from tablut.cli.people import PeopleConsole

# Boards of one word and of several; {folder} is an empty folder that all cases share.
_CASES = (
    *(
        f"{case} -v {variant}"
        for variant in ("ashton", "ashton-5-4v0")
        for case in (
            "moves",
            "perft -d 2",
            "perft -d 2 --applied",
            "perft -d 2 --divide --threads 2",
            "bestmove --nodes 1000 --hash 1",
            "bestmove --player random",
            "bestmove --player greedy",
            "bestmove --player heuristic",
            "bestmove --player mcts-heuristic --playouts 20 --option margin=5000 --hash 1",
            "bestmove --player payoff --depth 2",
            "symmetry verify --samples 10 --most 100",
            "rank",
            "unrank 0",
        )
    ),
    "census --plies 3 --full -v ashton-5-4v0",
    "census --plies 2 --store {folder}/census -v ashton",
    "census --plies 2 --passes 2 -v ashton-5-4v0",
    "census --plies 3 --count-last -v ashton-5-4v0",
    "reachable estimate --samples 20 --lemma-samples 40 -v ashton",
    "reachable estimate --samples 4 --space decided -v ashton",
    "solve -v ashton-5-4v0 --store {folder}/solution",
    "tablebase verify {folder}/solution",
    "tablebase build --men 3 -v ashton-5-4v0 --store {folder}/tiers",
    "tablebase verify {folder}/tiers",
    # Slices, since no tier of so many men fits.
    "tablebase build --men 6 -v brandubh-5-4v4 --memory 1 --store {folder}/slices",
    "probe -p '5/5/2K2/5/b4 w' {folder}/tiers",
    "puzzle solve -v ashton-5-4v0 --nodes 100000",
    "puzzle solve -v ashton-5-4v0 --tablebase {folder}/tiers -p '5/1b3/2K2/5/b3b w' --nodes 100000",
    "puzzle solve --nodes 2000",
    "puzzle make -n 1 -v ashton-5-4v0 --from placements --samples 50 --nodes 5000",
    "puzzle make -n 1 -v brandubh --games 3 --nodes 5000",
)


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
    """Run all cases, showing progress on a terminal."""
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
        raise TablutError(f"warmup: `tablut {case}` ended with {code}: {complaints.getvalue()}")


def _show(console: PeopleConsole, result: _Warmup) -> None:
    console.print(f"{result.kernels} kernels ready, {result.compiled} of them compiled just now")
    console.print(f"{result.seconds:.1f} s", style="dim")
