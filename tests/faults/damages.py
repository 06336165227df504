"""Damaged stores: each is asked up to three questions, and must answer rightly or say what is wrong."""

from __future__ import annotations

import random
import shutil
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tests.faults.damage import damage
from tests.faults.running import spread
from tests.faults.verdict import Trial, Verdict, worst

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.faults.stores import Question, Specimen

__all__ = ["damage_stores", "damage_trial"]

_DEPTH = "a/b/c/d/e/f"


def damage_stores(part: str, specimens: Sequence[Specimen], seeds: Sequence[int], seed: int, jobs: int) -> list[Trial]:
    """Return a trial for each seed, the specimens in turn."""

    def work(number: int) -> list[Trial]:
        return [damage_trial(part, specimens[number % len(specimens)], f"{seed}.{number}")]

    return spread(work, seeds, jobs, part)


def damage_trial(part: str, specimen: Specimen, seed: str) -> Trial:
    """Damage a copy of a store and ask; the verdict is the worst of the answers'."""
    rng = random.Random(f"{part} {seed}")
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="faults-") as top:
        folder = Path(top).resolve() / _DEPTH / specimen.folder.name
        (folder.parent / "tmp").mkdir(parents=True)
        shutil.copytree(specimen.folder, folder)
        said = [damage(rng, folder, specimen.donors) for _ in range(2 if rng.random() < 0.1 else 1)]
        allowed = {path.name for path in folder.parent.iterdir()}
        found = []
        for question in _drawn(rng, specimen):
            verdict, detail = specimen.judged(specimen.put(question, folder), question, folder)
            if strays := _outside(Path(top).resolve(), folder, allowed):
                verdict, detail = Verdict.WRONG, f"made outside of the store: {', '.join(strays)}"
            found.append((verdict, " ".join(question.given(folder.name)), detail))
            if verdict not in (Verdict.RIGHT, Verdict.NAMED):
                break
        final = worst([verdict for verdict, _, _ in found])
        verdict, command, detail = next(entry for entry in found if entry[0] is final)
        what = "; ".join(text for _, text in said) + f"; tablut {command}"
        kind = said[0][0] if len(said) == 1 else "two damages"
        return Trial(part, specimen.name, kind, seed, what, verdict, detail, round(time.monotonic() - began, 3))


def _drawn(rng: random.Random, specimen: Specimen) -> list[Question]:
    """Return what is asked: two questions that read, at most, then one that may write."""
    reading = [question for question in specimen.questions if not question.writes]
    writing = [question for question in specimen.questions if question.writes]
    return rng.sample(reading, min(2, len(reading))) + rng.sample(writing, min(1, len(writing)))


def _outside(top: Path, folder: Path, allowed: set[str]) -> list[str]:
    """Return what lies beside the store or above it and was not there before."""
    found = [path.name for path in folder.parent.iterdir() if path.name not in allowed]
    inner = folder.parent
    while inner != top:
        found += [path.name for path in inner.parent.iterdir() if path != inner]
        inner = inner.parent
    return found
