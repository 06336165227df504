"""Base classes for the results of commands (pydantic models with exact integers), and number formats for people."""

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
from tablut.work.files import brief, excerpt

ExactInt = Annotated[
    int,
    BeforeValidator(lambda value: int(value) if isinstance(value, str) else value),
    PlainSerializer(str, return_type=str, when_used="json"),
]
"""An integer that may exceed 2^53: an int in Python, a decimal string in JSON."""


_ROWS_SHOWN = 20
"""Maximum number of rows of a table that a notebook shows."""


@brief
class Result(BaseModel):
    """Base class of all results. Results are immutable and have no unknown fields.

    Notebooks show a result as tables, and the repr shortens long values.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    def _tables(self) -> dict[str, Sequence[Result]]:
        """Return the fields that are lists of results, by name."""
        found: dict[str, Sequence[Result]] = {}
        for name, field in type(self).model_fields.items():
            item = get_args(field.annotation)[0] if get_origin(field.annotation) in (list, tuple) else None
            if isinstance(item, type) and issubclass(item, Result):
                found[name] = getattr(self, name)
        return found

    def to_rows(self, table: str | None = None) -> list[dict[str, Any]]:
        """Return a table of the result as a list of rows, from which a data frame can be made.

        Parameters
        ----------
        table : str, optional
            Field that contains the table; by default the first one. A result without tables becomes a single row.

        Returns
        -------
        list of dict
            One dictionary for each row. Exact integers are Python ints.

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
            problem = f"does not exist; a {type(self).__name__} has {held}"
            raise InputError(problem, subject=f"table {excerpt(table)}")
        return [row.model_dump() for row in (tables[table or next(iter(tables))] if tables else [self])]

    def _repr_html_(self) -> str:
        tables = self._tables()
        parts = [_html(type(self).__name__, [(name, value) for name, value in self if name not in tables])]
        for name, rows in tables.items():
            shown = rows[:_ROWS_SHOWN]
            more = "" if shown == rows else f", {len(shown)} of {len(rows):,} rows; to_rows({name!r}) returns all"
            cells = [[value for _, value in row] for row in shown]
            parts.append(_html(name + more, cells, *(type(row).model_fields for row in shown[:1])))
        return "".join(parts)


def _html(caption: str, rows: Iterable[Iterable[Any]], head: Iterable[str] = ("field", "value")) -> str:
    """Return a table of values as HTML; long texts in cells are cut off."""
    lines = []
    for tag, row in [("th", head), *(("td", row) for row in rows)]:
        texts = [value if isinstance(value, str) else repr(value) for value in row]
        cells = [escape(text if len(text) <= 120 else text[:120] + "...") for text in texts]
        lines.append("".join(f"<{tag}>{cell}</{tag}>" for cell in cells))
    return f"<table><caption>{escape(caption)}</caption><tr>{'</tr><tr>'.join(lines)}</tr></table>"


class SparseResult(Result):
    """A result whose empty fields are left out of the JSON, because an answer may contain thousands of them."""

    @model_serializer(mode="wrap")
    def _without_what_is_not_there(self, whole: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {name: value for name, value in whole(self).items() if value not in (None, (), [])}


def grouped(value: int) -> str:
    """Return an integer in groups of three digits, with no-break spaces between them."""
    return f"{value:,}".replace(",", "\N{NO-BREAK SPACE}")


def scientific(value: int, digits: int = 4) -> str:
    """Return an integer rounded to a number of significant digits, as in ``1.235e9``."""
    if abs(value) < 10**digits:
        return str(value)
    rounded = Context(prec=digits, rounding=ROUND_HALF_UP).create_decimal(value)
    return f"{rounded:.{digits - 1}e}".replace("e+", "e")


def bfile(values: Iterable[int], start: int, comments: Sequence[str]) -> str:
    r"""Return a sequence as a b-file of the OEIS: comments after ``#``, then lines of index and value."""
    from tablut import __version__

    lines = [f"# {comment}" for comment in (*comments, f"Tablut state-space toolkit {__version__}.")]
    lines += [f"{number} {value}" for number, value in enumerate(values, start)]
    return "".join(f"{line}\n" for line in lines)
