"""``tablut report``: rebuild the rendered pages or the whole site, or check that they are up to date."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from reports.catalogue import GENERATORS, default_folder
from reports.rendering import Artefact, write
from tablut.cli.command import command
from tablut.cli.options import check_folder
from tablut.cli.requests import Option, Request
from tablut.cli.runtime import EXIT_NO, Reply, progress
from tablut.errors import InputError
from tablut.results import Result
from tablut.work.files import store_path
from tablut.work.ledger import Kind, refuse_foreign
from tablut.work.progress import plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tablut.cli.people import PeopleConsole


class _File(Result):
    name: str
    path: str
    changed: bool


class _Rendered(Result):
    reports: list[_File]


class _Page(Result):
    path: str
    changed: bool


class _Site(Result):
    folder: str
    start: str
    files: int
    pages: list[_Page]


class ReportRequest(Request):
    """The request of ``tablut report``."""

    out: str | None = Option(None, "Output folder. [default: reports/rendered, or ./tablut-report]", metavar="DIR")
    site: str | None = Option(
        None, "Build the whole site as HTML in this folder instead (needs the extra `docs`).", metavar="DIR"
    )
    check: bool = Option(False, "Only compare; exit code 1 if a file is out of date.")


@command()
def report_command(request: ReportRequest) -> Reply:
    """Rebuild all tables, figures and pages of the report from computed numbers, or check that they are up to date."""
    out, site, check = request.out, request.site, request.check
    if site is not None:
        if out is not None:
            raise InputError("cannot be combined", subject="--out and --site", remedy="give only one of them")
        return _site_reply(store_path(site), check=check)
    folder = store_path(out) if out is not None else default_folder()
    check_folder(folder, "--out")
    if check and not folder.is_dir():
        raise InputError(
            "does not exist", subject=f"report folder {str(folder)!r}", remedy="make it with `tablut report --out DIR`"
        )
    if not check:
        # A page's name, such as census.md, does not identify a report: it may also be that of a user's own file.
        refuse_foreign(folder, Kind("report", "data/bounds.json"))
    files = []
    with progress("rendering") as observer:
        observer.begin("pages", len(GENERATORS))
        # All pages are prepared before the first file is written, so an error leaves the folder unchanged.
        prepared = {name: generate() for name, generate in GENERATORS.items()}
        for name, artefacts in prepared.items():
            for artefact in artefacts:
                changed = artefact.differs(_existing(folder, artefact))
                if changed and not check:
                    write(folder, artefact)
                files.append(_File(name=name, path=str(folder / artefact.path), changed=changed))
            observer.advance()
    stale = check and any(file.changed for file in files)

    def show(console: PeopleConsole) -> None:
        _show_files(console, files, check=check)
        if stale:
            console.print("Run `tablut report` to rebuild the stale files.")

    return Reply(_Rendered(reports=files), show, exit_code=EXIT_NO if stale else 0)


def _site_reply(folder: Path, *, check: bool) -> Reply:
    from reports.site.site_builder import build_site

    with progress("building"):
        files = build_site(folder, check=check)
    changed = [path for path, differs in files.items() if differs]
    pages = [_Page(path=path, changed=differs) for path, differs in files.items() if path.endswith(".html")]
    found = _Site(folder=str(folder), start=str(folder / "index.html"), files=len(files), pages=pages)

    def show(console: PeopleConsole) -> None:
        _show_files(console, [one for one in pages if one.changed], check=check)
        word = "stale" if check else "written"
        console.print(f"{plural(found.files, 'file')}, including {plural(len(pages), 'page')}; {len(changed)} {word}")
        if not check:
            console.print(f"open {found.start}", soft_wrap=True)

    return Reply(found, show, exit_code=EXIT_NO if check and changed else 0)


def _existing(folder: Path, artefact: Artefact) -> bytes | None:
    target = folder / artefact.path
    return target.read_bytes() if target.is_file() else None


def _show_files(console: PeopleConsole, files: Sequence[_File | _Page], *, check: bool) -> None:
    words = ("stale", "up to date") if check else ("written", "unchanged")
    for file in files:
        style = "bold red" if file.changed and check else "bold" if file.changed else "dim"
        word = words[0] if file.changed else words[1]
        console.print(Text.assemble((f"{word:>10}", style), f"  {file.path}"), soft_wrap=True)
