"""Drawings with several boards: a line of play with one board after each move, and sheets of boards in rows."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from xml.sax.saxutils import escape

from tablut import svg
from tablut.board import Board
from tablut.formats.reading import PositionLike, as_move, as_position
from tablut.position import Move, square_name
from tablut.variants import VariantLike, as_variant

__all__ = ["draw_line", "draw_sheet", "draw_strip"]

_GAP = 14


def draw_strip(
    variant: VariantLike,
    position: PositionLike,
    line: Sequence[Move | str],
    *,
    title: str = "",
    columns: int = 4,
    pixels: int = 220,
) -> str:
    """Return an SVG drawing of a line of play: a board with the position, followed by a board after each move."""
    variant = as_variant(variant)
    boards = draw_line(variant, position, line, title=title, pixels=pixels, arrows=True)
    told = " ".join(str(as_move(move, variant.size).move) for move in line)
    about = f"{variant.name}, from {as_position(position, variant)}: {told or 'no move'}"
    return draw_sheet(boards, columns, pixels, about)


def draw_line(
    variant: VariantLike,
    position: PositionLike,
    line: Sequence[Move | str],
    *,
    title: str = "",
    pixels: int = 400,
    arrows: bool = False,
) -> list[str]:
    """Return SVG drawings of a position and of the board after each move of a line.

    With ``arrows``, each board shows the next move as an arrow. Otherwise, each board shows the cells of the captured
    pieces, and all drawings have the same size, as an animation requires.
    """
    variant = as_variant(variant)
    board = Board(variant, position)
    moves = [as_move(move, variant.size).move for move in line]
    boards = []
    for number in range(len(moves) + 1):
        caption = title if arrows else f"{board.turn} to move{title and ': '}{title}"
        captured = frozenset[int]()
        if number:
            move = moves[number - 1]
            mover = board.turn
            board.push(move)
            captured = frozenset(board.captured())
            taken = "".join(f" x{square_name(square, variant.size)}" for square in board.captured())
            ends = board.outcome() if number == len(moves) else None
            caption = f"{number}. {mover} {move}{taken}" + (f": {ends.how}" if ends else "")
        boards.append(
            svg.board(
                variant,
                board.position,
                last_move=moves[number - 1] if number else None,
                arrows=moves[number : number + 1] if arrows else (),
                highlights=() if arrows else captured,
                caption=caption,
                turn=arrows and not number,
                pixels=pixels,
            )
        )
    return boards


def draw_sheet(drawings: Sequence[str], columns: int, pixels: int, title: str = "") -> str:
    """Return one SVG drawing that arranges several drawings of the same width in rows."""
    shared, drawings = _shared(drawings)
    heights = [float(_attribute(drawing, "height")) for drawing in drawings]
    columns = min(columns, len(drawings))
    rows = [list(range(start, min(start + columns, len(drawings)))) for start in range(0, len(drawings), columns)]
    width = columns * pixels + (columns + 1) * _GAP
    parts, top = [], float(_GAP)
    for row in rows:
        for column, number in enumerate(row):
            left = _GAP + column * (pixels + _GAP)
            placed = drawings[number].rstrip().replace("<svg ", f'<svg x="{left}" y="{top:g}" ', 1)
            parts.append(placed)
        top += max(heights[number] for number in row) + _GAP
    header = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{top:g}" viewBox="0 0 {width} {top:g}">'
    if title:
        header += f"<title>{escape(title)}</title>"
    background = f'<rect width="{width}" height="{top:g}" fill="#ffffff"/>'
    return "\n".join([header, *shared, background, *parts, "</svg>\n"])


def _shared(drawings: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return a definition of the cells that the boards share, and the boards with references to this definition."""
    boards = [drawing.split("\n") for drawing in drawings]
    places = [(lines.index(svg.TERRAIN), lines.index("</g>")) for lines in boards if svg.TERRAIN in lines]
    cells = [lines[begin + 1 : end] for lines, (begin, end) in zip(boards, places, strict=False)]
    if len(places) < max(2, len(boards)) or len({len(some) for some in cells}) > 1:
        return [], list(drawings)
    # The most frequent drawing of each cell is shared. A board on which the cell looks different draws its own on top.
    common = [Counter(some).most_common(1)[0][0] for some in zip(*cells, strict=True)]
    name = f"cells-{hashlib.sha256(''.join(common).encode()).hexdigest()[:12]}"
    own = []
    for lines, (begin, end) in zip(boards, places, strict=True):
        others = [cell for cell, usual in zip(lines[begin + 1 : end], common, strict=True) if cell != usual]
        own.append("\n".join([*lines[:begin], f'<use href="#{name}"/>', *others, *lines[end + 1 :]]))
    return ["<defs>", f'<g id="{name}">', *common, "</g>", "</defs>"], own


def _attribute(drawing: str, name: str) -> str:
    found = re.search(rf'\b{name}="([\d.]+)"', drawing)
    assert found is not None, "a drawing begins with its size"
    return found[1]
