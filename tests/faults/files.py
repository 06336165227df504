"""Reference files that are no stores: puzzle files, the data that reports are made of, the cache of kernels."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Final

from reports.studies.collection.making import Wanted, from_placements
from retrograde.proofs.win_search import ProofLimits
from retrograde.puzzles.puzzle_file import format_puzzles
from tablut.variants import load_variant
from tests.faults import stores
from tests.faults.running import LIMIT, Run, Started, here, run
from tests.faults.stores import ENOUGH, Question, Specimen
from tests.faults.truth import Truth, TruthSpentError
from tests.faults.verdict import Verdict, crash, judge, normal, tail

_ROOT: Final = Path(__file__).resolve().parents[2]
_VARIANT: Final = "ashton-5-4v0"


# -- puzzle files --------------------------------------------------------------------------


class PuzzleFiles(Specimen):
    """A folder of puzzle files; a claim that was edited is judged by brute force."""

    def judged(self, ended: Run, question: Question, folder: Path) -> tuple[Verdict, str]:
        """See `Specimen`."""
        if crash(ended) is not None or ended.code not in (0, 1, 3):
            return super().judged(ended, question, folder)
        if normal(ended.out, folder.parent) in question.answers:
            return Verdict.RIGHT, ""
        answer = json.loads(ended.out)
        if not answer["puzzles"]:
            return Verdict.WRONG, f"exit {ended.code} with nothing checked"
        truth = Truth(load_variant(_VARIANT))
        for puzzle in answer["puzzles"]:
            claim, words = puzzle["claim"], puzzle["claim"].split(",")[0].split()
            # Of other boards and of claims about moves brute force says nothing.
            if puzzle["solution"]["variant"] != _VARIANT or len(words) != 4 or "first" in claim:
                continue
            winner, plies, position = words[0], int(words[3]), puzzle["solution"]["position"]
            try:
                holds = truth.holds(position, winner, plies) and not truth.holds(position, winner, plies - 1)
            except (TruthSpentError, ValueError):
                continue
            if puzzle["verdict"] != "unknown" and holds != (puzzle["verdict"] == "holds"):
                return Verdict.WRONG, f"{position}: '{claim}' is said to be {puzzle['verdict']}"
        return Verdict.RIGHT, ""


def puzzle_specimen(root: Path) -> Specimen:
    """Make a puzzle file with true claims, and others beside it."""
    place = root / "puzzles"
    place.mkdir(parents=True)
    limits = ProofLimits(nodes=2000, memory_bytes=64 << 20, positions=0)
    for number in (1, 2):
        made = from_placements(_VARIANT, Wanted(5, number, (1, 99), limits), samples=100_000, men=5)
        (place / f"puzzles-{number}.txt").write_text(format_puzzles(made.puzzles), encoding="utf-8")
    specimen = PuzzleFiles("puzzle files", place)
    specimen.ask(["puzzle", "solve", "puzzles/puzzles-1.txt", "-v", _VARIANT, "--nodes", "5000", "--json"])
    specimen.ask(["puzzle", "solve", "puzzles/puzzles-2.txt", "-v", _VARIANT, "--nodes", "5000", "--json"])
    return specimen


# -- the data of reports -------------------------------------------------------------------


class ReportData(Specimen):
    """The results that pages are made of; `tablut report --check` compares the pages with those that are kept."""

    def put(self, question: Question, folder: Path) -> Run:
        """Ask a package ``reports`` whose data are this folder; all else of it are links to the real one."""
        package = folder.parent / "tmp" / "reports"
        package.mkdir(parents=True, exist_ok=True)
        for path in sorted((_ROOT / "reports").iterdir()):
            if not (package / path.name).is_symlink():
                (package / path.name).symlink_to(folder if path.name == "data" else path)

        def prepare() -> None:
            for name in [name for name in sys.modules if name.split(".")[0] == "reports"]:
                del sys.modules[name]
            sys.path.insert(0, str(package.parent))

        return run(question.args, folder.parent, limit=4 * LIMIT, prepare=prepare)


def report_specimen(root: Path) -> Specimen:
    """Copy the data of the reports."""
    root.mkdir(parents=True)
    shutil.copytree(_ROOT / "reports" / "data", root / "data")
    here(["report", "--check"], root)
    specimen = ReportData("data of reports", root / "data")
    args = ("report", "--out", "tmp/reports/rendered", "--check", "--json")
    ended = specimen.put(Question(args, frozenset()), specimen.folder)
    answer = normal(ended.out, root)
    if ended.code != 0 or answer is None:
        raise RuntimeError(f"tablut report --check: exit {ended.code}: {ended.err}")
    specimen.questions.append(Question(args, frozenset([answer])))
    return specimen


# -- kernels -------------------------------------------------------------------------------


class KernelCache(Specimen):
    """Compiled kernels on disk: they are read by a process of its own, and compiled anew if they will not do."""

    def put(self, question: Question, folder: Path) -> Run:
        """Start the command with the cache in a folder."""
        return Started(question.args, folder.parent, folder.name).wait(ENOUGH)

    def judged(self, ended: Run, question: Question, folder: Path) -> tuple[Verdict, str]:
        """A damaged kernel is no reason to refuse: the answer must be there."""
        verdict, detail = judge(ended, folder.parent, question.answers, ())
        return (
            (Verdict.WRONG, f"refused: {tail(ended)}")
            if verdict in (Verdict.NAMED, Verdict.UNNAMED)
            else (verdict, detail)
        )


def cache_specimen(root: Path) -> Specimen:
    """Fill a cache with the kernels of a command that compiles in seconds."""
    root.mkdir(parents=True)
    specimen = KernelCache("cache of kernels", root / "kernels")
    args = ("perft", "-v", _VARIANT, "-d", "2", "--json")
    specimen.folder.mkdir()
    ended = specimen.put(Question(args, frozenset()), specimen.folder)
    answer = normal(ended.out, root)
    if ended.code != 0 or answer is None:
        raise RuntimeError(f"tablut {' '.join(args)}: exit {ended.code}: {ended.err}")
    specimen.questions.append(Question(args, frozenset([answer])))
    return specimen


# -- which reference stores a part of the run damages ------------------------------------


def made(root: Path, part: str, *, quick: bool = False) -> tuple[list[Specimen], list[str]]:
    """Make the reference stores of ``damages`` or ``others``; return them, and in words what there is not to try.

    The stores occur as often as they are to be damaged, in proportion: what takes long to
    ask occurs seldom.
    """
    if part == "damages":
        skipped = [] if stores.has_command("census", "verify") else ["`tablut census verify`: there is no such command"]
        return stores.census_specimens(root, quick=quick), skipped
    tables = stores.tablebase_specimens(root / "tables", quick=quick) + stores.tree_specimens(root / "trees") * 2
    if quick:
        return tables, []
    solution = stores.solution_specimens(root / "solutions")
    puzzles = [puzzle_specimen(root / "puzzles")]
    data = [report_specimen(root / "report")]
    cache = [cache_specimen(root / "cache")]
    return [*(tables * 4), *(solution * 5), *(puzzles * 3), *(data * 2), *cache], []
