"""Builds that are killed, divided, short of memory or spread over workers give the same files."""

import os
from importlib import resources
from pathlib import Path

import pytest
from kills import killed_at

from retrograde.solver.build import build_tablebase
from retrograde.solver.tier_graph import generations, tier_graph
from retrograde.tablebase.store import open_store
from retrograde.verification.verifying import standing_of, verify
from tablut.cli.shell import run
from tablut.errors import InputError, MachineError
from tablut.variants import load_variant
from tests.support.effort import slow_but
from tests.support.endings import contents

NAME = "brandubh-5-4v4"
MEN = 4


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    root = tmp_path_factory.mktemp("whole") / "store"
    build_tablebase(root, load_variant(NAME), MEN)
    assert not verify(root, sample=5, seed=1).failures
    return contents(root)


def test_the_order_puts_every_tier_after_those_that_captures_lead_to() -> None:
    graph = tier_graph(load_variant("mcgill"), 6)
    order = generations(graph)
    assert sum(len(tiers) for tiers in order) == len(graph) == 15
    done: set[tuple[int, int]] = set()
    for tiers in order:
        for attackers, defenders in tiers:
            captures = {(attackers - n, defenders) for n in (1, 2, 3)} | {(attackers, defenders - n) for n in (1, 2, 3)}
            lower = {(a, d) for a, d in captures if a > 0 and d >= 0}
            assert set(graph.successors((attackers, defenders))) == lower <= done
        done |= set(tiers)
    assert max(attackers + defenders for attackers, defenders in graph) == 5
    # Material that a game does not have is no tier of it.
    assert generations(tier_graph(load_variant("ashton-5-4v0"), 9)) == [[(1, 0)], [(2, 0)], [(3, 0)], [(4, 0)]]


def test_one_man_is_no_tablebase() -> None:
    with pytest.raises(InputError, match=r"^men 1: "):
        tier_graph(load_variant("ashton"), 1)


def test_more_men_add_to_fewer(tmp_path: Path, whole: dict[str, bytes]) -> None:
    root = tmp_path / "store"
    build_tablebase(root, load_variant(NAME), 3)
    before = {name: (root / name).stat().st_mtime_ns for name in contents(root) if name != "zarr.json"}
    build_tablebase(root, load_variant(NAME), MEN, threads=3)
    assert contents(root) == whole
    assert not list(root.glob(".*")), "nothing is left beside the tiers"
    assert all((root / name).stat().st_mtime_ns == stamp for name, stamp in before.items())


@pytest.mark.skipif(os.name != "posix", reason="sends signals")
def test_a_build_that_is_killed_goes_on_to_the_same_files(tmp_path: Path, whole: dict[str, bytes]) -> None:
    root = tmp_path / "store"
    command = ["tablebase", "build", "--men", str(MEN), "-v", NAME, "--store", str(root)]
    killed_at(r"/\d+v\d+$", 3, *command)
    assert len(open_store(root).tiers()) == 3
    assert run(command) == 0
    assert contents(root) == whole


SHIPPED = sorted(path.parent for path in Path(str(resources.files("retrograde"))).glob("data/*/zarr.json"))


def _tiers(store: Path) -> dict[str, dict[str, bytes]]:
    return {tier.name: contents(tier) for tier in store.iterdir() if (tier / "zarr.json").is_file()}


@pytest.mark.parametrize("shipped", slow_but(SHIPPED[::4], SHIPPED), ids=lambda path: path.name)
def test_what_ships_is_what_a_build_gives(shipped: Path, tmp_path: Path) -> None:
    build_tablebase(tmp_path / "store", open_store(shipped).variant, 3)
    built, there = _tiers(tmp_path / "store"), _tiers(shipped)
    assert built == {name: there[name] for name in built}


@pytest.mark.slow
@pytest.mark.parametrize("shipped", SHIPPED, ids=lambda path: path.name)
def test_every_value_that_ships_is_verified(shipped: Path) -> None:
    report = verify(shipped, threads=2, sample=20, seed=1)
    store = open_store(shipped)
    assert report.positions_checked == sum(2 * store.tier(*material).record.classes for material in store.tiers())
    assert not report.failures
    assert not report.published["unknown"]


def test_what_ships_is_complete_and_published() -> None:
    games = {open_store(shipped).variant.name for shipped in SHIPPED}
    assert games >= {"ashton", "berkeley", "bologna", "brandubh", "leiden", "mcgill"}
    for store in map(open_store, SHIPPED):
        assert not store.missing()
        for material in store.tiers():
            assert standing_of(store.variant, material, store.tier(*material).record.digest) == "same"


@pytest.mark.slow
def test_five_men_of_the_full_game(tmp_path: Path) -> None:
    root = tmp_path / "store"
    store = build_tablebase(root, load_variant("ashton"), 5, threads=2)
    records = [store.tier(*material).record for material in store.tiers()]
    assert sum(2 * record.classes for record in records) == 174_130_748
    assert sum(record.bytes for record in records) < 0.1 * 174_130_748
    report = verify(root, threads=2, sample=20, seed=1)
    assert report.positions_checked == 174_130_748
    assert not report.failures


def test_a_scheduler_that_does_not_answer_leaves_no_store(tmp_path: Path) -> None:
    with pytest.raises(MachineError):
        build_tablebase(tmp_path / "store", "brandubh", 2, scheduler="tcp://127.0.0.1:1")
    assert not list(tmp_path.iterdir())


def test_one_material_is_built_with_what_its_captures_lead_to(tmp_path: Path, whole: dict[str, bytes]) -> None:
    root = tmp_path / "store"
    tiers = [(1, 0), (1, 1), (1, 2)]
    assert build_tablebase(root, load_variant(NAME), None, materials=[(1, 2)]).tiers() == tiers
    assert not verify(root, sample=5, seed=1).failures
    found = contents(root)
    found.pop("zarr.json")
    assert found
    assert all(whole[name] == content for name, content in found.items())
    build_tablebase(root, load_variant(NAME), 3, materials=[(2, 1)])
    assert open_store(root).tiers() == [*tiers, (2, 0), (2, 1)]
    build_tablebase(root, load_variant(NAME), MEN)
    assert contents(root) == whole


def test_material_that_no_game_has_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["tablebase", "build", "-v", NAME, "--store", str(tmp_path / "store")]
    for words, named in (
        (["--material", "9v0"], "--material 9v0: is not the material of a tier of brandubh-5-4v4"),
        (["--material", "0v1"], "--material 0v1: is not the material of a tier of brandubh-5-4v4"),
        (["--material", "1-1"], "--material '1-1': expected attackers and defenders"),
        ([], "--men or --material: one of them is required"),
    ):
        assert run([*command, *words]) == 2
        assert named in capsys.readouterr().err
    assert not (tmp_path / "store").exists()
    assert run([*command, "--material", "1v1"]) == 0
    assert "all positions with at most 2 men, some tiers with more" in " ".join(capsys.readouterr().out.split())
