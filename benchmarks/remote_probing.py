"""Requests, bytes and seconds of one probe from afar: ``python -m benchmarks.remote_probing [STORE]``.

A copy of the tablebase (by default what ships for ashton) is served by a web server of this machine. Asked are the
value of a position and of all its moves: with nothing read before, again, and by another process whose cache folder
has what the first one read.
"""

import os
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from serving import folder_server

from retrograde.tablebase import open_tablebase
from retrograde.tablebase.copying import copy_store
from retrograde.tablebase.probing import shipped_store
from tablut.board import Board

POSITION = "9/9/9/4w4/2K6/9/5b3/5b3/4b4 b"


def measure(store: Path | str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TABLUT_CACHE_DIR"] = str(Path(folder, "cache"))
        copy_store(store, Path(folder, "copy"))
        size = sum(path.stat().st_size for path in Path(folder, "copy").rglob("*") if path.is_file())
        print(f"{store}: {size:,} bytes")  # noqa: T201
        with folder_server(Path(folder)) as server:
            for run in ("first", "with the cache of the first"):
                table = open_tablebase(f"{server.url}/copy")
                board = Board(table.variant, POSITION)
                for name, ask in (("value", table.probe), ("value again", table.probe), ("moves", table.best_moves)):
                    started = time.perf_counter()
                    ask(board)
                    spent = time.perf_counter() - started
                    print(f"{run}, {name}: {server.requests} requests, {server.sent:,} bytes, {spent * 1e3:.0f} ms")  # noqa: T201
                    server.forget()


if __name__ == "__main__":
    measure(sys.argv[1] if len(sys.argv) > 1 else shipped_store("ashton"))
