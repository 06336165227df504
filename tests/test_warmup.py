"""After `tablut warmup` no command compiles: whatever kernels it needs, with whatever types, are there."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tablut import selftest
from tablut.cli.shell import run

# Boards of one, two and three words, other rules and other options than the cases of the warmup have.
SCRIPT = """
import contextlib, io, json, shlex, sys, tempfile
from tablut.cli.shell import run
from tablut.commands.warmup import run_cases
from tablut.work.clocks import prepared_kernels
from tablut.engine import engine_for
from reports.bench import fingerprint
from tablut.variants import load_variant, variant_names

run_cases()
before = prepared_kernels()
found = {"kernels": len(before)}
folder = tempfile.mkdtemp()
commands = [
    *(f"perft -d 2 -v {name}" for name in variant_names()),
    *(f"bestmove --nodes 300 --hash 1 -v {name}" for name in ("mcgill", "brandubh", "ashton-7-4v1", "leiden")),
    *(
        f"bestmove --player {player} --nodes 400 --hash 1 -v {name}"
        for player in ("greedy", "heuristic", "mcts", "mcts-expanded", "mcts-improved", "payoff", "minimax3")
        for name in ("mcgill", "berkeley")
    ),
    "bestmove --player mcts-heuristic --movetime 0.1 --option margin=2000 -v brandubh",
    "moves -v brandubh -p '3b3/3b3/3w3/bbwKwbb/3w3/3b3/3b3 w'",
    "apply e3-d3 -v ashton",
    "perft -d 2 --applied --threads 2 -v brandubh",
    "symmetry verify --samples 10 --most 100 -v brandubh-5-4v4",
    "rank -v mcgill",
    "unrank 123456 -v brandubh",
    f"census --plies 3 --threads 2 -v brandubh-5-4v0 --store {folder}/census",
    f"census --plies 4 -v brandubh-5-4v0 --store {folder}/census",
    "solve -v ashton-5-4v0 --threads 2",
    f"tablebase build --men 3 -v brandubh-5-4v0 --threads 2 --store {folder}/tiers",
    f"tablebase verify --threads 2 {folder}/tiers",
    "puzzle solve -v brandubh-5-4v0 --nodes 5000 --all-wins",
    "puzzle solve -v mcgill --nodes 5000",
]
found["new"] = {}
for command in commands:
    output, complaints = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(complaints):
        code = run(shlex.split(command))
    assert code in (0, 1, 3), (command, code, complaints.getvalue())
    new = sorted(prepared_kernels() - before)
    if new:
        found["new"][command] = new
        before = prepared_kernels()
fingerprint()
engine = engine_for(load_variant("brandubh"))
words = engine.words(engine.start())
engine.canonical(engine.expand(words).words)
engine.boards(words)
found["new after"] = sorted(prepared_kernels() - before)
print(json.dumps(found))
"""


@pytest.mark.slow
def test_after_it_no_command_needs_another_kernel():
    answer = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=1800)
    assert answer.returncode == 0, answer.stderr
    found = json.loads(answer.stdout)
    assert found["new"] == {}
    assert found["new after"] == []
    assert found["kernels"] > 30


@pytest.mark.slow
def test_a_second_one_only_loads():
    runs = [
        subprocess.run([sys.executable, "-m", "tablut", "warmup", "--json"], capture_output=True, text=True, check=True)
        for _ in range(2)
    ]
    first, second = (json.loads(run.stdout) for run in runs)
    assert first["kernels"] == second["kernels"] > 30
    assert second["compiled"] == 0


@pytest.mark.parametrize("name", ["file", "file/below", "full"])
def test_kernels_for_a_wheel_need_a_new_folder(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # messages shorten long paths
    Path("file").touch()
    Path("full").mkdir()
    Path("full", "stale.kernel").touch()
    assert run(["warmup", "--into", name]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert name in captured.err


def test_the_check_of_an_installation_names_what_differs() -> None:
    """The whole check runs on an installed wheel, outside the checkout, in `.ci/run`."""
    assert selftest._answer("bounds -v brandubh", lambda found: found["variant"], "brandubh") == ""
    assert "'brandubh'" in selftest._answer("bounds -v brandubh", lambda found: found["variant"], "ashton")
    assert "exit code 2" in selftest._answer("bounds -v nosuch", lambda found: found["variant"], "nosuch")
