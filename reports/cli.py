"""``tablut report``: rebuild what is rendered, or check that it is up to date."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from reports.catalogue import GENERATORS, default_folder
from reports.rendering import write
from tablut.cli.runtime import EXIT_NO, Reply, command, progress
from tablut.errors import InputError
from tablut.results import Result

if TYPE_CHECKING:
    from reports.rendering import Artefact
    from tablut.cli.people import PeopleConsole

__all__ = ["report_command"]


class _File(Result):
    name: str
    path: str
    changed: bool


class _Rendered(Result):
    reports: list[_File]


@command
def report_command(
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="DIR", help="Folder to write to. [default: reports/rendered, or ./tablut-report]"
        ),
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="Compare only; exit 1 if anything is stale.")] = False,
) -> Reply:
    """Rebuild every table, figure and page of the report from the numbers that the program computes."""
    folder = out if out is not None else default_folder()
    if check and not folder.is_dir():
        raise InputError(f"report folder {str(folder)!r}: does not exist; `tablut report --out DIR` makes one")
    files = []
    with progress("rendering") as display:
        task = display.add_task("", total=len(GENERATORS))
        # All data are read, and all pages prepared, before the first file is written.
        prepared = {name: generate() for name, generate in GENERATORS.items()}
        for name, artefacts in prepared.items():
            for artefact in artefacts:
                changed = artefact.differs(_existing(folder, artefact))
                if changed and not check:
                    write(folder, artefact)
                files.append(_File(name=name, path=str(folder / artefact.path), changed=changed))
            display.advance(task)
    stale = check and any(file.changed for file in files)
    return Reply(
        _Rendered(reports=files), lambda console: _show(console, files, check=check), exit_code=EXIT_NO if stale else 0
    )


def _existing(folder: Path, artefact: Artefact) -> bytes | None:
    target = folder / artefact.path
    return target.read_bytes() if target.is_file() else None


def _show(console: PeopleConsole, files: list[_File], *, check: bool) -> None:
    words = ("stale", "up to date") if check else ("written", "unchanged")
    for file in files:
        style = "bold red" if file.changed and check else "bold" if file.changed else "dim"
        word = words[0] if file.changed else words[1]
        console.print(Text.assemble((f"{word:>10}", style), f"  {file.path}"), soft_wrap=True)
    if check and any(file.changed for file in files):
        console.print("Run `tablut report` to rebuild what is stale.")
