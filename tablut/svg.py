"""SVG drawings of boards. The same input always produces the same bytes.

A board is drawn in units of one cell, with file a on the left and rank 1 at the bottom. Camps are marked with a
triangle, escapes with a star, and the castle with a cross.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import atan2, cos, pi, sin
from xml.sax.saxutils import escape

from tablut.formats.reading import BoardLike, PositionLike, as_move, as_position
from tablut.position import FILES, Move, diagram_cells, parse_square
from tablut.variants import VariantLike, as_variant

__all__ = ["FILLS", "TERRAIN", "board", "kind_of", "legend"]

FILLS = {
    "ordinary": "#f2e3c6",
    "castle": "#e6a35c",
    "camp": "#bdb7ad",
    "escape": "#b9d9e8",
    "corner": "#8fbfd6",
    "last": "#dcd04f",
    "highlight": "#d9534f",
    "arrow": "#2f6f3e",
    "line": "#6b5b45",
    "black": "#2b2622",
    "white": "#fdfbf5",
    "cross": "#b3261e",
}
"""Colours of cells, pieces, lines and marks."""
TERRAIN = '<g class="terrain">'
"""Opening tag of the group of cells in a drawing."""
_MARGIN = 0.55
_NAMES = {"b": "attacker", "w": "defender", "K": "king"}
_MEANINGS = {
    "attacker": "attacker (black)",
    "defender": "defender (white)",
    "king": "king (white)",
    "castle": "castle, the king's",
    "camp": "camp, for attackers",
    "escape": "escape: the king wins here",
    "corner": "corner, for the king alone",
}


def kind_of(letter: str) -> str:
    """Return a cell's kind from its letter in the terrain diagram."""
    return {"T": "castle", "*": "escape", "X": "corner", ".": "ordinary", "+": "ordinary"}.get(letter, "camp")


def board(
    variant: VariantLike | BoardLike,
    position: PositionLike | None = None,
    *,
    last_move: Move | str | None = None,
    arrows: Iterable[tuple[int, int] | Move | str] = (),
    highlights: Iterable[int | str] = (),
    coordinates: bool = True,
    caption: str = "",
    turn: bool = False,
    pixels: int = 400,
) -> str:
    """Return an SVG drawing of a position."""
    if isinstance(variant, BoardLike):
        game = variant.variant
        if position is None:
            position = variant.position
            last_move = last_move or (variant.peek() if variant.ply else None)
    else:
        game = as_variant(variant)
    size = game.size
    shown = as_position(game.start_position if position is None else position, game)
    cells = shown.cells
    margin = _MARGIN if coordinates else 0.1
    # On large boards, where cells are small, the text keeps its height.
    unit = max(1, size / 9)
    below = 0.6 * unit * (bool(caption) + turn)
    width, height = size + 2 * margin, size + 2 * margin + below
    scale = pixels / width
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{pixels}" height="{height * scale:.0f}" '
        f'viewBox="{-margin:g} {-margin:g} {width:g} {height:g}" role="img" font-family="sans-serif">',
        f"<title>{escape(f'{game.name}: {shown}')}</title>",
        f'<rect x="{-margin:g}" y="{-margin:g}" width="{width:g}" height="{height:g}" fill="#ffffff"/>',
    ]
    tinted = {*_ends(last_move, size)} if last_move else set()
    framed = {parse_square(square, size) if isinstance(square, str) else square for square in highlights}
    # `tablut.strip` relies on one line of text for each cell.
    parts.append(TERRAIN)
    parts += [
        _cell(square, letter, size, tinted=square in tinted)
        for square, letter in enumerate(diagram_cells(game.terrain))
    ]
    parts.append("</g>")
    # Frames are drawn after all cells, so that no neighbouring cell covers them.
    parts += [_frame(square, size) for square in sorted(framed)]
    parts += [_piece(piece, *_centre(square, size)) for square, piece in enumerate(cells) if piece != "."]
    for start, target in (_ends(arrow, size) for arrow in arrows):
        parts.append(_arrow(_centre(start, size), _centre(target, size)))
    if coordinates:
        parts += _coordinates(size)
    if turn:
        parts += _turn(shown.side, size / 2, size + margin + 0.25 * unit, unit)
    if caption:
        below = size + margin + (0.25 + 0.6 * turn) * unit
        parts.append(_text(size / 2, below, caption, min(0.36 * unit, 1.8 * width / len(caption))))
    parts.append("</svg>\n")
    return "\n".join(parts)


def _ends(arrow: tuple[int, int] | Move | str, size: int) -> tuple[int, int]:
    if isinstance(arrow, tuple):
        return arrow
    move = as_move(arrow, size).move
    return move.start, move.target


def _centre(square: int, size: int) -> tuple[float, float]:
    rank, file = divmod(square, size)
    return file + 0.5, size - 1 - rank + 0.5


def _cell(square: int, letter: str, size: int, *, tinted: bool) -> str:
    x, y = _centre(square, size)
    kind = kind_of(letter)
    fill = FILLS["last"] if tinted else FILLS[kind]
    parts = [
        f'<rect class="{kind}" x="{x - 0.5:g}" y="{y - 0.5:g}" width="1" height="1" '
        f'fill="{fill}" stroke="{FILLS["line"]}" stroke-width="0.03"/>'
    ]
    match kind:
        case "castle":
            parts.append(_path(f"M{x - 0.3:g} {y - 0.3:g}l.6 .6m0 -.6l-.6 .6", "#a8692b"))
        case "camp":
            parts.append(_path(f"M{x - 0.2:g} {y + 0.16:g}h.4l-.2 -.36z", "#8a8377"))
        case "escape":
            parts.append(_path(_star(x, y, 0.22), "#6fa8c2"))
        case "corner":
            parts.append(_path(_star(x, y, 0.36), "#4d8db0"))
    return "".join(parts)


def _star(x: float, y: float, radius: float) -> str:
    points = []
    for corner in range(10):
        reach = radius if corner % 2 == 0 else radius * 0.42
        angle = pi * corner / 5 - pi / 2
        points.append(f"{x + reach * cos(angle):.3f} {y + reach * sin(angle):.3f}")
    return "M" + "L".join(points) + "z"


def _path(path: str, colour: str) -> str:
    return f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="0.05"/>'


def _frame(square: int, size: int) -> str:
    x, y = _centre(square, size)
    return (
        f'<rect class="highlight" x="{x - 0.45:g}" y="{y - 0.45:g}" width="0.9" height="0.9" fill="none" '
        f'stroke="{FILLS["highlight"]}" stroke-width="0.09"/>'
    )


def _piece(piece: str, x: float, y: float) -> str:
    name = _NAMES[piece]
    fill, line = (FILLS["black"], "#000000") if piece == "b" else (FILLS["white"], "#3b342b")
    disc = f'<circle class="{name}" cx="{x:g}" cy="{y:g}" r="0.37" fill="{fill}" stroke="{line}" stroke-width="0.05"/>'
    if piece != "K":
        return disc
    cross = f'<path d="M{x:g} {y - 0.24:g}v.48M{x - 0.24:g} {y:g}h.48" stroke="{FILLS["cross"]}" stroke-width="0.12"/>'
    return disc + cross


def _arrow(start: tuple[float, float], target: tuple[float, float]) -> str:
    (x1, y1), (x2, y2) = start, target
    angle = atan2(y2 - y1, x2 - x1)
    # The shaft ends where the head begins, so that the tip stays sharp.
    neck = x2 - 0.32 * cos(angle), y2 - 0.32 * sin(angle)
    wings = [(neck[0] + side * 0.19 * sin(angle), neck[1] - side * 0.19 * cos(angle)) for side in (1, -1)]
    head = " ".join(f"{x:.3f},{y:.3f}" for x, y in [(x2, y2), *wings])
    return (
        f'<g class="arrow" opacity="0.8"><line x1="{x1:.3f}" y1="{y1:.3f}" x2="{neck[0]:.3f}" y2="{neck[1]:.3f}" '
        f'stroke="{FILLS["arrow"]}" stroke-width="0.13"/><polygon points="{head}" fill="{FILLS["arrow"]}"/></g>'
    )


def _turn(side: str, x: float, y: float, unit: float) -> list[str]:
    """Return the SVG elements that show the side to move, as a piece and in words."""
    words, piece = ("white to move", "w") if side == "w" else ("black to move", "b")
    disc = _piece(piece, 0, 0).replace(f'class="{_NAMES[piece]}"', f'class="to-move-{piece}"')
    scaled = f'<g transform="translate({x - 1.6 * unit:g} {y:g}) scale({0.5 * unit:g})">{disc}</g>'
    return [scaled, _text(x + 0.2 * unit, y, words, 0.36 * unit)]


def legend(variants: Iterable[VariantLike], pixels: int = 640) -> str:
    """Return an SVG drawing that explains the pieces and the terrain on the boards of the given rule sets."""
    games = [as_variant(variant) for variant in variants]
    pieces = [piece for piece in "bwK" if any(piece in row for game in games for row in game.start)]
    kinds = {kind_of(letter) for game in games for row in game.terrain for letter in row}
    signs = [(_piece(piece, 0.5, 0.5), _MEANINGS[_NAMES[piece]]) for piece in pieces]
    signs += [
        (_cell(0, letter, 1, tinted=False), _MEANINGS[kind])
        for letter, kind in (("T", "castle"), ("A", "camp"), ("*", "escape"), ("X", "corner"))
        if kind in kinds
    ]
    columns, wide = 2, 7.2
    rows = -(-len(signs) // columns)
    width, height = columns * wide, 1.25 * rows + 0.25
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{pixels}" height="{height * pixels / width:.0f}" '
        f'viewBox="0 0 {width:g} {height:g}" role="img" font-family="sans-serif">',
        "<title>What the signs on a board are</title>",
        f'<rect width="{width:g}" height="{height:g}" fill="#ffffff"/>',
    ]
    for number, (sign, meaning) in enumerate(signs):
        x, y = (number // rows) * wide + 0.25, (number % rows) * 1.25 + 0.25
        words = _text(1.3, 0.5, meaning, 0.42).replace('text-anchor="middle"', 'text-anchor="start"')
        parts.append(f'<g transform="translate({x:g} {y:g})">{sign}{words}</g>')
    parts.append("</svg>\n")
    return "\n".join(parts)


def _coordinates(size: int) -> list[str]:
    parts, height = [], max(0.3, min(0.38, size / 30))
    for number in range(size):
        parts.append(_text(number + 0.5, size + 0.28, FILES[number], height))
        parts.append(_text(-0.28, size - number - 0.5, str(number + 1), height))
    return parts


def _text(x: float, y: float, text: str, height: float) -> str:
    return (
        f'<text x="{x:g}" y="{y:g}" font-size="{height:g}" text-anchor="middle" dominant-baseline="central" '
        f'fill="#3b342b">{escape(text)}</text>'
    )
