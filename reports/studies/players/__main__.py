"""``python -m reports.studies.players``: render the two pages of the study from its stored matches."""

from __future__ import annotations

import typer

from reports.studies.players import measures, tables
from reports.studies.rendered import CheckOption, rendered
from tablut.cli.runtime import Reply, command
from tablut.cli.shell import main

app = typer.Typer(rich_markup_mode=None, add_completion=False)
NAME = "python -m reports.studies.players"


@app.command()
@command
def page_command(check: CheckOption = False) -> Reply:
    """Render both pages and their figures from the stored data."""
    return rendered(tables.FOLDER, [*tables.artefacts(), *measures.artefacts()], check)


if __name__ == "__main__":
    main(app, NAME)
