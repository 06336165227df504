"""Rendering of a study's pages: files that have changed are written, or only compared with the stored ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reports.rendering import write
from tablut.cli.requests import Option, Request
from tablut.cli.runtime import EXIT_NO, Reply
from tablut.results import Result

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from reports.rendering import Artefact


class PageRequest(Request):
    """The request to render the pages of a study."""

    check: bool = Option(False, "Only compare; exit code 1 if a file is stale.")


class _Page(Result):
    stale: list[str]


def rendered(folder: Path, artefacts: Iterable[Artefact], check: bool) -> Reply:
    """Write those files of a study that differ from the files on disk. With ``check``, only list them."""
    stale = []
    for artefact in artefacts:
        path = folder / artefact.path
        if artefact.differs(path.read_bytes() if path.exists() else None):
            stale.append(artefact.path)
            if not check:
                write(folder, artefact)
    lines = "\n".join(f"{'stale' if check else 'written'}: {path}" for path in stale) or "up to date"
    return Reply(_Page(stale=stale), lambda console: console.print(lines), EXIT_NO if check and stale else 0)
