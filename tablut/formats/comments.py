"""Leaving comments out of a record's text, in time linear in its length."""

from __future__ import annotations

from tablut.errors import InputError
from tablut.files import excerpt

__all__ = ["without_comments"]


def without_comments(text: str, begin: str, end: str, what: str) -> str:
    """Return a text with a space in place of every comment; comments do not nest.

    Parameters
    ----------
    text : str
        The text.
    begin, end : str
        The letters around a comment.
    what : str
        What error messages call the text.

    Returns
    -------
    str
        The text without comments.

    Raises
    ------
    InputError
        If a comment does not end.

    Notes
    -----
    One pass over the text.

    Examples
    --------
    >>> without_comments("1. e4-f4 {good} a4-b4", "{", "}", "record")
    '1. e4-f4   a4-b4'
    """
    parts, place = [], 0
    while (opened := text.find(begin, place)) >= 0:
        parts.append(text[place:opened])
        closed = text.find(end, opened)
        if closed < 0:
            raise InputError(
                f"{what}: the comment {excerpt(text[opened : opened + 40])} does not end; expected {end!r}"
            )
        place = closed + 1
    return " ".join([*parts, text[place:]])
