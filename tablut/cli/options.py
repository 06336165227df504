"""Parameters that many commands share, so that they read alike everywhere."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from tablut import files
from tablut.errors import InputError
from tablut.files import TEXT_BYTES
from tablut.position import Position
from tablut.variants import Variant, load_variant

__all__ = ["PositionOption", "VariantOption", "position_text", "read_position", "read_text"]

VariantOption = Annotated[
    str, typer.Option("--variant", "-v", metavar="NAME|FILE", help="A shipped rule set, or a TOML file.")
]
PositionOption = Annotated[
    str | None,
    typer.Option(
        "--position",
        "-p",
        metavar="TEXT|FILE|-",
        help="A position, one-line or a grid; a file, or - for standard input. [default: the start]",
    ),
]


def read_text(source: str, what: str, most: int = TEXT_BYTES) -> str:
    """Return the text of a file, or of standard input for ``-``: at most so many bytes.

    Raises
    ------
    InputError
        Naming the file, if it cannot be read as text, or is longer.
    """
    if source != "-":
        return files.read_text(Path(source), what, most)
    try:
        # No character is shorter than a byte, so no more than that is ever read.
        text = sys.stdin.read(most + 1)
    except UnicodeDecodeError as error:
        raise InputError(f"{what} '-': not a UTF-8 text") from error
    if len(text) > most:
        raise InputError(f"{what} '-': has more than {most:,} characters, the most that is read")
    return text


def position_text(source: str) -> str:
    """Return the text of a position that an option names: itself, a file's content, or standard input for ``-``.

    Raises
    ------
    InputError
        If it is neither text of a position nor a file that can be read.
    """
    if source != "-" and not _is_file(source):
        # Text of a position has a space before the side to move, or is another program's.
        looks_like_text = not source.strip() or " " in source.strip() or "\n" in source or source[0] in "/{"
        if looks_like_text:
            return source
    return read_text(source, "position file")


def read_position(source: str | None, variant: Variant | str) -> Position | None:
    """Return the position that an option names; None for the start.

    Parameters
    ----------
    source : str or None
        The text of a position, or the name of a file that holds one, or ``-``.
    variant : Variant or str
        The rule set, or the name or path of one.

    Raises
    ------
    InputError
        If there is no such file and the text is no position.
    """
    if source is None:
        return None
    size = (load_variant(variant) if isinstance(variant, str) else variant).size
    return Position.parse(position_text(source), size)


def _is_file(name: str) -> bool:
    try:
        return Path(name).is_file()
    except (OSError, ValueError):
        # Too long, or with a character that no file name has: then it is no file.
        return False
