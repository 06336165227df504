"""``tablut variants``: which rule sets ship, and one of them drawn with all its fields."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from tablut.answers import DescribedVariant, ListedVariant, described_variant, listed_variant
from tablut.cli.options import variant_names_from
from tablut.cli.people import Table, draw_board, label, legend, prose, side_by_side
from tablut.cli.runtime import Reply, command
from tablut.results import Result
from tablut.variants import load_variant, shipped_variants

if TYPE_CHECKING:
    from tablut.cli.people import PeopleConsole
    from tablut.variants import Variant


class _Listing(Result):
    variants: list[ListedVariant]


@command
def variants_command(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME|FILE]", help="A shipped rule set, or a TOML file.", autocompletion=variant_names_from
        ),
    ] = None,
) -> Reply:
    """List the rule sets that ship, or draw one with all its rule fields."""
    if name is None:
        listing = _Listing(variants=[listed_variant(variant) for variant in shipped_variants()])
        return Reply(listing, lambda console: _show_listing(console, listing))
    variant = load_variant(name)
    described = described_variant(variant)
    return Reply(described, lambda console: _show_variant(console, variant, described))


def _show_listing(console: PeopleConsole, listing: _Listing) -> None:
    table = Table(
        label("name", style="bold"),
        label("board"),
        label("material"),
        prose("what it is, and where its rules are written"),
    )
    for variant in listing.variants:
        board, material = f"{variant.size}x{variant.size}", f"{variant.attackers}v{variant.defenders}+K"
        told = Text.assemble(variant.title, "\n", (variant.source, "dim"))
        table.add(variant.name, board, material, told)
    console.print(table)
    hint = "`tablut variants NAME` draws one; a TOML file of your own works wherever a name does."
    console.print(f"\n{hint}", style="dim")


def _show_variant(console: PeopleConsole, variant: Variant, described: DescribedVariant) -> None:
    console.print(Text.assemble((variant.name, "bold"), "  ", variant.title, "\n", (variant.source, "dim"), "\n"))
    empty = ("." * variant.size,) * variant.size
    boards = {"terrain": draw_board(variant, empty), "start": draw_board(variant, variant.start)}
    console.print(side_by_side(boards), width=min(console.width, 100))
    console.print(legend(variant))
    console.print(f"\n{described.start}\n", soft_wrap=True)
    table = Table(label("field"), label("value", style="bold"), prose("meaning", style="dim"))
    for name, value in described.fields.items():
        table.add(name, _shown(value), described.meanings[name])
    console.print(table)
    console.print("\ncells", style="bold")
    for region, cells in described.regions.items():
        console.print(Text.assemble((region, "dim"), f" ({len(cells)}) {' '.join(cells)}"))
    console.print(
        Text.assemble(("symmetries", "dim"), f" ({len(described.symmetries)}) {' '.join(described.symmetries)}")
    )


def _shown(value: Any) -> str:
    """Return a field's value as a variant file writes it, "none" for an empty one."""
    match value:
        case bool():
            return str(value).lower()
        case None | []:
            return "none"
        case list():
            return ", ".join(value)
        case _:
            return str(value)
