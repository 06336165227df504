"""What the report consists of, and where it lives."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import reports.bounds
import reports.census
import reports.endings
import reports.measures
import reports.orbits
import reports.players
import reports.puzzles
import reports.reachable
import reports.solutions
import reports.variants

if TYPE_CHECKING:
    from collections.abc import Callable

    from reports.rendering import Artefact

GENERATORS: dict[str, Callable[[], list[Artefact]]] = {
    "bounds": reports.bounds.artefacts,
    "census": reports.census.artefacts,
    "endings": reports.endings.artefacts,
    "measures": reports.measures.artefacts,
    "players": reports.players.artefacts,
    "puzzles": reports.puzzles.artefacts,
    "reachable": reports.reachable.artefacts,
    "solutions": reports.solutions.artefacts,
    "symmetry": reports.orbits.artefacts,
    "variants": reports.variants.artefacts,
}
"""One generator a page: the page itself, its data and its figures."""


def default_folder() -> Path:
    """Return ``reports/rendered`` of the checkout that the program runs from or in, else ``tablut-report``."""
    for root in (Path(__file__).resolve().parents[1], Path.cwd()):
        rendered = root / "reports" / "rendered"
        if rendered.is_dir() and (root / "pyproject.toml").is_file():
            return rendered
    return Path("tablut-report")
