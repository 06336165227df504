"""Placements as letters, a cell each, from a1."""

from tablut.rules import NaivePosition


def letters(size: int, position: NaivePosition) -> str:
    """Return the letters of a position of the plain rules, as the engine reads them."""
    return "".join(position.piece((cell % size, cell // size)) or "." for cell in range(size * size))
