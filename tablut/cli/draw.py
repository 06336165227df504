"""Boards in the terminal: terrain and pieces as rich text, coordinates around them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from tablut.notation import FILES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.columns import Columns

    from tablut.variants import Variant

__all__ = ["draw_board", "legend", "side_by_side"]

# Each kind of cell: its sign when empty, its colour, its name.
_GROUND = {
    ".": ("·", "dim", "ordinary"),
    "+": ("·", "dim", "ordinary"),
    "T": ("╳", "bold yellow", "castle"),
    "*": ("☆", "cyan", "escape"),
    "X": ("✕", "bold cyan", "corner, for a king only"),
} | dict.fromkeys("ABCD", ("▒", "magenta", "camp"))
_PIECES = {"b": ("●", "bold red", "attacker"), "w": ("○", "bold white", "defender"), "K": ("♔", "bold green", "king")}


def draw_board(variant: Variant, rows: tuple[str, ...]) -> Text:
    """Return a drawn board.

    Parameters
    ----------
    variant : Variant
        Whose terrain lies under the pieces.
    rows : tuple of str
        A start-like diagram, the top rank first; ``.`` shows the terrain.

    Returns
    -------
    rich.text.Text
        One line a rank and a line of file letters.

    Examples
    --------
    >>> from tablut.variants import load_variant
    >>> variant = load_variant("brandubh-5-4v0")
    >>> print(draw_board(variant, variant.start))
    5  ✕ · ● · ✕
    4  · · · · ·
    3  ● · ♔ · ●
    2  · · · · ·
    1  ✕ · ● · ✕
       a b c d e
    """
    board = Text()
    size = variant.size
    for down, (row, ground) in enumerate(zip(rows, variant.terrain, strict=True)):
        board.append(f"{size - down:<2}", style="dim")
        for piece, letter in zip(row, ground, strict=True):
            sign, style, _ = _PIECES[piece] if piece in _PIECES else _GROUND[letter]
            board.append(" ")
            board.append(sign, style=style)
        board.append("\n")
    board.append("   " + " ".join(FILES[:size]), style="dim")
    return board


def legend(variant: Variant) -> Text:
    """Return the signs of a variant's board with what they mean.

    Parameters
    ----------
    variant : Variant
        The rule set.

    Returns
    -------
    rich.text.Text
        One line; signs that the board does not show are left out.

    Examples
    --------
    >>> from tablut.variants import load_variant
    >>> print(legend(load_variant("brandubh-5-4v0")))
    ● attacker  ♔ king  ╳ castle  ✕ corner, for a king only
    """
    pieces = [_PIECES[piece] for piece in "bwK" if any(piece in row for row in variant.start)]
    grounds = dict.fromkeys(_GROUND[letter] for row in variant.terrain for letter in row if letter not in ".+")
    order = list(_GROUND.values())
    text = Text()
    for sign, style, meaning in [*pieces, *sorted(grounds, key=order.index)]:
        text.append("  " if text else "").append(sign, style=style).append(f" {meaning}")
    return text


def side_by_side(boards: Mapping[str, Text]) -> Columns:
    """Return drawn boards in frames with titles, as many in a row as fit.

    Parameters
    ----------
    boards : mapping of str to Text
        Drawings by title.

    Returns
    -------
    rich.columns.Columns
        To be printed.
    """
    from rich.columns import Columns
    from rich.panel import Panel

    # A title that is a string would be read as markup.
    return Columns([Panel.fit(board, title=Text(title), border_style="dim") for title, board in boards.items()])
