"""The first page of the results: each number, how it is known, the command that gives it, and when it was made."""

from __future__ import annotations

import json

from counting.complexity import bounds
from reports import census, endings, players, puzzles, reachable, solutions
from reports.rendering import page
from reports.site.play import WALKS
from reports.stored import DATA


def first_page() -> str:
    """Return the first page of the results, in Markdown; the pages to play on are HTML beside them."""
    made = page(
        "index.md",
        "first.md.j2",
        report=bounds("ashton"),
        walks=WALKS,
        dates=json.loads((DATA / "dates.json").read_text(encoding="utf-8")),
        lower=list(reachable.lower_bounds().values()),
        share=reachable.share("ashton"),
        estimate=reachable.results().get("ashton"),
        census=census.results().get("ashton"),
        boards=list(solutions.results().values()),
        endings=list(endings.results().values()),
        puzzles=puzzles.results(),
        cells=players.cells(players.results()),
        level=players.LEVEL,
    )
    return made.render().decode()
