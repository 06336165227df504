"""Time spent on compiling is counted, announced and left out of what is reported."""

import gc
import json
import re
import subprocess
import sys
import time

import pytest

from tablut import compilation
from tablut.compilation import begin, cpu_clock, end, thread_clock, wall_clock

CLOCKS = (wall_clock, cpu_clock, thread_clock)


@pytest.fixture
def counters(monkeypatch):
    monkeypatch.setattr(compilation, "_counters", compilation._Counters())
    return compilation._counters


def work(seconds):
    started = time.thread_time()
    while time.thread_time() - started < seconds:
        pass


def test_clocks_stand_still_while_compiling(counters):
    before = [clock() for clock in CLOCKS]
    begin()
    begin()
    work(0.2)
    assert wall_clock() - before[0] < 0.1
    end("part", done=True)
    end("kernel(int64)", done=True)
    assert all(clock() - started < 0.1 for clock, started in zip(CLOCKS, before, strict=True))
    assert compilation.compile_seconds() >= 0.2
    work(0.2)
    assert all(clock() - started >= 0.19 for clock, started in zip(CLOCKS, before, strict=True))
    assert compilation.prepared_kernels() == {"kernel(int64)"}
    assert compilation.compiled_kernels() == 1


def test_loading_counts_as_well_but_is_not_compiling(counters):
    begin(loads=True)
    work(0.05)
    end("kernel(int64)", done=True, loads=True)
    begin(loads=True)
    end("missing()", done=False, loads=True)
    assert compilation.compile_seconds() >= 0.05
    assert compilation.compiled_kernels() == 0
    assert compilation.prepared_kernels() == {"kernel(int64)"}


def test_no_garbage_is_looked_for_meanwhile_and_again_after_it(counters):
    begin()
    assert not gc.isenabled()
    end("kernel()", done=False)
    assert gc.isenabled()


@pytest.mark.parametrize(("seconds", "lines"), [(0.0, 0), (0.3, 1)])
def test_what_lasts_is_said_once_also_where_nobody_looks(counters, capsys, monkeypatch, seconds, lines):
    monkeypatch.setattr(compilation, "_PATIENCE", 0.1)
    for _ in range(2):
        begin()
        time.sleep(seconds)
        end("kernel()", done=True)
    assert capsys.readouterr().err.count("\n") == lines
    assert compilation.announced() == bool(lines)


def test_nothing_is_said_where_the_caller_shows_it(counters, capsys, monkeypatch):
    monkeypatch.setattr(compilation, "_PATIENCE", 0.0)
    with compilation.quiet():
        begin()
        time.sleep(0.1)
        end("kernel()", done=True)
    assert capsys.readouterr().err == ""


def test_a_command_that_compiles_says_so_and_reports_its_work_alone(tmp_path):
    """With an empty cache, piped: one line at the beginning, one at the end, and a rate as with a full cache."""
    command = [sys.executable, "-m", "tablut", "perft", "-d", "2", "-v", "ashton-5-4v0", "--json"]
    environment = {**__import__("os").environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    cold, warm = (subprocess.run(command, env=environment, capture_output=True, text=True, check=True) for _ in "ab")
    assert re.fullmatch(r"tablut: compiling, once.*\ntablut: compiling took .* s, once.*\n", cold.stderr)
    assert warm.stderr == ""
    first, second = json.loads(cold.stdout), json.loads(warm.stdout)
    assert first["perft"] == second["perft"]
    assert first["provenance"]["compile_seconds"] > 0.5 > first["seconds"]
    assert first["provenance"]["seconds"] > first["provenance"]["compile_seconds"]
    assert second["provenance"]["compile_seconds"] < first["provenance"]["compile_seconds"]
