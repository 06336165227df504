"""Load test of the explorer with wrk: the speed of probes, with and without other visitors that request searches.

Run it from a checkout, with wrk on the PATH: ``python -m benchmarks.explorer_load --seconds 10``. The probed positions
are random and have three men. Either a few positions are requested repeatedly (and answered from a cache), or each
position is requested only once.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import httpx

from tablut.board import Board
from tablut.errors import InputError
from tablut.position import Position

RATE = 200
"""Probes per second that the explorer should answer in time under any load."""
SCRIPT = """
local paths = {{}}
for line in io.lines("{file}") do paths[#paths + 1] = line end
local number = 0
request = function()
  number = number % #paths + 1
  return wrk.format("GET", paths[number])
end
delay = function() return {pause} end
"""


class Measured(NamedTuple):
    """The results from wrk: requests per second, latencies in ms, refused requests, and CPU time per request in ms."""

    rate: float
    median: float
    p99: float
    refused: int
    cpu: float


def positions(count: int, seed: int) -> list[str]:
    """Return the URL paths of probes of random undecided positions."""
    draw = random.Random(seed)
    found: list[str] = []
    while len(found) < count:
        cells = ["."] * 81
        for square, piece in zip(draw.sample(range(81), 3), ("K", "b", draw.choice("bw")), strict=True):
            cells[square] = piece
        board = Board("ashton", Position("".join(cells), draw.choice("wb")))  # type: ignore[arg-type]
        try:
            if not board.status() and board.outcome() is None:
                found.append(f"/api/probe?position={quote(board.text)}")
        except InputError:
            continue
    return found


def wrk(address: str, server: int, paths: list[str], options: argparse.Namespace, pause: int = 0) -> Measured:
    """Request the given paths in order and return the measurements. Connections wait ``pause`` ms between requests."""
    with tempfile.TemporaryDirectory() as folder:
        listed, script = Path(folder) / "paths", Path(folder) / "probes.lua"
        listed.write_text("\n".join(paths), encoding="utf-8")
        script.write_text(SCRIPT.format(file=listed, pause=pause), encoding="utf-8")
        before = cpu_seconds(server)
        words = ["wrk", "-t1", f"-c{options.connections}", f"-d{options.seconds}s", "--latency"]
        said = subprocess.run([*words, "-s", str(script), address], capture_output=True, text=True, check=True).stdout
    wrong = re.search(r"Non-2xx or 3xx responses: (\d+)", said)
    rate = re.search(r"Requests/sec:\s+([\d.]+)", said)
    answered = re.search(r"(\d+) requests in", said)
    assert rate is not None, said
    assert answered is not None, said
    cpu = 1000 * (cpu_seconds(server) - before) / max(int(answered[1]), 1)
    return Measured(float(rate[1]), _ms(said, "50%"), _ms(said, "99%"), int(wrong[1]) if wrong else 0, cpu)


def cpu_seconds(pid: int) -> float:
    """Return the CPU time in seconds of a process and its threads, or NaN if /proc does not provide it."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return math.nan
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _ms(said: str, share: str) -> float:
    found = re.search(rf"{share}\s+([\d.]+)(us|ms|s)\s", said)
    assert found is not None, said
    return float(found[1]) * {"us": 0.001, "ms": 1.0, "s": 1000.0}[found[2]]


def flood(address: str, visitors: int, stop: threading.Event, answers: Counter[int]) -> list[threading.Thread]:
    """Start visitors that request searches. Each sends a new request as soon as its last one is answered."""

    def ask(number: int) -> None:
        with httpx.Client(base_url=address, cookies={"visitor": f"flood-{number}"}, timeout=60) as client:
            while not stop.is_set():
                response = client.post("/api/bestmove", json={"movetime": 0.5})
                answers[response.status_code] += 1
                if response.status_code != 200:
                    time.sleep(0.05)  # deliberately shorter than the Retry-After header

    threads = [threading.Thread(target=ask, args=(number,), daemon=True) for number in range(visitors)]
    for thread in threads:
        thread.start()
    return threads


def main() -> None:
    """Start an explorer, measure it, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--connections", type=int, default=4)
    parser.add_argument("--visitors", type=int, default=16)
    options = parser.parse_args()
    if shutil.which("wrk") is None:
        sys.exit("wrk is not on the PATH; install it (apt-get install wrk)")
    server = subprocess.Popen(
        [sys.executable, "-u", "-m", "tablut", "serve", "--port", "0", "--no-browser"],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.stdout is not None
        found = re.search(r"http://[^/]+", server.stdout.readline())
        assert found is not None
        address = found[0]
        few, many = positions(100, 1), positions(4000 * options.seconds, 2)
        with httpx.Client(base_url=address, timeout=60) as client:
            for path in few:
                assert client.get(path).status_code == 200, path
            client.post("/api/bestmove", json={"nodes": 1})
        time.sleep(5)  # wait until everything that is loaded at start-up is ready
        rows = {"the same 100 positions": wrk(address, server.pid, few, options)}
        rows["each position once"] = wrk(address, server.pid, many, options)
        stop, answers = threading.Event(), Counter[int]()
        threads = flood(address, options.visitors, stop, answers)
        crowd = f"the same 100, {options.visitors} visitors searching"
        rows[crowd] = wrk(address, server.pid, few, options)
        # The pause is 70 % of the time that each connection has for a probe. The rest is left for the answer.
        rows[f"{crowd}, {RATE} asked for a second"] = wrk(
            address, server.pid, few, options, pause=700 * options.connections // RATE
        )
        stop.set()
        for thread in threads:
            thread.join(60)
    finally:
        server.terminate()
    lines = ["| probes | a second | median, ms | 99 %, ms | processor, ms | refused |", "|---|--:|--:|--:|--:|--:|"]
    for name, row in rows.items():
        lines.append(f"| {name} | {row.rate:,.0f} | {row.median:.1f} | {row.p99:.1f} | {row.cpu:.2f} | {row.refused} |")
    lines.append(f"searches: {dict(answers)}; load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
