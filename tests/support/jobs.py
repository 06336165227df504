"""Jobs of a worker for the tests of workers; a module of its own, so that a new process loads little else."""

import os
import signal
import threading
import time
from typing import Any

from reports.explorer.guard import BusyError
from reports.explorer.work import Channel
from tablut.errors import InputError
from tablut.work import clocks
from tests.support.waiting import PATIENCE


def niceness(_: Channel) -> tuple[int, int]:
    return os.getpid(), os.nice(0) if hasattr(os, "nice") else 10


def count_until_stopped(channel: Channel, most: int) -> int:
    for number in range(most):
        channel.send("counted", {"number": number})
        if channel.stopped:
            return number
        time.sleep(0.02)
    return most


def compile_until_stopped(channel: Channel) -> None:
    channel.send("said", "well begun")
    clocks.begin()
    while not channel.stopped:
        time.sleep(0.02)
    clocks.end("a kernel", done=False)


def deaf(_: Channel) -> None:
    time.sleep(2 * PATIENCE)


def refuse(_: Channel) -> None:
    raise InputError("position 'x': is none")


def be_busy(_: Channel) -> None:
    raise BusyError("later", 429)


def break_down(_: Channel) -> Any:
    return {}["nothing"]


def hand_over_what_cannot_be(_: Channel) -> Any:
    return threading.Lock()


def fail_with_what_cannot_be_sent(_: Channel) -> Any:
    raise OverflowError("too much", threading.Lock())


def die(_: Channel) -> None:
    os.kill(os.getpid(), signal.SIGTERM)


def chatter(channel: Channel, most: int) -> dict[str, int]:
    for number in range(most):
        channel.send("counted", {"number": number})
    return {"number": most}
