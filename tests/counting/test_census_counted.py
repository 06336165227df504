"""A ply that is counted and not stored: the same numbers in any number of passes, after any interruption."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fuses import Fuse, KilledError

from counting.census import census
from counting.census.buckets import LEAF_BITS, family_bins
from counting.census.census_store import HUNDREDTHS, CensusStore, CountRecord
from counting.census.counted import Counted, CountRequest, count_ply
from counting.census.rows import leaves_digest, open_rows, read_rows
from counting.census.search import CensusLimits, CensusSearch, Resources, TooLargeError
from counting.census.toolbox import toolbox
from counting.census.verification import verify_census
from tablut.cli.shell import run
from tablut.errors import InputError
from tablut.variants import Variant, load_variant
from tablut.work.progress import Observer
from tablut.work.run import ClusterScheduler, LocalScheduler
from tablut.work.sealed_records import record_text
from tests.twins.codes import plain_bin

Captured = pytest.CaptureFixture[str]

BOARD = load_variant("ashton-5-4v2")
PLY = 5
WIDE = CensusLimits.from_memory(1 << 30, 1, 1)
NARROW = replace(WIDE, expand_children=5_000, merge_children=9_000, tally_children=3_000, sort_rows=700)


class Listener(Observer):
    """Keeps what is said."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, text: str) -> None:
        self.lines.append(text)

    def announce(self, text: str, seconds: float) -> None:
        assert seconds >= 0
        self.lines.append(text)


def counting(
    folder: Path,
    wish: CountRequest,
    limits: CensusLimits = WIDE,
    scheduler: LocalScheduler | None = None,
    listener: Listener | None = None,
    variant: Variant = BOARD,
    ply: int = PLY,
) -> Counted:
    store = CensusStore(folder, variant, full=False)
    try:
        workers = LocalScheduler(1) if scheduler is None else scheduler
        observer = Listener() if listener is None else listener
        search = CensusSearch(variant, full=False, store=store, scheduler=workers, limits=limits, observer=observer)
        search.run(ply - 1)
        return count_ply(search, ply, wish)
    finally:
        store.close()


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All plies up to the one that is counted, stored."""
    folder = tmp_path_factory.mktemp("stored")
    census(BOARD, plies=PLY, store=folder)
    return folder / "classes"


@pytest.fixture(scope="module")
def before(stored: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The plies before the one that is counted."""
    folder = tmp_path_factory.mktemp("before") / "classes"
    shutil.copytree(stored, folder, ignore=shutil.ignore_patterns(f"ply-{PLY:03}*"))
    return folder


@pytest.fixture(scope="module")
def truth(before: Path, tmp_path_factory: pytest.TempPathFactory) -> CountRecord:
    folder = tmp_path_factory.mktemp("truth") / "classes"
    shutil.copytree(before, folder)
    return counting(folder, CountRequest()).record


def copied(before: Path, folder: Path) -> Path:
    return Path(shutil.copytree(before, folder / "classes"))


TENTH = CountRequest((0, 10))


def interrupted(before: Path, folder: Path, tasks: int = 9) -> Path:
    """Begin to count a tenth in a copy: by the fourth task all is sorted, then come tallies."""
    folder = copied(before, folder)
    with pytest.raises(KilledError):
        counting(folder, TENTH, WIDE, Fuse(tasks))
    return folder


# -- what is counted ---------------------------------------------------------------------


def test_counted_is_what_is_stored(stored: Path, truth: CountRecord) -> None:
    store = CensusStore(stored, BOARD, full=False)
    record = list(store.records())[PLY]
    files = store.check_parts(record)
    store.close()
    for name in ("counters", "material", "children", "next_children", "expanded"):
        assert getattr(truth, name) == getattr(record, name), name
    assert truth.leaves == leaves_digest(files)
    assert truth.whole
    assert sum(each.children for each in truth.hundredths) == record.children
    assert sum(each.new for each in truth.hundredths) == record.counters["new"]


def test_passes_change_nothing(before: Path, truth: CountRecord, tmp_path: Path) -> None:
    found = counting(copied(before, tmp_path), CountRequest(passes=12), NARROW)
    assert found.passes >= 7  # no bin is cut
    assert found.record.digest == truth.digest
    assert found.record.hundredths == truth.hundredths
    assert len(found.record.tallies) > HUNDREDTHS
    assert not (tmp_path / "classes/work").exists()


def test_the_full_game(tmp_path: Path) -> None:
    ashton = load_variant("ashton")
    plain = census(ashton, plies=3).plies[3]
    report = census(ashton, plies=3, store=tmp_path, count=CountRequest(passes=3))
    assert report.counted is not None
    assert report.counted.whole
    assert report.plies[3].stored is False
    for name in ("new", "new_classes", "decided", "decided_classes", "moves", "captures", "captured", "total"):
        assert getattr(report.plies[3], name) == getattr(plain, name), name


def test_threads_and_a_part_after_another(before: Path, truth: CountRecord, tmp_path: Path) -> None:
    folder = copied(before, tmp_path)
    first = counting(folder, CountRequest.part("2/10", 1, again=False)).record
    assert [each.number for each in first.hundredths] == list(range(10, 20))
    assert first.hundredths == truth.hundredths[10:20]
    assert not first.whole
    second = counting(folder, CountRequest.part("1/2", 2, again=False), NARROW, LocalScheduler(3)).record
    assert second.hundredths == truth.hundredths[:50]
    assert counting(folder, CountRequest()).record.digest == truth.digest
    nothing = counting(folder, CountRequest())
    assert nothing.passes == 0
    assert nothing.record.digest == truth.digest


def test_a_part_counted_again(before: Path, truth: CountRecord, tmp_path: Path) -> None:
    folder = copied(before, tmp_path)
    with pytest.raises(InputError, match=r"^again: .* was not counted before; .*`again`"):
        counting(folder, CountRequest(again=True))
    counting(folder, TENTH)
    again = counting(folder, CountRequest.part("2/20", 3, again=True), NARROW)
    assert again.passes >= 3
    assert again.again == truth.hundredths[5:10]
    assert again.agrees
    assert not (folder / f"again-{PLY:03}").exists()
    other = again.again[0].model_copy(update={"new": 1})
    assert not again._replace(again=(other,)).agrees


def test_what_a_part_may_be() -> None:
    assert CountRequest.part("1/1", 1, again=False) == CountRequest()
    assert CountRequest.part("20/20", 2, again=True) == CountRequest((95, 100), 2, True)
    for text in ("0/10", "11/10", "1/3", "1/0", "1", "a/b", "-1/10", "1/10 ", "²/10", "1" * 99 + "/10"):
        with pytest.raises(InputError, match=r"^part "):
            CountRequest.part(text, 1, again=False)


# -- families and kernels ------------------------------------------------------------------


@pytest.mark.parametrize("name", ["ashton", "ashton-5-4v2", "brandubh", "berkeley"])
def test_bins_against_the_plain_twin(name: str, tmp_path: Path) -> None:
    variant = load_variant(name)
    census(variant, plies=2, store=tmp_path)
    tools = toolbox(variant, False)
    for ply in (1, 2):
        rows = read_rows(open_rows(tmp_path / f"classes/ply-{ply:03}/part-00000.rows"), 0, 1 << LEAF_BITS)[:50]
        bins = np.empty(len(rows), dtype=np.uint16)
        family_bins(tools.tables, tools.marks, tools.order, 0, rows, bins)
        children = np.empty(len(rows), dtype=np.uint16)
        family_bins(tools.tables, tools.marks, tools.order, 1, rows, children)
        for row, found, of_children in zip(rows, bins.tolist(), children.tolist(), strict=True):
            number = sum(int(word) << 64 * place for place, word in enumerate(row))
            cells = variant.size**2
            black = [cell for cell in range(cells) if number >> cell & 1]
            white = [cell for cell in range(cells) if number >> (cells + cell) & 1]
            width = (cells - 1).bit_length()
            king, side = number >> 2 * cells & (1 << width) - 1, number >> 2 * cells + width & 1
            ways = {1: plain_bin(variant, False, None, black), 0: plain_bin(variant, False, king, white)}
            assert (found, of_children) == (ways[side], ways[1 - side])


# -- interruptions and damage ----------------------------------------------------------------


def test_dying_after_every_few_tasks(before: Path, truth: CountRecord, tmp_path: Path) -> None:
    folder = copied(before, tmp_path)
    deaths = 0
    while True:
        try:
            # Another number of passes each time: what is counted stays counted.
            wish = CountRequest(passes=1 + deaths % 4)
            found = counting(folder, wish, (WIDE, NARROW)[deaths % 2], Fuse(23))
        except KilledError:
            deaths += 1
            continue
        break
    assert deaths > 3
    assert found.record.digest == truth.digest
    assert not (folder / "work").exists()


def test_a_pass_goes_on_inside(before: Path, truth: CountRecord, tmp_path: Path) -> None:
    """What a killed pass has sorted and counted is not done again."""
    folder = copied(before, tmp_path)
    with pytest.raises(KilledError):
        counting(folder, CountRequest(), NARROW, Fuse(60))
    kept = {path: path.stat().st_mtime_ns for path in folder.rglob("*.rows")}
    assert any(path.name.startswith("parents") for path in kept)
    tallies = [path for path in kept if path.name.startswith("tally")]
    assert tallies
    fuse = Fuse(100_000)
    assert counting(folder, CountRequest(), NARROW, fuse).record.digest == truth.digest
    assert all(name.startswith("tally") for name in fuse.made)
    assert all(path.stat().st_mtime_ns == kept[path] for path in tallies)


def test_a_bad_tally_is_named(before: Path, truth: CountRecord, tmp_path: Path) -> None:
    folder = interrupted(before, tmp_path)
    report = census("brandubh-5-4v4", plies=4, store=tmp_path / "other", count=CountRequest((0, 2)))
    assert report.counted is not None
    foreign = next((tmp_path / "other").glob("classes/count-*/tally-*"))
    tally, moved = sorted(folder.glob("count-*/tally-*"))[2:4]
    sound = tally.read_bytes()
    for bad in (
        moved.read_bytes(),
        foreign.read_bytes(),
        sound[:70] + bytes([sound[70] ^ 4]) + sound[71:],
        sound[:-9] + bytes([sound[-9] ^ 4]) + sound[-8:],
    ):
        tally.write_bytes(bad)
        listener = Listener()
        assert counting(folder, TENTH, listener=listener).record.hundredths == truth.hundredths[:10]
        assert any(tally.name in line for line in listener.lines)
        (folder / f"count-{PLY:03}.json").unlink()


def test_bad_sorted_rows_are_named(before: Path, truth: CountRecord, tmp_path: Path) -> None:
    for name in ("known", "parents"):
        folder = interrupted(before, tmp_path / name, 4)
        path = max(folder.glob(f"work/*/{name}-*"), key=lambda path: path.stat().st_size)
        # In its rows: found when they are read. In its header: found when it is opened.
        place, listener = 0 if name == "known" else -90, Listener()
        content = bytearray(path.read_bytes())
        content[place] ^= 1
        path.write_bytes(content)
        assert counting(folder, TENTH, listener=listener).record.hundredths == truth.hundredths[:10]
        assert any(path.name in line for line in listener.lines)


def test_sorted_rows_of_one_kind_do_not_stand_for_another(before: Path, truth: CountRecord, tmp_path: Path) -> None:
    folder = interrupted(before, tmp_path)
    parents, known = (next(folder.glob(f"work/*/{name}-00000.rows")) for name in ("parents", "known"))
    shutil.copy(known, parents)
    assert counting(folder, TENTH).record.hundredths == truth.hundredths[:10]


def test_what_a_killed_comparison_left_goes(before: Path, tmp_path: Path) -> None:
    folder = copied(before, tmp_path)
    left = folder / f"again-{PLY:03}" / ".tally-0000-0040.rows.abc.tmp"
    left.parent.mkdir()
    left.touch()
    counting(folder, CountRequest((0, 1)))
    assert not left.exists()


def test_a_bad_record_is_named(before: Path, truth: CountRecord, tmp_path: Path) -> None:
    folder = copied(before, tmp_path)
    counting(folder, TENTH)
    path = folder / f"count-{PLY:03}.json"
    content = json.loads(path.read_text())
    content["content"]["counters"]["new"] += 1
    path.write_text(json.dumps(content))
    assert verify_census(folder, BOARD).failures == 1
    listener = Listener()
    assert counting(folder, TENTH, listener=listener).record.hundredths == truth.hundredths[:10]
    assert any(path.name in line for line in listener.lines)
    # With fitting digests it still does not add up from its tallies.
    fields = {name: content["content"][name] for name in content["content"] if name != "digest"}
    path.write_text(record_text(CountRecord.make(fields)))
    assert verify_census(folder, BOARD).failures > 0
    assert counting(folder, TENTH).record.hundredths == truth.hundredths[:10]


def test_verify_knows_a_counted_ply(before: Path, stored: Path, truth: CountRecord, tmp_path: Path) -> None:
    folder = copied(before, tmp_path)
    counting(folder, CountRequest())
    report = verify_census(folder, BOARD)
    assert report.failures == 0
    assert report.counted == PLY
    assert report.plies == PLY
    # The same ply stored as well: it must be the same.
    for path in (*stored.glob(f"ply-{PLY:03}/*"), stored / f"ply-{PLY:03}.json"):
        target = folder / path.relative_to(stored)
        target.parent.mkdir(exist_ok=True)
        shutil.copy(path, target)
    assert verify_census(folder, BOARD).failures == 0
    tally = next(folder.glob("count-*/tally-*"))
    tally.unlink()
    report = verify_census(folder, BOARD)
    assert report.failures == 1
    assert any(tally.name in message for check in report.checks for message in check.messages)


# -- limits ------------------------------------------------------------------------------------


def test_the_disk_decides_how_many_passes(before: Path, truth: CountRecord, tmp_path: Path) -> None:
    folder = copied(before, tmp_path)
    kept = sum(path.stat().st_size for path in folder.rglob("*.rows"))
    listener = Listener()
    found = counting(folder, CountRequest(), replace(WIDE, disk_bytes=kept + 11_000), None, listener)
    assert found.passes > 2
    assert found.record.digest == truth.digest
    assert any(f"in {found.passes} passes with at most" in line for line in listener.lines)
    shutil.rmtree(folder / f"count-{PLY:03}")
    (folder / f"count-{PLY:03}.json").unlink()
    with pytest.raises(TooLargeError, match=r"^disk: .*parents of one bin"):
        counting(folder, CountRequest(), replace(WIDE, disk_bytes=kept + 50))
    with pytest.raises(TooLargeError, match=r"^memory: .*give it \d+ MiB"):
        counting(folder, CountRequest(), replace(WIDE, tally_children=10))


def test_the_command(tmp_path: Path, capsys: Captured) -> None:
    store = str(tmp_path / "store")
    arguments = ["census", "count", "-v", BOARD.name, "--plies", str(PLY), "--store", store]

    def answer(*more: str) -> dict[str, Any]:
        capsys.readouterr()
        assert run([*arguments, *more, "--json"]) == 0
        return json.loads(capsys.readouterr().out)  # type: ignore[no-any-return]

    found = answer("--part", "1/10")
    assert (found["passes"], found["counted"]["whole"], len(found["plies"])) == (1, False, PLY)
    plain = census(BOARD, plies=PLY).plies[PLY]
    for estimate in found["counted"]["estimates"][:2]:
        assert estimate["low"] <= getattr(plain, estimate["name"]) <= estimate["high"]
    assert run([*arguments, "--passes", "3", "--disk", "0.5"]) == 0
    found = answer("--passes", "2", "--part", "1/4", "--again")
    assert found["counted"]["counted_again"] == list(range(25))
    assert found["counted"]["agrees"]
    assert (found["plies"][PLY]["new"], found["total"]) == (plain.new, plain.total)
    assert not found["plies"][PLY]["stored"]
    assert run(["census", "verify", store]) == 0
    # Stored as well, it is no longer said to be missing.
    assert run(["census", "-v", BOARD.name, "--plies", str(PLY), "--store", store]) == 0
    assert answer()["plies"][PLY]["stored"]
    assert run(["census", "verify", store]) == 0
    capsys.readouterr()
    assert run(["census", "count", "--plies", "0"]) == 2


def test_a_census_that_ends_before(tmp_path: Path) -> None:
    small = load_variant("ashton-5-4v0")
    report = census(small, plies=40, count=CountRequest())
    assert report.complete
    assert report.counted is None
    assert report.total == 139_097
    # Its last ply, in which nothing undecided is new, can be counted too.
    last = census(small, plies=report.plies[-1].ply, count=CountRequest(passes=3))
    assert last.counted is not None
    assert (last.complete, last.total, last.decided_total) == (True, report.total, report.decided_total)


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_on_a_cluster_whose_worker_is_killed(
    before: Path, truth: CountRecord, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from distributed import LocalCluster

    folder = copied(before, tmp_path)
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, processes=True) as cluster:
        victim = next(iter(cluster.workers.values()))

        run_tasks, killed = ClusterScheduler.run, []

        def _run(self: ClusterScheduler, function: Any, tasks: Any, done: Any) -> Any:
            def _done(answer: dict[str, Any]) -> None:
                if not killed and list(folder.glob("count-*/tally-*")):
                    killed.append(victim.process.process._process)
                    killed[0].kill()  # SIGKILL; the nanny starts another
                done(answer)

            return run_tasks(self, function, tasks, _done)

        monkeypatch.setattr(ClusterScheduler, "run", _run)
        report = census(
            BOARD,
            plies=PLY,
            store=folder.parent,
            resources=Resources(scheduler=cluster.scheduler_address),
            count=CountRequest(passes=3),
        )
        assert killed
    assert report.counted is not None
    assert report.counted.digest == truth.digest
