"""Workers do their jobs, send messages, stop, and may die without anything else failing."""

import asyncio
import gc
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from reports.explorer import jobs, work
from reports.explorer.api import events_of
from reports.explorer.guard import BusyError, Settings
from reports.explorer.requests import (
    AnalysisRequest,
    BestMoveRequest,
    EndingsRequest,
    PerftRequest,
    SolveRequest,
    ThinkRequest,
)
from reports.explorer.work import Channel, Job, JobQueue, Workers
from retrograde.proofs import ProofLimits
from retrograde.tablebase.probing import shipped_store
from tablut.errors import InputError, MachineError, TablutError
from tablut.play.search.limits import SearchLimits
from tablut.variants import load_variant
from tests.support.jobs import (
    be_busy,
    break_down,
    chatter,
    compile_until_stopped,
    count_until_stopped,
    deaf,
    die,
    fail_with_what_cannot_be_sent,
    hand_over_what_cannot_be,
    niceness,
    refuse,
)
from tests.support.waiting import PATIENCE, eventually

MANY = 100 * PATIENCE
"""Of these nobody waits for the last."""


def done(workers: Workers, function: Any, *arguments: Any, stop: float | None = None, seconds: float = MANY) -> Any:
    """Return what comes of a job, which may be told to stop after some seconds."""

    async def run() -> Any:
        job = Job(workers, seconds, function, *arguments)
        if stop == 0:
            job.stop()
        elif stop is not None:
            asyncio.get_running_loop().call_later(stop, job.stop)
        async with asyncio.timeout(PATIENCE):
            return await job.task

    return asyncio.run(run())


@pytest.fixture
def own() -> Iterator[Workers]:
    found = Workers()
    yield found
    found.close()


def test_a_worker_is_another_process_that_stands_back_and_is_kept(workers: Workers) -> None:
    first, priority = done(workers, niceness)
    assert first != os.getpid()
    assert priority >= (os.nice(0) + 10 if hasattr(os, "nice") and os.nice(0) < 9 else 10)
    assert done(workers, niceness)[0] == first


def test_a_job_has_its_whole_time_once_its_worker_is_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    now, finish = [0.0], threading.Event()
    monkeypatch.setattr(work, "time", SimpleNamespace(monotonic=lambda: now[0]))

    class Slow(SimpleNamespace):
        """A worker that is ready just before its time to start has passed."""

        ready = False

        def begin(self) -> int:
            return 1

        def run(self, _number: int, *_work: Any, deliver: Callable[[str, Any], object]) -> tuple[str, Any]:
            now[0] = work._START - 1
            self.ready = True
            deliver("ready", None)
            deliver("begun", None)
            finish.wait(PATIENCE)
            return "done", 7

    async def play(threads: ThreadPoolExecutor) -> Any:
        job = Job(SimpleNamespace(take=Slow, give_back=lambda _: None, threads=threads), 100, int)  # type: ignore[arg-type]
        try:
            async with asyncio.timeout(PATIENCE):
                assert (await job.messages.get())[0] == "begun"
                now[0] += 50
                await asyncio.sleep(3 * work._LOOK)
                assert not job.task.done()
                finish.set()
                return await job.task
        finally:
            finish.set()

    with ThreadPoolExecutor() as threads:
        assert asyncio.run(play(threads)) == 7


def test_a_worker_that_died_idle_is_replaced_before_it_is_asked(own: Workers) -> None:
    first, _ = done(own, niceness)
    os.kill(first, signal.SIGKILL)
    (worker,) = own._idle
    eventually(lambda: not worker.alive)
    second, _ = done(own, niceness)
    assert second != first
    assert own._all == set(own._idle) != {worker}


def test_messages_come_in_order_and_a_job_stops_when_it_is_told_to(workers: Workers) -> None:
    async def run() -> tuple[int, list[tuple[str, Any]]]:
        job = Job(workers, MANY, count_until_stopped, MANY)
        asyncio.get_running_loop().call_later(0.3, job.stop)
        last = await job.task
        return last, [job.messages.get_nowait() for _ in range(job.messages.qsize())]

    last, messages = asyncio.run(run())
    assert last < MANY
    assert messages == [*(("counted", {"number": number}) for number in range(last + 1)), ("done", last)]
    # One that is stopped before it begins, and one after it that is not.
    assert done(workers, count_until_stopped, MANY, stop=0) < MANY
    assert done(workers, count_until_stopped, 3) == 3


def test_a_stop_reaches_a_search_that_is_about_to_begin(workers: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reports.explorer.work._GRACE", MANY)
    limits = SearchLimits(movetime=MANY)
    assert done(workers, jobs.bestmove, BestMoveRequest(), limits, Settings(), stop=0).move
    assert done(workers, jobs.think, ThinkRequest(), MANY, Settings(), stop=0)["move"]


START = "3bbb3/4b4/4w4/b3w3b/bbwwKwwbb/b3w3b/4w4/4b4/3bbb3 w"
PUZZLE = jobs.list_puzzles()["brandubh-10"]
STOPPED: dict[str, Callable[[Channel], Any]] = {
    "defence": lambda channel: jobs.defence(channel, PUZZLE, Settings()),
    "hint": lambda channel: jobs.hint(channel, PUZZLE, [], Settings()),
    "solution": lambda channel: jobs.reveal(channel, PUZZLE, [], Settings()),
    "rules": lambda channel: jobs.find_deciding_rules(channel, PUZZLE, Settings()),
    "perft": lambda channel: jobs.count_sequences(channel, PerftRequest(), 10**6),
    "endings": lambda channel: jobs.find_endings(
        channel, "ashton-5", shipped_store(load_variant("ashton")) or Path(), EndingsRequest(order="index"), MANY
    ),
    "analysis": lambda channel: jobs.analyse_game(
        channel, AnalysisRequest(record='[Variant "ashton-5-4v0"] 1. c3-b3 c1-b1', movetime=0.01), Settings()
    ),
}


@pytest.mark.parametrize("name", STOPPED)
def test_a_job_that_was_stopped_gives_no_answer(name: str) -> None:
    channel = Channel(lambda *_: None)
    channel.stop()
    with pytest.raises(TablutError):
        STOPPED[name](channel)


def test_what_a_stopped_job_has_proved_is_no_more_than_that() -> None:
    channel = Channel(lambda *_: None)
    channel.stop()
    limits = ProofLimits(seconds=MANY, memory_bytes=1 << 20)
    assert jobs.prove(channel, SolveRequest(position=START), limits, None).status == "unknown"
    judged = jobs.judge_move(channel, jobs.list_puzzles()["brandubh-01"], ["d4-g4"], Settings())
    assert (judged.right, judged.over) == (None, False)


def test_long_proofs_say_how_far_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    channel = Channel(lambda name, content: said.append(content) if name == "said" else None)
    monkeypatch.setattr(jobs, "_TELL", 0.001)
    limits = ProofLimits(nodes=2_000_000, seconds=MANY, memory_bytes=1 << 20)
    jobs.prove(channel, SolveRequest(position=START), limits, None)
    assert said
    assert all(f"at most {MANY:g} s, " in line and line.endswith(" nodes so far") for line in said)
    said.clear()
    jobs.find_deciding_rules(channel, PUZZLE, Settings(puzzle_seconds=0.1))
    assert said[0].startswith("at most 0.05 s, change 1 of ")


def test_a_proof_that_reached_its_limits_is_no_refutation() -> None:
    channel = Channel(lambda *_: None)
    for job in (jobs.hint, jobs.reveal):
        with pytest.raises(MachineError, match="took too long"):
            job(channel, PUZZLE, [], Settings(nodes=1))


def test_a_job_that_is_ended_leaves_no_trace_in_the_terminal(
    own: Workers, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("reports.explorer.work._GRACE", 0.2)

    async def run() -> None:
        for seconds, stops in ((MANY, True), (0.1, False)):
            job = Job(own, seconds, deaf)
            if stops:
                job.stop()
            async with asyncio.timeout(PATIENCE):
                await asyncio.wait([job.task])
            assert isinstance(job.task.exception(), MachineError)
            await asyncio.sleep(0.3)  # so that the thread that waited for the process tells the loop of its end
            del job
            gc.collect()

    asyncio.run(run())
    assert caplog.records == []


def test_a_new_worker_is_not_killed_before_it_is_ready(own: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reports.explorer.work._GRACE", 0.0)

    async def run() -> None:
        job = Job(own, MANY, niceness)
        job.stop()
        async with asyncio.timeout(PATIENCE):
            await asyncio.wait([job.task])

    asyncio.run(run())
    (worker,) = own._all
    assert worker.ready


def test_what_a_job_raises_passes_through_and_says_where(workers: Workers) -> None:
    with pytest.raises(InputError, match="position 'x': is none") as refused:
        done(workers, refuse)
    assert "in refuse" in "".join(refused.value.__notes__)
    with pytest.raises(BusyError) as busy:
        done(workers, be_busy)
    assert busy.value.status == 429
    with pytest.raises(KeyError):
        done(workers, break_down)
    with pytest.raises(TypeError, match="pickle"):
        done(workers, hand_over_what_cannot_be)
    with pytest.raises(RuntimeError, match="too much"):
        done(workers, fail_with_what_cannot_be_sent)


def test_what_does_not_stop_is_ended_and_the_next_job_has_a_new_worker(
    own: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reports.explorer.work._GRACE", 0.2)
    first = done(own, niceness)[0]
    with pytest.raises(MachineError, match="was stopped"):
        done(own, deaf, stop=0.1)
    with pytest.raises(MachineError, match="has ended"):
        done(own, die)
    assert done(own, niceness)[0] != first
    with pytest.raises(MachineError, match=r"longer than 0\.1 seconds"):
        done(own, deaf, seconds=0.1)
    os.kill(done(own, niceness)[0], signal.SIGSTOP)  # before its next job
    with pytest.raises(MachineError, match=r"longer than 0\.1 seconds"):
        done(own, niceness, seconds=0.1)
    own.close()
    with pytest.raises(MachineError, match="the explorer is stopping"):
        done(own, niceness)


# -- streams -------------------------------------------------------------------------------------


def test_a_stream_ends_also_after_a_defect_and_when_nobody_read_for_long(workers: Workers) -> None:
    async def last_of(function: Any, *arguments: Any) -> bytes:
        job = await JobQueue(Settings(), workers).start("anna", MANY, function, *arguments)
        async with asyncio.timeout(PATIENCE):
            await asyncio.wait([job.task])
            return [event async for event in events_of(job)][-1]

    assert asyncio.run(last_of(break_down)).startswith(b'event: failed\ndata: {"error": "the explorer has a bug')
    assert asyncio.run(last_of(chatter, 1500)) == b'event: done\ndata: {"number": 1500}\n\n'


def test_a_search_says_its_place_and_whether_it_compiles(workers: Workers) -> None:
    async def told() -> list[tuple[str, int, bool, str]]:
        queue = JobQueue(Settings(searches=1, patience=PATIENCE), workers)
        job = await queue.start("anna", MANY, compile_until_stopped, name="first")
        waits = asyncio.create_task(queue.start("anna", MANY, niceness, name="second"))
        async with asyncio.timeout(PATIENCE):
            while not queue.status("anna")[0].compiles:
                await asyncio.sleep(0.01)
            found = [(one.name, one.before, one.compiles, one.said) for one in queue.status("anna")]
            job.stop()
            await (await waits).task
        assert queue.status("anna") == queue.status("bert") == []
        return found

    assert asyncio.run(told()) == [("first", 0, True, "well begun"), ("second", 1, False, "")]


def test_a_job_that_is_left_gives_its_place_back(workers: Workers) -> None:
    async def again() -> None:
        queue = JobQueue(Settings(searches=1, patience=PATIENCE), workers)
        (await queue.start("anna", MANY, count_until_stopped, MANY)).stop()
        async with asyncio.timeout(PATIENCE):
            job = await queue.start("bert", MANY, niceness)
            await job.task

    asyncio.run(again())
