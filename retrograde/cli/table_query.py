"""``tablut tablebase query``: positions of a tablebase by value, distance, material and zugzwang."""

from __future__ import annotations

import csv
import io
from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tablut.cli.options import StoreArgument, material_option, read_materials
from tablut.cli.people import Table, label, number
from tablut.cli.runtime import Reply, command, interruptible, progress
from tablut.errors import InputError
from tablut.results import Result

if TYPE_CHECKING:
    from retrograde.tablebase.querying import TableQuery
    from retrograde.tablebase.store import Store
    from tablut.cli.people import PeopleConsole


class _Position(Result):
    position: str
    wdl: str
    dtm: int | None


class _Found(Result):
    variant: str
    store: str
    found: int
    positions: list[_Position]


@command
def query_command(
    store: StoreArgument,
    wdl: Annotated[
        Literal["win", "draw", "loss", "unresolved"] | None, typer.Option("--wdl", help="Its value, for the mover.")
    ] = None,
    side: Annotated[Literal["white", "black"] | None, typer.Option("--side", help="Who is to move.")] = None,
    shortest: Annotated[int | None, typer.Option("--min-plies", min=0, max=20_000, help="Least distance.")] = None,
    longest: Annotated[int | None, typer.Option("--max-plies", min=0, max=20_000, help="Largest distance.")] = None,
    material: Annotated[
        list[str] | None, material_option("Attackers and defenders, such as 2v1; may be repeated.")
    ] = None,
    zugzwang: Annotated[
        Literal["full", "half", "any"] | None,
        typer.Option("--zugzwang", help="Either side would rather not be to move: both lose (full), it costs a draw."),
    ] = None,
    order: Annotated[Literal["index", "longest", "shortest"], typer.Option("--order", help="What comes first.")] = (
        "index"
    ),
    most: Annotated[int, typer.Option("--most", "-n", min=0, max=10**6, help="Positions to be listed.")] = 20,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print the list as CSV.")] = False,
) -> Reply:
    """List positions of a tablebase: the longest wins, the draws of some material, mutual zugzwangs.

    One position of each class under the symmetries of the board; all that match are counted.
    """
    from retrograde.tablebase.querying import TableQuery
    from retrograde.tablebase.store import open_store

    if shortest is not None and longest is not None and shortest > longest:
        raise InputError(f"--min-plies {shortest}: is more than --max-plies {longest}")
    materials = read_materials(material)
    files = open_store(store)
    found = _ask(files, TableQuery(wdl, side, shortest, longest, materials, zugzwang, order), most)
    if as_csv:
        table = _csv(found)
        return Reply(found, lambda console: console.out(table, end=""))
    return Reply(found, lambda console: _show(console, found))


def _ask(files: Store, query: TableQuery, most: int) -> _Found:
    from retrograde.tablebase.querying import list_positions

    with progress("query") as display:
        task = display.add_task("", total=None)
        listing = interruptible(
            partial(list_positions, files, query, most, lambda entries: display.advance(task, entries))
        )
    return _Found(
        variant=files.variant.name,
        store=str(files.root),
        found=listing.found,
        positions=[_Position(position=str(one.position), wdl=one.wdl, dtm=one.dtm) for one in listing.positions],
    )


def _csv(found: _Found) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_Position.model_fields)
    for one in found.positions:
        writer.writerow(["" if value is None else value for value in one.model_dump().values()])
    return text.getvalue()


def _show(console: PeopleConsole, found: _Found) -> None:
    if found.positions:
        table = Table(label("value"), number("plies"), label("position"))
        for one in found.positions:
            table.add(one.wdl, "" if one.dtm is None else str(one.dtm), one.position)
        console.print(table)
    more = found.found - len(found.positions)
    console.print(f"{found.variant}: {found.found:,} positions up to symmetry", style="dim")
    if more:
        console.print(f"and {more:,} more; --most lists them", style="dim")
