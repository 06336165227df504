"""Output for people: a console that never interprets markup or control characters and never truncates text.

Every command prints through `PeopleConsole`. Text from outside, such as a variant name or a record tag,
can be passed to it unchanged: square brackets are not markup, and control characters are shown as escapes. Words, and
above all integers, are never broken: a word that is longer than a line extends beyond it. The toolkit's own styling
uses `rich.text.Text` and ``style=``, never tags within strings.
"""

from __future__ import annotations

import io
import os
import re
import sys
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.control import Control
from rich.segment import Segment
from rich.text import Text

from tablut.cli.streams import AS_JSON, printable, spaced, write_output
from tablut.position import FILES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rich.columns import Columns

    from tablut.variants import Variant

NARROWEST: Final = 40
"""Minimum width of a layout in columns. A narrower terminal wraps the lines itself."""

UNLIMITED: Final = 100_000
"""Width used for files and pipes, where lines are not wrapped."""

_WORD = re.compile(r"\s*\S+")


def safe_text(content: str | Text) -> Text:
    r"""Return a text without markup, with escapes in place of control characters."""
    if isinstance(content, str):
        return Text(printable(content))
    plain = printable(content.plain)
    return content if plain == content.plain else Text(plain, style=content.style)


def wrapped(content: str | Text, width: int, *, indent: int = 0) -> list[Text]:
    """Break a text into lines between words; words longer than a line are kept whole."""
    lines = []
    for line in safe_text(content).split("\n", allow_blank=True):
        breaks, used = [], indent
        for word in _WORD.finditer(line.plain):
            length = cell_len(word[0])
            if used + length > width and word.start() > 0:
                # The spaces before the word stay at the end of the previous line.
                breaks.append(word.end() - len(word[0].lstrip()))
                length = cell_len(word[0].lstrip())
                used = indent
            used += length
        for part in line.divide(breaks):
            part.rstrip()
            lines.append(Text(" " * indent) + part if indent else part)
    return lines


class PeopleConsole(Console):
    """Console for output to people; see the module's description."""

    def __init__(self, *, stderr: bool = False, file: IO[str] | None = None) -> None:
        super().__init__(markup=False, highlight=False, emoji=False, stderr=stderr, file=file)
        self._exact = False
        columns = os.environ.get("COLUMNS", "")
        if not self.is_terminal and not (columns.isascii() and columns.isdigit()):
            self.width = UNLIMITED
        elif self.width < NARROWEST:
            self.width = NARROWEST

    def print(self, *objects: Any, indent: int = 0, **settings: Any) -> None:
        """Print like `rich.console.Console.print`, but break text only between words."""
        if any(isinstance(thing, Control) for thing in objects):
            super().print(*objects, **settings)
            return
        if objects and all(isinstance(thing, (str, int, float, Text)) for thing in objects):
            parts = [safe_text(thing if isinstance(thing, Text) else str(thing)) for thing in objects]
            text = Text(settings.pop("sep", " ")).join(parts)
            width = UNLIMITED if settings.pop("soft_wrap", False) else settings.pop("width", None) or self.width
            objects = (Text("\n").join(wrapped(text, width, indent=indent)),)
            settings |= {"no_wrap": True, "overflow": "ignore"}
        super().print(*objects, **{"crop": False, **settings})

    def table(self, columns: Iterable[Column], rows: Iterable[Iterable[str | Text]], *, header: bool = True) -> None:
        """Print a table whose rows all have the same style."""
        table = Table(*columns, header=header)
        for row in rows:
            table.add(*row)
        self.print(table)

    def board(self, variant: Variant, rows: tuple[str, ...]) -> None:
        """Print a drawing of a board."""
        self.print(draw_board(variant, rows))

    def out(self, *objects: Any, sep: str = " ", end: str = "\n", **settings: Any) -> None:
        """Write text unchanged, except for control characters, which become escapes."""
        text = Text(sep.join(printable(str(thing)) for thing in objects))
        self._exact = True
        # Rich's own `out` would call `print` above, which breaks lines.
        super().print(text, end=end, **{"no_wrap": True, "overflow": "ignore", "crop": False, **settings})
        self._exact = False

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Render an object. Control characters in its text become escapes; those that rich adds are kept."""
        for segment in super().render(renderable, options):
            text = segment.text if segment.control else printable(segment.text)
            yield segment if segment.control else Segment(text if self._exact else spaced(text), segment.style)


# -- tables that never break numbers and labels, at any width ---------------------


# There are three layouts: all columns side by side, text columns below each row, and one line per field. The first
# layout that fits the width is used.


_GAP = 2
_WHOLE = 10**9


class Column(NamedTuple):
    """A column of a `Table`."""

    name: str
    field: str
    kind: str
    style: str
    least: int = 24


def number(name: str, field: str = "", style: str = "") -> Column:
    """Return a column of right-aligned numbers, which are never split across lines."""
    return Column(name, field or name, "number", style)


def label(name: str = "", field: str = "", style: str = "") -> Column:
    """Return a column of short strings, which are never split across lines."""
    return Column(name, field or name, "label", style)


def prose(name: str = "", field: str = "", style: str = "", least: int = 24) -> Column:
    """Return a column of text, which may be split between words."""
    return Column(name, field or name, "prose", style, least)


class Table:
    r"""A table for `PeopleConsole`, which chooses a layout that fits the width."""

    def __init__(self, *columns: Column, header: bool = True) -> None:
        self.columns = columns
        self.header = header and any(column.name for column in columns)
        self._rows: list[tuple[list[Text], str]] = []

    def add(self, *cells: str | Text, style: str = "") -> None:
        """Add a row. Cells that are missing at its end become empty."""
        texts = [safe_text(cell) for cell in cells]
        self._rows.append((texts + [Text()] * (len(self.columns) - len(texts)), style))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the table's lines, as rich requires."""
        for line in self.lines(options.max_width):
            line.no_wrap, line.overflow = True, "ignore"
            yield line

    def lines(self, width: int) -> list[Text]:
        """Return the lines of the table, laid out to fit the given width."""
        whole = len(self.columns)
        # Text columns at the end can be moved below the row.
        beside = max(
            (i + 1 for i, column in enumerate(self.columns) if column.kind != "prose" and column.name), default=1
        )
        for shown in dict.fromkeys((whole, beside)):
            widths = self._widths(width, shown)
            if widths is not None:
                return self._columnar(widths, width)
        return self._fields(width)

    def _widths(self, width: int, shown: int) -> list[int] | None:
        """Return the widths of the first ``shown`` columns, or None if they do not fit side by side."""
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
            # The remaining width is given to the text columns, from left to right.
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
        """Return the table's lines with each row as a block of fields."""
        lines: list[Text] = []
        for cells, style in self._rows:
            lines += [Text()] if lines else []
            for column, cell in zip(self.columns, cells, strict=True):
                if cell.plain:
                    lines += _field(column, cell, style, width)
        return lines


def _field(column: Column, cell: Text, style: str, width: int) -> list[Text]:
    """Return a field's lines: its name with the value beside it, or below it if it does not fit."""
    text = cell.copy()
    text.stylize_before(column.style or style)
    limit = width if column.kind == "prose" else _WHOLE
    if not column.field:
        return wrapped(text, limit)
    head = Text(f"{column.field}:", style="dim")
    if "\n" not in text.plain and head.cell_len + 1 + text.cell_len <= width:
        return [head + Text(" ") + text]
    return [head, *wrapped(text, limit, indent=_GAP)]


# -- boards in the terminal: coloured terrain and pieces, with coordinates -----------------


# The sign for an empty cell of each kind, the sign's style, and the kind's name.
_GROUND = {
    ".": ("·", "dim", "ordinary"),
    "+": ("·", "dim", "ordinary"),
    "T": ("╳", "bold yellow", "castle"),
    "*": ("☆", "cyan", "escape"),
    "X": ("✕", "bold cyan", "corner, for a king only"),
} | dict.fromkeys("ABCD", ("▒", "magenta", "camp"))
_PIECES = {"b": ("●", "bold red", "attacker"), "w": ("○", "bold white", "defender"), "K": ("♔", "bold green", "king")}


def draw_board(variant: Variant, rows: tuple[str, ...]) -> Text:
    """Return a drawing of a board for the terminal."""
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
    """Return an explanation of the signs on a variant's board."""
    pieces = [_PIECES[piece] for piece in "bwK" if any(piece in row for row in variant.start)]
    grounds = dict.fromkeys(_GROUND[letter] for row in variant.terrain for letter in row if letter not in ".+")
    order = list(_GROUND.values())
    text = Text()
    for sign, style, meaning in [*pieces, *sorted(grounds, key=order.index)]:
        text.append("  " if text else "").append(sign, style=style).append(f" {meaning}")
    return text


def side_by_side(boards: Mapping[str, Text]) -> Columns:
    """Return drawings of boards in titled frames, as many side by side as fit."""
    from rich.columns import Columns
    from rich.panel import Panel

    # The title is a `Text`, because rich would interpret a string as markup.
    return Columns([Panel.fit(board, title=Text(title), border_style="dim") for title, board in boards.items()])


# -- output while a command is running: moves of a game, connecting players ----------------


# This output goes to standard output. With ``--json``, which reserves standard output for the
# result, it goes to standard error if that is a terminal, and is dropped otherwise.


class Page(io.StringIO):
    """A buffer for output. It reports the encoding of its target stream, and whether the target is a terminal."""

    def __init__(self, stream: Any) -> None:
        super().__init__()
        self._stream = stream

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """Encoding of the target stream."""
        return getattr(self._stream, "encoding", None) or "utf-8"

    def isatty(self) -> bool:
        """Return whether the target stream is a terminal."""
        return bool(self._stream.isatty())


class Live:
    """Printer for output that appears while a command is still running."""

    def __init__(self) -> None:
        self._json = AS_JSON.get(False)

    @property
    def watched(self) -> bool:
        """Whether the output goes to a terminal."""
        return bool((sys.stderr if self._json else sys.stdout).isatty())

    def print(self, *objects: Any, **settings: Any) -> None:
        """Print immediately, in the same way as `PeopleConsole.print`."""
        if self._json and not self.watched:
            return
        stream = sys.stderr if self._json else sys.stdout
        page = Page(stream)
        PeopleConsole(file=page).print(*objects, **settings)
        if self._json:
            stream.write(page.getvalue())
            stream.flush()
        else:
            write_output(page.getvalue())
