"""``tablut rank`` and ``unrank``: integers and undecided placements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from tablut.board import Board
from tablut.cli.options import PositionOption, VariantOption, read_position
from tablut.cli.people import draw_board
from tablut.cli.runtime import Reply, command
from tablut.errors import InputError
from tablut.indexing import PlacementIndex
from tablut.results import ExactInt, Result
from tablut.store.files import excerpt
from tablut.variants import Variant, load_variant

if TYPE_CHECKING:
    from tablut.cli.people import PeopleConsole
    from tablut.position import Position


class TierRank(Result):
    """The place of a placement within its tier."""

    attackers: int
    defenders: int
    rank: ExactInt
    size: ExactInt
    offset: ExactInt


class _Ranked(Result):
    variant: str
    position: str
    rank: ExactInt
    size: ExactInt
    tier: TierRank


@command
def rank_command(variant: VariantOption = "ashton", position: PositionOption = None) -> Reply:
    """Return the rank of a position's placement among all undecided ones."""
    rules = load_variant(variant)
    return _reply(rules, Board(rules, read_position(position, rules)).position)


@command
def unrank_command(
    rank: Annotated[str, typer.Argument(metavar="N", help="A rank, 0 to the size of the space less 1.")],
    variant: VariantOption = "ashton",
    side: Annotated[
        str | None, typer.Option("--side", metavar="w|b", help="Side to move. [default: the side that moves first]")
    ] = None,
) -> Reply:
    """Return the undecided placement of a rank."""
    rules = load_variant(variant)
    if side not in (None, "w", "b"):
        raise InputError(f"side {excerpt(side or '')}: expected w or b")
    if not (rank.isascii() and rank.isdecimal()):
        raise InputError(f"rank {excerpt(rank)}: expected a decimal number")
    # Longer than any rank: not worth the conversion, which Python refuses for thousands of digits.
    number = int(rank) if len(rank) < 100 else 10**100
    to_move = side or rules.rules.first[0]
    return _reply(rules, PlacementIndex(rules).unrank(number, "w" if to_move == "w" else "b"))


def _reply(variant: Variant, position: Position) -> Reply:
    index = PlacementIndex(variant)
    tier, within = index.rank_in_tier(position)
    result = _Ranked(
        variant=variant.name,
        position=str(position),
        rank=tier.offset + within,
        size=index.size,
        tier=TierRank(
            attackers=tier.attackers, defenders=tier.defenders, rank=within, size=tier.size, offset=tier.offset
        ),
    )

    def show(console: PeopleConsole) -> None:
        console.print(draw_board(variant, position.rows()))
        console.print(f"{result.variant}  {result.position}", soft_wrap=True)
        console.print(Text.assemble("rank ", (str(result.rank), "bold"), f" of {result.size} undecided placements"))
        console.print(f"rank {within} of {tier.size} in tier {tier.attackers}v{tier.defenders}")

    return Reply(result, show)
