"""``tablut bestmove``: one move by a player, with its score and the line it expects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tablut.board import Board
from tablut.cli.options import PositionOption, VariantOption, read_position
from tablut.cli.people import draw_board
from tablut.cli.runtime import Reply, command, interruptible
from tablut.play.options import (
    DepthOption,
    HashOption,
    MovetimeOption,
    NodesOption,
    PlayerOption,
    PlayoutsOption,
    SeedOption,
    SettingsOption,
    TablebaseOption,
    TableMemoryOption,
    ThreadsOption,
)
from tablut.play.players import PlayerOptions, make_player, parse_settings
from tablut.play.players.registry import BestMoveResult, bestmove_result
from tablut.play.search.limits import SearchLimits, said_score
from tablut.running.machine import check_memory
from tablut.variants import load_variant

if TYPE_CHECKING:
    from tablut.cli.people import PeopleConsole

_DEFAULT_MOVETIME = 2.0


@command
def bestmove_command(
    variant: VariantOption = "ashton",
    position: PositionOption = None,
    player: PlayerOption = "alphabeta",
    movetime: MovetimeOption = None,
    nodes: NodesOption = None,
    playouts: PlayoutsOption = None,
    depth: DepthOption = None,
    moves: Annotated[
        list[str] | None,
        typer.Option("--move", "-m", metavar="MOVE", help="A move made since the position; give it once a move."),
    ] = None,
    hash_mib: HashOption = 64,
    tablebase: TablebaseOption = None,
    table_mib: TableMemoryOption = 512,
    threads: ThreadsOption = 1,
    seed: SeedOption = 0,
    option: SettingsOption = None,
) -> Reply:
    """Choose one move, and show the score and the line expected.

    The score is for the side to move, in centi-logits: 100 more mean that the odds of
    winning are e times as high. In brackets are the points that it promises, in per cent.
    A proven end is shown in plies instead.
    """
    check_memory("--hash", hash_mib)
    rules = load_variant(variant)
    board = Board(rules, read_position(position, rules))
    for text in moves or ():
        board.push_text(text)
    limits = SearchLimits(movetime, nodes, depth, playouts)
    if not any(limit is not None for limit in limits):
        limits = SearchLimits(_DEFAULT_MOVETIME)
    limits.checked()
    options = PlayerOptions(seed, hash_mib, tablebase, table_mib, parse_settings(option or ()), threads)
    chooser = make_player(player, rules, options)
    choice = interruptible(lambda: chooser.choose(board, limits))
    result = bestmove_result(board, player, choice)
    return Reply(result, lambda console: _show(console, board, result), seed=seed)


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
