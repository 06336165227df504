"""Fault injection: runs under ``-m slow``; by default what was found once, and what the run itself is made of."""

import json
import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tablut.variants import load_variant
from tests.faults.rule_sets import random_position, random_rule_set
from tests.faults.table import BEGIN, DOCS, END, PARTS, STORED, markdown, read
from tests.faults.truth import Truth

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.skipif(os.name != "posix", reason="trials are forks")


def run_faults(folder: Path, *options: str, limit: float) -> dict:
    """Run the trials in a process of their own, which may fork, and return the counts."""
    out, trials = folder / "counts.json", folder / "trials.jsonl"
    ended = subprocess.run(
        [sys.executable, "-m", "tests.faults", *options, "--out", str(out), "--trials", str(trials)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=limit,
        check=False,
    )
    assert ended.returncode in (0, 1), ended.stderr
    found = json.loads(out.read_text(encoding="utf-8"))
    assert not found["failures"], ended.stdout
    return found


@pytest.mark.slow
def test_a_small_run_finds_nothing(tmp_path: Path) -> None:
    """Of the part that is ready in seconds; the full run has them all."""
    counts = {part: 3 * (part == "damages") for part in PARTS}
    options = [word for part, count in counts.items() for word in (f"--{part}", str(count))]
    found = run_faults(tmp_path, "--quick", *options, "--seed", "2", limit=900)
    assert sum(row["trials"] for row in found["rows"]) == sum(counts.values())


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="guards are for Linux alone")
def test_guards_are_where_arrays_are_made_and_end_a_process_beside_one() -> None:
    script = "from tests.faults import guards; guards.check(); print(len({place for _, place, _ in guards._exact()}))"
    ended = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (0, "6\n"), ended.stderr


@pytest.mark.slow
@pytest.mark.parametrize("before", [False, True])
@pytest.mark.skipif(sys.platform != "linux", reason="guards are for Linux alone")
def test_a_search_with_patterns_and_a_net_stays_within_their_arrays(before: bool) -> None:
    script = f"""
from tests.faults import guards
guards.guard(before={before})
from tablut import Board
from tablut.play.search import Searcher, SearchLimits
for name in ("ashton", "brandubh"):
    print(Searcher(name, hash_mib=1).search(Board(name), SearchLimits(nodes=20_000)).nodes)
"""
    ended = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (0, "20000\n" * 2), ended.stderr


@pytest.mark.fuzz
def test_random_rule_sets_stay_within_their_arrays(tmp_path: Path) -> None:
    nothing = [word for part in PARTS for word in (f"--{part}", "0")]
    run_faults(tmp_path, *nothing, "--memory", "2000", "--seed", "3", limit=10 * 3600)


@pytest.mark.slow
def test_a_full_run_finds_nothing(tmp_path: Path) -> None:
    found = run_faults(tmp_path, "--memory", "200", "--seed", "3", limit=4 * 3600)
    trials = sum(row["trials"] for row in found["rows"] if row["part"] != PARTS["memory"])
    assert trials == 500 + 500 + 2000 + 50_000 + 200


def test_the_table_in_the_docs_is_that_of_the_stored_result() -> None:
    text = DOCS.read_text(encoding="utf-8")
    assert text.count(BEGIN) == text.count(END) == 1
    assert text.partition(BEGIN)[2].partition(END)[0] == markdown(read(STORED))


def test_the_stored_result_is_that_of_a_full_run_and_what_it_found_is_mended() -> None:
    """Each cause is stored with the trial that shows it; `test_what_was_found_is_mended` makes these again."""
    result = read(STORED)
    trials: Counter[str] = Counter()
    for row in result["rows"]:
        trials[row["part"]] += row["trials"]
    for part, least in (("damages", 500), ("others", 500), ("certificates", 2000), ("inputs", 50_000), ("kills", 200)):
        assert trials[PARTS[part]] >= least, part
    assert result["failures"] == sum(cause["trials"] for cause in result.get("mended", []))


@pytest.mark.slow
def test_what_was_found_is_mended() -> None:
    for cause in read(STORED).get("mended", []):
        ended = subprocess.run(
            [sys.executable, "-m", "tests.faults", "--only", cause["seed"]],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=1800,
            check=True,
        )
        assert json.loads(ended.stdout)["verdict"] in ("right", "named"), ended.stdout


# -- the parts -----------------------------------------------------------------------------


def test_the_truth_is_that_of_a_complete_solution() -> None:
    from tests.twins.solver import plain_solution

    variant = load_variant("ashton-5-4v0")
    truth, rng = Truth(variant, most=10**6), random.Random(1)
    drawn = [random_position(rng, variant.terrain, men=3)[1] for _ in range(60)]
    places = [text for text in drawn if truth.decided(truth.game.read(text)) is None]
    solution = plain_solution(variant, places)
    values = [solution.value(text) for text in places]
    for text, value in zip(places, values, strict=True):
        mover, other = ("white", "black") if text.endswith("w") else ("black", "white")
        for plies in range(4):
            assert truth.holds(text, mover, plies) == (0 < value <= plies)
            assert truth.holds(text, other, plies) == (value < 0 and -value - 1 <= plies)
    assert {-3, -1, 1, 3} <= set(values)


def test_the_truth_knows_move_limits_and_decided_roots(tmp_path: Path) -> None:
    truth = Truth(load_variant("ashton-5-4v0"))
    start = truth.variant.start_position
    assert [truth.holds(start, "white", plies) for plies in range(4)] == [False, False, False, True]
    assert not truth.holds(start, "white", 3, left=2)
    assert truth.covers(start, "white", 3, {}) is False
    text = random_rule_set(random.Random(1), "either").replace("side_to_move_loses", "either_after_ply")
    path = tmp_path / "either.toml"
    path.write_text(text, encoding="utf-8")
    either = Truth(load_variant(str(path)))
    # White's king cannot move: black has won, whose turn it is does not matter.
    stuck = next(
        place
        for seed in range(5000)
        for place in [random_position(random.Random(seed), either.variant.terrain, men=9)[1]]
        if not either.game.legal_moves(either.game.read(place)._replace(side="w"))
    )
    assert not either.holds(stuck, "white", 0)
