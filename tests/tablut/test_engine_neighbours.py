"""Compiled functions of other packages in the same process see no change, nor does a recorder of their compilation."""

import json
import subprocess
import sys

import pytest

# Before and after a board is used: what other functions return, and which events their compilation sends.
SCRIPT = '''
import json, sys, threading
from collections import Counter
from contextlib import ExitStack

import numpy as np
from numba import float64, int64, njit, prange, vectorize
from numba.core import event
from numba.experimental import jitclass

def plain(number):
    total = 0
    for item in range(number):
        total = max(total, item) + (item in (1, 2)) * 3 - abs(item - 4) // 2
    return total

def spread(values):
    total = 0.0
    for index in prange(len(values)):
        total += values[index] * 2
    return total

class Pair:
    def __init__(self, left, right):
        self.left, self.right = left, right

    def both(self):
        return self.left + self.right

def one():
    return njit(plain)(9)

def kept():
    return njit(cache=True)(plain)(9)

def whole():
    return float(vectorize([float64(float64)])(lambda value: value + 1)(np.arange(4.0)).sum())

def at_once():
    found = []
    threads = [threading.Thread(target=lambda: found.append(one())) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found

def parallel():
    return njit(parallel=True)(spread)(np.arange(4.0))

def classes():
    return jitclass([("left", int64), ("right", int64)])(Pair)(3, 4).both()

KINDS = ("numba:compile", "numba:compiler_lock", "numba:llvm_lock", "numba:run_pass")

def seen(job):
    """Return the result of a job, and how many events of each kind came while it was compiled."""
    with ExitStack() as stack:
        recorders = {kind: stack.enter_context(event.install_recorder(kind)) for kind in KINDS}
        result = job()
    return result, {kind: len(recorder.buffer) for kind, recorder in recorders.items()}

def anatomy():
    """Return all that modules of numba and llvmlite, and their classes, consist of."""
    found = {}
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] in ("numba", "llvmlite"):
            for owner in (module, *(item for item in vars(module).values() if isinstance(item, type))):
                if getattr(owner, "__module__", name).split(".")[0] in ("numba", "llvmlite"):
                    for attribute, value in vars(owner).items():
                        found[getattr(owner, "__module__", ""), owner.__name__, attribute] = value
    return found

class Watch(event.Listener):
    """What other threads find while a kernel is compiled."""
    def __init__(self):
        self.kernels = 0

    def on_start(self, event):
        self.kernels += 1
        differ()

    def on_end(self, event):
        pass

def differ():
    now = anatomy()
    changes.update(key for key, value in before.items() if key in now and now[key] is not value)
    changes.update(["callbacks"] if ffi.lib._lock._cblist != callbacks else [])

from llvmlite.binding import ffi

jobs = [globals()[name] for name in sys.argv[1:]]
for job in jobs:
    seen(job)  # numba loads parts of itself for the first one
alone = [seen(job) for job in jobs]
before, callbacks, changes, watch = anatomy(), list(ffi.lib._lock._cblist), set(), Watch()

from tablut import Board
from tablut.engine.jit import called, kernel

@called
def part(number):
    return max(number, 3) + (number in (1, 2))

@kernel
def doubled(number):
    return part(number) * 2

legal = len(list(Board("brandubh").legal_moves))
event.register("numba:compile", watch)
answer = int(doubled(7))
event.unregister("numba:compile", watch)
differ()
beside = [seen(job) for job in jobs]
print(json.dumps({"alone": alone, "beside": beside, "changes": sorted(map(str, changes)),
                  "answers": [legal, answer], "kernels": watch.kernels}))
'''


@pytest.mark.parametrize(
    "jobs",
    [("one", "kept", "whole", "at_once"), pytest.param(("parallel", "classes"), marks=pytest.mark.slow)],
    ids=lambda jobs: "-".join(jobs),
)
def test_functions_of_others_are_compiled_as_if_there_were_no_engine(jobs, tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT, encoding="utf-8")
    command = [sys.executable, str(tmp_path / "script.py"), *jobs]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["answers"] == [40, 14]
    assert found["kernels"] >= 2
    assert found["changes"] == []
    assert found["alone"] == found["beside"]
    # The compiler was at work, unless the code was kept by numba.
    assert all(
        events["numba:llvm_lock"] > 100 for (_, events), job in zip(found["alone"], jobs, strict=True) if job != "kept"
    )
