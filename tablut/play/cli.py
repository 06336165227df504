"""``tablut bestmove``: one move by a player, with its score and the line it expects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tablut.board import Board
from tablut.cli.options import PositionOption, VariantOption, read_position
from tablut.cli.people import draw_board
from tablut.cli.runtime import Reply, command, interruptible
from tablut.play.options import Budget, PlayerOption, PlayerSettings
from tablut.play.players import make_player
from tablut.play.players.registry import BestMoveResult, bestmove_result
from tablut.play.search.limits import said_score
from tablut.variants import load_variant

if TYPE_CHECKING:
    from tablut.cli.people import PeopleConsole


@command
def bestmove_command(
    *,
    variant: VariantOption = "ashton",
    position: PositionOption = None,
    player: PlayerOption = "alphabeta",
    budget: Budget,
    moves: Annotated[
        list[str] | None,
        typer.Option("--move", "-m", metavar="MOVE", help="A move made since the position; give it once a move."),
    ] = None,
    settings: PlayerSettings,
) -> Reply:
    """Choose one move, and show the score and the line expected.

    The score is for the side to move, in centi-logits: 100 more mean that the odds of
    winning are e times as high. In brackets are the points that it promises, in per cent.
    A proven end is shown in plies instead.
    """
    options = settings.options()
    rules = load_variant(variant)
    board = Board(rules, read_position(position, rules))
    for text in moves or ():
        board.push_text(text)
    limits = budget.limits()
    chooser = make_player(player, rules, options)
    choice = interruptible(lambda: chooser.choose(board, limits))
    result = bestmove_result(board, player, choice)
    return Reply(result, lambda console: _show(console, board, result), seed=settings.seed)


def _show(console: PeopleConsole, board: Board, result: BestMoveResult) -> None:
    console.print(draw_board(board.variant, board.position.rows()))
    console.print(f"{board.turn} to move, {result.variant}, {result.player}", style="dim")
    console.print(f"move   {result.move}", style="bold")
    if said := said_score(result.score, result.mate):
        console.print(f"score  {said}")
    if result.depth:
        hits = f", {result.tbhits:,} of a tablebase" if result.tbhits else ""
        played = f", {result.playouts:,} playouts" if result.playouts else ""
        console.print(f"depth  {result.depth}, {result.nodes:,} nodes{hits}{played}")
    if len(result.pv) > 1:
        console.print(f"line   {' '.join(result.pv)}")
