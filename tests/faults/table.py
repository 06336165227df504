"""The result of a run: counted, kept as JSON, shown as a table here and in docs/notes/fault-injection.md."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tests.faults.verdict import FAILURES, Trial, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence


STORED: Final = Path(__file__).resolve().parents[1] / "data" / "faults.json"
"""The result that the docs show."""
DOCS: Final = STORED.parents[2] / "docs" / "notes" / "fault-injection.md"
BEGIN: Final = "<!-- faults: begin -->\n"
END: Final = "<!-- faults: end -->"

PARTS: Final = {
    "damages": "Damaged census stores",
    "others": "Damaged stores and files of other kinds",
    "certificates": "Made certificates",
    "inputs": "Fuzzed inputs",
    "kills": "Kills",
    "memory": "Rule sets under guard pages",
}
"""The parts of a run, as tables call them."""

_COLUMNS: Final = {
    "right": (Verdict.RIGHT,),
    "refused": (Verdict.NAMED, Verdict.UNNAMED),
    "silent wrong": (Verdict.WRONG,),
    "false proofs": (Verdict.FALSE_PROOF,),
    "leftovers": (Verdict.LEFTOVER,),
    "tracebacks": (Verdict.TRACEBACK,),
    "hangs": (Verdict.HANG,),
}


def summary(trials: Sequence[Trial], seed: int, skipped: Sequence[str]) -> dict[str, Any]:
    """Return the counts of a run, with what they depend on; nothing in it says when or where.

    Parameters
    ----------
    trials : sequence of Trial
        All of them.
    seed : int
        Of the run.
    skipped : sequence of str
        What could not be tried, in words.
    """
    from tablut import __version__

    rows = []
    for part, title in PARTS.items():
        made = [trial for trial in trials if trial.part == part]
        for subject in sorted({trial.subject for trial in made}) if part != "inputs" else [""]:
            counts = Counter(trial.verdict for trial in made if not subject or trial.subject == subject)
            rows.append({"part": title, "subject": subject, "trials": counts.total(), **_counted(counts)})
    counts = Counter(trial.verdict for trial in trials)
    return {
        "provenance": {"version": __version__, "seed": seed, "command": "python -m tests.faults"},
        "rows": [row for row in rows if row["trials"]],
        "all": {"trials": counts.total(), **_counted(counts)},
        "unnamed": counts[Verdict.UNNAMED],
        "failures": sum(counts[verdict] for verdict in FAILURES),
        "skipped": sorted(skipped),
    }


def _counted(counts: Counter[Verdict]) -> dict[str, int]:
    return {name: sum(counts[verdict] for verdict in verdicts) for name, verdicts in _COLUMNS.items()}


def markdown(result: dict[str, Any]) -> str:
    """Return the table of a result as docs have it."""
    provenance = result["provenance"]
    lines = ["| what | trials | " + " | ".join(_COLUMNS) + " |", "|---|--:|" + "--:|" * len(_COLUMNS)]
    for row in [*result["rows"], {"part": "**all**", "subject": "", **result["all"]}]:
        name = f"{row['part']}: {row['subject']}" if row["subject"] else row["part"]
        lines.append(f"| {name} | {row['trials']:,} | " + " | ".join(f"{row[key]:,}" for key in _COLUMNS) + " |")
    lines += ["", f"The trials were made with version {provenance['version']} and seed {provenance['seed']}."]
    if result["unnamed"]:
        lines.append(f"{result['unnamed']:,} of the refusals do not name the file or are longer than one short line.")
    for cause in result.get("mended", []):
        trials = "1 trial" if cause["trials"] == 1 else f"{cause['trials']:,} trials"
        lines.append(f"{trials} failed because {cause['what']}.")
        lines.append(f"This has been fixed since (`--only {cause['seed']}` repeats the trial).")
    if result["skipped"]:
        lines.append("Not tried: " + "; ".join(result["skipped"]) + ".")
    return "\n".join(lines) + "\n"


def show(result: dict[str, Any], trials: Sequence[Trial]) -> None:
    """Print the table, the causes of what must not occur, and what took longest."""
    print(markdown(result), findings(trials), sep="\n")  # noqa: T201
    for part in PARTS:
        slow = max((trial for trial in trials if trial.part == part), key=lambda trial: trial.seconds, default=None)
        if slow is not None:
            print(f"slowest of {part}: {slow.seconds:.1f} s, {slow.seed}: {slow.what[:200]}")  # noqa: T201


def findings(trials: Sequence[Trial], most: int = 60) -> str:
    """Return what must not occur and unnamed refusals, grouped by cause, with one seed of each."""
    groups: dict[tuple[str, ...], list[Trial]] = {}
    for trial in trials:
        if trial.verdict in (*FAILURES, Verdict.UNNAMED):
            # Of a traceback, where it was raised; of anything else, the beginning of what was said.
            why = (
                trial.detail.rsplit("[", 1)[-1]
                if trial.verdict is Verdict.TRACEBACK
                else trial.detail.split(":")[0][:40]
            )
            groups.setdefault((trial.verdict, trial.part, trial.subject, trial.kind, why), []).append(trial)
    lines = []
    for cause, found in sorted(groups.items(), key=lambda group: -len(group[1]))[:most]:
        lines.append(f"{len(found):5} {', '.join(cause)}")
        lines.append(f"      --only {found[0].part}:{found[0].seed}  {found[0].what[:300]}")
        lines.append(f"      {found[0].detail[:300]}")
    return "\n".join(lines)


def store(result: dict[str, Any]) -> None:
    """Keep a result, and put its table into the docs."""
    STORED.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    text = DOCS.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    DOCS.write_text(before + BEGIN + markdown(result) + END + rest.split(END)[1], encoding="utf-8")


def read(path: Path = STORED) -> dict[str, Any]:
    """Return a stored result."""
    result: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return result
