"""The estimate: exact shares within its intervals, the same result however the work was divided or stopped."""

import json
import os
import signal
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from clusters import cluster
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import binom

from counting.reachable import proof_games as stages
from counting.reachable.certificate_checker import check_file
from counting.reachable.chunks import (
    ChunkPlan,
    SampleTally,
    SpaceSizes,
    clopper_pearson,
    numbers_within,
    open_chunk,
    share_interval,
    share_of_classes,
)
from counting.reachable.estimation import estimate
from tablut.cli.shell import run
from tablut.errors import InputError
from tablut.variants import load_variant
from tablut.variants.schema import write_variant
from tablut.work.parts import open_part
from tablut.work.progress import Observer
from tests.support.effort import slow_but
from tests.support.simulation import assert_covered

REACHED = {"brandubh-5-4v0": 199_512, "ashton-5-4v0": 139_097, "ashton-5-4v2": 26_909_751}


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 400), st.data())
def test_clopper_pearson_inverts_the_binomial(n: int, data: st.DataObject) -> None:
    k = data.draw(st.integers(0, n))
    low, high = clopper_pearson(k, n, 0.05)
    assert 0 <= low <= k / n <= high <= 1
    if k:
        assert binom.sf(k - 1, n, low) == pytest.approx(0.025)
    if k < n:
        assert binom.cdf(k, n, high) == pytest.approx(0.025)


def test_unknown_samples_widen_the_interval_to_both_sides() -> None:
    known, unknown = SampleTally(100, 60, 40, 0, 100, 60, 60), SampleTally(100, 55, 40, 5, 100, 60, 60)
    assert share_interval(unknown, 0.05)[0] < share_interval(known, 0.05)[0]
    assert share_interval(unknown, 0.05)[1] == share_interval(known, 0.05)[1]


def test_two_stages_hold_together() -> None:
    """More samples of the lemmas narrow the interval, down to that of the games."""
    few = share_interval(SampleTally(1000, 600, 400, 0, 2000, 1200, 600), 0.01)
    many = share_interval(SampleTally(1000, 600, 400, 0, 10**8, 6 * 10**7, 600), 0.01)
    assert few[0] < many[0] < 0.6 < many[1] < few[1]
    assert many[1] < 0.6002
    assert clopper_pearson(0, 0, 0.05) == (0.0, 1.0)
    assert numbers_within((0.0, 1.0), 10**30) == (0, 10**30)


# -- coverage: how often each kind of interval contains a share that is known ------------------------


DRAWS = 20_000


def counts(draws: NDArray[np.float64], trials: int, share: float) -> list[int]:
    """Return the number of successes in some trials at each place in the range of chances, between 0 and 1."""
    return [int(count) for count in binom.ppf(draws, trials, share)]


def covered(tallies: Iterable[SampleTally], share: float, alpha: float) -> int:
    """Return how many intervals contain a share. Equal tallies have equal intervals."""
    hits = 0
    for tally, number in Counter(tallies).items():
        low, high = share_interval(tally, alpha)
        hits += number * (low <= share <= high)
    return hits


@pytest.mark.parametrize("alpha", [0.05, 0.01])
def test_a_share_of_samples_lies_in_its_interval(alpha: float) -> None:
    """Nine tenths of the space may be reachable; a sixth of the rest of the samples stay unknown, on either side."""
    random = np.random.default_rng(67)
    for share in (0.004, 0.4, 0.97):
        reachable = counts(random.random(DRAWS), 900, share)
        for found in (0.0, 0.5, 1.0):  # of the unknown samples, the share that is reachable in truth
            tallies = []
            for number in reachable:
                up, down = int(found * number / 6), int((1 - found) * (900 - number) / 6)
                known = number - up
                tallies.append(
                    SampleTally(1000, known, 900 - known - up - down, up + down, 1000, 0, 0, 100, 100, Fraction(9, 10))
                )
            assert_covered(covered(tallies, 0.9 * share, alpha), DRAWS, 1 - alpha)


@pytest.mark.parametrize(("lemma_samples", "passed"), [(200_000, 3_500), (700_000, 1_000)])
@pytest.mark.parametrize("alpha", [0.05, 0.01])
def test_a_share_in_two_stages_lies_in_its_interval_even_if_the_stages_depend_on_each_other(
    alpha: float, lemma_samples: int, passed: int
) -> None:
    """In the worst case, one stage goes wrong on just those draws on which the other one does not.

    A stage that goes far wrong is then paired with one that is far from going wrong. These tails of both stages
    together would be too heavy if the interval of either stage had the level 1 - alpha. They would be so most clearly
    if that stage's relative error is about 1.8 times the other's, as it is here for the one or the other stage.
    """
    passing, reached, tail = 0.02, 0.8, 0.7 * alpha
    drawn = np.random.default_rng(68).random(DRAWS)
    other = np.where(drawn < tail, tail - drawn, np.where(drawn > 1 - tail, 2 - tail - drawn, drawn))
    pairs = zip(counts(drawn, lemma_samples, passing), counts(other, passed, reached), strict=True)
    tallies = [
        SampleTally(lemma_samples - 1, found, passed - found, 0, lemma_samples, many, passed) for many, found in pairs
    ]
    assert_covered(covered(tallies, passing * reached, alpha), DRAWS, 1 - alpha)


@pytest.mark.parametrize("largest_first", [False, True])
@pytest.mark.parametrize("alpha", [0.05, 0.01])
def test_the_share_of_classes_lies_in_its_interval(largest_first: bool, alpha: float) -> None:
    """Each of 3×3 cells has a stone or none. The smaller half of the classes is reachable, or the larger half."""
    classes = set()
    for cells in product((0, 1), repeat=9):
        board = np.array(cells).reshape(3, 3)
        turned = [np.rot90(one, quarter) for one in (board, board.T) for quarter in range(4)]
        classes.add(frozenset(one.tobytes() for one in turned))
    sizes = sorted(map(len, classes), reverse=largest_first)
    assert (len(sizes), sum(sizes)) == (102, 512)
    share, samples = sum(sizes[:51]) / 512, 400
    space = SpaceSizes(512, 102, 8)
    hits = 0
    for found, number in Counter(counts(np.random.default_rng(69).random(DRAWS), samples, share)).items():
        positions = share_interval(SampleTally(samples, found, samples - found, 0, samples, 0, 0), alpha)
        low, high = share_of_classes(positions, space)
        hits += number * (low <= 0.5 <= high)
    assert_covered(hits, DRAWS, 1 - alpha)


@pytest.mark.parametrize("name", ["brandubh-5-4v0", "ashton-5-4v2"])
def test_the_exact_number_lies_within(name: str) -> None:
    found = estimate(load_variant(name), 1500, 2, lemma_samples=60_000)
    assert found.unknown == 0
    assert found.positions.low <= REACHED[name] <= found.positions.high
    assert found.n == found.reachable + found.unreachable == 1500
    assert sum(found.lemmas.excluded.values()) + found.lemmas.passed == found.lemmas.n == 60_000


def test_threads_and_a_stop_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    variant, seconds = load_variant("brandubh-5-4v0"), list[float]()

    def ask(**more: object) -> dict:
        answer = json.loads(estimate(variant, 1200, 4, lemma_samples=3000, **more).model_dump_json())
        answer["games"].pop("cpu_milliseconds")
        seconds.append(answer.pop("cpu_seconds"))
        return answer

    once = ask(certificates=str(tmp_path / "once.jsonl"))
    assert ask(threads=3) == once

    store, calls = str(tmp_path / "store"), []
    settle = stages.settle_samples

    def interrupted(*arguments: object) -> object:
        calls.append(arguments)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return settle(*arguments)

    monkeypatch.setattr("counting.reachable.estimation.settle_samples", interrupted)
    with pytest.raises(KeyboardInterrupt):
        ask(store=store)
    monkeypatch.undo()
    assert (tmp_path / "store" / "games-000000000000.part").exists()
    assert ask(store=store, certificates=str(tmp_path / "resumed.jsonl")) == once
    assert (tmp_path / "resumed.jsonl").read_bytes() == (tmp_path / "once.jsonl").read_bytes()
    # A run that has nothing left to decide reports the processor time of the runs that decided everything.
    assert ask(store=store) == once
    assert seconds[-1] == seconds[-2] > 0

    with pytest.raises(InputError, match="holds another estimate"):
        estimate(variant, 1200, 5, lemma_samples=3000, store=store)


class Listener(Observer):
    """Keeps what is said."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, text: str) -> None:
        self.lines.append(text)


def test_a_chunk_that_was_damaged_edited_swapped_or_is_of_another_estimate_is_made_again(tmp_path: Path) -> None:
    variant, folder = load_variant("brandubh-5-4v0"), tmp_path / "store"

    def ask(seed: int = 4, store: Path = folder, listener: Observer | None = None) -> object:
        return estimate(variant, 1500, seed, store=str(store), checks=3, observer=listener).interval99

    once = ask()
    ask(5, tmp_path / "other")
    first, second = folder / "games-000000000000.part", folder / "games-000000000500.part"
    sound, other = first.read_bytes(), (tmp_path / "other" / first.name).read_bytes()
    for bad in (
        b"x" + sound[1:],
        sound[:-9],
        sound.replace(b'"found":', b'"found" '),
        sound.replace(b'"lemmas":[', b'"lemmas":[1'),
        b"{}",
        b"",
        second.read_bytes(),
        other,
    ):
        first.write_bytes(bad)
        listener = Listener()
        assert ask(listener=listener) == once
        # What is whole, but belongs elsewhere, is just what is not wanted here.
        assert bad in (second.read_bytes(), other) or any(first.name in line for line in listener.lines)
        assert open_chunk(first).header.stats.result.found == open_part(first).header.stats["result"]["found"]
    head = folder / "estimate.json"
    head.write_text(head.read_text().replace('"samples": 1500', '"samples": 1501'))
    with pytest.raises(InputError, match=r"estimate\.json.*damaged"):
        ask()


def test_the_command_answers_with_its_keys(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "some.jsonl.gz"
    words = ["-v", "brandubh", "--samples", "40", "--seed", "9", "--certificates", str(file)]
    assert run(["reachable", "estimate", *words, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["n"] == answer["reachable"] + answer["unreachable"] + answer["unknown"] == 40
    ends = [*answer["interval99"], *answer["interval95"]]
    assert 0 < ends[0] < ends[2] < ends[3] <= ends[1] < 1
    assert int(answer["positions"]["low"]) < int(answer["positions"]["high"]) < int(answer["counted"])
    assert answer["provenance"]["seed"] == 9
    assert run(["reachable", "check", str(file)]) == 0
    assert "40 certificates of brandubh: all hold" in capsys.readouterr().out
    assert run(["reachable", "estimate", *words]) == 0
    # A terminal may have a line break between the words.
    assert "0 unknown" in " ".join(capsys.readouterr().out.split())


def test_bad_input_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    store = ["--store", str(tmp_path / "store")]
    for words in (
        ["--lemma-samples", "5"],
        ["--samples", "0"],
        ["--store", str(tmp_path / "file")],
        ["--scheduler", "tcp://127.0.0.1:1"],
        ["--scheduler", "nowhere", *store],
        ["--space", "decided", "--lemma-samples", "100"],
        ["--space", "elsewhere"],
    ):
        assert run(["reachable", "estimate", "-v", "brandubh-5-4v0", "--samples", "10", *words]) == 2
        said = capsys.readouterr().err
        assert words[0] in said or f"estimate folder {words[1]!r}" in said


def test_an_estimate_goes_on_with_more_lemma_samples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder knows neither how many there were nor whether the last chunk was short."""
    variant, store = load_variant("brandubh-5-4v0"), str(tmp_path / "store")
    monkeypatch.setattr("counting.reachable.chunks._LEMMA_SAMPLES", 1000)
    for wanted in (2_000, 3_000, 1_500):
        found = estimate(variant, 20, 4, lemma_samples=wanted, store=store)
        once = estimate(variant, 20, 4, lemma_samples=wanted)
        assert (found.lemmas, found.interval99) == (once.lemmas, once.interval99)


def test_an_interrupted_run_says_what_is_certain(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is shown stops at the first chunk that is missing, and claims no more."""
    variant, partial = load_variant("brandubh-5-4v0"), []
    settle = stages.settle_samples

    def interrupted(variant: object, seed: int, first: int, count: int) -> object:
        if first == 1000:
            raise KeyboardInterrupt
        return settle(variant, seed, first, count)

    monkeypatch.setattr("counting.reachable.estimation.settle_samples", interrupted)
    with pytest.raises(KeyboardInterrupt):
        estimate(variant, 5000, 4, lemma_samples=9000, partial=partial.append)
    monkeypatch.undo()
    whole = estimate(variant, 1000, 4)
    assert len(partial) == 1
    assert not partial[0].complete
    assert (partial[0].n, partial[0].interval99, partial[0].certificates) == (
        1000,
        whole.interval99,
        whole.certificates,
    )
    monkeypatch.setattr("counting.reachable.estimation.settle_samples", interrupted)
    assert run(["reachable", "estimate", "-v", "brandubh-5-4v0", "--samples", "5000", "--seed", "4"]) == 130


def test_what_is_counted_exactly_narrows_the_interval() -> None:
    """The samples outside the counted part give an interval that holds, and far less of it."""
    variant = load_variant("ashton")
    found = estimate(variant, 1000, 5)
    direct = clopper_pearson(found.reachable, found.n, 0.01)
    assert found.surviving == 585805346592334600859626639 * 2
    assert found.games.outside == found.lemmas.outside <= found.lemmas.excluded["locked"]
    assert found.interval99[0] < 0.6169519 < found.interval99[1]
    assert found.interval99[1] - found.interval99[0] < 0.2 * (direct[1] - direct[0])
    share = binom.sf(found.lemmas.outside - 1, found.n, 1 - found.surviving / found.counted)
    assert 0.0001 < share < 0.9999


@pytest.mark.slow
def test_two_workers_of_a_cluster_change_nothing(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    variant = load_variant("brandubh-5-4v0")
    with cluster(tmp_path / "cluster", workers=2) as address:
        store = str(tmp_path / "store")
        spread = estimate(variant, 1200, 4, lemma_samples=3000, store=store, scheduler=address)
    alone = estimate(variant, 1200, 4, lemma_samples=3000)
    assert (spread.certificates, spread.lemmas, spread.interval99) == (
        alone.certificates,
        alone.lemmas,
        alone.interval99,
    )
    assert (tmp_path / "store" / "games-000000001000.part").exists()


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="sends signals")
def test_a_worker_that_is_killed_loses_nothing(tmp_path: Path) -> None:
    """One of two workers dies after the first chunk; the other one decides what it had begun."""
    distributed = pytest.importorskip("distributed")
    variant, store, pids, killed = load_variant("brandubh-5-4v0"), tmp_path / "store", list[int](), list[int]()

    class Killer(Observer):
        def advance(self, count: int = 1) -> None:
            if not killed:
                os.kill(pids[0], signal.SIGKILL)
                killed.append(len(list(store.glob("games-*.part"))))

    with cluster(tmp_path / "cluster", workers=2) as address:
        with distributed.Client(address) as client:
            pids += client.run(os.getpid).values()
        spread = estimate(
            variant,
            6000,
            4,
            lemma_samples=9000,
            store=str(store),
            certificates=str(tmp_path / "spread.jsonl"),
            scheduler=address,
            observer=Killer(),
        )
    chunks = len(list(store.glob("games-*.part")))
    assert 0 < killed[0] < chunks == 12
    alone = estimate(variant, 6000, 4, lemma_samples=9000, certificates=str(tmp_path / "alone.jsonl"))
    passing = {"games": {"cpu_milliseconds"}, "cpu_seconds": True}
    assert spread.model_dump(exclude=passing) == alone.model_dump(exclude=passing)
    assert (tmp_path / "spread.jsonl").read_bytes() == (tmp_path / "alone.jsonl").read_bytes()


@pytest.mark.parametrize(
    "name", slow_but(["brandubh-federation"], ["copenhagen", "saami-tablut", "sea-battle-11", "alea-evangelii"])
)
def test_games_that_people_play_are_decided_and_checked_by_the_plain_rules(name: str, tmp_path: Path) -> None:
    path = tmp_path / "certificates.jsonl"
    found = estimate(name, 25, 5, certificates=str(path))
    assert (found.n, found.unknown) == (25, 0)
    assert 0 < found.reachable < 25
    _, checked = check_file(path, load_variant)
    assert checked == (25, [])


def test_rules_that_cannot_be_searched_are_refused_by_field(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    alea, store, path = load_variant("alea-evangelii"), tmp_path / "store", tmp_path / "own.toml"
    forts = replace(alea, name="own", rules=alea.rules.model_copy(update={"fort": "on_edge"}))
    path.write_text(write_variant(forts), encoding="utf-8")
    assert run(["reachable", "estimate", "-v", str(path), "--store", str(store)]) == 2
    told = capsys.readouterr().err
    assert all(word in told for word in ("own", "fort", "11×11"))
    assert len(told.splitlines()) == 1
    assert not store.exists()


@pytest.mark.parametrize(("samples", "lemma_samples"), [(1, 1), (500, 500), (501, 700), (1234, (1 << 20) + 2000)])
@pytest.mark.parametrize("name", ["copenhagen", "alea-evangelii"])
def test_chunks_contain_every_sample_once(name: str, samples: int, lemma_samples: int, tmp_path: Path) -> None:
    plan = ChunkPlan(load_variant(name), samples, lemma_samples, 1, tmp_path, "undecided")
    ends = [0]
    for chunk in (*plan.games(), *plan.lemmas()):
        assert chunk.first == ends[-1]
        assert chunk.count > 0
        ends.append(chunk.first + chunk.count)
    assert samples in ends
    assert ends[-1] == lemma_samples
    longest = max(chunk.count for chunk in plan.lemmas()) if lemma_samples > samples else 0
    assert longest == (min(lemma_samples - samples, 1 << 20 if name == "copenhagen" else 1 << 15) if longest else 0)


def test_the_share_of_classes_holds_whichever_classes_are_reached() -> None:
    drawn = np.random.default_rng(9)
    for _ in range(200):
        orbits = drawn.choice([1, 2, 4, 8], size=40, p=[0.1, 0.1, 0.2, 0.6])
        reached = drawn.random(40) < drawn.random()
        sizes = SpaceSizes(int(orbits.sum()), 40, 8)
        share = float(orbits[reached].sum() / orbits.sum())
        low, high = share_of_classes((share, share), sizes)
        assert low - 1e-12 <= reached.mean() <= high + 1e-12
    # By hand: at least 0.8 · 100 / 8 = 10 of the 20 classes, and at most 20 − 100 / 8 = 7.5 more.
    assert share_of_classes((0.8, 0.8), SpaceSizes(100, 20, 8)) == (0.5, 0.875)
    assert share_of_classes((0.0, 0.0), SpaceSizes(100, 20, 8)) == (0.0, 0.375)
