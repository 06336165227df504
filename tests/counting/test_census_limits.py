"""Games that end after so many plies; censuses that cannot be done, are stopped, or end early."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from counting.census import census
from counting.census.verification import published_digests
from tablut.cli.shell import run
from tablut.errors import InputError, MachineError
from tablut.variants import Variant, load_variant
from tablut.work.run import LocalScheduler
from tests.support.strategies import small_variants
from tests.support.waiting import PATIENCE, eventually
from tests.twins.census import naive_census

if TYPE_CHECKING:
    from counting.census.report import CensusReport

Captured = pytest.CaptureFixture[str]

VARIANT = load_variant("ashton-5-4v0")
COMMAND = [sys.executable, "-c", "from tablut.cli.shell import main; main()", "census"]


def limited(variant: Variant, plies: int) -> Variant:
    return replace(variant, name="limited", rules=variant.rules.model_copy(update={"move_limit": plies}))


# -- move limits -----------------------------------------------------------------------


@pytest.mark.slow
def test_a_census_ends_with_the_game() -> None:
    free = census(VARIANT)
    for limit in (15, 16, 17):
        report = census(limited(VARIANT, limit))
        assert [ply.new for ply in report.plies] == [ply.new for ply in free.plies[: limit + 1]]
        assert (report.complete, report.next_ply, report.move_limit) == (True, None, limit)
        # From ply 16 on nothing undecided is new: then it is not the limit that ends the census.
        assert report.stopped_by_limit == (limit < 16)
    fewer, beyond = (census(limited(VARIANT, 4), plies=plies) for plies in (3, 7))
    assert not fewer.complete
    assert not fewer.stopped_by_limit
    assert [ply.new for ply in beyond.plies] == [ply.new for ply in free.plies[:5]]


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(small_variants(size=3, most_attackers=2, most_defenders=1), st.integers(1, 6))
def test_any_rules_with_a_limit(variant: Variant, limit: int) -> None:
    variant = limited(variant, limit)
    report, naive = census(variant), naive_census(variant, limit)
    while len(naive) > 1 and naive[-1]["new"] == naive[-1]["decided"] == 0:
        naive.pop()
    assert [{name: getattr(ply, name) for name in naive[0]} for ply in report.plies] == naive
    assert report.complete


def test_a_limit_is_said(tmp_path: Path, capsys: Captured) -> None:
    path = tmp_path / "short.toml"
    data = Path(__file__).parents[2] / "tablut/variants/data/ashton-5-4v0.toml"
    text = data.read_text(encoding="utf-8")
    assert "move_limit" not in text
    head, table, rest = text.partition("\n[")
    path.write_text(f"{head}\nmove_limit = 3\n{table}{rest}", encoding="utf-8")
    assert run(["census", "-v", str(path), "--all"]) == 0
    assert "The rules end a game after 3 plies; the census stops there" in capsys.readouterr().out
    assert run(["census", "-v", str(path), "--all", "--json", "--graph", str(tmp_path / "graph")]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["complete"], answer["stopped_by_limit"], answer["move_limit"]) == (True, True, 3)
    # Nothing is reached from the last ply: its positions are ends of the graph.
    assert answer["graph"]["eccentricity"] == 3


# -- what cannot be done ---------------------------------------------------------------


def test_a_hopeless_census_is_refused_before_it_begins(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def never(self: object, *arguments: object) -> object:
        raise AssertionError("something was computed")

    monkeypatch.setattr(LocalScheduler, "run", never)
    for store in (None, tmp_path / "store"):
        with pytest.raises(InputError, match=r"ashton: has up to 236,972,[0-9,]+ classes.*`plies`"):
            census(load_variant("ashton"), store=store)
    assert not (tmp_path / "store").exists()


def test_what_is_done_is_shown_before_the_refusal(tmp_path: Path, capsys: Captured) -> None:
    store = tmp_path / "store with blanks"
    arguments = ["census", "-v", "ashton-5-4v0", "--plies", "12", "--store", str(store)]
    free = "counting.census.census_store.CensusStore.free_bytes"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(free, lambda self: 20_000)
        assert run([*arguments, "--json"]) == 2
        captured = capsys.readouterr()
        partial = json.loads(captured.out)
        assert partial["complete"] is False
        assert 2 < len(partial["plies"]) < 12
        assert "20.0 kB are free" in captured.err
        assert run([*arguments]) == 2
        assert "7\xa0276" not in capsys.readouterr().out
    assert run([*arguments, "--json"]) == 0
    whole = json.loads(capsys.readouterr().out)
    assert [ply["new"] for ply in whole["plies"]][: len(partial["plies"])] == [ply["new"] for ply in partial["plies"]]


def test_no_more_memory_is_the_machines_failure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    census(VARIANT, plies=5, store=tmp_path)

    def full(*_: object) -> None:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr("counting.census.tasks.MergeTask.make", full)
        partial: list[CensusReport] = []
        with pytest.raises(MachineError, match="less `memory`") as caught:
            census(VARIANT, plies=8, store=tmp_path, partial=partial.append)
    assert caught.value.exit_code == 74
    assert len(partial[0].plies) == 6
    whole = census(VARIANT, plies=8, store=tmp_path)
    assert [ply.digest for ply in whole.plies] == published_digests(VARIANT.digest)[:9]


# -- what is stopped -------------------------------------------------------------------


def started(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    """Start a census that takes most of a minute, its temporary folders in this one, and wait until it counts."""
    process = subprocess.Popen(
        [*COMMAND, "-v", "ashton-5-4v4", "--all", "--memory", "2048", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(folder)},
        cwd=Path.cwd(),
    )
    eventually(lambda: list(folder.glob("*/classes/ply-006.json")) or process.poll() is not None)
    assert process.poll() is None
    return process


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_a_temporary_folder_goes_with_its_census_and_a_store_stays(tmp_path: Path) -> None:
    store = tmp_path / "store"
    kept = started(tmp_path, "--store", str(store), "--json")
    kept.send_signal(signal.SIGINT)
    out, err = kept.communicate(timeout=PATIENCE)
    assert kept.returncode == 130
    partial = json.loads(out)
    assert partial["complete"] is False
    assert "the same command" in err
    plies = len(partial["plies"])
    again = census(load_variant("ashton-5-4v4"), plies=plies - 1, store=store)
    assert [ply.digest for ply in again.plies] == [ply["digest"] for ply in partial["plies"]]

    (folder := tmp_path / "temporary").mkdir()
    process = started(folder, "--threads", "2")
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 128 + signal.SIGTERM, err
    assert not list(folder.iterdir())
    assert "Traceback" not in err
