"""What all tests share."""

import gc
import os
import signal
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings

import retrograde
from tablut.work import clocks, machine
from tests.support.effort import MORE

# Read by the checker alone: it is full of mistakes.
collect_ignore = ["typing/user_code.py"]

# A test asks whether something is right, not whether the machine is quick today; and it asks the same in each run.
_STEADY = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
if os.environ.get("TABLUT_MUTANT"):
    # Whether a mutant is killed does not depend on how small the failing example is (`benchmarks.mutation`).
    _STEADY["phases"] = (Phase.explicit, Phase.generate)
settings.register_profile("fixed", max_examples=40, derandomize=True, database=None, **_STEADY)
settings.register_profile("fuzz", max_examples=100 * MORE, print_blob=True, **_STEADY)


def pytest_configure(config):
    """Draw the fixed examples of each property, or, asked for `fuzz`, new ones and many (`tests.support.effort`)."""
    settings.load_profile("fuzz" if _fuzzing(config) else "fixed")
    gc.set_threshold(50_000, 20, 50)


def pytest_collection_finish():
    """Let the collector pass over what lives as long as the session: half a million objects."""
    gc.collect()
    gc.freeze()


def pytest_itemcollected(item):
    """Let `-m fuzz` find every property that is not slow, whether a test is one or holds one."""
    held = getattr(getattr(item.obj, "__code__", None), "co_names", ())
    is_property = getattr(item.obj, "is_hypothesis_test", False) or "given" in held
    if is_property and _fuzzing(item.config) and not item.get_closest_marker("slow"):
        item.add_marker("fuzz")


def _fuzzing(config):
    chosen = config.getoption("markexpr")
    return "fuzz" in chosen and "not fuzz" not in chosen


@pytest.fixture(autouse=True, scope="session")
def _hearing_interrupts():
    """Let this process and those that it starts hear interrupts, which a shell may have told it to ignore."""
    ignored = signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    if ignored:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    if ignored:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


@pytest.fixture(autouse=True, scope="session")
def _shipped_tables_are_unpacked_once():
    """Share the tables that searchers load of what ships: unpacking takes a second, and nothing writes to them."""
    from retrograde.tablebase import bulk_probing as batch
    from tablut.play.players.registry import SHIPPED_TABLE_MIB

    shipped, unpack = Path(retrograde.__file__).parent / "data", batch.tiers_within
    kept = {}

    def tiers_within(store, memory):
        if not store.root.is_relative_to(shipped):
            return unpack(store, memory)
        memory = min(memory, SHIPPED_TABLE_MIB << 20)  # an analysis would load 300 MB
        key = store.root, store.variant.digest, memory
        if key not in kept:
            kept[key] = unpack(store, memory)
        return kept[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batch, "tiers_within", tiers_within)
        yield


_Cache = type(cache(int))


@pytest.fixture(autouse=True, scope="module")
def _tables_of_rule_sets_are_forgotten() -> Iterator[None]:
    """Empty the packages' caches of bounded size after each file, and those of the file itself.

    They hold tables of rule sets, many MB for each.
    """
    yield
    for name, module in [*sys.modules.items()]:
        of_tests = name.startswith("tests.") and ".test_" in name
        if of_tests or name.partition(".")[0] in ("tablut", "counting", "retrograde", "reports"):
            for value in [*vars(module).values()]:
                if isinstance(value, _Cache) and (of_tests or value.cache_parameters()["maxsize"]):
                    value.cache_clear()
    gc.collect()
    gc.freeze()  # so that the next collection does not look at the kernels again
    machine.return_memory()


@pytest.fixture(autouse=True)
def _compiling_in_silence():
    """Keep standard error free of what depends on the state of the kernel cache; its own tests run in processes."""
    with clocks.quiet():
        yield
