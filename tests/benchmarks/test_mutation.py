"""Mutation testing: every kind of change is found, in code only; the same seed draws the same mutants."""

import ast
from pathlib import Path

import pytest

from benchmarks import mutation
from benchmarks.mutation import ROOMS, ROOT, Mutant, Room, drawn, judged, mutants_of, summary

SOURCE = '''"""Docstring: 1 < 2 and not 3."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    LIMIT = 4

__all__ = ["é", "f"]


def f(é: int, b: tuple[int, ...] = (5,)) -> bool:
    """Return 6 + 7."""
    g(é, b)
    b += (é,)
    for x in b:
        if not (x  # 8 < 9
                < é):
            continue
    text = f"{é + 10}"
    return é is not None and text not in b


def g(c, d):
    max(c, d)
    raise ValueError(zip(c - d, True, strict=False))
'''
CHANGES = {
    ("<", "<="), ("not in", "in"), ("is not", "is"), ("and", "or"), ("-", "+"), ("+=", "-="), ("5", "4"), ("5", "6"),
    ("True", "False"), ("g(é, b)", "pass"), ("é, b", "b, é"), ("c - d, True", "True, c - d"), ("b += (é,)", "pass"),
    ("max(c, d)", "pass"), ("raise ValueError(zip(c - d, True, strict=False))", "pass"), ("continue", "pass"),
    ("return é is not None and text not in b", "return True"),
    ("return é is not None and text not in b", "return False"),
}  # fmt: skip


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "small.py").write_text(SOURCE, encoding="utf-8")
    monkeypatch.setitem(mutation.ROOMS, "small", Room(("small.py",), ("test_small.py",)))
    return tmp_path


def test_every_kind_of_change_is_found_and_nothing_in_texts_and_annotations(small: Path) -> None:
    content = SOURCE.encode()
    found = mutants_of("small", small)
    changes = {(content[one.start : one.end].decode(), one.new) for one in found}
    removed = {change for change in changes if change[0].startswith("not (")}
    assert len(removed) == 1
    # The raised error's argument is part of a deleted statement, and is changed on its own as well.
    assert changes - removed == CHANGES
    for one in found:
        ast.parse(one.applied(content))
        assert one.applied(content) != content


def test_a_seed_draws_the_same_mutants(small: Path) -> None:
    assert drawn("small", 5, 1, small) == drawn("small", 5, 1, small) != drawn("small", 5, 2, small)
    assert sorted(drawn("small", 999, 1, small)) == mutants_of("small", small)


def test_every_room_has_sources_and_tests() -> None:
    for name, room in ROOMS.items():
        assert all(list(ROOT.glob(pattern)) for pattern in (*room.sources, *room.tests)), name
        assert len(mutants_of(name)) > 100


@pytest.mark.parametrize(
    ("tests", "limit", "outcome"),
    [
        ("def test(): assert small.g.__name__ == 'g'", 100, "survived"),
        ("def test(): assert small.f(1, ()) == 0", 100, "killed"),
        ("import time\ndef test(): time.sleep(50)", 4, "timed out"),
    ],
)
def test_a_mutant_is_judged_by_the_tests_and_undone(small: Path, tests: str, limit: float, outcome: str) -> None:
    (small / "test_small.py").write_text(f"import small\n{tests}\n", encoding="utf-8")
    stamp = (small / "small.py").stat().st_mtime_ns
    start = SOURCE.encode().index(b"return ")
    mutant = Mutant("small.py", start, start + 6, "assert", "a change")
    verdict = judged(small, "small", mutant, limit)
    assert verdict.outcome == outcome
    assert ("test_small.py::test" in verdict.killer) == (outcome == "killed")
    assert (small / "small.py").read_text(encoding="utf-8") == SOURCE
    assert (small / "small.py").stat().st_mtime_ns == stamp


def test_survivors_are_shown_with_their_changes(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mutation, "ROOT", small)
    mutants = drawn("small", 3, 1, small)
    verdicts = [
        mutation.Verdict("small", mutant, outcome, "", 1.0)
        for mutant, outcome in zip(mutants, ("survived", "killed", "timed out"), strict=True)
    ]
    text = "\n".join(summary(["small"], verdicts))
    assert text.count("survived: small.py:") == 1
    assert mutation.difference(mutants[0]) in text
    assert mutation.difference(mutants[1]) not in text
    assert "small       2 of 3 killed, 67%, 1 of them by the time limit" in text
