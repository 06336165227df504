"""``python -m reports.studies.balance``: play the atlas's games, summarise the results, and render the page."""

from __future__ import annotations

import json
import re
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from pydantic import Field

from reports.studies.balance.cells import (
    CHANGED,
    SEED,
    STRENGTHS,
    all_cells,
    changed_cells,
    plan_of,
    reduced_cells,
)
from reports.studies.rendered import PageRequest, rendered
from tablut.cli.command import Group
from tablut.cli.options import check_folder, threads_field
from tablut.cli.requests import Option, Request
from tablut.cli.runtime import Interrupted, Reply, progress, typed
from tablut.cli.shell import main
from tablut.errors import InputError
from tablut.provenance import commit, origin
from tablut.results import Result
from tablut.work.files import FileKind, beginning, store_path, write_text

if TYPE_CHECKING:
    from reports.studies.balance.cells import Cell

app = Group(help="Balance of the tafl games, rule by rule.")
NAME = "python -m reports.studies.balance"
_KINDS: Final = "Only cells whose names match a pattern such as fetlar, 'fetlar+*' or '*+king'."


class _Played(Result):
    games: dict[str, int]


def _chosen(only: str) -> list[Cell]:
    # The reduced boards are only played if they are named: the atlas leaves them out.
    known = all_cells() if only == "*" else [*all_cells(), *reduced_cells()]
    found = [cell for cell in known if fnmatchcase(cell.name, only)]
    if not found:
        raise InputError(
            "matches no cell",
            subject=f"--only {only}",
            remedy=f"use names such as fetlar and {all_cells()[-1].name}",
        )
    return found


class PlayRequest(Request):
    """The parameters of the command."""

    store: str = Option(..., "Folder of the game records.", metavar="DIR")
    only: str = Option("*", _KINDS, metavar="PATTERN")
    nodes: tuple[Annotated[int, Field(ge=1)], ...] = Option((), "Number of nodes per move; may be repeated.")
    games: int = Option(200, "Number of games in each cell.", "--games", "-n", least=2, most=10000)
    seed: int = Option(SEED, "Seed of the openings. The tables of expected points are tested with another one.")
    threads: int = threads_field("Number of parallel games.")


@app.command("play")
def play_command(request: PlayRequest) -> Reply:
    """Play the games that are missing from the store, cell by cell.

    After an interruption, the same command continues the work.
    """
    from tablut.play.arena import play_match

    check_folder(Path(request.store), "--store")
    cells, found = _chosen(request.only), dict[str, int]()

    def _reply() -> Reply:
        result = _Played(games=found)
        return Reply(result, lambda console: console.print(f"{sum(found.values()):,} games in {len(found)} cells"))

    with progress("balance") as observer:
        observer.begin("games", request.games * len(cells) * len(request.nodes or STRENGTHS))
        try:
            for many in request.nodes or STRENGTHS:
                for cell in cells:
                    folder = store_path(request.store) / f"{cell.name}@{many}"
                    plan = plan_of(cell, many, request.games, request.seed)
                    report = play_match(
                        plan, threads=request.threads, folder=folder, watch=lambda _: observer.advance()
                    )
                    found[folder.name] = len(report.played)
        except KeyboardInterrupt:
            raise Interrupted(_reply(), f"the same command; {request.store} contains the games so far") from None
    return _reply()


class GatherRequest(Request):
    """The parameters of the command."""

    store: str = Option(..., "Folder of the game records.", metavar="DIR")
    only: str = Option("*", _KINDS, metavar="PATTERN")
    add: bool = Option(False, "Keep the cells that the output folder already contains and the store does not.")
    out: Path | None = Option(None, "Output folder; by default, the data folder of the study.", metavar="DIR")


@app.command("gather")
def gather_command(request: GatherRequest) -> Reply:
    """Summarise all games in a store, even if some are missing. Every record is replayed first.

    With --add, games of another engine stay in the data if different games replace them, for the page to compare.
    """
    from reports.bench import fingerprint
    from reports.studies.balance.gathering import Atlas, Played, added, csv_text, read_data, row_of, short
    from reports.studies.balance.page import DATA
    from tablut.play.arena import play_match
    from tablut.provenance import Provenance

    rows, played = [], dict[str, dict[int, Played]]()
    for cell in _chosen(request.only):
        for folder in sorted(
            store_path(request.store).glob(f"{cell.name}@*"), key=lambda path: int(path.name.split("@")[1])
        ):
            many = int(folder.name.split("@")[1])
            kept = 0
            while (folder / f"game-{kept:06d}.txt").exists():
                kept += 1
            if kept >= 2:
                plan = plan_of(cell, many, kept)
                report = play_match(plan, folder=folder)
                played.setdefault(cell.name, {})[many] = short(report, plan)
                rows.append(row_of(cell, many, report, played[cell.name][many]))
    if not rows:
        raise InputError("does not contain two games of any cell", subject=f"--store {request.store}")
    left_out = {game: reasons for game in CHANGED if (reasons := changed_cells(game)[1])}
    source = Provenance.model_validate(origin(typed(), {}, SEED, sum(row.seconds for row in rows), commit=commit()))
    atlas = Atlas(provenance=source, signature=fingerprint(), played=played, replaced={}, left_out=left_out)
    folder = request.out or DATA
    if request.add:
        rows, atlas = added(rows, atlas, read_data(folder))
    for name, text in (("csv", csv_text(rows)), ("json", json.dumps(atlas.model_dump(mode="json"), indent=1) + "\n")):
        kind = FileKind("an earlier version of it", beginning(re.escape(text[:12].encode())))
        write_text(folder / f"atlas.{name}", text, kind=kind)
    result = _Played(games={f"{row.cell}@{row.nodes}": row.games for row in rows})
    return Reply(result, lambda console: console.print(f"{len(rows)} cells written to {str(folder)!r}"))


class FitRequest(Request):
    """The parameters of the command."""

    store: str = Option(..., "Folder of the game records.", metavar="DIR")
    seed: tuple[int, ...] = Option((), f"Seed of the openings, if it is not {SEED}; may be repeated.")


@app.command("fit")
def fit_command(request: FitRequest) -> Reply:
    """Fit the tables of expected points to all games in a store, and write them into the package.

    Each rule set needs games at two or more numbers of nodes. The tables of the other rule sets stay as they are.
    """
    from reports.studies.balance.points import fitted, positions_of, stores_of
    from tablut.play.search.expectation import TABLES, shipped_tables
    from tablut.variants import load_variant, variant_names

    found, games = {table.variant: table for table in shipped_tables().values()}, dict[str, int]()
    for variant in map(load_variant, variant_names()):
        if len(folders := stores_of(store_path(request.store), variant.name)) > 1:
            rows = {
                nodes: positions_of(variant, nodes, folder, SEED, *request.seed) for nodes, folder in folders.items()
            }
            found[variant.name] = fitted(variant, rows)
            games[variant.name] = sum(found[variant.name].games)
    tables = ",\n".join(found[name].model_dump_json() for name in sorted(found))
    write_text(Path(str(TABLES)), f'{{"tables": [\n{tables}\n]}}\n')
    return Reply(_Played(games=games), lambda console: console.print(f"{len(games)} tables written"))


class CheckRequest(Request):
    """The parameters of the command."""

    store: str = Option(..., "Folder of the game records.", metavar="DIR")
    seed: int = Option(..., "Seed of the openings of these games.")


@app.command("check")
def check_command(request: CheckRequest) -> Reply:
    """Compare the expected points of positions with the results of games of another seed, and store the comparison."""
    from reports.studies.balance.page import CHECKS
    from reports.studies.balance.points import Checks, checked, positions_of, stores_of
    from tablut.play.search.expectation import shipped_tables
    from tablut.provenance import Provenance
    from tablut.variants import load_variant, variant_names

    found, tables = [], shipped_tables()
    for variant in map(load_variant, variant_names()):
        for nodes, folder in (
            stores_of(store_path(request.store), variant.name).items() if variant.digest in tables else ()
        ):
            rows = positions_of(variant, nodes, folder, request.seed)
            found.append(checked(variant, tables[variant.digest], rows, nodes, request.seed))
    source = Provenance.model_validate(origin(typed(), {}, request.seed, 0, commit=commit()))
    result = Checks(provenance=source, checks=tuple(found))
    write_text(CHECKS, json.dumps(result.model_dump(mode="json"), indent=1) + "\n")
    games = {f"{one.variant}@{one.nodes}": one.games for one in found}
    return Reply(_Played(games=games), lambda console: console.print(f"{len(found)} comparisons stored"))


@app.command("page")
def page_command(request: PageRequest) -> Reply:
    """Render the page and its figure from the stored data."""
    from reports.studies.balance.page import FOLDER, artefacts

    return rendered(FOLDER, artefacts(), request.check)


if __name__ == "__main__":
    main(app, NAME)
