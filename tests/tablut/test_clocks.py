"""Time spent on compiling is counted, announced and left out of what is reported."""

import json
import re
import subprocess
import sys
import threading

import pytest

from tablut.running import clocks
from tablut.running.clocks import begin, cpu_clock, end, thread_clock, wall_clock
from tests.support.waiting import PATIENCE, Clock, eventually

CLOCKS = (wall_clock, cpu_clock, thread_clock)


@pytest.fixture
def counters(monkeypatch):
    monkeypatch.setattr(clocks, "_counters", clocks._Counters())
    return clocks._counters


@pytest.fixture
def time(monkeypatch):
    monkeypatch.setattr(clocks, "time", Clock())
    return clocks.time


def test_clocks_stand_still_while_compiling(counters, time):
    before = [clock() for clock in CLOCKS]
    begin()
    begin()
    time.now += 2
    assert wall_clock() == before[0]
    end("part", done=True)
    end("kernel(int64)", done=True)
    assert [clock() for clock in CLOCKS] == before
    assert clocks.compile_seconds() == 2
    time.now += 3
    assert [clock() for clock in CLOCKS] == [started + 3 for started in before]
    assert clocks.prepared_kernels() == {"kernel(int64)"}
    assert clocks.compiled_kernels() == 1


def test_loading_counts_as_well_but_is_not_compiling(counters, time):
    begin(loads=True)
    time.now += 2
    end("kernel(int64)", done=True, loads=True)
    begin(loads=True)
    end("missing()", done=False, loads=True)
    assert clocks.compile_seconds() == 2
    assert clocks.compiled_kernels() == 0
    assert clocks.prepared_kernels() == {"kernel(int64)"}


@pytest.mark.parametrize(("patience", "lines"), [(PATIENCE, 0), (0.01, 1)])
def test_what_lasts_is_said_once_also_where_nobody_looks(counters, capsys, monkeypatch, patience, lines):
    monkeypatch.setattr(clocks, "_PATIENCE", patience)
    for _ in range(2):
        begin()
        if lines:
            eventually(clocks.announced)
        end("kernel()", done=True)
    eventually(lambda: not any(isinstance(thread, threading.Timer) for thread in threading.enumerate()))
    assert capsys.readouterr().err.count("\n") == lines
    assert clocks.announced() == bool(lines)


@pytest.mark.slow
def test_a_command_that_compiles_says_so_and_reports_its_work_alone(tmp_path):
    """With an empty cache, piped: one line at the beginning, one at the end, and a rate as with a full cache."""
    command = [sys.executable, "-m", "tablut", "perft", "-d", "2", "-v", "ashton-5-4v0", "--json"]
    environment = {**__import__("os").environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    cold, warm = (subprocess.run(command, env=environment, capture_output=True, text=True, check=True) for _ in "ab")
    assert re.fullmatch(r"tablut: compiling, once.*\ntablut: compiling took .* s, once.*\n", cold.stderr)
    assert warm.stderr == ""
    first, second = json.loads(cold.stdout), json.loads(warm.stdout)
    assert first["perft"] == second["perft"]
    assert first["provenance"]["compile_seconds"] > first["seconds"]
    assert first["provenance"]["seconds"] > first["provenance"]["compile_seconds"]
    assert second["provenance"]["compile_seconds"] < first["provenance"]["compile_seconds"]
