"""``tablut serve``: it says where, ends when it is told to, and says in one line why it cannot begin."""

import json
import re
import signal
import socket
import subprocess
import sys

import httpx
import pytest

from reports.explorer.guard import Settings
from reports.explorer.server import address_of
from tablut.cli.shell import run
from tablut.work.machine import listen
from tests.support.waiting import PATIENCE


def begun(*options: str) -> subprocess.Popen[str]:
    arguments = [sys.executable, "-u", "-m", "tablut", "serve", "--port", "0", "--no-browser", *options]
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.slow
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_it_prints_its_address_and_ends_cleanly(stop: signal.Signals) -> None:
    process = begun()
    try:
        assert process.stdout is not None
        found = re.search(r"http://127\.0\.0\.1:\d+/", process.stdout.readline())
        assert found
        assert httpx.get(f"{found[0]}api/variants", timeout=PATIENCE).status_code == 200
        with httpx.stream("POST", f"{found[0]}api/think", json={"movetime": 20}, timeout=PATIENCE) as stream:
            next(stream.iter_raw())
            process.send_signal(stop)
            out, err = process.communicate(timeout=PATIENCE)
        assert err == ""
        if stop == signal.SIGINT:
            assert process.returncode == 0
            assert "has stopped" in out
    finally:
        process.kill()


def test_it_ends_by_itself(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["serve", "--port", "0", "--seconds", "0.3", "--json"]) == 0
    answered = json.loads(capsys.readouterr().out)
    assert answered["local"] is True
    assert answered["interrupted"] is False
    assert answered["address"].startswith("http://127.0.0.1:")


def test_beyond_the_loopback_it_warns(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["serve", "--host", "0.0.0.0", "--port", "0", "--no-browser", "--seconds", "0.2"]) == 0
    assert "warning" in capsys.readouterr().err


def test_addresses_are_those_that_a_browser_takes() -> None:
    with listen("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        assert address_of(listener, "localhost") == f"http://localhost:{port}/"
        assert address_of(listener, "0.0.0.0") == f"http://127.0.0.1:{port}/"
    if socket.has_ipv6:
        try:
            with listen("::1", 0) as listener:
                assert address_of(listener, "::1") == f"http://[::1]:{listener.getsockname()[1]}/"
        except OSError:
            pass  # a machine without that address
    assert Settings().local
    assert not Settings(host="0.0.0.0").local
