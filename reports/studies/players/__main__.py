"""``python -m reports.studies.players``: render the study's two pages from its stored matches."""

from __future__ import annotations

from reports.studies.players import measures, tables
from reports.studies.rendered import PageRequest, rendered
from tablut.cli.command import command
from tablut.cli.runtime import Reply
from tablut.cli.shell import main

NAME = "python -m reports.studies.players"


@command()
def page_command(request: PageRequest) -> Reply:
    """Render both pages and their figures from the stored data."""
    return rendered(tables.FOLDER, [*tables.artefacts(), *measures.artefacts()], request.check)


if __name__ == "__main__":
    main(page_command, NAME)
