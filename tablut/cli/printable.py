"""Text from outside, made safe for a terminal, for one line and for any encoding."""

from __future__ import annotations

import codecs
from typing import Final

__all__ = ["ENCODING_ERRORS", "one_line", "plain_signs", "printable"]

ENCODING_ERRORS: Final = "tablut.signs"
"""Name of the handler of encoding errors that `plain_signs` registers."""

_LINE: Final = 1500

_PLAIN = {
    "●": "b", "○": "w", "♔": "K", "╳": "T", "✕": "X", "☆": "*", "▒": "#", "·": ".",
    "…": "...", "–": "-", "—": "-", "−": "-", "±": "+-", "×": "x", "≤": "<=", "≥": ">=", "≠": "!=",
    "─": "-", "━": "-", "│": "|", "┃": "|", "╭": "+", "╮": "+", "╰": "+", "╯": "+",
}  # fmt: skip


def printable(text: str) -> str:
    r"""Return a text with an escape for every character that a terminal might obey; line ends stay.

    Parameters
    ----------
    text : str
        Text from outside.

    Returns
    -------
    str
        The text with escapes such as ``\x1b``.

    Examples
    --------
    >>> print(printable("a\x1b[31mb\nc\u202ed"))
    a\x1b[31mb
    c\u202ed
    """
    if text.isprintable():
        return text
    return "".join(
        sign if sign.isprintable() or sign == "\n" else sign.encode("unicode_escape", "backslashreplace").decode()
        for sign in text
    )


def one_line(text: str, most: int = _LINE) -> str:
    r"""Return a message as one safe line; a very long one loses its middle.

    Parameters
    ----------
    text : str
        Text from outside.
    most : int
        Characters of the line, at most.

    Returns
    -------
    str
        Without line ends and control characters.

    Examples
    --------
    >>> one_line("no\nsuch \x07 file"), one_line("x" * 50, 20)
    ('no such \\x07 file', 'xxxxxxxx ... xxxxxxx')
    """
    # Only the ends of a text of megabytes matter.
    if len(text) > 4 * most:
        text = text[: 2 * most] + text[-2 * most :]
    line = printable(" ".join(text.split()))
    if len(line) <= most:
        return line
    half = (most - 5) // 2
    return f"{line[: most - 5 - half]} ... {line[len(line) - half :]}"


def plain_signs() -> str:
    r"""Register how to write signs that an encoding lacks, and return the name for ``errors=``.

    Signs of boards and tables become ASCII characters, all others escapes.

    Returns
    -------
    str
        `ENCODING_ERRORS`.

    Examples
    --------
    >>> "5 ● ♔ ✕ ☃".encode("ascii", plain_signs()).decode()
    '5 b K X \\u2603'
    """

    def _replace(error: UnicodeError) -> tuple[str | bytes, int]:
        if not isinstance(error, UnicodeEncodeError):
            raise error
        lost = error.object[error.start : error.end]
        written = "".join(_PLAIN.get(sign) or sign.encode("ascii", "backslashreplace").decode("ascii") for sign in lost)
        return written, error.end

    codecs.register_error(ENCODING_ERRORS, _replace)
    return ENCODING_ERRORS
