"""What can come of a trial, and how a run of a command is judged."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from tests.faults.running import Run


class Verdict(StrEnum):
    """What came of a trial."""

    RIGHT = "right"
    """The answer is the known one."""
    NAMED = "named"
    """The command refused, in one line that names the file or the store."""
    UNNAMED = "unnamed"
    """The command refused, and the line does not say which file or store is meant, or it is not one line."""
    WRONG = "silent wrong"
    """Another answer than the known one, as if all were well."""
    FALSE_PROOF = "false proof"
    """A certificate of something that is not true was accepted."""
    LEFTOVER = "leftover"
    """After a kill and a second run there are files that no clean run leaves."""
    TRACEBACK = "traceback"
    """A traceback, exit code 70, or the end by a signal."""
    HANG = "hang"
    """No end within the time limit."""


FAILURES: Final = (Verdict.WRONG, Verdict.FALSE_PROOF, Verdict.LEFTOVER, Verdict.TRACEBACK, Verdict.HANG)
"""The verdicts that must not occur; the worst come last."""

_ORDER: Final = [Verdict.RIGHT, Verdict.NAMED, Verdict.UNNAMED, *FAILURES]

# What differs between two runs that give the same answer, and what a census says of its disk.
_PASSING: Final = frozenset({
    "provenance", "seconds", "cpu_seconds", "children_per_cpu_second", "nodes_per_second", "compile_seconds",
    "stored_bytes", "next_ply",
})  # fmt: skip


@dataclass(frozen=True)
class Trial:
    """One trial and its verdict.

    Attributes
    ----------
    part : str
        ``damages``, ``others``, ``certificates``, ``inputs``, ``kills`` or ``memory``.
    subject : str
        What was damaged, made, killed or asked.
    kind : str
        The kind of damage, in a word or two; trials are counted by it.
    seed : str
        With it `python -m tests.faults --only PART:SEED` makes the trial again.
    what : str
        The damage and the command, for people.
    verdict : Verdict
        What came of it.
    detail : str
        What was printed or what differs; empty where nothing is wrong.
    seconds : float
        Wall time.
    """

    part: str
    subject: str
    kind: str
    seed: str
    what: str
    verdict: Verdict
    detail: str = ""
    seconds: float = 0.0

    def to_json(self) -> dict[str, Any]:
        """Return the trial as JSON has it."""
        return asdict(self)


def worst(verdicts: Collection[Verdict]) -> Verdict:
    """Return the worst of some verdicts."""
    return max(verdicts, key=_ORDER.index)


def normal(text: str, folder: Path | str) -> str | None:
    """Return the JSON object that a command printed without what differs from run to run; None if it is none.

    Parameters
    ----------
    text : str
        Standard output.
    folder : Path or str
        Where the command ran; its name is replaced wherever it occurs.
    """
    try:
        content = json.loads(text)
    except ValueError:
        return None
    if not isinstance(content, dict):
        return None
    return json.dumps(_without(content), sort_keys=True).replace(str(folder), "FOLDER")


def _without(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without(inner) for key, inner in value.items() if key not in _PASSING}
    return [_without(inner) for inner in value] if isinstance(value, list) else value


def one_line(run: Run) -> str | None:
    """Return the one line of an error message; None if there is another number of lines. Warnings may precede it."""
    lines = [line for line in run.err.splitlines() if line.strip() and not line.startswith("tablut: warning: ")]
    return lines[0] if len(lines) == 1 and lines[0].startswith("tablut: ") else None


def crash(run: Run) -> Verdict | None:
    """Return the verdict on a run that ended badly, whatever it was asked; None if it ended well."""
    if run.hung:
        return Verdict.HANG
    if "Traceback (most recent call last)" in run.err + run.out or run.code < 0 or run.code == 70:
        return Verdict.TRACEBACK
    return None


def judge(run: Run, folder: Path, answers: Collection[str], names: Collection[str]) -> tuple[Verdict, str]:
    """Return the verdict on a command that read a damaged store, and what to say about it.

    Parameters
    ----------
    run : Run
        How it ended; it was asked for JSON.
    folder : Path
        Where it ran.
    answers : collection of str
        The right ones, as `normal` gives them.
    names : collection of str
        Of the store and its files: a refusal must mention one of them.
    """
    if (ended := crash(run)) is not None:
        return ended, tail(run)
    if run.code == 0:
        answer = normal(run.out, folder)
        if answer in answers:
            return Verdict.RIGHT, ""
        return Verdict.WRONG, difference(answer, answers)
    if run.code in (2, 74):
        line = one_line(run)
        if line is not None and any(name in line for name in names):
            return Verdict.NAMED, ""
        return Verdict.UNNAMED, tail(run)
    if run.code == 1:
        # The answer is no: a verification that says what is wrong.
        answer = normal(run.out, folder)
        if answer is not None and any(name in answer for name in names):
            return Verdict.NAMED, ""
        return (Verdict.UNNAMED, "exit 1: " + run.out[-300:]) if answer is not None else (Verdict.TRACEBACK, tail(run))
    return Verdict.WRONG, f"exit {run.code}: {tail(run)}"


def difference(answer: str | None, answers: Collection[str]) -> str:
    """Return in what an answer differs from the first right one."""
    if answer is None:
        return "exit 0 without a JSON object"
    right, found = json.loads(next(iter(answers))), json.loads(answer)
    keys = [key for key in sorted({*right, *found}) if right.get(key) != found.get(key)]
    return "; ".join(f"{key}: {str(found.get(key))[:120]} instead of {str(right.get(key))[:120]}" for key in keys[:4])


def tail(run: Run, most: int = 400) -> str:
    """Return the end of what a run said, its cause first."""
    if run.hung:
        return f"no end within {run.seconds:.1f} s"
    lines = [line for line in run.err.splitlines() if line.strip()]
    if "Traceback (most recent call last)" in run.err:
        places = [line.strip() for line in lines if re.match(r'\s+File "', line) and "site-packages" not in line]
        place = re.sub(r'.*[/\\](\w+\.py)", line (\d+), in (\S+).*', r"\1:\2 \3", places[-1]) if places else "?"
        return f"{lines[-1][:most]} [{place}]"
    return f"exit {run.code}: {' | '.join(lines[-3:])[:most]}"
