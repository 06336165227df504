"""``tablut exclusions``: the minimal locked sets, and how many placements they exclude."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from counting.exclusions.record import count_exclusions, counted_spaces, published_exclusions
from counting.exclusions.sets import locked_sets, orbits_of_sets, symmetries_of
from counting.spaces import spaces
from tablut.cli.options import VariantOption
from tablut.cli.people import Table, label, number
from tablut.cli.runtime import EXIT_NO, Reply, command, interruptible, progress
from tablut.notation import square_name
from tablut.results import ExactInt, Result
from tablut.store.records import write_record
from tablut.variants import load_variant

if TYPE_CHECKING:
    from counting.exclusions.record import ExclusionRecord
    from tablut.cli.people import PeopleConsole
    from tablut.variants import Variant


class _SetOrbit(Result):
    pieces: int
    images: int
    set: list[str]


class _SpaceExclusion(Result):
    id: str
    counted: ExactInt
    excluded: ExactInt
    survive: ExactInt
    classes: ExactInt


class _Exclusions(Result):
    variant: str
    pieces: int
    sets: list[_SetOrbit]
    spaces: list[_SpaceExclusion]
    published: bool | None


@command
def exclusions_command(
    variant: VariantOption = "ashton",
    pieces: Annotated[
        int, typer.Option("--pieces", min=2, max=8, help="Most pieces of a locked set; each more takes far longer.")
    ] = 3,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write the counts, as the package ships them.")
    ] = None,
) -> Reply:
    """Find the minimal locked sets, and count the placements that contain one, as exact integers.

    A locked set never stands on the board, so these placements are out of reach. Where the package ships
    the same count, the two are compared; a difference is exit code 1. With --pieces 3 the full games take
    seconds, with 4 minutes and gigabytes.
    """
    rules = load_variant(variant)
    with progress("exclusions") as display:
        task = display.add_task("locked sets", total=None)

        def observe(name: str, place: int, states: int) -> None:
            display.update(task, description=f"{name}: cell {place + 1}, {states} states")

        record = interruptible(lambda: count_exclusions(rules, pieces, observe))
    if out is not None:
        write_record(out, record)
    family = locked_sets(rules, pieces)
    shipped = published_exclusions(rules.digest)
    same = None if shipped is None or shipped.pieces != pieces else _without_name(shipped) == _without_name(record)
    result = _Exclusions(
        variant=rules.name,
        pieces=pieces,
        sets=[
            _SetOrbit(
                pieces=len(found),
                images=images,
                set=[f"{piece}{square_name(cell, rules.size)}" for cell, piece in sorted(found)],
            )
            for found, images in orbits_of_sets(family, symmetries_of(rules, family))
        ],
        spaces=_spaces(rules, record),
        published=same,
    )
    return Reply(result, lambda console: _show(console, result), EXIT_NO if same is False else 0)


def _without_name(record: ExclusionRecord) -> ExclusionRecord:
    return record.model_copy(update={"variant": ""})


def _spaces(rules: Variant, record: ExclusionRecord) -> list[_SpaceExclusion]:
    found = []
    for id_, (signed, _) in counted_spaces(spaces(rules)).items():
        counted, left = sum(count * space.value() for space, count in signed), record.of(id_)
        found.append(
            _SpaceExclusion(
                id=id_,
                counted=counted,
                excluded=counted - left.placements,
                survive=left.placements,
                classes=left.classes,
            )
        )
    return found


_MEANING = {
    "no_end": "undecided",
    "king_captured": "king captured",
    "king_captured_undecided": "… as undecided",
    "escaped": "king escaped",
}


def _show(console: PeopleConsole, result: _Exclusions) -> None:
    total = sum(orbit.images for orbit in result.sets)
    console.print(
        Text.assemble(
            (f"Minimal locked sets of {result.variant}", "bold"),
            (f"  {total} of at most {result.pieces} pieces, {len(result.sets)} up to symmetry", "dim"),
        )
    )
    table = Table(number("pieces"), number("images"), label("set"))
    for orbit in result.sets:
        table.add(str(orbit.pieces), str(orbit.images), " ".join(orbit.set))
    console.print(table)
    title = Text.assemble("\n", ("Placements with one of them", "bold"), ("  out of reach; every number exact", "dim"))
    console.print(title)
    counts = Table(label("space"), number("counted"), number("excluded"), number("left"), number("up to symmetry"))
    for space in result.spaces:
        counts.add(_MEANING[space.id], str(space.counted), str(space.excluded), str(space.survive), str(space.classes))
    console.print(counts)
    if result.published is not None:
        verdict = "The shipped counts are the same." if result.published else "The shipped counts differ."
        console.print(verdict, style="green" if result.published else "bold red")
