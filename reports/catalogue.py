"""The report's contents, its default folder, and its two smallest pages (on symmetry and on the rule sets)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Final

from counting import complexity
from reports import bounds, census, endings, puzzles, reachable, solutions
from reports.rendering import DATA, REDUCED_BOARDS, STUDIES, Artefact, drawing, hold, page, read_stored
from reports.site.site_builder import WALKS
from tablut import svg
from tablut.position import Position
from tablut.results import Result
from tablut.strip import draw_sheet
from tablut.variants import Variant, load_variant, rule_fields
from tablut.variants.library import older_variants, shipped_variants


def default_folder() -> Path:
    """Return ``reports/rendered`` in the program's checkout, or in a checkout in the current directory.

    If there is no checkout, return ``tablut-report``, which is relative to the current directory.
    """
    for root in (Path(__file__).resolve().parents[1], Path.cwd()):
        rendered = root / "reports" / "rendered"
        if rendered.is_dir() and (root / "pyproject.toml").is_file():
            return rendered
    return Path("tablut-report")


_PIXELS: Final = 200
_SHOWN: Final = "3b1b3/9/4w1b2/b4w2b/b3K2wb/b2w5/9/4b1w2/3b5 w"
"""A position without any symmetry. It therefore has eight images."""


def _symmetry() -> list[Artefact]:
    """Return the files for the page on symmetry."""
    variant = load_variant("ashton")
    position = Position.parse(_SHOWN, variant.size)
    boards = [
        svg.board(variant, position.transformed(element), caption=element.name.replace("_", " "), pixels=_PIXELS)
        for element in variant.symmetries
    ]
    return [
        page(
            "symmetry.md",
            "symmetry.md.j2",
            every=bounds.every_bound(),
            counted=census.results(),
        ),
        drawing("figures/symmetry-orbit.svg", draw_sheet(boards, 4, _PIXELS, "The eight images of a position")),
    ]


def _variants() -> list[Artefact]:
    """Return the files for the page on the rule sets."""
    variants, older = shipped_variants(), older_variants()
    reduced = [variant for variant in older if variant.name in REDUCED_BOARDS]
    full = [variant for variant in older if variant not in reduced]
    family = [variant for variant in variants if variant not in older]
    games = [("Full games", full, _fields(full)), ("The tafl family", family, _fields(family))]
    return [
        page("variants.md", "variants.md.j2", games=games, reduced=reduced),
        *(drawing(f"figures/board-{variant.name}.svg", svg.board(variant)) for variant in variants),
    ]


def _fields(variants: list[Variant]) -> list[tuple[str, str, list[str]]]:
    """Return one row per rule field: its name, its meaning, and its value in each variant."""
    by_variant = [{field.name: field for field in rule_fields(variant.rules)} for variant in variants]
    rows = []
    for name, field in {name: field for fields in by_variant for name, field in fields.items()}.items():
        found = [fields[name].value if name in fields else None for fields in by_variant]
        values = [", ".join(value) if isinstance(value, list) else str(value) for value in found]
        shown = [{"True": "yes", "False": "no", "None": "–", "": "–"}.get(value, value) for value in values]
        rows.append((name, field.meaning, shown))
    return rows


_PAGES = (bounds, census, endings, puzzles, reachable, solutions)
GENERATORS: dict[str, Callable[[], list[Artefact]]] = {
    **{module.__name__.rpartition(".")[2]: module.artefacts for module in _PAGES},
    "symmetry": _symmetry,
    "variants": _variants,
}
"""Generators of the pages, keyed by page name. Each returns a page with its data and its figures."""


# -- the site's first results page: each number, how it is known, and how to compute it --


class PaperSummary(Result):
    """Number of published results that are compatible with the toolkit's, as counted by `reports.studies.players`."""

    compatible: int
    cells: int
    games: int
    level: float
    command: str


def _check_summary(stored: PaperSummary, _name: str) -> None:
    hold(stored.compatible <= stored.cells <= stored.games, "compatible: is more than the compared results")


def first_page() -> str:
    """Return the first results page in Markdown; the playable HTML pages are built separately."""
    made = page(
        "index.md",
        "first.md.j2",
        report=complexity.bounds("ashton"),
        walks=WALKS,
        dates=json.loads((DATA / "dates.json").read_text(encoding="utf-8")),
        lower=list(reachable.lower_bounds().values()),
        share=reachable.share("ashton"),
        estimate=reachable.results().get("ashton"),
        census=census.results().get("ashton"),
        boards=list(solutions.results().values()),
        endings=list(endings.results().values()),
        puzzles=puzzles.results(),
        paper=read_stored(STUDIES / "players" / "data", "summary", PaperSummary, _check_summary, signed=False),
    )
    return made.render().decode()
