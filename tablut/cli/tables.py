"""Tables that show every number and label whole, at any width.

The columns stand side by side where they fit; else the text of each row stands below it; else each field has a line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len
from rich.text import Text

from tablut.cli.people import safe_text, wrapped

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

__all__ = ["Column", "Table", "label", "number", "prose"]

_GAP = 2
_WHOLE = 10**9


class Column(NamedTuple):
    """A column of a `Table`.

    Attributes
    ----------
    name : str
        Its header.
    field : str
        Its name where each field has a line of its own; the header by default.
    kind : str
        ``number`` (right-aligned), ``label``, or ``prose``, which alone may be broken between words.
    style : str
        Of its cells.
    least : int
        Columns that text needs at least.
    """

    name: str
    field: str
    kind: str
    style: str
    least: int = 24


def number(name: str, field: str = "", style: str = "") -> Column:
    """Return a column of numbers, right-aligned and never broken.

    Parameters
    ----------
    name : str
        Its header.
    field : str
        Its name where each field has its own line; the header by default.
    style : str
        Of its cells.

    Returns
    -------
    Column
        For a `Table`.
    """
    return Column(name, field or name, "number", style)


def label(name: str = "", field: str = "", style: str = "") -> Column:
    """Return a column of words that are never broken.

    Parameters
    ----------
    name : str
        Its header.
    field : str
        Its name where each field has its own line; the header by default.
    style : str
        Of its cells.

    Returns
    -------
    Column
        For a `Table`.
    """
    return Column(name, field or name, "label", style)


def prose(name: str = "", field: str = "", style: str = "", least: int = 24) -> Column:
    """Return a column of text that may be broken between words.

    Parameters
    ----------
    name : str
        Its header.
    field : str
        Its name where each field has its own line; the header by default.
    style : str
        Of its cells.
    least : int
        Columns of the terminal that it needs at least.

    Returns
    -------
    Column
        For a `Table`.
    """
    return Column(name, field or name, "prose", style, least)


class Table:
    r"""A table that rich prints.

    Parameters
    ----------
    *columns : Column
        As `number`, `label` and `prose` make them.
    header : bool
        Show the names of the columns.

    Examples
    --------
    >>> table = Table(label("space"), number("placements"))
    >>> table.add("undecided", "947889249256532407079664255")
    >>> print("\n".join(line.plain for line in table.lines(80)))
    space                       placements
    undecided  947889249256532407079664255
    >>> print("\n".join(line.plain for line in table.lines(30)))
    space: undecided
    placements:
      947889249256532407079664255
    """

    def __init__(self, *columns: Column, header: bool = True) -> None:
        self.columns = columns
        self.header = header and any(column.name for column in columns)
        self._rows: list[tuple[list[Text], str]] = []

    def add(self, *cells: str | Text, style: str = "") -> None:
        """Add a row; missing cells at its end are empty.

        Parameters
        ----------
        *cells : str or Text
            Text from anywhere: nothing in it is markup.
        style : str
            Of the whole row.
        """
        texts = [safe_text(cell) for cell in cells]
        self._rows.append((texts + [Text()] * (len(self.columns) - len(texts)), style))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the lines, in the layout that fits."""
        for line in self.lines(options.max_width):
            line.no_wrap, line.overflow = True, "ignore"
            yield line

    def lines(self, width: int) -> list[Text]:
        """Return the lines of the table in the layout that fits a width.

        Parameters
        ----------
        width : int
            Columns of the terminal.

        Returns
        -------
        list of Text
            In columns if they fit; see the module.
        """
        whole = len(self.columns)
        # The columns at the end that say what the row is about can stand below it.
        beside = max(
            (i + 1 for i, column in enumerate(self.columns) if column.kind != "prose" and column.name), default=1
        )
        for shown in dict.fromkeys((whole, beside)):
            widths = self._widths(width, shown)
            if widths is not None:
                return self._columnar(widths, width)
        return self._fields(width)

    def _widths(self, width: int, shown: int) -> list[int] | None:
        """Return how wide each of the first columns is, or None if they do not fit side by side."""
        natural, least = [], []
        for place, column in enumerate(self.columns[:shown]):
            cells = [row[place].plain for row, _ in self._rows]
            wide = max((cell_len(line) for cell in cells for line in cell.split("\n")), default=0)
            word = max((cell_len(word) for cell in cells for word in cell.split()), default=0)
            head = cell_len(column.name) if self.header else 0
            natural.append(max(wide, head))
            least.append(max(word, head, min(wide, column.least)) if column.kind == "prose" else natural[-1])
        room = width - _GAP * (shown - 1)
        if sum(least) > room:
            return None
        for place in range(shown):
            # What is left goes to the texts, from left to right.
            least[place] = min(natural[place], least[place] + room - sum(least))
        return least

    def _columnar(self, widths: list[int], width: int) -> list[Text]:
        lines, indent = [], min(widths[0] + _GAP, 3 * _GAP)
        if self.header:
            lines += self._row([Text(column.name) for column in self.columns], widths, "dim", styled=False)
            below = [Text(column.name, style="dim") for column in self.columns[len(widths) :] if column.name]
            lines += [line for name in below for line in wrapped(name, width, indent=indent)]
        for cells, style in self._rows:
            lines += self._row(cells, widths, style)
            for cell, column in zip(cells[len(widths) :], self.columns[len(widths) :], strict=True):
                if cell.plain:
                    text = cell.copy()
                    text.stylize_before(column.style or style)
                    lines += wrapped(text, width if column.kind == "prose" else _WHOLE, indent=indent)
        return lines

    def _row(self, cells: list[Text], widths: list[int], style: str, *, styled: bool = True) -> list[Text]:
        blocks = [
            wrapped(cell, width) if column.kind == "prose" else list(cell.split("\n", allow_blank=True))
            for cell, width, column in zip(cells, widths, self.columns, strict=False)
        ]
        lines = []
        for height in range(max(map(len, blocks))):
            line = Text(style=style)
            for column, block, width in zip(self.columns, blocks, widths, strict=False):
                part = block[height].copy() if height < len(block) else Text()
                if styled and column.style:
                    part.stylize_before(column.style)
                spaces = " " * (width - part.cell_len)
                line.append_text(Text(spaces) + part if column.kind == "number" else part + Text(spaces))
                line.append(" " * _GAP)
            line.rstrip()
            lines.append(line)
        return lines

    def _fields(self, width: int) -> list[Text]:
        """Return every row as a block of fields."""
        lines: list[Text] = []
        for cells, style in self._rows:
            lines += [Text()] if lines else []
            for column, cell in zip(self.columns, cells, strict=True):
                if cell.plain:
                    lines += _field(column, cell, style, width)
        return lines


def _field(column: Column, cell: Text, style: str, width: int) -> list[Text]:
    """Return the lines of one field: beside its name if it fits, else below it; alone if it has no name."""
    text = cell.copy()
    text.stylize_before(column.style or style)
    limit = width if column.kind == "prose" else _WHOLE
    if not column.field:
        return wrapped(text, limit)
    head = Text(f"{column.field}:", style="dim")
    if "\n" not in text.plain and head.cell_len + 1 + text.cell_len <= width:
        return [head + Text(" ") + text]
    return [head, *wrapped(text, limit, indent=_GAP)]
