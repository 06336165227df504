"""Damaged stores of every kind: commands answer as for the sound store, or refuse in one line that names the store.

A store may also be taken for an earlier state of itself: one that was rolled back as a whole is sound.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from contextlib import redirect_stderr, redirect_stdout, suppress
from functools import cache
from io import StringIO
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from tablut.cli.shell import run
from tablut.work.parts import TAIL
from tests.faults.damage import DAMAGES, files_of
from tests.support.effort import examples, fuzzing
from tests.support.waiting import PATIENCE, at_most

pytestmark = pytest.mark.skipif(os.name != "posix", reason="files become pipes")
# What differs between two runs with the same answer.
_PASSING = {"provenance", "seconds", "cpu_seconds", "cpu_milliseconds", "children_per_cpu_second", "nodes_per_second",
            "compile_seconds", "stored_bytes", "next_ply", "changed"}  # fmt: skip
_WHOLE = "2b4/2K4/2bb3/7/1b5/7/7 b"


class Kind(NamedTuple):
    """A kind of store: the commands that make one, its earlier states and other stores; what reads and writes it."""

    make: str
    earlier: tuple[str, ...]
    others: tuple[str, ...]
    reading: tuple[str, ...]
    writing: tuple[str, ...]


_PROVE = f"prove -v brandubh --claim white --nodes 300 --memory 1 --store STORE -p '{_WHOLE}'"
_ESTIMATE = "reachable estimate -v brandubh-5-4v0 --samples 600 --lemma-samples 2000 --store STORE"
_CERTIFY = "reachable estimate -v brandubh-5-4v0 --samples 30 --certificates STORE/some.jsonl"
KINDS = {
    "census": Kind(
        "census -v ashton-5-4v0 --plies 5 --store STORE",
        tuple(f"census -v ashton-5-4v0 --plies {plies} --store STORE" for plies in (range(5) if fuzzing() else (1, 3))),
        (
            "census -v brandubh-5-4v0 --plies 4 --store STORE",
            "census -v ashton-5-4v0 --plies 4 --full --store STORE",
        ),
        ("census verify STORE", "census -v ashton-5-4v0 --plies 1 --store STORE"),
        ("census -v ashton-5-4v0 --plies 6 --store STORE",),
    ),
    "tablebase": Kind(
        "tablebase build -v ashton-5-4v2 --men 3 --store STORE",
        ("tablebase build -v ashton-5-4v2 --men 2 --store STORE",),
        ("tablebase build -v ashton-5-4v0 --men 3 --store STORE",),
        (
            "tablebase verify STORE",
            "tablebase info STORE",
            *(f"probe STORE -p '{place}'" for place in ("5/2b2/2K2/5/5 w", "5/2b2/2K2/5/5 b", "2b2/5/1wK2/5/5 b")),
            "puzzle solve -v ashton-5-4v2 -p '5/2b2/2K2/5/5 w' --tablebase STORE",
        ),
        ("tablebase build -v ashton-5-4v2 --men 3 --store STORE",),
    ),
    "solution": Kind(
        "solve -v ashton-5-4v0 --store STORE",
        (),
        ("solve -v brandubh-5-4v0 --store STORE",),
        ("tablebase verify STORE", "tablebase info STORE", "probe STORE", "probe STORE -p '5/5/1bK2/5/5 b'"),
        (),
    ),
    "estimate": Kind(
        _ESTIMATE,
        (),
        (f"{_ESTIMATE} --seed 5", _ESTIMATE.replace("brandubh", "ashton")),
        (),
        (_ESTIMATE,),
    ),
    "certificates": Kind(
        _CERTIFY,
        (),
        (f"{_CERTIFY} --seed 5", _CERTIFY.replace("brandubh", "ashton")),
        ("reachable check STORE/some.jsonl",),
        (),
    ),
    "proof": Kind(_PROVE, (), (_PROVE.replace(_WHOLE, "2b4/2Kb3/2b4/7/1b5/7/7 w"),), (), (_PROVE,)),
}


def ask(question: str, store: Path) -> tuple[int, str, str]:
    """Return the exit code of a command about a store, what it printed, and its errors."""
    words = [word.strip("'").replace("STORE", str(store)) for word in re.findall(r"'[^']*'|\S+", question)]
    out, err = StringIO(), StringIO()
    with at_most(PATIENCE), redirect_stdout(out), redirect_stderr(err):
        code = run([*words, "--json"])
    return code, out.getvalue(), err.getvalue()


def essence(text: str | bytes, passing: set[str] = _PASSING) -> Any:
    """Return what a JSON text says, without what differs from run to run."""

    def without(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: without(item) for key, item in value.items() if key not in passing}
        return [without(item) for item in value] if isinstance(value, list) else value

    return without(json.loads(text))


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return a function from a kind to its sound store, the folders of other stores, and the right answers."""

    @cache
    def made(name: str) -> tuple[Path, list[Path], dict[str, list[Any]]]:
        kind, root = KINDS[name], tmp_path_factory.mktemp(name)
        folders = []
        for number, command in enumerate([kind.make, *kind.earlier, *kind.others]):
            folders.append(root / str(number) / "store")
            if name == "certificates":
                folders[-1].mkdir(parents=True)
            code, _, err = ask(command, folders[-1])
            assert code in (0, 3), err
        questions = [*kind.reading, *kind.writing]
        answers: dict[str, list[Any]] = {question: [] for question in questions}
        place = root / "asked" / "store"
        for folder in folders[: 1 + len(kind.earlier)]:
            for question in questions:
                shutil.rmtree(place, ignore_errors=True)
                shutil.copytree(folder, place)
                code, out, err = ask(question, place)
                assert code in (0, 3) or folder != folders[0], err
                answers[question] += [essence(out.replace(str(place), "STORE"))] if code in (0, 3) else []
        return folders[0], folders[1:], answers

    return made


@pytest.mark.parametrize(
    "name",
    [
        *("census", "tablebase", "certificates"),
        *(pytest.param(name, marks=pytest.mark.fuzz) for name in ("estimate", "solution", "proof")),
    ],
)
@settings(max_examples=examples(3, 100), deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_damaged_store_is_answered_for_rightly_or_named(name: str, sound: Any, data: st.DataObject) -> None:
    original, donors, answers = sound(name)
    place = original.parents[1] / "damaged" / "store"
    shutil.rmtree(place.parent, ignore_errors=True)
    shutil.copytree(original, place)
    random = Random(data.draw(st.integers(0, 2**32)))
    for damage in data.draw(st.lists(st.sampled_from(DAMAGES), min_size=1, max_size=2)):
        with suppress(LookupError, ValueError, OSError):  # there is nothing that this could be done to
            damage(random, place, donors)
    beside = set(place.parent.iterdir())
    for question in [*data.draw(st.permutations(KINDS[name].reading)), *KINDS[name].writing]:
        before = {path: path.read_bytes() for path in files_of(place) if path.stat().st_size < 1 << 24}
        code, out, err = ask(question, place)
        note(f"{question}: exit {code} {err}")
        assert set(place.parent.iterdir()) == beside
        if code in (0, 3):
            answer = essence(out.replace(str(place), "STORE"))
            if answer.get("without_symmetry") == 0:  # the head of a census that has not begun is no damage
                answer["without_symmetry"] = None
            known = answer in answers[question] or answer.get("missing") or _of_donor(answer, place, donors)
            # A verification may also find a shorter census.
            assert known or ("verify" in question and _shorter(before, place, original)), answer
            if "verify" in question and answer == answers[question][0]:
                assert _altered(before, place, original) == [], "said to be sound"
        elif code == 1 and "check" in question:
            assert json.loads(out)["failures"] == len(json.loads(out)["failed"]) > 0
        elif code == 1:
            assert "verify" in question
            assert str(place) in out or place.name in out
        else:
            assert code in (2, 74)
            (line,) = [line for line in err.splitlines() if not line.startswith("tablut: warning: ")]
            assert line.startswith("tablut: ")
            assert any(path.name in line for path in [place, *original.rglob("*")])


def _of_donor(answer: dict[str, Any], place: Path, donors: list[Path]) -> bool:
    """Return whether the only file of a store is that of another store, whose certificates hold too."""
    files = files_of(place) if "checked" in answer else []
    return len(files) == 1 and files[0].read_bytes() in [(donor / "some.jsonl").read_bytes() for donor in donors]


def _shorter(before: dict[Path, bytes], place: Path, original: Path) -> bool:
    """Return whether records of plies are gone: then the census is one of fewer plies."""
    return any("ply-" in path.name and place / path.relative_to(original) not in before for path in files_of(original))


def _altered(before: dict[Path, bytes], place: Path, original: Path) -> list[Path]:
    """Return the files that hold something else than those of the sound store; JSON may be laid out differently."""

    def content(path: Path, text: bytes) -> Any:
        # A part ends with the processor time of its task.
        return essence(text, _PASSING | {"cpu", "sha256"}) if path.suffix == ".json" else text[: -TAIL.size]

    return [
        path
        for path in files_of(original)
        if "provenance" not in path.parts
        if (other := before.get(place / path.relative_to(original))) is None
        or content(path, other) != content(path, path.read_bytes())
    ]
