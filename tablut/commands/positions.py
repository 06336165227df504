"""The commands about positions: ``tablut position`` (show, status, rank, unrank), ``moves`` and ``apply``."""

from __future__ import annotations

from pathlib import Path

from rich.text import Text

from tablut.board import Board
from tablut.cli.command import Group, command
from tablut.cli.options import BoardRequest, DrawnBoardRequest, PicturesRequest, RulesRequest
from tablut.cli.people import PeopleConsole, legend
from tablut.cli.requests import Argument, Option
from tablut.cli.runtime import Reply
from tablut.errors import InputError
from tablut.indexing import PlacementIndex
from tablut.position import Position, Side
from tablut.results import (
    ExactInt,
    MoveResult,
    MovesResult,
    OutcomeResult,
    Result,
    ending,
    moves_result,
    outcome_result,
    push_result,
)
from tablut.status import MEANINGS
from tablut.variants import Variant
from tablut.work.files import excerpt
from tablut.work.progress import plural

app = Group(help="Draw a position, find why it is impossible, or find its number.")


class _Position(Result):
    variant: str
    position: str


class _Status(_Position):
    status: list[str]
    meanings: dict[str, str]


class _Drawn(_Position):
    grid: list[str]
    turn: str
    status: list[str]
    outcome: OutcomeResult | None
    svg: str | None
    png: str | None


class TierRank(Result):
    """Rank of a placement within its tier, the tier's size, and the number of placements in earlier tiers."""

    attackers: int
    defenders: int
    rank: ExactInt
    size: ExactInt
    offset: ExactInt


class _Ranked(_Position):
    rank: ExactInt
    size: ExactInt
    tier: TierRank


class _Applied(MovesResult):
    status: list[str]


def _draw(console: PeopleConsole, variant: Variant, position: Position) -> None:
    console.board(variant, position.rows())


def _name(console: PeopleConsole, result: _Position | MovesResult) -> None:
    console.print(f"{result.variant}  {result.position}", soft_wrap=True)


class ShowPositionRequest(DrawnBoardRequest, PicturesRequest):
    """The request of ``tablut position show``."""

    svg: Path | None = Option(None, "File for an SVG drawing of the position.")


@app.command("show")
def show_command(request: ShowPositionRequest) -> Reply:
    """Draw a position, and show the side to move or how the game has ended."""
    board = request.board
    if request.draws:
        from tablut.svg import board as draw_svg

        request.write_drawing(draw_svg(board.variant, board.position))
    status = board.status()
    drawn = _Drawn(
        variant=board.variant.name,
        position=str(board.position),
        grid=list(board.position.rows()),
        turn=board.turn,
        status=status.names,
        # An impossible position has no outcome.
        outcome=None if status else outcome_result(board.outcome()),
        **request.picture_names,
    )
    return Reply(drawn, lambda console: _show(console, board, drawn))


def _show(console: PeopleConsole, board: Board, shown: _Drawn) -> None:
    _draw(console, board.variant, board.position)
    console.print(legend(board.variant))
    _name(console, shown)
    if shown.status:
        console.print("impossible: " + "; ".join(_meanings(board).values()))
    else:
        console.print(ending(shown.outcome) or f"{shown.turn} to move")
    for file in filter(None, (shown.svg, shown.png)):
        console.print(f"drawn to {file}", style="dim", soft_wrap=True)


@command(table=True)
def moves_command(request: BoardRequest) -> Reply:
    """List the legal moves, the pieces that they capture, and the outcome if they end the game."""
    result = moves_result(request.board)
    return Reply(result, lambda console: _show_moves(console, result), table=(MoveResult, result.moves))


def _show_moves(console: PeopleConsole, result: MovesResult) -> None:
    _name(console, result)
    console.print(ending(result.outcome) or f"{result.turn} to move")
    quiet = [told.move for told in result.moves if not told.captures and not told.outcome]
    for told in result.moves:
        if told.captures or told.outcome:
            captures = "".join(f"x{square}" for square in told.captures)
            console.print(Text.assemble((told.move + captures, "bold"), "  ", ending(told.outcome)))
    console.print(" ".join(quiet))
    console.print(f"{plural(len(result.moves), 'move')}", style="dim")


class ApplyRequest(BoardRequest):
    """The request of ``tablut apply``."""

    moves: tuple[str, ...] = Argument("MOVES...", "Moves, such as e4-e7, e4e7 or e4-e7xe8, in any notation.")


@command()
def apply_command(request: ApplyRequest) -> Reply:
    """Make moves from a position, and show the resulting position."""
    board = request.board
    told = [push_result(board, text) for text in request.moves]
    applied = _Applied(
        variant=board.variant.name,
        position=str(board.position),
        turn=board.turn,
        moves=told,
        outcome=outcome_result(board.outcome()),
        status=board.status().names,
    )

    def _show_applied(console: PeopleConsole) -> None:
        _draw(console, board.variant, board.position)
        _name(console, applied)
        console.print(" ".join(step.move + "".join(f"x{square}" for square in step.captures) for step in told))
        console.print(ending(applied.outcome) or f"{applied.turn} to move")

    return Reply(applied, _show_applied)


@app.command("status")
def status_command(request: DrawnBoardRequest) -> Reply:
    """List all reasons why a position is impossible under the rules."""
    board = request.board
    result = _Status(
        variant=board.variant.name,
        position=str(board.position),
        status=board.status().names,
        meanings=_meanings(board),
    )

    def _show_status(console: PeopleConsole) -> None:
        _name(console, result)
        for name, meaning in result.meanings.items():
            console.print(Text.assemble((name, "bold"), "  ", meaning))
        if not result.status:
            console.print("nothing shows that this position is impossible")

    return Reply(result, _show_status)


def _meanings(board: Board) -> dict[str, str]:
    status = board.status()
    return {flag.name: meaning for flag, meaning in MEANINGS.items() if flag in status and flag.name}


# -- integers and undecided placements -----------------------------------------------------


@app.command("rank")
def rank_command(request: BoardRequest) -> Reply:
    """Find the number (rank) of a placement among all undecided placements.

    The ranks are 0, 1, 2, … without gaps; unrank is the inverse.
    """
    return _ranked(request.board)


class UnrankRequest(RulesRequest):
    """The request of ``tablut position unrank``."""

    rank: str = Argument("N", "Rank of the placement, from 0 to the number of placements minus 1.")
    side: Side | None = Option(None, "Side to move. [default: the side that moves first]")


@app.command("unrank")
def unrank_command(request: UnrankRequest) -> Reply:
    """Find the undecided placement with a given number; the inverse of rank."""
    rules, rank = request.rules, request.rank
    if not (rank.isascii() and rank.isdecimal()):
        raise InputError("expected a decimal number", subject=f"rank {excerpt(rank)}")
    # A number of 100 digits exceeds every rank, and Python refuses to convert a text of thousands of digits.
    number = int(rank) if len(rank) < 100 else 10**100
    first: Side = "w" if rules.rules.first == "white" else "b"
    return _ranked(Board(rules, PlacementIndex(rules).unrank(number, request.side or first)))


def _ranked(board: Board) -> Reply:
    variant, position = board.variant, board.position
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
        _draw(console, variant, position)
        _name(console, result)
        told = Text.assemble("rank ", (str(result.rank), "bold"), f" of {result.size} undecided placements")
        console.print(told, soft_wrap=True)
        console.print(f"rank {within} of {tier.size} in tier {tier.attackers}v{tier.defenders}", soft_wrap=True)

    return Reply(result, show)
