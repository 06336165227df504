"""Which reference stores a part of the run damages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.faults import files, stores

if TYPE_CHECKING:
    from pathlib import Path

    from tests.faults.stores import Specimen

__all__ = ["made"]


def made(root: Path, part: str, *, quick: bool = False) -> tuple[list[Specimen], list[str]]:
    """Make the reference stores of ``damages`` or ``others``; return them, and in words what there is not to try.

    The stores occur as often as they are to be damaged, in proportion: what takes long to
    ask occurs seldom.
    """
    if part == "damages":
        skipped = [] if stores.has_command("census", "verify") else ["`tablut census verify`: there is no such command"]
        return stores.census_specimens(root, quick=quick), skipped
    tables = stores.tablebase_specimens(root / "tables", quick=quick)
    if quick:
        return tables, []
    solution = stores.solution_specimens(root / "solutions")
    puzzles = [files.puzzle_specimen(root / "puzzles")]
    data = [files.report_specimen(root / "report")]
    cache = [files.cache_specimen(root / "cache")]
    return [*(tables * 4), *(solution * 5), *(puzzles * 3), *(data * 2), *cache], []
