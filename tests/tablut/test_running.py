"""Tasks here and on clusters that are none; compiling is counted, announced and left out of what is reported."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random

import pytest

from tablut.errors import InputError, MachineError, UseError
from tablut.work import clocks, run
from tablut.work.clocks import alarm, begin, cpu_clock, end, thread_clock, wall_clock
from tablut.work.one_caller import OneCaller, alone
from tablut.work.run import LocalScheduler, open_scheduler
from tests.support.waiting import PATIENCE, Clock, eventually


@contextmanager
def server(answer: Callable[[socket.socket], None]) -> Iterator[str]:
    """Somebody who listens and is no scheduler."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        taken: list[socket.socket] = []

        def serve() -> None:
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                taken.append(connection)
                try:
                    answer(connection)
                except OSError:
                    continue

        threading.Thread(target=serve, daemon=True).start()
        yield f"tcp://127.0.0.1:{listening.getsockname()[1]}"
        for connection in taken:
            connection.close()


@pytest.mark.parametrize(
    "address",
    [
        *("", "nonsense", "ucx://1", "tcp://127.0.0.1", "tcp://127.0.0.1:0", "tcp://a:99999", "http://a:1", "a b:1"),
        *(":8786", "a:-1", "a:", "[::1]", "::1", "tcp://::1:8786", "[a b]:1", "a:٣"),
    ],
)
def test_a_malformed_address_is_bad_input(address: str) -> None:
    with pytest.raises(InputError) as refused, open_scheduler(1, address):
        pass
    assert refused.value.parameter == "scheduler"


@pytest.mark.parametrize("kind", ["nobody", "random", "few", "closes", "silent"])
def test_whoever_is_no_scheduler_is_the_machines_failure(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.setattr(run, "_PATIENCE", 0.5)
    random = Random(5)
    # The first eight bytes announce more than any machine has.
    answers: dict[str, Callable[[socket.socket], None]] = {
        "random": lambda connection: connection.sendall(b"\xff" * 8 + random.randbytes(4096)),
        "few": lambda connection: connection.sendall(b"abc"),
        "closes": lambda connection: connection.close(),
        "silent": lambda connection: None,
    }
    with server(answers.get(kind, answers["silent"])) as address:
        if kind == "nobody":
            address = "tcp://127.0.0.1:9"
        silent = pytest.raises(MachineError, match=r"^scheduler 'tcp://[^{]*: no scheduler responds")
        with silent as caught, open_scheduler(1, address):
            pass
    assert caught.value.exit_code == 74
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("threads", [1, 3])
def test_answers_are_in_the_order_of_the_tasks_and_each_is_told_once(threads: int) -> None:
    meeting = threading.Barrier(threads)

    def work(task: int) -> dict[str, int]:
        # So many tasks at once, or this waits until it fails.
        meeting.wait(PATIENCE)
        return {"task": task}

    told: list[dict] = []
    scheduler = LocalScheduler(threads)
    for tasks in (range(9), range(9, 12), ()):
        told.clear()
        assert scheduler.run(work, tasks, told.append) == [{"task": task} for task in tasks]
        assert sorted(answer["task"] for answer in told) == list(tasks)


def test_after_a_failure_no_further_task_begins() -> None:
    begun: list[int] = []
    running, release = threading.Event(), threading.Event()

    def work(task: int) -> dict[str, int]:
        begun.append(task)
        if task == 0:
            running.set()
            release.wait(PATIENCE)
        elif task == 1:
            running.wait(PATIENCE)
            raise MachineError("no room")
        return {"task": task}

    scheduler = LocalScheduler(2)
    with pytest.raises(MachineError, match="no room"):
        scheduler.run(work, range(50), lambda answer: None)
    # The one that runs is abandoned, not waited for, and the next run has threads of its own.
    assert begun == [0, 1]
    assert scheduler.run(lambda task: {"task": task}, [7], lambda answer: None) == [{"task": 7}]
    release.set()


def test_an_interrupt_is_heard_while_a_task_runs() -> None:
    begun: list[int] = []
    ended: list[int] = []
    release = threading.Event()

    def work(task: int) -> dict[str, int]:
        begun.append(task)
        os.kill(os.getpid(), signal.SIGINT)
        release.wait(PATIENCE)
        ended.append(task)
        return {"task": task}

    with pytest.raises(KeyboardInterrupt):
        LocalScheduler(1).run(work, range(5), lambda answer: None)
    assert not ended
    release.set()
    assert begun == [0]


# -- time spent on compiling is counted, announced and left out of what is reported ------


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
    assert wall_clock() == pytest.approx(before[0])
    end("part", done=True)
    end("kernel(int64)", done=True)
    assert [clock() for clock in CLOCKS] == pytest.approx(before)
    assert clocks.compile_seconds() == 2
    time.now += 3
    assert [clock() for clock in CLOCKS] == pytest.approx([started + 3 for started in before])
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
    begun, ended = cold.stderr.splitlines()
    assert "compiling" in begun
    assert re.search(r"compiling took [\d.]+ s", ended)
    assert warm.stderr == ""
    first, second = json.loads(cold.stdout), json.loads(warm.stdout)
    assert first["perft"] == second["perft"]
    assert first["provenance"]["compile_seconds"] > first["seconds"]
    assert first["provenance"]["seconds"] > first["provenance"]["compile_seconds"]
    assert second["provenance"]["compile_seconds"] < first["provenance"]["compile_seconds"]


# -- one caller at a time, and an alarm ------------------------------------------------------


class Counter(OneCaller):
    """Counts, and calls whoever wants to be called meanwhile."""

    number = 0

    @alone
    def count(self, meanwhile: Callable[[], object] = lambda: None, *, by: int = 1) -> int:
        """Add a number."""
        meanwhile()
        self.number += by
        return self.number


def test_a_call_within_a_call_is_refused_and_an_error_frees_it() -> None:
    counter, other = Counter(), Counter()
    with pytest.raises(UseError, match="Counter"):
        counter.count(counter.count)
    with pytest.raises(ZeroDivisionError):
        counter.count(lambda: 1 // 0)
    assert counter.count(lambda: other.count(by=3)) == 1
    assert (counter.count(by=2), other.number) == (3, 3)


def test_only_one_of_many_threads_is_served() -> None:
    counter, gate, refused = Counter(), threading.Event(), []

    def call() -> None:
        try:
            counter.count(lambda: gate.wait(PATIENCE))
        except UseError:
            refused.append(1)

    threads = [threading.Thread(target=call) for _ in range(8)]
    for thread in threads:
        thread.start()
    eventually(lambda: len(refused) == 7)
    gate.set()
    for thread in threads:
        thread.join()
    assert counter.number == 1


def test_an_alarm_never_rings_after_its_end() -> None:
    rung, begun, free = [], threading.Event(), threading.Event()

    def ring() -> None:
        begun.set()
        free.wait(PATIENCE)
        rung.append(1)

    with alarm(0, ring):
        begun.wait(PATIENCE)
        free.set()
    assert rung == [1]
    before = threading.active_count()
    with pytest.raises(ZeroDivisionError), alarm(10_000, ring):
        _ = 1 // 0
    assert (rung, threading.active_count()) == ([1], before)
