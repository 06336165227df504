"""``tablut tablebase walk``: the positions near one with the values of all moves, for programs that show them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from retrograde.tablebase.walking import WalkNode
from tablut.cli.options import PositionOption, StoreArgument, read_position
from tablut.cli.people import Table, label, number
from tablut.cli.runtime import Reply, command, interruptible, progress
from tablut.position import Position
from tablut.results import Result

if TYPE_CHECKING:
    from tablut.cli.people import PeopleConsole


class TableWalk(Result):
    """What ``tablut tablebase walk`` answers: positions by number, the first one being 0."""

    variant: str
    store: str
    plies: int
    nodes: list[WalkNode]


@command
def walk_command(
    store: StoreArgument,
    position: PositionOption = None,
    plies: Annotated[int, typer.Option("--plies", min=0, max=20, help="How far all moves are followed.")] = 1,
    most: Annotated[int, typer.Option("--most", min=1, max=10**6, help="Most positions.")] = 20_000,
) -> Reply:
    """Walk from a position through a tablebase: all moves with their values near it, best play from there on."""
    from retrograde.tablebase.probing import open_tablebase
    from retrograde.tablebase.walking import walk

    tablebase = open_tablebase(store)
    rules = tablebase.variant
    asked = read_position(position, rules) or Position.parse(rules.start_position, rules.size)
    with progress("walk") as display:
        task = display.add_task("", total=None)
        nodes = interruptible(partial(walk, tablebase, asked, plies, most, lambda: display.advance(task)))
    found = TableWalk(variant=rules.name, store=store, plies=plies, nodes=nodes)
    return Reply(found, lambda console: _show(console, found))


def _show(console: PeopleConsole, found: TableWalk) -> None:
    first = found.nodes[0]
    console.print(Text.assemble((found.variant, "bold"), f"  {first.position}"), soft_wrap=True)
    table = Table(label("move"), label("value"), number("plies"), label("leads to"))
    for one in first.moves:
        to = "" if one.to is None else found.nodes[one.to].position
        table.add(one.move, one.wdl, "" if one.dtm is None else str(one.dtm), to)
    console.print(table)
    console.print(f"{len(found.nodes):,} positions; --json has them all", style="dim")
