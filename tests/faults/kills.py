"""Kills: long commands are ended by a signal at a random moment, run again, and must then give the known answer.

Between the two runs whoever reads what is there must be told the truth or be refused. After
the second run the folder must hold what a run without a kill leaves, and nothing else;
after SIGINT and SIGTERM the folder of temporary files must be empty.
"""

from __future__ import annotations

import json
import random
import re
import shutil
import signal
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tests.faults.running import Forked, Started, here, run
from tests.faults.verdict import Trial, Verdict, crash, difference, normal, one_line, tail

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


_LIMIT: Final = 120.0
_SOON: Final = 15.0
_SIGNALS: Final = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT)


@dataclass
class Job:
    """A command to be killed.

    Attributes
    ----------
    name : str
        What tables call it.
    args : list of str
        Of `tablut`; it writes to ``out`` in its folder.
    again : list of str
        What a user gives after the kill.
    reader : list of str, optional
        A command that reads what is there in between.
    answer : str
        The right one, from a run that nobody ended.
    partial : callable, optional
        Tells whether what the reader answers of a part of the work is true.
    files : dict of str to int
        What such a run leaves: names with the numbers of bytes.
    seconds : float
        How long it took.
    start : callable
        Starts the command in a folder.
    rare : bool
        Whether it takes so long that it takes its turn seldom.
    """

    name: str
    args: list[str]
    again: list[str]
    reader: list[str] | None = None
    partial: Callable[[dict[str, Any]], bool] | None = None
    answer: str = ""
    files: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    start: Callable[[Sequence[str], Path], Any] = Forked
    rare: bool = False


def jobs_to_kill(root: Path, *, quick: bool = False) -> list[Job]:
    """Return the commands, each run once to its end."""
    root.mkdir(parents=True)
    small, other = ["-v", "ashton-5-4v0"], ["-v", "brandubh-5-4v0"]
    census = ["census", *other, "--all", "--store", "out", "--json"]
    ninth = ["census", "--plies", "3", "--store", "out", "--json"]
    tables = ["tablebase", "build", "-v", "brandubh-5-4v4", "--men", "4", "--store", "out", "--json"]
    mapped = [*tables[:-1], "--memory", "1", "--json"]
    solved = ["solve", *small, "--store", "out", "--json"]
    jobs = [
        Job("census", census, [*census, "--resume"]),
        Job("census of a 9x9 board", ninth, [*ninth, "--resume"]),
        Job("census without a store", (without := ["census", *small, "--all", "--json"]), without),
        Job("tablebase build", tables, tables, ["tablebase", "verify", "out", "--json"], _some_checked),
        Job("tablebase build on disk", mapped, mapped, ["tablebase", "info", "out", "--json"], _missing_said),
        Job("solve", solved, solved, ["tablebase", "verify", "out", "--json"], _some_checked),
        Job("report", (report := ["report", "--out", "out", "--json"]), report, rare=True),
        Job("kernel cache", (counted := ["perft", *small, "-d", "2", "--json"]), counted, start=Started, rare=True),
    ]
    if quick:
        jobs = [jobs[0], jobs[3]]
    for number, job in enumerate(jobs):
        for attempt in range(2):
            # The first run loads kernels, the second one is timed.
            folder = _folder(root / f"{number}.{attempt}")
            if attempt == 0 and job.start is Forked:
                here(job.args, folder)
                if job.reader:
                    here(job.reader, folder)
                continue
            ended = job.start(job.args, folder).wait(_LIMIT)
            answer = normal(ended.out, folder)
            if ended.code not in (0, 3) or answer is None:
                raise RuntimeError(f"tablut {' '.join(job.args)}: exit {ended.code}: {ended.err}")
            job.seconds, job.answer, job.files = ended.seconds, answer, _files(folder)
    return jobs


def _some_checked(answer: dict[str, Any]) -> bool:
    """Return whether a verification checked anything: nothing checked is no success."""
    return bool(answer["positions_checked"])


def _missing_said(answer: dict[str, Any]) -> bool:
    """Return whether a description of a part of a tablebase has tiers, or says which are missing."""
    return bool(answer["tiers"] or answer["missing"])


def _folder(place: Path) -> Path:
    folder = place / "run"
    (place / "tmp").mkdir(parents=True)
    folder.mkdir()
    (folder / "out").mkdir()
    shutil.rmtree(folder / "out")
    return folder


def _files(folder: Path) -> dict[str, int]:
    """Return what a folder holds, without what says when it was made; locks may stay."""
    return {
        re.sub(r"-[0-9a-f]{8,}|_[0-9a-f]{32,}", "", path.relative_to(folder).as_posix()): path.stat().st_size
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "lock"
    }


def kill_trial(jobs: Sequence[Job], run_seed: int, number: int) -> list[Trial]:
    """Kill a command, each in turn, read what is there, run it again and compare."""
    usual, rare = ([job for job in jobs if job.rare is kind] for kind in (False, True))
    seed = f"{run_seed}.{number}"
    job = rare[number // 12 % len(rare)] if rare and number % 12 == 11 else usual[number % len(usual)]
    rng, began = random.Random(f"kills {seed}"), time.monotonic()
    sent, moment = rng.choice(_SIGNALS), rng.random() * job.seconds * 1.05
    if job.start is not Forked:
        # While Python itself starts, an interrupt is not the program's to catch.
        moment = max(moment, 0.15 * job.seconds)
    what = f"tablut {' '.join(job.args)}; {signal.Signals(sent).name} after {moment:.3f} of {job.seconds:.3f} s"
    with tempfile.TemporaryDirectory(prefix="faults-") as top:
        folder = _folder(Path(top).resolve() / "place")
        verdict, detail = _killed(job, folder, sent, moment)
    seconds = round(time.monotonic() - began, 3)
    return [Trial("kills", job.name, signal.Signals(sent).name, seed, what, verdict, detail, seconds)]


def _killed(job: Job, folder: Path, number: int, moment: float) -> tuple[Verdict, str]:
    started = job.start(job.args, folder)
    time.sleep(max(0.0, started.began + moment - time.monotonic()))
    started.send(number)
    # Whoever is asked to end does so soon.
    first = started.wait(time.monotonic() - started.began + _SOON)
    if first.hung or "Traceback" in first.err or first.code not in (0, 3, 130, 143, -number):
        return (Verdict.HANG if first.hung else Verdict.TRACEBACK), f"at the kill: {tail(first)}"
    scratch = sorted(path.name for path in (folder.parent / "tmp").iterdir())
    if scratch and number != signal.SIGKILL:
        return Verdict.LEFTOVER, f"{signal.Signals(number).name} leaves {', '.join(scratch)} among temporary files"
    for path in (folder.parent / "tmp").iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    if job.reader is not None and (folder / "out").exists():
        between = run(job.reader, folder)
        if (bad := crash(between)) is not None:
            return bad, f"in between: {tail(between)}"
        if between.code == 0:
            answer = json.loads(between.out)
            if job.partial is not None and not job.partial(answer):
                return (
                    Verdict.WRONG,
                    f"in between, tablut {' '.join(job.reader)} ends with 0 on a store without content",
                )
        elif between.code in (2, 74) and one_line(between) is None:
            return Verdict.UNNAMED, f"in between: {tail(between)}"
    second = job.start(job.again, folder).wait(_LIMIT)
    if (bad := crash(second)) is not None:
        return bad, f"again: {tail(second)}"
    answer_again = normal(second.out, folder)
    if second.code not in (0, 3) or answer_again is None:
        return Verdict.LEFTOVER, f"again: {tail(second)}"
    if _plain(answer_again) != _plain(job.answer):
        return Verdict.WRONG, difference(answer_again, [job.answer])
    files = _files(folder)
    extra, lost = sorted(files.keys() - job.files.keys()), sorted(job.files.keys() - files.keys())
    if extra or lost:
        return Verdict.LEFTOVER, f"left behind: {', '.join(extra[:5])}; missing: {', '.join(lost[:5])}"
    return Verdict.RIGHT, ""


def _plain(answer: str) -> str:
    """Return an answer without what tells what was there before: files that are written again are not changed."""
    return re.sub(r'"changed": (true|false)', '"changed": null', answer)
