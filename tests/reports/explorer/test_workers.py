"""Workers do what they are told, tell news, stop, and may die without anything else failing."""

import asyncio
import os
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from reports.explorer.desk import Desk
from reports.explorer.errors import BusyError
from reports.explorer.settings import Settings
from reports.explorer.streaming import events_of
from reports.explorer.workers import Caller, Errand, Job, Workers
from tablut.errors import InputError, MachineError
from tests.support.waiting import PATIENCE


def niceness(_: Caller) -> tuple[int, int]:
    return os.getpid(), os.nice(0) if hasattr(os, "nice") else 10


MANY = 100 * PATIENCE
"""Of these nobody waits for the last."""


def count_until_gone(caller: Caller, most: int) -> int:
    for number in range(most):
        caller.tell("counted", {"number": number})
        if caller.gone:
            return number
        time.sleep(0.02)
    return most


def deaf(_: Caller) -> None:
    time.sleep(2 * PATIENCE)


def refuse(_: Caller) -> None:
    raise InputError("position 'x': is none")


def be_busy(_: Caller) -> None:
    raise BusyError("later", 429, 7)


def break_down(_: Caller) -> Any:
    return {}["nothing"]


def hand_over_what_cannot_be(_: Caller) -> Any:
    return threading.Lock()


def die(_: Caller) -> None:
    os.kill(os.getpid(), signal.SIGTERM)


def chatter(caller: Caller, most: int) -> dict[str, int]:
    for number in range(most):
        caller.tell("counted", {"number": number})
    return {"number": most}


@pytest.fixture
def own() -> Iterator[Workers]:
    found = Workers()
    yield found
    found.close()


def test_a_worker_is_another_process_that_stands_back_and_is_kept(workers: Workers) -> None:
    first, priority = Errand(workers, Job(niceness)).run()
    assert first != os.getpid()
    assert priority >= (os.nice(0) + 10 if hasattr(os, "nice") and os.nice(0) < 9 else 10)
    assert Errand(workers, Job(niceness)).run()[0] == first


def test_news_come_in_order_and_a_job_stops_when_it_is_told_to(workers: Workers) -> None:
    heard: list[int] = []
    errand = Errand(workers, Job(count_until_gone, (MANY,)), lambda _, told: heard.append(told["number"]))
    threading.Timer(0.3, errand.stop).start()
    last = errand.run()
    assert last < MANY
    assert heard == list(range(last + 1))
    stopped = Errand(workers, Job(count_until_gone, (MANY,)))
    stopped.stop()
    assert stopped.run() < MANY


def test_what_a_job_raises_passes_through_and_says_where(workers: Workers) -> None:
    with pytest.raises(InputError, match="position 'x': is none") as refused:
        Errand(workers, Job(refuse)).run()
    assert "in refuse" in refused.value.__notes__[0]
    with pytest.raises(BusyError) as busy:
        Errand(workers, Job(be_busy)).run()
    assert (busy.value.status, busy.value.retry_after) == (429, 7)
    with pytest.raises(KeyError):
        Errand(workers, Job(break_down)).run()
    with pytest.raises(TypeError, match="pickle"):
        Errand(workers, Job(hand_over_what_cannot_be)).run()


def test_what_does_not_stop_is_ended_and_the_next_job_has_a_new_worker(
    own: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reports.explorer.workers._GRACE", 0.2)
    first = Errand(own, Job(niceness)).run()[0]
    errand = Errand(own, Job(deaf))
    threading.Timer(0.1, errand.stop).start()
    with pytest.raises(MachineError, match="took too long"):
        errand.run()
    with pytest.raises(MachineError, match="has ended"):
        Errand(own, Job(die)).run()
    assert Errand(own, Job(niceness)).run()[0] != first
    own.longest = 0.1
    with pytest.raises(MachineError, match="took too long"):
        Errand(own, Job(deaf)).run()
    own.close()
    with pytest.raises(MachineError, match="the explorer ends"):
        Errand(own, Job(niceness)).run()


# -- streams -------------------------------------------------------------------------------------


def test_a_stream_ends_also_after_a_defect_and_when_nobody_read_for_long(workers: Workers) -> None:
    async def last_of(job: Job, pause: float) -> bytes:
        events = events_of(await Desk(Settings(), workers).enter("anna"), job)
        await asyncio.sleep(pause)
        async with asyncio.timeout(PATIENCE):
            return [event async for event in events][-1]

    assert asyncio.run(last_of(Job(break_down), 0.0)).startswith(b'event: failed\ndata: {"error": "a defect')
    assert asyncio.run(last_of(Job(chatter, (1500,)), 3.0)) == b'event: done\ndata: {"number": 1500}\n\n'


def test_a_stream_that_nobody_reads_gives_its_place_back(workers: Workers) -> None:
    async def again() -> None:
        desk = Desk(Settings(searches=1, patience=PATIENCE), workers)
        place = await desk.enter("anna")
        events_of(place, Job(count_until_gone, (MANY,)))
        place.stop()
        async with asyncio.timeout(PATIENCE):
            await desk.enter("bert")

    asyncio.run(again())
