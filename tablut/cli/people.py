"""What people read: a console on which text is never markup, never a control character, and never cut.

Every command prints through `PeopleConsole`. Text from outside (a variant's name, a
record's tag) is passed to it as it is: square brackets are not markup there, and characters
that a terminal would obey are shown as escapes. Words, integers above all, are never
broken: a word that is longer than a line gets a longer line. Our own styling is
`rich.text.Text` and ``style=``, never a tag within a string.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any, Final

from rich.cells import cell_len
from rich.console import Console
from rich.control import Control
from rich.segment import Segment
from rich.text import Text

from tablut.cli.printable import printable

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import IO

    from rich.console import ConsoleOptions, RenderableType

__all__ = ["NARROWEST", "UNLIMITED", "PeopleConsole", "safe_text", "wrapped"]

NARROWEST: Final = 40
"""The least columns of a layout; a narrower terminal breaks lines itself."""

UNLIMITED: Final = 100_000
"""Columns of a file or a pipe: no line is broken there."""

_WORD = re.compile(r"\s*\S+")


def safe_text(content: str | Text) -> Text:
    r"""Return text as the console shows it: without markup, and without characters that a terminal obeys.

    Parameters
    ----------
    content : str or Text
        Text from anywhere.

    Returns
    -------
    Text
        The same object if it is safe as it is.

    Examples
    --------
    >>> safe_text("[/bold]\x1b[31m").plain
    '[/bold]\\x1b[31m'
    """
    if isinstance(content, str):
        return Text(printable(content))
    plain = printable(content.plain)
    return content if plain == content.plain else Text(plain, style=content.style)


def wrapped(content: str | Text, width: int, *, indent: int = 0) -> list[Text]:
    """Break text between words; a word longer than a line is not broken.

    Parameters
    ----------
    content : str or Text
        Its own line ends are kept.
    width : int
        Columns of a line, the indent included.
    indent : int
        Spaces before every line.

    Returns
    -------
    list of Text
        The lines; one empty line for no text.

    Examples
    --------
    >>> [line.plain for line in wrapped("at most 41019808636966473872687808", 12, indent=2)]
    ['  at most', '  41019808636966473872687808']
    """
    lines = []
    for line in safe_text(content).split("\n", allow_blank=True):
        breaks, used = [], indent
        for word in _WORD.finditer(line.plain):
            length = cell_len(word[0])
            if used + length > width and word.start() > 0:
                # The spaces before the word stay on the line that ends.
                breaks.append(word.end() - len(word[0].lstrip()))
                length = cell_len(word[0].lstrip())
                used = indent
            used += length
        for part in line.divide(breaks):
            part.rstrip()
            lines.append(Text(" " * indent) + part if indent else part)
    return lines


class PeopleConsole(Console):
    """A console for text that people read.

    Parameters
    ----------
    stderr : bool
        Write to standard error instead of standard output.
    file : text stream, optional
        Write there instead.
    """

    def __init__(self, *, stderr: bool = False, file: IO[str] | None = None) -> None:
        super().__init__(markup=False, highlight=False, emoji=False, stderr=stderr, file=file)
        columns = os.environ.get("COLUMNS", "")
        if not self.is_terminal and not (columns.isascii() and columns.isdigit()):
            self.width = UNLIMITED
        elif self.width < NARROWEST:
            self.width = NARROWEST

    def print(self, *objects: Any, indent: int = 0, **settings: Any) -> None:
        """Print as `rich.console.Console.print` does, but break text between words only.

        Parameters
        ----------
        *objects
            Strings, `rich.text.Text` and anything that rich renders.
        indent : int
            Spaces before every line, for text alone.
        **settings
            As rich has them; ``soft_wrap=True`` breaks no line at all.
        """
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

    def out(self, *objects: Any, sep: str = " ", end: str = "\n", **settings: Any) -> None:
        """Write text as it is, except for characters that a terminal obeys.

        Parameters
        ----------
        *objects
            What is written, as ``str`` shows it.
        sep : str
            Between the objects.
        end : str
            After the last one.
        **settings
            As rich has them.
        """
        text = Text(sep.join(printable(str(thing)) for thing in objects))
        # Not by rich's own `out`, which would call the `print` above, and that wraps.
        super().print(text, end=end, **{"no_wrap": True, "overflow": "ignore", "crop": False, **settings})

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Render anything; control characters that rich itself did not add become escapes.

        Parameters
        ----------
        renderable : RenderableType
            Anything that rich renders.
        options : ConsoleOptions, optional
            Those of the console by default.

        Yields
        ------
        Segment
            The parts in order.
        """
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(printable(segment.text), segment.style)
