"""``python -m tests.faults``: all six parts, or one trial again."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
import warnings
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tests.faults import certificates, damage, files, fuzz, kills, memory, table
from tests.faults.running import Journal

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the trials; exit code 1 tells that something occurred which must not."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    for name, number in (
        ("damages", 500),
        ("others", 500),
        ("certificates", 2000),
        ("inputs", 50_000),
        ("kills", 200),
        ("memory", 2000),
    ):
        parser.add_argument(f"--{name}", type=int, default=number, help=f"how many [default: {number}]")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2, help="processes side by side [default: 2]")
    parser.add_argument("--quick", action="store_true", help="few kinds of stores, which take seconds to make")
    parser.add_argument("--only", metavar="PART:SEED", help="make one trial again, such as others:1.17")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the counts as JSON, as tests/data has them")
    parser.add_argument(
        "--store", action="store_true", help="keep the counts in tests/data, the table in docs/notes/fault-injection.md"
    )
    parser.add_argument(
        "--trials", type=Path, metavar="FILE", help="keep every trial as it is made; a run goes on from its file"
    )
    options = parser.parse_args(arguments)
    # A fork of a process with threads is what this is about.
    warnings.filterwarnings("ignore", message=".*fork.*", category=DeprecationWarning)
    with tempfile.TemporaryDirectory(prefix="faults-stores-") as folder:
        journal, skipped = _run(Path(folder).resolve(), options)
    if options.only is not None:
        for trial in journal.trials:
            print(json.dumps(trial.to_json(), indent=1, ensure_ascii=False))  # noqa: T201
        return 0
    result = table.summary(journal.trials, options.seed, skipped)
    if options.out is not None:
        options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    if options.store:
        table.store(result)
    table.show(result, journal.trials)
    return int(bool(result["failures"]))


def _run(root: Path, options: argparse.Namespace) -> tuple[Journal, list[str]]:
    """Run the parts whose trials are not in the journal; return it and what was skipped."""
    seed = options.seed
    if options.only is not None:
        part, _, place = options.only.partition(":")
        seed, number = (int(word) for word in place.split("."))
        wanted = {name: [number] if name == part else [] for name in table.PARTS}
    else:
        wanted = {name: list(range(getattr(options, name))) for name in table.PARTS}
    journal = Journal(options.trials, seed, quick=options.quick, jobs=options.jobs)
    numbers = {part: journal.left(part, wanted[part]) for part in wanted}
    skipped: list[str] = []
    began = time.monotonic()

    def prepared(part: str) -> None:
        print(f"{part}: prepared after {time.monotonic() - began:.0f} s", file=sys.stderr)  # noqa: T201

    if numbers["memory"] and sys.platform != "linux":
        skipped.append("rule sets under guard pages: Linux alone")
    elif numbers["memory"]:
        # First: its kernels must not have been loaded.
        memory.prepare(root / "memory")
        prepared("memory")
        journal.spread(partial(memory.under_guard, seed), numbers["memory"], "memory")
    for part in ("damages", "others"):
        if numbers[part]:
            found, missing = files.made(root / part, part, quick=options.quick)
            skipped += missing
            prepared(part)
            journal.spread(partial(damage.damage_trial, part, found, seed), numbers[part], part)
    if numbers["certificates"]:
        each = (2, 4) if options.quick else (16, 4)
        proofs = certificates.real_proofs(root / "certificates", seed, *each)
        prepared("certificates")
        work = partial(certificates.certificate_trial, proofs, certificates.pairs_of(proofs), seed)
        journal.spread(work, numbers["certificates"], "certificates")
    if numbers["inputs"]:
        fuzz.prepare(root / "inputs")
        prepared("inputs")
        groups = range(-(-len(numbers["inputs"]) // fuzz.GROUP))
        journal.spread(partial(fuzz.fuzz_trials, root / "inputs", numbers["inputs"], seed), groups, "inputs")
    if numbers["kills"]:
        victims = kills.jobs_to_kill(root / "kills", quick=options.quick)
        prepared("kills")
        journal.spread(partial(kills.kill_trial, victims, seed), numbers["kills"], "kills")
    return journal, skipped


if __name__ == "__main__":
    sys.exit(main())
