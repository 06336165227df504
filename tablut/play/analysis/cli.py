"""An analysed game as an annotated record and as a strip of pictures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tablut import svg
from tablut.cli.options import read_bytes, variant_option, warn
from tablut.cli.people import Table, label, number, prose
from tablut.cli.runtime import Reply, command, interruptible, progress
from tablut.errors import InputError
from tablut.play.analysis.game import Analyst, analyse
from tablut.play.options import DepthOption, HashOption, NodesOption, TablebaseOption
from tablut.play.search.limits import SearchLimits, said_score
from tablut.position import Move, Position
from tablut.records import read_record, write_record
from tablut.records.game import RECORD_BYTES
from tablut.running.machine import check_memory
from tablut.store.files import check_output, excerpt, write_text
from tablut.strip import draw_sheet
from tablut.variants import as_variant

if TYPE_CHECKING:
    from tablut.cli.people import PeopleConsole
    from tablut.play.analysis.game import AnalysedPly, GameAnalysis, SideReport
    from tablut.records import GameRecord
    from tablut.variants import Variant


def known_before(ply: AnalysedPly) -> str:
    """Return what is known before a move, as people read it."""
    if ply.wdl in ("win", "loss"):
        return ply.wdl if ply.dtm is None else f"{ply.wdl} in {ply.dtm}"
    return ply.wdl or said_score(ply.score, None)


def comment(ply: AnalysedPly) -> str:
    """Return what there is to say of a move, in one line."""
    parts = [known_before(ply)]
    if ply.missed_win:
        parts.append("misses a win")
    if ply.grade:
        parts.append(f"{ply.grade}, {100 * ply.loss:.0f} points of 100 lost")
    if (ply.grade or ply.missed_win) and ply.best:
        parts.append("better " + " or ".join(ply.best[:3]))
    return "; ".join(parts)


def annotated(record: GameRecord, analysis: GameAnalysis) -> str:
    """Return the record of a game with a comment after each move."""
    plain = write_record(record)
    head, _, _ = plain.partition("\n1. ")
    lines = [head]
    for ply in analysis.plies:
        number = f"{(ply.ply + 1) // 2}." if ply.ply % 2 else f"{ply.ply // 2}…"
        lines.append(f"{number if ply.ply % 2 else ''} {ply.move} {{{comment(ply)}}}".strip())
    # Moves that the rules do not allow were not analysed; they stay in the record.
    rest = [str(move) for move in record.moves[len(analysis.plies) :]]
    return "\n".join([*lines, *rest, record.result or "*"]) + "\n"


def draw_errors(variant: Variant, analysis: GameAnalysis, *, columns: int = 3, pixels: int = 260) -> str | None:
    """Return pictures of the positions in which a move was graded: what was played, and what was better."""
    shown = [ply for ply in analysis.plies if ply.grade or ply.missed_win]
    if not shown:
        return None
    boards = []
    for ply in shown:
        played = Move.parse(ply.move, variant.size)
        better = [Move.parse(text, variant.size) for text in ply.best[:1]]
        boards.append(
            svg.board(
                variant,
                Position.parse(ply.position, variant.size),
                last_move=played,
                arrows=better,
                caption=f"{ply.ply}. {ply.side} {ply.move}: {ply.grade or 'misses a win'}",
                pixels=pixels,
            )
        )
    return draw_sheet(boards, columns, pixels)


# -- ``tablut analyse``: a game record, every ply searched, probed and, where possible, proved ---


@command
def analyse_command(
    record: Annotated[str, typer.Argument(metavar="RECORD", help="A game record or a log; - for standard input.")],
    variant: Annotated[str | None, variant_option("The rule set. [default: the one the record names]")] = None,
    movetime: Annotated[
        float | None,
        typer.Option("--movetime", metavar="SECONDS", help="Time for each ply; 0.5 if nothing else limits it."),
    ] = None,
    nodes: NodesOption = None,
    depth: DepthOption = None,
    proof_nodes: Annotated[
        int, typer.Option("--proof-nodes", min=0, help="Moves of the proof search for each ply; 0 for none.")
    ] = 100_000,
    tablebase: TablebaseOption = None,
    hash_mib: HashOption = 64,
    annotate: Annotated[
        str | None, typer.Option("--annotate", metavar="FILE", help="Write the record with a comment after each move.")
    ] = None,
    picture: Annotated[
        str | None, typer.Option("--svg", metavar="FILE", help="Draw the positions in which a move was an error.")
    ] = None,
) -> Reply:
    """Analyse a game: what each move cost, wins that were missed, the losing move, accuracy.

    Scores are for the side to move, in centi-logits, with the points that they promise in per cent. Wins and
    losses are known where a tablebase, the proof search or the search itself proves them. Accuracy is the mean
    share of expected points that moves kept.
    """
    check_memory("--hash", hash_mib)
    for written in (annotate, picture):
        if written is not None:
            check_output(Path(written))
    game = read_record(read_bytes(record, "record", RECORD_BYTES), variant, origin=record)
    if game.variant is None:
        raise InputError(f"record {excerpt(record)}: names no rule set; give one with --variant")
    rules = as_variant(game.variant)
    if movetime is None and nodes is None and depth is None:
        movetime = 0.5
    analyst = Analyst(
        rules,
        SearchLimits(movetime, nodes, depth),
        proof_nodes=proof_nodes,
        tablebase=tablebase,
        hash_mib=hash_mib,
    )
    with progress("analyse") as display:
        task = display.add_task("plies", total=len(game.moves) + 1)
        found = interruptible(lambda: analyse(game, analyst, lambda _number: display.update(task, advance=1)))
    for problem in found.problems:
        warn(f"record: {problem}")
    if annotate is not None:
        write_text(Path(annotate), annotated(game, found))
    if picture is not None:
        drawing = draw_errors(rules, found)
        if drawing is None:
            warn(f"--svg {picture}: no move was an error, so nothing was drawn")
        else:
            write_text(Path(picture), drawing)
    return Reply(found, lambda console: _show(console, found))


def _show(console: PeopleConsole, found: GameAnalysis) -> None:
    names = " against ".join(f"{found.players[side] or 'somebody'} ({side})" for side in ("white", "black"))
    console.print(f"{names}, {found.variant}", style="bold")
    table = Table(number("ply"), label("side"), label("move"), label("before it"), label("by"), number("lost"), prose())
    for ply in found.plies:
        graded = "; ".join(filter(None, [ply.grade, "misses a win" if ply.missed_win else ""]))
        better = f" (better {' or '.join(ply.best[:3])})" if graded and ply.best else ""
        style = {"blunder": "bold red", "mistake": "red", "inaccuracy": "yellow"}.get(ply.grade, "")
        lost = f"{100 * ply.loss:.0f} %" if ply.loss >= 0.005 else ""
        known = known_before(ply).replace(" centi-logits", "")
        table.add(str(ply.ply), ply.side, ply.move, known, ply.source, lost, graded + better, style=style)
    console.print(table)
    console.print("before it: for the side to move, in centi-logits (and the points that they promise)", style="dim")
    for side, report in (("white", found.white), ("black", found.black)):
        console.print(f"{side}  {_told(report)}")
    if (error := found.first_decisive_error) is not None:
        sure = "before it the game was not lost" if error.certain else "as far as the estimates tell"
        console.print(f"the losing move: ply {error.ply}, {error.side} {error.move} ({sure})")
    console.print(f"the game: {found.outcome or 'its moves do not end it'}")


def _told(report: SideReport) -> str:
    if report.accuracy is None:
        return "no move"
    errors = (
        (report.blunders, "blunder", "blunders"),
        (report.mistakes, "mistake", "mistakes"),
        (report.inaccuracies, "inaccuracy", "inaccuracies"),
        (report.missed_wins, "missed win", "missed wins"),
    )
    told = [f"{count} {one if count == 1 else many}" for count, one, many in errors if count]
    return f"accuracy {report.accuracy:.1f} %; {', '.join(told) or 'no errors'}"
