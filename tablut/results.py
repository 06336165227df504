"""Results of commands: pydantic models with exact integers, and rounded numbers for people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import ROUND_HALF_UP, Context
from html import escape
from typing import Annotated, Any, get_args, get_origin

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    PlainSerializer,
    SerializerFunctionWrapHandler,
    model_serializer,
)

from tablut.errors import InputError
from tablut.store.files import brief, excerpt

ExactInt = Annotated[
    int,
    BeforeValidator(lambda value: int(value) if isinstance(value, str) else value),
    PlainSerializer(str, return_type=str, when_used="json"),
]
"""An integer that may exceed 2^53: a Python int in memory, a decimal string in JSON."""


_ROWS_SHOWN = 20
"""Rows of a table that a notebook shows."""


@brief
class Result(BaseModel):
    """Base class of every result: frozen, and strict about its fields.

    A notebook shows it as tables, and its repr leaves out what is long.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    def _tables(self) -> dict[str, Sequence[Result]]:
        """Return the fields that hold results below one another, by name."""
        found: dict[str, Sequence[Result]] = {}
        for name, field in type(self).model_fields.items():
            item = get_args(field.annotation)[0] if get_origin(field.annotation) in (list, tuple) else None
            if isinstance(item, type) and issubclass(item, Result):
                found[name] = getattr(self, name)
        return found

    def to_rows(self, table: str | None = None) -> list[dict[str, Any]]:
        """Return a table that the result holds as data frames take it, a dictionary a row.

        Parameters
        ----------
        table : str, optional
            The field that holds it; by default the first one. A result without a table is one row itself.

        Returns
        -------
        list of dict
            Exact integers stay Python's.

        Raises
        ------
        InputError
            If there is no such table.

        Examples
        --------
        >>> class Ply(Result):
        ...     ply: int
        ...     new: int
        >>> class Count(Result):
        ...     plies: list[Ply]
        >>> Count(plies=[Ply(ply=0, new=1), Ply(ply=1, new=4)]).to_rows()
        [{'ply': 0, 'new': 1}, {'ply': 1, 'new': 4}]
        """
        tables = self._tables()
        if table is not None and table not in tables:
            held = ", ".join(tables) or "none"
            raise InputError(f"table {excerpt(table)}: a {type(self).__name__} has {held}")
        return [row.model_dump() for row in (tables[table or next(iter(tables))] if tables else [self])]

    def _repr_html_(self) -> str:
        tables = self._tables()
        parts = [_html(type(self).__name__, [(name, value) for name, value in self if name not in tables])]
        for name, rows in tables.items():
            shown = rows[:_ROWS_SHOWN]
            more = "" if shown == rows else f", {len(shown)} of {len(rows):,} rows; to_rows({name!r}) has all"
            cells = [[value for _, value in row] for row in shown]
            parts.append(_html(name + more, cells, *(type(row).model_fields for row in shown[:1])))
        return "".join(parts)


def _html(caption: str, rows: Iterable[Iterable[Any]], head: Iterable[str] = ("field", "value")) -> str:
    """Return a table of values as HTML; what is long in a cell is cut."""
    lines = []
    for tag, row in [("th", head), *(("td", row) for row in rows)]:
        texts = [value if isinstance(value, str) else repr(value) for value in row]
        cells = [escape(text if len(text) <= 120 else text[:120] + "...") for text in texts]
        lines.append("".join(f"<{tag}>{cell}</{tag}>" for cell in cells))
    return f"<table><caption>{escape(caption)}</caption><tr>{'</tr><tr>'.join(lines)}</tr></table>"


class SparseResult(Result):
    """A result that leaves out what is empty: there are thousands of it, and most have little to say."""

    @model_serializer(mode="wrap")
    def _without_what_is_not_there(self, whole: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {name: value for name, value in whole(self).items() if value not in (None, (), [])}


def grouped(value: int) -> str:
    """Return an exact integer as people read it, in groups of three digits that a line does not part."""
    return f"{value:,}".replace(",", "\N{NO-BREAK SPACE}")


def scientific(value: int, digits: int = 4) -> str:
    """Return an exact integer rounded to so many significant digits."""
    if abs(value) < 10**digits:
        return str(value)
    rounded = Context(prec=digits, rounding=ROUND_HALF_UP).create_decimal(value)
    return f"{rounded:.{digits - 1}e}".replace("e+", "e")


def bfile(values: Iterable[int], start: int, comments: Sequence[str]) -> str:
    r"""Return a sequence as a b-file: lines of index and value, comments behind ``#``."""
    from tablut import __version__

    lines = [f"# {comment}" for comment in (*comments, f"Tablut state-space toolkit {__version__}.")]
    lines += [f"{number} {value}" for number, value in enumerate(values, start)]
    return "".join(f"{line}\n" for line in lines)
