"""Traces of builds: what each task took."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Any

import pytest
from clusters import cluster

from retrograde.solver.build import build_in_slices, build_tablebase
from retrograde.solver.slices.plan import SlicedTier, even_cuts
from retrograde.solver.trace import PASS, PLAN, STORE, WHOLE, Trace, Tracer, read_trace, write_trace
from retrograde.tablebase.store import open_store
from retrograde.tablebase.writer import create, writing
from tablut.cli.shell import run
from tablut.errors import InputError
from tablut.running.scheduling import open_scheduler
from tablut.variants import load_variant

if TYPE_CHECKING:
    from pathlib import Path

GAME = load_variant("brandubh-5-4v4")
MEN, MEMORY = 6, 1 << 20
"""Of this game the largest tiers do not fit."""


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> tuple[Trace, Path]:
    root = tmp_path_factory.mktemp("traced") / "s"
    tracer = Tracer(GAME, MEN, MEMORY)
    build_tablebase(root, GAME, MEN, memory=MEMORY, tracer=tracer)
    return tracer.trace(), root


def test_a_trace_has_every_task_of_a_build(traced: tuple[Trace, Path]) -> None:
    trace, root = traced
    assert (trace.variant, trace.game, trace.men, trace.memory, trace.workers) == (
        GAME.name, GAME.digest, MEN, MEMORY, 1,
    )  # fmt: skip
    kinds = {kind: {task.tier for task in trace.tasks if task.kind == kind} for kind in (PLAN, PASS, STORE, WHOLE)}
    sliced = {"1v4", "2v3", "3v2", "4v1"}
    assert kinds[PLAN] == kinds[PASS] == kinds[STORE] == sliced
    assert kinds[WHOLE] == {f"{a}v{d}" for a, d in open_store(root).tiers()} - sliced
    # One worker does one thing at a time, and nothing is counted twice.
    assert all(before.ended <= after.began + 1e-3 for before, after in itertools.pairwise(trace.tasks))
    assert sum(task.cpu for task in trace.tasks) <= trace.seconds * 1.05
    for tier in sliced:
        provenance = json.loads((root / "provenance" / f"{tier}.json").read_text(encoding="utf-8"))
        mine = [task for task in trace.tasks if (task.tier, task.kind) == (tier, PASS)]
        assert provenance["read"] == sum(task.read for task in mine)
        assert provenance["written"] == sum(task.written for task in mine)
        assert provenance["cpu_seconds"] == pytest.approx(sum(task.cpu for task in mine), abs=0.01)
        assert {task.number for task in mine if task.step == 0} == set(range(provenance["slices"]))
        assert all(task.entries <= task.window for task in mine)


def test_a_trace_comes_back_from_its_file(traced: tuple[Trace, Path], tmp_path: Path) -> None:
    write_trace(tmp_path / "t.json", traced[0])
    assert read_trace(tmp_path / "t.json") == traced[0]


@pytest.mark.parametrize(
    "change",
    [
        lambda trace: trace.update(format=2),
        lambda trace: trace.update(more=1),
        lambda trace: trace.update(workers=0),
        lambda trace: trace.update(seconds=0.0),
        lambda trace: trace["tasks"].reverse(),
        lambda trace: trace["tasks"][0].update(ended=trace["tasks"][0]["began"] - 1),
        lambda trace: trace["tasks"][0].update(cpu=-1.0),
        lambda trace: trace["tasks"][0].update(tier="[/bold]"),
    ],
)
def test_a_file_that_is_no_trace_is_one_line(traced: tuple[Trace, Path], tmp_path: Path, change: Any) -> None:
    path = tmp_path / "t.json"
    content = json.loads(traced[0].model_dump_json())
    change(content)
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(InputError, match=r"^trace [^\n]*t\.json[^\n]*make it again with: tablut [^\n]*$"):
        read_trace(path)


def test_the_command_writes_a_trace(tmp_path: Path) -> None:
    trace = tmp_path / "t.json"
    command = ["tablebase", "build", "-v", GAME.name, "--men", "3", "--store", str(tmp_path / "s"), "--trace"]
    assert run([*command, str(tmp_path)]) == 2
    assert not (tmp_path / "s").exists()
    assert run([*command, str(trace)]) == 0
    assert {task.kind for task in read_trace(trace).tasks} == {WHOLE}


def test_a_cluster_is_traced(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    build_tablebase(tmp_path / "s", GAME, 3)
    create(tmp_path / "s", GAME, [(2, 1)])
    tracer = Tracer(GAME, 4, MEMORY)
    with cluster(tmp_path / "cluster", workers=2) as address, open_scheduler(1, address) as scheduler:
        tracer.slots = scheduler.workers
        cuts = even_cuts(SlicedTier(GAME, (2, 1)), 6)
        with writing(tmp_path / "s"):
            build_in_slices(
                tmp_path / "s", (2, 1), scheduler, memory=1 << 30, tell=lambda _: None, cuts=cuts, tracer=tracer
            )
    trace = tracer.trace()
    assert trace.workers == 2
    # This process leads, and two work.
    assert {task.worker for task in trace.tasks} == {0, 1, 2}
