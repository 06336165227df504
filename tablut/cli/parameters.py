"""Types of parameters: numbers within limits, words, paths, and options that are given at most once."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import click
from click.shell_completion import CompletionItem

from tablut.errors import InputError, did_you_mean
from tablut.work.files import excerpt

_NUMBERS: Final = {
    int: ("a whole number", re.compile(r"[+-]?[0-9]{1,400}"), 2**63 - 1),
    float: ("a number", re.compile(r"[+-]?([0-9]{1,400}\.?[0-9]{0,400}|\.[0-9]{1,400})(e[+-]?[0-9]{1,3})?"), 1e9),
}
"""The name of each kind of number, the permitted notation, and the largest value that kernels or clocks can handle.

The notation is stricter than Python's, which allows ``1_0``, surrounding blanks and the digits of all scripts.
"""


class NumberType(click.ParamType[Any]):
    """Type of a parameter that takes a number within limits."""

    name = "number"
    placeholder = "N"

    def __init__(self, kind: type[int] | type[float], least: float | None, most: float | None) -> None:
        self.kind, self.least, self.most = kind, least, most

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number that a word denotes, or raise `InputError` if it is not a number within the limits."""
        name, written, largest = _NUMBERS[self.kind]
        most = largest if self.most is None else self.most
        number = self.kind(value) if not isinstance(value, str) or written.fullmatch(value.lower()) else None
        if number is not None and (-largest if self.least is None else self.least) <= number <= most:
            return number
        highest = self.most is not None or (number is not None and number > most)
        limits = f" of at most {most:,}" if highest else ""
        if self.least is not None:
            limits = f" from {self.least:,} to {most:,}" if highest else f" of at least {self.least:,}"
        problem = f"expected {name}{limits}, not {excerpt(str(value))}"
        raise InputError(problem, subject=name_of(param), remedy=f"see `{ctx.command_path} --help`" if ctx else "")


class WordType(click.ParamType[Any]):
    """Type of a parameter that takes one of several words."""

    name = "choice"

    def __init__(self, words: Sequence[str]) -> None:
        self.words, self.placeholder = words, "|".join(words)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the word unchanged, or raise `InputError` if it is not one of the permitted words."""
        if value in self.words:
            return value
        problem = f"expected {', '.join(self.words[:-1])} or {self.words[-1]}, not {excerpt(value)}"
        raise InputError(problem, subject=name_of(param), remedy=did_you_mean(value, self.words))

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
        """Return the permitted words that begin with the typed text."""
        return [CompletionItem(word) for word in self.words if word.startswith(incomplete)]


class PathType(click.Path):
    """Type of a parameter that takes the path of a file or folder."""

    placeholder = "FILE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path, or raise `InputError` if it is empty."""
        if not str(value).strip():
            raise InputError("is empty", subject=f"{name_of(param)} {value!r}", remedy="name a file or folder")
        return super().convert(value, param, ctx)


def name_of(param: click.Parameter | None) -> str:
    """Return the name that users know a parameter by: its options, or an argument's placeholder."""
    if isinstance(param, click.Option):
        return " / ".join(param.opts)
    return "" if param is None else (param.metavar or str(param.name).upper()).strip("[].")


class OnceOption(click.Option):
    """An option that is refused if it is given twice, unless it takes several values or none.

    An option with ``form`` chooses a form of output. One that is not ``recorded`` affects only the output for people.
    """

    def __init__(self, *arguments: Any, form: bool = False, recorded: bool = True, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.form, self.recorded = form, recorded

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        """Add the option to a command's parser."""
        super().add_to_parser(parser, ctx)
        for word in () if self.multiple or self.is_flag else self.opts:
            added = (parser._long_opt | parser._short_opt)[word]
            added.process = partial(self._store, added.process)

    def _store(self, store: Callable[[Any, Any], None], value: Any, state: Any) -> None:
        if self.name in state.opts:
            both = " and ".join(excerpt(str(one)) for one in (state.opts[self.name], value))
            raise InputError(f"is given twice, as {both}", subject=name_of(self), remedy="leave one out")
        store(value, state)
