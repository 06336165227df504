"""Long work of every kind: what is there is not made again, what is damaged is named and made again, and verified."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from counting.census import census
from counting.census.counted import CountRequest
from counting.reachable.estimation import estimate
from reports.verify_command import verify_folder
from retrograde.proofs.proving import ProofRun
from tablut.play.arena import MatchPlan, contestant, play_match
from tablut.play.search.limits import SearchLimits
from tablut.position import Position
from tablut.variants import load_variant
from tablut.work.progress import Observer
from tablut.work.run import LocalScheduler
from tests.support.effort import slow_but
from tests.support.observing import Heard

BOARD = load_variant("ashton-5-4v0")
CLAIM = "7/2b4/4bKb/7/b6/7/4w2 b"


def a_census(folder: Path, observer: Observer) -> object:
    return [ply.digest for ply in census(BOARD, plies=4, store=folder, observer=observer).plies]


def a_count(folder: Path, observer: Observer) -> object:
    found = census(BOARD, plies=5, store=folder, count=CountRequest((0, 5)), observer=observer).counted
    assert found is not None
    return found.digest


def an_estimate(folder: Path, observer: Observer) -> object:
    found = estimate("brandubh-5-4v0", 600, 3, lemma_samples=900, store=str(folder), observer=observer)
    return found.interval99, found.certificates


def a_proof(folder: Path, observer: Observer) -> object:
    about = load_variant("brandubh"), Position.parse(CLAIM, 7), "white"
    run = ProofRun(*about, observer=observer, tablebase=None, nodes=1000, memory=1 << 20)  # type: ignore[arg-type]
    run.run(LocalScheduler(1), folder)
    found = run.result()
    return found.status, found.checked


def a_match(folder: Path, observer: Observer) -> object:
    one = contestant("random", SearchLimits(nodes=1))
    return [one.game.moves for one in play_match(MatchPlan(BOARD, one, one, games=4), folder=folder).played]


class Kind(NamedTuple):
    """A kind of long work: how it is made, and its parts and records, which are made again."""

    make: Callable[[Path, Observer], Any]
    files: str


KINDS = {
    "census": Kind(a_census, "classes/ply-003/*.rows"),
    "record of a census": Kind(a_census, "classes/ply-00[12].json"),
    "count": Kind(a_count, "classes/count-005/*.rows"),
    "estimate": Kind(an_estimate, "games-*.part"),
    "proof": Kind(a_proof, "part-*.rows"),
}


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 8
    path.write_bytes(content)


HARMS: dict[str, Callable[[Path], object]] = {
    "flipped": flip,
    "cut": lambda path: path.write_bytes(path.read_bytes()[:-7]),
    "lost": Path.unlink,
}
CASES = list(product(KINDS, HARMS))


class Listener(Heard):
    """Remembers lines."""

    def say(self, text: str) -> None:
        self.notes.append(text)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Path, Any]]:
    """Return a function that returns a sound folder of a kind, with the result of the work."""
    folders: dict[Any, tuple[Path, Any]] = {}

    def of(name: str) -> tuple[Path, Any]:
        make = KINDS[name].make
        if make not in folders:
            folder = tmp_path_factory.mktemp("made") / "store"
            folders[make] = folder, make(folder, Observer())
        return folders[make]

    return of


@pytest.mark.parametrize(
    ("name", "how"), slow_but([case for case in CASES if case[0] != "proof" or case[1] == "flipped"], CASES)
)
def test_damage_is_named_and_made_again(
    name: str, how: str, made: Callable[[str], tuple[Path, Any]], tmp_path: Path
) -> None:
    sound, result = made(name)
    assert verify_folder(sound).failures == 0
    folder, listener = tmp_path / "store", Listener()
    shutil.copytree(sound, folder)
    path = min(folder.glob(KINDS[name].files))
    HARMS[how](path)
    if how != "lost":
        found = verify_folder(folder)
        assert any(path.name in failure for failure in found.failed), found
    assert KINDS[name].make(folder, listener) == result
    assert how == "lost" or any(path.name in line for line in listener.notes), listener.notes
    assert verify_folder(folder).failures == 0
    # Nothing is left to be done.
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*.[rp]*")}
    KINDS[name].make(folder, Observer())
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*.[rp]*")} == before


@pytest.mark.parametrize("change", ["moves", "result", "tag"])
def test_a_match_is_verified(change: str, tmp_path: Path) -> None:
    a_match(tmp_path, Observer())
    assert verify_folder(tmp_path).failures == 0
    path = tmp_path / "game-000001.txt"
    text = path.read_text()
    lines = text.splitlines()
    new = {"moves": text.rsplit("\n", 3)[0], "result": text.replace("1-0", "0-1").replace("1/2", "1-0"), "tag": text}
    path.write_text(text.replace(lines[0], lines[0].replace('"random', '"andom')) if change == "tag" else new[change])
    found = verify_folder(tmp_path)
    assert found.failures == 1 or path.read_text() == text
    assert all(path.name in failure for failure in found.failed)
