"""Traces of builds: what each task took."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING

import pytest
from clusters import cluster

from retrograde.solver.build import build_in_slices, build_tablebase
from retrograde.solver.slices.plan import SlicedTier, even_cuts
from retrograde.solver.trace import PASS, PLAN, STORE, WHOLE, Tracer
from retrograde.tablebase.store import open_store
from retrograde.tablebase.writer import create, writing
from tablut.cli.shell import run
from tablut.running.scheduling import open_scheduler
from tablut.variants import load_variant

if TYPE_CHECKING:
    from pathlib import Path

GAME = load_variant("brandubh-5-4v4")


def test_a_trace_has_every_task_of_a_build(tmp_path: Path) -> None:
    root, target = tmp_path / "s", tmp_path / "t.json"
    command = ["tablebase", "build", "-v", GAME.name, "--men", "6", "--memory", "1", "--store", str(root), "--trace"]
    assert run([*command, str(tmp_path)]) == 2
    assert not root.exists()
    assert run([*command, str(target)]) == 0
    trace = json.loads(target.read_text())
    about = {"variant": GAME.name, "game": GAME.digest, "men": 6, "memory": 1 << 20, "workers": 1}
    assert {name: trace[name] for name in about} == about
    tasks = trace["tasks"]
    kinds = {kind: {task["tier"] for task in tasks if task["kind"] == kind} for kind in (PLAN, PASS, STORE, WHOLE)}
    sliced = {"1v4", "2v3", "3v2", "4v1"}
    assert kinds[PLAN] == kinds[PASS] == kinds[STORE] == sliced
    assert kinds[WHOLE] == {f"{a}v{d}" for a, d in open_store(root).tiers()} - sliced
    # One worker does one thing at a time, and nothing is counted twice.
    assert all(before["ended"] <= after["began"] + 1e-3 for before, after in itertools.pairwise(tasks))
    assert sum(task["cpu"] for task in tasks) <= trace["seconds"] * 1.05
    for tier in sliced:
        provenance = json.loads((root / "provenance" / f"{tier}.json").read_text(encoding="utf-8"))
        mine = [task for task in tasks if (task["tier"], task["kind"]) == (tier, PASS)]
        for name in ("read", "written"):
            assert provenance[name] == sum(task[name] for task in mine)
        assert provenance["cpu_seconds"] == pytest.approx(sum(task["cpu"] for task in mine), abs=0.01)
        assert {task["number"] for task in mine if task["step"] == 0} == set(range(provenance["slices"]))
        assert all(task["entries"] <= task["window"] for task in mine)


def test_a_cluster_is_traced(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    build_tablebase(tmp_path / "s", GAME, 3)
    create(tmp_path / "s", GAME, [(2, 1)])
    tracer = Tracer(GAME, 4, 1 << 20)
    with cluster(tmp_path / "cluster", workers=2) as address, open_scheduler(1, address) as scheduler:
        tracer.slots = scheduler.workers
        cuts = even_cuts(SlicedTier(GAME, (2, 1)), 6)
        with writing(tmp_path / "s"):
            build_in_slices(
                tmp_path / "s", (2, 1), scheduler, memory=1 << 30, tell=lambda _: None, cuts=cuts, tracer=tracer
            )
    # This process leads, and two work.
    assert {task["worker"] for task in tracer.trace()["tasks"]} == {0, 1, 2}
