"""An analysed game as an annotated record and as a strip of pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tablut import svg
from tablut.formats import write_record
from tablut.position import Move, Position
from tablut.strip import draw_sheet

if TYPE_CHECKING:
    from tablut.formats import GameRecord
    from tablut.play.analysis.game import AnalysedPly, GameAnalysis
    from tablut.variants import Variant

__all__ = ["annotated", "comment", "draw_errors", "said_score"]


def said_score(ply: AnalysedPly) -> str:
    """Return what is known before a move, as people read it.

    Parameters
    ----------
    ply : AnalysedPly
        The move.

    Returns
    -------
    str
        Such as ``win in 3``, ``draw`` or ``+120``; for the side that moved.
    """
    if ply.wdl in ("win", "loss"):
        return ply.wdl if ply.dtm is None else f"{ply.wdl} in {ply.dtm}"
    return ply.wdl or f"{ply.score:+d}"


def comment(ply: AnalysedPly) -> str:
    """Return what there is to say of a move, in one line.

    Parameters
    ----------
    ply : AnalysedPly
        The move.

    Returns
    -------
    str
        What was known before it; for an error its grade and the better moves.
    """
    parts = [said_score(ply)]
    if ply.missed_win:
        parts.append("misses a win")
    if ply.grade:
        parts.append(f"{ply.grade}, {100 * ply.loss:.0f} points of 100 lost")
    if (ply.grade or ply.missed_win) and ply.best:
        parts.append("better " + " or ".join(ply.best[:3]))
    return "; ".join(parts)


def annotated(record: GameRecord, analysis: GameAnalysis) -> str:
    """Return the record of a game with a comment after each move.

    Parameters
    ----------
    record : GameRecord
        The game.
    analysis : GameAnalysis
        Of this game.

    Returns
    -------
    str
        In our own format, whose reader leaves the comments out.
    """
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
    """Return pictures of the positions in which a move was graded: what was played, and what was better.

    Parameters
    ----------
    variant : Variant
        The rule set.
    analysis : GameAnalysis
        Of a game under it.
    columns : int
        Boards a row.
    pixels : int
        Width of a board.

    Returns
    -------
    str or None
        An SVG document; None if no move was graded.
    """
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
