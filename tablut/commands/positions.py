"""Commands about a single position: ``tablut show``, ``moves``, ``apply``, ``status``, ``rank``, ``unrank``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from tablut.answers import (
    MoveResult,
    MovesResult,
    OutcomeResult,
    ending,
    moves_result,
    outcome_result,
    push_result,
)
from tablut.board import Board
from tablut.cli.options import PositionOption, VariantOption, read_position
from tablut.cli.people import PeopleConsole, draw_board, legend
from tablut.cli.runtime import Reply, command, tabular
from tablut.errors import InputError
from tablut.indexing import PlacementIndex
from tablut.position import Position
from tablut.results import ExactInt, Result
from tablut.status import MEANINGS
from tablut.variants import Variant, load_variant
from tablut.work.files import excerpt, write_text
from tablut.work.progress import plural


class _Shown(Result):
    variant: str
    position: str
    grid: list[str]
    turn: str
    status: list[str]
    outcome: OutcomeResult | None
    svg: str | None


class _Applied(MovesResult):
    status: list[str]


class _Status(Result):
    variant: str
    position: str
    status: list[str]
    meanings: dict[str, str]


def _board(variant: str, position: str | None, *, judged: bool = True) -> Board:
    return Board(variant, read_position(position, variant, judged=judged))


@command
def show_command(
    variant: VariantOption = "ashton",
    position: PositionOption = None,
    svg: Annotated[Path | None, typer.Option(help="File for an SVG drawing of the position.")] = None,
) -> Reply:
    """Draw a position, with the side to move or the way in which the game has ended."""
    board = _board(variant, position, judged=False)
    if svg is not None:
        from tablut.svg import board as draw_svg

        write_text(svg, draw_svg(board.variant, board.position))
    status = board.status()
    shown = _Shown(
        variant=board.variant.name,
        position=str(board.position),
        grid=list(board.position.rows()),
        turn=board.turn,
        status=status.names,
        # An impossible position has no outcome.
        outcome=None if status else outcome_result(board.outcome()),
        svg=None if svg is None else str(svg),
    )
    return Reply(shown, lambda console: _show(console, board, shown))


def _show(console: PeopleConsole, board: Board, shown: _Shown) -> None:
    console.print(draw_board(board.variant, board.position.rows()))
    console.print(legend(board.variant))
    console.print(f"{shown.variant}  {shown.position}", soft_wrap=True)
    if shown.status:
        console.print("impossible: " + "; ".join(_meanings(board).values()))
    else:
        console.print(ending(shown.outcome) or f"{shown.turn} to move")
    if shown.svg:
        console.print(f"drawn to {shown.svg}", style="dim", soft_wrap=True)


@tabular
def moves_command(variant: VariantOption = "ashton", position: PositionOption = None) -> Reply:
    """List the legal moves, with their captures and the ends of the game that they bring about."""
    result = moves_result(_board(variant, position))
    return Reply(result, lambda console: _show_moves(console, result), table=(MoveResult, result.moves))


def _show_moves(console: PeopleConsole, result: MovesResult) -> None:
    console.print(
        f"{result.variant}  {result.position}\n{ending(result.outcome) or f'{result.turn} to move'}", soft_wrap=True
    )
    quiet = [told.move for told in result.moves if not told.captures and not told.outcome]
    for told in result.moves:
        if told.captures or told.outcome:
            captures = "".join(f"x{square}" for square in told.captures)
            console.print(Text.assemble((told.move + captures, "bold"), "  ", ending(told.outcome)))
    console.print(" ".join(quiet))
    console.print(f"{plural(len(result.moves), 'move')}", style="dim")


@command
def apply_command(
    moves: Annotated[
        list[str],
        typer.Argument(
            metavar="MOVES", help="Moves such as e4-e7, e4e7 or e4-e7xe8, or in another program's notation."
        ),
    ],
    variant: VariantOption = "ashton",
    position: PositionOption = None,
) -> Reply:
    """Make moves from a position, and show the position after them."""
    board = _board(variant, position)
    told = [push_result(board, text) for text in moves]
    applied = _Applied(
        variant=board.variant.name,
        position=str(board.position),
        turn=board.turn,
        moves=told,
        outcome=outcome_result(board.outcome()),
        status=board.status().names,
    )

    def _show_applied(console: PeopleConsole) -> None:
        console.print(draw_board(board.variant, board.position.rows()))
        console.print(f"{applied.variant}  {applied.position}", soft_wrap=True)
        console.print(" ".join(step.move + "".join(f"x{square}" for square in step.captures) for step in told))
        console.print(ending(applied.outcome) or f"{applied.turn} to move")

    return Reply(applied, _show_applied)


@command
def status_command(variant: VariantOption = "ashton", position: PositionOption = None) -> Reply:
    """List all reasons why a position is impossible under the rules."""
    board = _board(variant, position, judged=False)
    result = _Status(
        variant=board.variant.name,
        position=str(board.position),
        status=board.status().names,
        meanings=_meanings(board),
    )

    def _show_status(console: PeopleConsole) -> None:
        console.print(f"{result.variant}  {result.position}", soft_wrap=True)
        for name, meaning in result.meanings.items():
            console.print(Text.assemble((name, "bold"), "  ", meaning))
        if not result.status:
            console.print("no reason found why this position would be impossible")

    return Reply(result, _show_status)


def _meanings(board: Board) -> dict[str, str]:
    status = board.status()
    return {flag.name: meaning for flag, meaning in MEANINGS.items() if flag in status and flag.name}


# -- ``tablut rank`` and ``unrank``: integers and undecided placements -------------------


class TierRank(Result):
    """Rank of a placement within its tier, with the size of the tier and the offset of its ranks."""

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
    """Find the number (rank) of a placement among all undecided placements.

    The ranks are 0, 1, 2, … without gaps; unrank is the inverse.
    """
    rules = load_variant(variant)
    return _reply(rules, Board(rules, read_position(position, rules)).position)


@command
def unrank_command(
    rank: Annotated[
        str, typer.Argument(metavar="N", help="Rank of the placement, from 0 to the number of placements minus 1.")
    ],
    variant: VariantOption = "ashton",
    side: Annotated[
        str | None, typer.Option(metavar="w|b", help="Side to move. [default: the side that moves first]")
    ] = None,
) -> Reply:
    """Find the undecided placement with a given number; the inverse of rank."""
    rules = load_variant(variant)
    if side not in (None, "w", "b"):
        raise InputError("expected w or b", subject=f"side {excerpt(side or '')}")
    if not (rank.isascii() and rank.isdecimal()):
        raise InputError("expected a decimal number", subject=f"rank {excerpt(rank)}")
    # A number of 100 digits exceeds every rank, and Python refuses to convert a text of thousands of digits.
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
        told = Text.assemble("rank ", (str(result.rank), "bold"), f" of {result.size} undecided placements")
        console.print(told, soft_wrap=True)
        console.print(f"rank {within} of {tier.size} in tier {tier.attackers}v{tier.defenders}", soft_wrap=True)

    return Reply(result, show)
