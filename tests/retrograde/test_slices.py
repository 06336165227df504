"""Tiers built in slices hold the same values as those built in memory, whatever happens on the way."""

from __future__ import annotations

import itertools
import json
import os
import random
import shutil
import signal
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from clusters import cluster
from fuses import Fuse, KilledError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from retrograde.solver.build import TierTask, build_in_slices, build_tablebase, build_tier
from retrograde.solver.kernels.context import row_array_sizes
from retrograde.solver.slices import building
from retrograde.solver.slices import slice_tasks as tasks
from retrograde.solver.slices.building import scratch_folder
from retrograde.solver.slices.slice_plan import SlicedTier, cut_tier, even_cuts
from retrograde.solver.tier_graph import estimate_build, generations, least_memory, tier_bytes, tier_graph
from retrograde.solver.tier_solver import TierSolver
from retrograde.tablebase import writer
from retrograde.tablebase.store import TablebaseError, open_store
from retrograde.tablebase.writer import create, writing
from tablut.cli.shell import run
from tablut.errors import InputError, OutputError
from tablut.variants import Variant, load_variant
from tablut.work import parts
from tablut.work.run import LocalScheduler, open_scheduler
from tablut.work.sealed_records import DamagedError
from tests.support.effort import MORE, examples, slow_but
from tests.support.endings import contents
from tests.support.strategies import small_variants

if TYPE_CHECKING:
    from collections.abc import Sequence

ONE_ROW = 120
"""More slices than there are rows: one for each."""
GAME = load_variant("brandubh-5-4v4")
TIER = (2, 2)
MEN, MEMORY = 6, 1 << 20
"""Of this game the largest tiers do not fit."""


def under(variant: Variant, **rules: object) -> Variant:
    return replace(variant, name="changed", rules=variant.rules.model_copy(update=rules))


def materials(variant: Variant, men: int) -> list[tuple[int, int]]:
    return [material for tiers in generations(tier_graph(variant, men)) for material in tiers]


def some_cuts(tier: SlicedTier, count: int | random.Random) -> tuple[int, ...]:
    """Return slices of about as many entries, or anywhere."""
    if isinstance(count, int):
        return even_cuts(tier, count) if count < tier.rows else tuple(range(tier.rows + 1))
    return (0, *sorted(count.sample(range(1, tier.rows), min(tier.rows - 1, count.randint(1, 9)))), tier.rows)


def build_sliced(
    root: Path, variant: Variant, men: int, count: int | random.Random, scheduler: Any = None
) -> list[dict[str, Any]]:
    """Build all tiers, each in slices but for those without defenders."""
    order = materials(variant, men)
    create(root, variant, order)
    answers = []
    for material in order:
        if not material[1]:
            build_tier(TierTask(str(root), *material, threads=1))
            continue
        cuts = some_cuts(SlicedTier(variant, material), count)
        with writing(root):
            answers.append(
                build_in_slices(
                    root, material, scheduler or LocalScheduler(1), memory=1 << 30, tell=lambda _: None, cuts=cuts
                )
            )
    return answers


# -- the same values -----------------------------------------------------------------------


def assert_same(folder: Path, variant: Variant, men: int, count: int | random.Random) -> list[dict[str, Any]]:
    build_tablebase(folder / "whole", variant, men)
    answers = build_sliced(folder / "sliced", variant, men, count)
    assert contents(folder / "sliced") == contents(folder / "whole")
    return answers


@pytest.mark.parametrize("men", slow_but([3], [4]))
@pytest.mark.parametrize("name", slow_but(["brandubh"], ["ashton", "leiden"]))
def test_every_rule_set_in_slices_cut_anywhere(name: str, men: int, tmp_path: Path) -> None:
    assert_same(tmp_path, load_variant(name), men, random.Random(name))


@pytest.mark.parametrize(
    ("name", "men", "count"),
    [("ashton-5-4v2", 3, ONE_ROW), pytest.param("brandubh-5-4v4", 4, 7, marks=pytest.mark.slow)],
)
def test_slices_of_one_row_and_of_some(
    name: str, men: int, count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of many blocks each, read in parts."""
    for module, constant in ((parts, "BLOCK"), (tasks, "BLOCK"), (building, "BLOCK"), (writer, "CHUNK")):
        monkeypatch.setattr(module, constant, 32)
    variant = load_variant(name)
    answers = assert_same(tmp_path, variant, men, count)
    sliced = [material for material in materials(variant, men) if material[1]]
    rows = [SlicedTier(variant, material).rows for material in sliced]
    assert [answer["slices"] for answer in answers] == [min(count, most) for most in rows]


@pytest.mark.slow
def test_draws_and_long_wins(deep_variant: Variant, tmp_path: Path) -> None:
    assert_same(tmp_path, deep_variant, 4, 5)
    assert open_store(tmp_path / "sliced").tier(2, 1).record.longest() > 12


def test_either_side_may_be_shut_in(tmp_path: Path) -> None:
    """Wins and losses of any number of plies: a round takes one distance, not two."""
    variant = under(load_variant("ashton-5-4v2"), no_moves="either_after_ply")
    strides = [TierSolver(game, [(1, 0)]).stride for game in (variant, load_variant("mcgill"), load_variant("ashton"))]
    assert strides == [1, 2, 2]
    assert_same(tmp_path, variant, 3, 5)


@settings(max_examples=examples(1, 2 * MORE), deadline=None, suppress_health_check=list(HealthCheck))
@given(variant=small_variants(size=5, later=True), seed=st.integers(0, 1 << 20))
def test_rules_that_nobody_plays(tmp_path_factory: pytest.TempPathFactory, variant: Variant, seed: int) -> None:
    assert_same(tmp_path_factory.mktemp("rules"), variant, 3, random.Random(seed))


# -- windows -------------------------------------------------------------------------------


def test_slices_are_as_few_as_the_memory_allows(tmp_path: Path) -> None:
    tier = SlicedTier(GAME, TIER)
    counts = []
    for memory in (1 << 20, 400_000, least_memory(GAME, TIER)):
        cuts = cut_tier(tier, memory)
        assert cuts[0] == 0
        assert cuts[-1] == tier.rows
        assert list(cuts) == sorted(set(cuts))
        for first, last in itertools.pairwise(cuts):
            assert tier.memory(tier.window(first, last), first, last) + tier.table_bytes <= memory
        counts.append(len(cuts) - 1)
    assert counts == sorted(counts)
    assert counts[0] < counts[-1]
    with pytest.raises(InputError, match=r"is too little for tier 2v2 .*; give it 1 MiB"):
        cut_tier(tier, 1000)
    # The index of a tier without defenders takes more than its items: it is not cut.
    with pytest.raises(InputError, match=r"too little for tier 3v0"):
        build_tablebase(tmp_path / "s", GAME, 4, memory=tier_bytes(GAME, (3, 0)) - 1)


def test_the_room_to_judge_a_row_is_known_beforehand() -> None:
    for material in ((3, 1), (3, 0), (4, 2)):
        arrays = SlicedTier(GAME, material).solver.solving_context(material).row_arrays
        taken = sum(array.nbytes for array in (arrays.masks, arrays.marks, arrays.mine, arrays.theirs))
        assert row_array_sizes(GAME, material).bytes == taken


def test_the_least_memory_is_enough_for_every_tier() -> None:
    for name in ("ashton", "brandubh", "brandubh-5-4v4", "mcgill"):
        variant = load_variant(name)
        for material in materials(variant, 4):
            if not material[1]:
                assert least_memory(variant, material) == tier_bytes(variant, material)
                continue
            tier = SlicedTier(variant, material)
            slices = [(row, row + 1) for row in random.Random(1).sample(range(tier.rows), min(tier.rows, 20))]
            most = max(tier.memory(tier.window(*rows), *rows) for rows in slices)
            assert most + tier.table_bytes <= least_memory(variant, material), (name, material)


# -- kills and damages ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of which some tiers are built in slices elsewhere."""
    root = tmp_path_factory.mktemp("whole") / "s"
    build_tablebase(root, GAME, MEN)
    return root


class Workshop:
    """A store without one tier, which is built in slices."""

    def __init__(self, root: Path, whole: Path) -> None:
        self.root, self.whole, self.told = root, whole, []  # type: ignore[var-annotated]
        shutil.copytree(whole, root)
        shutil.rmtree(root / "2v2")
        self.cuts = some_cuts(SlicedTier(GAME, TIER), 6)
        self.folder = scratch_folder(root, TIER)

    def build(self, left: int = 1 << 30, cuts: Sequence[int] | None = None) -> int:
        """Build the tier, or be killed after some tasks; return how many were done."""
        fuse = Fuse(left)
        self.told.clear()
        try:
            with writing(self.root):
                build_in_slices(self.root, TIER, fuse, memory=1 << 30, tell=self.told.append, cuts=cuts or self.cuts)
        except KilledError:
            assert left < 1 << 30
        return len(fuse.made)

    def assert_whole(self) -> None:
        assert contents(self.root) == contents(self.whole)
        assert not self.folder.exists()

    def slices(self) -> list[Path]:
        return sorted(self.folder.glob("*.slice"))


@pytest.fixture
def workshop(tmp_path: Path, whole: Path) -> Workshop:
    return Workshop(tmp_path / "s", whole)


@pytest.mark.slow
def test_a_build_that_is_killed_again_and_again_repeats_nothing(workshop: Workshop) -> None:
    once = workshop.build()
    workshop.assert_whole()
    assert once > 30
    shutil.rmtree(workshop.root / "2v2")
    done = 0
    while not (workshop.root / "2v2").exists():
        done += workshop.build(left=7)
        assert open_store(workshop.root).missing() == ([] if (workshop.root / "2v2").exists() else ["2v2"])
    workshop.assert_whole()
    assert done == once


@pytest.mark.slow
def test_other_slices_begin_anew_and_say_so(workshop: Workshop) -> None:
    workshop.build(left=15)
    assert list(workshop.folder.glob("step-*.json"))
    workshop.build(cuts=some_cuts(SlicedTier(GAME, TIER), 4))
    assert any("belongs to other slices or to other tiers below" in line for line in workshop.told)
    workshop.assert_whole()


def harm(path: Path, how: str) -> None:
    content = path.read_bytes()
    if how in ("link", "lose"):
        path.rename(path.with_suffix(".other"))
        if how == "link":
            path.symlink_to(path.with_suffix(".other"))
    else:
        path.write_bytes(content[:-9] + (b"" if how == "cut" else bytes([content[-9] ^ 4]) + content[-8:]))


@pytest.mark.parametrize(
    ("name", "how"),
    slow_but(
        [("00002-000001.slice", "flip")],
        [
            *itertools.product(("00002-000001.slice",), ("flip", "cut", "lose", "link")),
            *itertools.product(("00003-000001.slice",), ("cut", "lose", "link")),
        ],
    ),
)
def test_damage_is_named_and_made_again(workshop: Workshop, name: str, how: str) -> None:
    """Of the last step that is done, and of the one in the making."""
    workshop.build(left=6 * 3 + 2)
    path = workshop.folder / name
    harm(path, how)
    again = workshop.build()
    assert any(path.stem in line for line in workshop.told), workshop.told
    workshop.assert_whole()
    # The pass of the one file, and what was to come; not the passes before.
    assert again < 6 * 6 + 40
    assert not any(line.startswith("2v2: immediate wins") for line in workshop.told)


@pytest.mark.slow
def test_a_swapped_slice_and_one_of_another_store_are_named(workshop: Workshop, tmp_path: Path, whole: Path) -> None:
    workshop.build(left=6 * 3)
    first, second = workshop.slices()[-2:]
    other = Workshop(tmp_path / "other", whole)
    other.cuts = some_cuts(SlicedTier(GAME, TIER), 5)
    other.build(left=5 * 3)
    for path, source in ((first, other.slices()[-2]), (second, first)):
        shutil.copy(source, path)
    workshop.build()
    assert sum("is not the file that was written there" in line for line in workshop.told) == 2
    workshop.assert_whole()


def test_a_folder_that_is_none_is_refused(workshop: Workshop, tmp_path: Path) -> None:
    workshop.folder.write_text("")
    with pytest.raises(OutputError, match=r"2v2.slices'.*remove it"):
        workshop.build()
    workshop.folder.unlink()
    (tmp_path / "elsewhere").mkdir()
    workshop.folder.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(TablebaseError, match="is a link"):
        workshop.build()
    assert not list((tmp_path / "elsewhere").iterdir())


def test_a_disk_that_is_not_to_be_trusted_ends_the_build(workshop: Workshop) -> None:
    class Rotten(LocalScheduler):
        def run(self, function: Any, tasks: Any, done: Any) -> list[dict[str, Any]]:
            if tasks and tasks[0].own is not None:
                harm(Path(tasks[0].own.path), "flip")
            return super().run(function, tasks, done)

    with pytest.raises(DamagedError, match="check the disk"), writing(workshop.root):
        build_in_slices(workshop.root, TIER, Rotten(1), memory=1 << 30, tell=workshop.told.append, cuts=workshop.cuts)
    assert open_store(workshop.root).missing() == ["2v2"]


@pytest.mark.parametrize("change", slow_but(["field"], ["earlier"]))
def test_a_checkpoint_that_was_changed_is_named(workshop: Workshop, change: str) -> None:
    workshop.build(left=6 * 3)
    path = max(workshop.folder.glob("step-*.json"))
    text = path.read_text().replace('"step": 2', '"step": 1', 1)
    path.write_text(min(workshop.folder.glob("step-*.json")).read_text() if change == "earlier" else text)
    workshop.build()
    assert any(str(path) in line for line in workshop.told)
    workshop.assert_whole()


# -- what a user meets ---------------------------------------------------------------------


def test_the_command_says_what_would_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["tablebase", "build", "--men", "5", "--memory", "1", "--store", str(tmp_path / "s")]) == 2
    error = capsys.readouterr().err
    assert "MiB of memory even in the smallest slices, but 1 MiB are allowed" in error
    assert error.count("\n") == 1
    assert not (tmp_path / "s").exists()


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="sends signals")
def test_a_killed_worker_changes_nothing(workshop: Workshop, tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    killed: list[int] = []
    with cluster(tmp_path / "cluster", workers=2) as address:
        with distributed.Client(address) as client:
            pids = list(client.run(os.getpid).values())

        def kill(line: str) -> None:
            workshop.told.append(line)
            if "quick wins" in line and "2 slices left" in line and not killed:
                killed.append(pids[0])
                os.kill(pids[0], signal.SIGKILL)

        with writing(workshop.root), open_scheduler(1, address) as scheduler:
            build_in_slices(workshop.root, TIER, scheduler, memory=1 << 30, tell=kill, cuts=workshop.cuts)
        build_tablebase(tmp_path / "c", GAME, 4, scheduler=address)
    assert killed
    some = contents(tmp_path / "c")
    assert some.items() - {("zarr.json", some["zarr.json"])} <= contents(workshop.whole).items()
    workshop.assert_whole()


def test_a_tier_that_does_not_fit_is_built_in_slices(
    tmp_path: Path, whole: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "s"
    large = {f"{a}v{d}" for a, d in materials(GAME, MEN) if tier_bytes(GAME, (a, d)) > MEMORY}
    estimate = estimate_build(GAME, MEN, MEMORY)
    assert {f"{a}v{d}" for a, d in estimate.sliced} == large == {"1v4", "2v3", "3v2", "4v1"}
    assert estimate.least <= MEMORY
    command = ["tablebase", "build", "-v", GAME.name, "--men", "6", "--memory", "1", "--store", str(root)]
    # What a finished tier has left is removed.
    shutil.copytree(whole, root)
    large = {"4v1"}
    for name in (*large, "2v2"):
        shutil.rmtree(root / name)
    (root / ".3v0.slices").mkdir()
    (root / ".3v0.slices" / "00001-000001.slice").write_bytes(b"old")
    assert run(command) == 0
    assert contents(root) == contents(whole)
    assert not list(root.glob(".*"))
    for tier in large:
        provenance = json.loads((root / "provenance" / f"{tier}.json").read_text(encoding="utf-8"))
        assert provenance["slices"] > 1
        assert min(provenance[name] for name in ("read", "written", "cpu_seconds")) > 0


@pytest.mark.skipif(os.name != "posix", reason="no such limit here")
def test_no_room_for_scratch_files_is_said(workshop: Workshop, capsys: pytest.CaptureFixture[str]) -> None:
    """Slices, and arrays that are mapped, larger than a file may be: a disk that is full is one line, and 74."""
    import resource

    shutil.rmtree(workshop.root / "4v1")
    build = ["tablebase", "build", "-v", GAME.name, "--men", "6", "--store", str(workshop.root), "--memory", "1"]
    verify = ["tablebase", "verify", str(workshop.whole), "--memory", "1", "--sample", "0"]
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    for command, named in ((build, ".slice"), (verify, "scratch file")):
        resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, limits[1]))
        try:
            assert run(command) == 74
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        error = capsys.readouterr().err.splitlines()[-1]
        assert not list(workshop.root.rglob("*.slice.*.tmp"))
        assert named in error
        assert "File too large" in error
