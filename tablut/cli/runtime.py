"""Common behaviour of all commands: ``--json``, provenance, exit codes, progress on standard error.

A command is a function decorated with `command` that returns a `Reply`: a result (a pydantic
model), a function that shows it to people, and an exit code. An interrupted command raises
`Interrupted` with a reply that contains the results so far.
"""

from __future__ import annotations

import csv
import inspect
import io
import math
import re
import shlex
import subprocess
import sys
import threading
import time
from concurrent.futures import Future, wait
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from pathlib import Path
from types import NoneType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    TypeVar,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

import typer

from tablut.cli.streams import AS_JSON, EXIT_INTERRUPTED, complain, json_text, one_line, printable, write_output
from tablut.errors import InputError, TablutError
from tablut.work.clocks import announced, compile_seconds, compiling, wall_clock
from tablut.work.machine import peak_memory
from tablut.work.progress import Observer, duration

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from rich.progress import Progress, Task
    from rich.text import Text

    from tablut.cli.people import PeopleConsole
    from tablut.results import Result

Answer = TypeVar("Answer")

_TYPED: ContextVar[str] = ContextVar("typed")

EXIT_NO = 1
"""Exit code for a negative answer: a check failed, or a stipulation is refuted."""
EXIT_UNKNOWN = 3
"""Exit code for an unknown answer: the limits were reached before a proof."""

_EVERY = 30.0
"""Seconds between progress lines if there is no terminal for a progress bar."""
_COMPILES = " (compiling)"
_LONG = 60
"""Minimum forecast duration, in seconds, of work that is announced even without a terminal."""
_LARGEST = 2**63 - 1
_LONGEST = 1e9
"""Limit for times in seconds (about thirty years), and for all other numbers that are not whole."""


@dataclass(frozen=True)
class Reply:
    """The answer of a command."""

    result: Result
    show: Callable[[PeopleConsole], None]
    exit_code: int = 0
    seed: int | None = None
    table: tuple[type[Result], Sequence[Result]] | None = None
    """Row type and rows of the table that ``--csv`` prints."""
    commented: bool = True
    """Whether the CSV begins with a comment about its provenance."""


class Interrupted(Exception):  # noqa: N818
    """End of a command by an interrupt or an error, with a reply that contains the results so far.

    It is raised where a command catches `KeyboardInterrupt` or the error. The reply is printed as usual; its JSON has
    ``interrupted`` set to true, and a line on standard error says how to continue. The exit code is 130, or that of the
    error.
    """

    def __init__(self, reply: Reply, go_on: str = "", cause: BaseException | None = None) -> None:
        super().__init__(go_on)
        self.reply = reply
        self.go_on = go_on
        self.cause = cause if isinstance(cause, TablutError) else None


@dataclass_transform(frozen_default=True)
def option_group(group: type[Answer]) -> type[Answer]:
    """Decorate a class of options that several commands share; it becomes a frozen dataclass (see `command`)."""
    return dataclass(frozen=True)(group)


def tabular(function: Callable[..., Reply]) -> Callable[..., None]:
    """Decorate a command whose `Reply` has a table. It works like `command`, and adds the option ``--csv``."""
    return command(function, table=True)


def with_sub_commands(function: Callable[..., None]) -> Callable[..., None]:
    """Decorate a command that has sub-commands; options must come after the name of a sub-command."""

    @wraps(function)
    def callback(ctx: typer.Context, **parameters: Any) -> None:
        if ctx.invoked_subcommand is None:
            function(ctx, **parameters)
            return
        given = [name for name in parameters if "COMMANDLINE" in str(ctx.get_parameter_source(name))]
        if any(parameters[name] != "" for name in given):
            raise InputError(
                f"its options must follow {ctx.invoked_subcommand!r}",
                subject=f"{ctx.info_name} {ctx.invoked_subcommand}",
                remedy=f"`tablut {ctx.info_name} {ctx.invoked_subcommand} --help` lists them",
            )

    callback.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    return callback


def command(function: Callable[..., Reply], *, table: bool = False) -> Callable[..., None]:
    """Decorate a function that returns a `Reply`, so that it becomes a sub-command.

    A parameter whose type is an `option_group` is replaced by the options that the group declares.
    """
    hints = get_type_hints(function, include_extras=True)
    keyword = inspect.Parameter.KEYWORD_ONLY
    groups: dict[str, Any] = {}
    own: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(function).parameters.items():
        if is_dataclass(hints[name]):
            groups[name] = hints[name]
            inner = get_type_hints(hints[name], include_extras=True)
            own += [
                inspect.Parameter(field.name, keyword, default=field.default, annotation=inner[field.name])
                for field in fields(hints[name])
            ]
        else:
            own.append(parameter.replace(annotation=hints[name], kind=keyword))

    @wraps(function)
    def _wrapper(ctx: typer.Context, as_json: bool, **parameters: Any) -> None:
        started, told = time.perf_counter(), announced()
        _check_numbers(ctx, parameters)
        as_csv = _is_csv(parameters, as_json=as_json)
        _TYPED.set(shlex.join(ctx.obj))
        stopped, token = None, AS_JSON.set(as_json)
        parameters.pop("as_csv", None)
        asked = dict(parameters)
        parameters.pop("as_toml", None)  # TOML is only a form of output, like CSV
        for name, group in groups.items():
            asked[name] = group(**{field.name: asked.pop(field.name) for field in fields(group)})
        try:
            reply = function(**asked)
        except Interrupted as interrupted:
            stopped, reply = interrupted, interrupted.reply
            _name_option(ctx, interrupted.cause)
        except TablutError as error:
            _name_option(ctx, error)
            raise
        finally:
            AS_JSON.reset(token)
        code, line = reply.exit_code if stopped is None else EXIT_INTERRUPTED, ""
        if stopped is not None and stopped.cause is not None:
            code, line = stopped.cause.exit_code, str(stopped.cause)
        elif code == EXIT_INTERRUPTED:
            go_on = f"; continue with: {stopped.go_on}" if stopped is not None and stopped.go_on else ""
            line = f"interrupted; the results so far are above{go_on}"
        if as_json:
            body = reply.result.model_dump(mode="json", by_alias=True)
            if stopped is not None:
                body["interrupted"] = True
            if line:
                body["error"] = one_line(line)
            seconds = time.perf_counter() - started
            body["provenance"] = origin(typed(), parameters, reply.seed, seconds, commit=commit())
            text = json_text(body)
        else:
            text = csv_of(reply, whole=stopped is None) if as_csv else text_of(reply)
        write_output(text)
        if announced() and not told:
            complain(f"compiling took {compile_seconds():.1f} s (only once); reported times exclude it")
        if line:
            complain(line)
        raise typer.Exit(code)

    context = inspect.Parameter("ctx", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    forms = {"as_json": typer.Option("--json", help="Print one JSON object and nothing else.")}
    if table:
        forms = {"as_csv": typer.Option("--csv", help="Print the table as CSV."), **forms}
    for name, option in forms.items():
        own.append(inspect.Parameter(name, keyword, default=False, annotation=Annotated[bool, option]))
    for parameter in own:
        kind, option = get_args(parameter.annotation)
        option.metavar = option.metavar or _metavar(kind)
        option.parser = option.parser or _number_parser(kind, option.min, option.max)
    parameters = [context, *own]
    _wrapper.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    _wrapper.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return _wrapper


_METAVARS = {int: "N", str: "TEXT", Path: "FILE"}  # for floats, each option names its unit itself


def _metavar(kind: Any) -> str | None:
    """Return the placeholder for a value in the help: its choices, or a word for its type. For a flag, return None."""
    inner = [one for one in get_args(kind) if one is not NoneType]
    if get_origin(kind) is Literal:
        return "|".join(inner)
    return _metavar(inner[0]) if inner else _METAVARS.get(kind)


_NUMBERS = {
    int: ("a whole number", re.compile(r"[+-]?[0-9]{1,400}")),
    float: ("a number", re.compile(r"[+-]?(([0-9]{1,400}\.?[0-9]{0,400}|\.[0-9]{1,400})(e[+-]?[0-9]{1,3})?|inf|nan)")),
}
"""Names of the number types, and the permitted notations.

The notations are stricter than those of Python, which include ``1_0``, blanks and the digits of all scripts.
"""


def _number_parser(kind: Any, least: float | None, most: float | None) -> Callable[[Any], Any] | None:
    """Return a parser that checks the limits of numbers on the command line, or None for other types."""
    while inner := [one for one in get_args(kind) if one is not NoneType and get_origin(kind) is not Literal]:
        kind = inner[0]
    if kind not in _NUMBERS:
        return None
    name, written = _NUMBERS[kind]

    def parse(value: Any) -> Any:
        if isinstance(value, str) and not written.fullmatch(value.lower()):
            raise ValueError(f"expected {name}")
        number = kind(value)
        if (least is not None and number < least) or (most is not None and number > most):
            limits = [f"{least:,} or more"] * (least is not None) + [f"{most:,} at most"] * (most is not None)
            raise ValueError(f"expected {' and '.join(limits)}")
        return number

    return parse


def _is_csv(parameters: Mapping[str, Any], *, as_json: bool) -> bool:
    """Return whether ``--csv`` was given; raise `InputError` if it is combined with another form of output."""
    forms = {"--csv": "as_csv", "--bfile": "as_bfile", "--latex": "latex", "--toml": "as_toml"}
    asked = [option for option, name in forms.items() if parameters.get(name)] + ["--json"] * as_json
    if "--csv" in asked and len(asked) > 1:
        raise InputError("cannot be combined", subject=" and ".join(asked))
    return "--csv" in asked


def _check_numbers(ctx: typer.Context, parameters: dict[str, Any]) -> None:
    """Raise `InputError` for numbers that kernels or clocks cannot handle: beyond 63 bits, infinite, or NaN."""
    for name, value in parameters.items():
        numbers = value if isinstance(value, (list, tuple)) else [value]
        for given in numbers:
            if isinstance(given, int) and abs(given) > _LARGEST:
                raise InputError(f"is too large; the maximum is {_LARGEST:,}", subject=f"{_option(ctx, name)}")
            if isinstance(given, float) and _LONGEST < abs(given) < math.inf:
                raise InputError(f"is too large; the maximum is {_LONGEST:,.0f}", subject=f"{_option(ctx, name)}")
            if isinstance(given, float) and not math.isfinite(given):
                raise InputError("expected a finite number", subject=f"{_option(ctx, name)} {given}")


def _option(ctx: typer.Context, name: str) -> str | None:
    """Return the option for a parameter, or None if the command does not have it."""
    words = {str(param.name): max(param.opts, key=len) for param in ctx.command.params}
    # The library has parameters `count` and `hash`, for which the commands have longer names.
    return words.get(name) or next((word for long, word in words.items() if name and long.startswith(f"{name}_")), None)


def _name_option(ctx: typer.Context, error: TablutError | None) -> None:
    """Replace the names of parameters in an error by the options that the user knows."""
    if error is not None:
        error.rename(lambda name: _option(ctx, name))


def csv_of(reply: Reply, *, whole: bool) -> str:
    """Return the table of a reply as CSV: a comment about its provenance, the names of the columns, and the rows."""
    assert reply.table is not None, "a tabular command replies with a table"
    kind, rows = reply.table
    text = io.StringIO()
    if reply.commented:
        about = source(getattr(reply.result, "variant", None))
        text.write(one_line(f"# {about}" + "; interrupted" * (not whole)) + "\n")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(kind.model_fields)
    writer.writerows([_cell(value) for value in row.model_dump().values()] for row in rows)
    return printable(text.getvalue())


def source(variant: str | None) -> str:
    """Return a one-line provenance for a comment: rule set, version and command."""
    from tablut import __version__

    return f"variant {variant}; " * (variant is not None) + f"version {__version__}; command {typed()}"


def _cell(value: Any) -> Any:
    """Return a value as a CSV cell. None becomes empty, and the parts of lists and objects are separated by spaces."""
    match value:
        case None | bool():
            return {None: "", True: "yes", False: "no"}[value]
        case list() | tuple():
            return " ".join(str(_cell(part)) for part in value)
        case dict():
            return " ".join(f"{name}={_cell(part)}" for name, part in value.items())
    return value


def text_of(reply: Reply) -> str:
    """Return the output of a reply for people, laid out for the current standard output."""
    from tablut.cli.people import Page, PeopleConsole

    page = Page(sys.stdout)
    reply.show(PeopleConsole(file=page))
    return page.getvalue()


def typed() -> str:
    """Return the running command as the user typed it."""
    return _TYPED.get()


def origin(
    command_line: str, parameters: dict[str, Any], seed: int | None, seconds: float, *, commit: str | None
) -> dict[str, Any]:
    """Return the provenance of a result, for commands and for the explorer."""
    from tablut import __version__

    return {
        "version": __version__,
        "commit": commit,
        "command": command_line,
        "parameters": {name: _plain(value) for name, value in parameters.items()},
        "seed": seed,
        "seconds": round(seconds, 3),
        "compile_seconds": round(compile_seconds(), 3),
        "peak_rss_bytes": peak_memory(),
    }


def _plain(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


def commit() -> str | None:
    """Return the commit of the running checkout, with ``+`` if it has uncommitted changes; None outside a checkout."""
    root = Path(__file__).resolve().parents[2]
    project = root / "pyproject.toml"
    if not (root / ".git").exists() or not project.exists():
        return None

    def _git(*arguments: str) -> str:
        return subprocess.run(
            ["git", "-C", str(root), *arguments], capture_output=True, text=True, check=True, timeout=10
        ).stdout.strip()

    try:
        if 'name = "tablut"' not in project.read_text(encoding="utf-8", errors="replace"):
            return None  # the packages were copied into another project's checkout
        _git("ls-files", "--error-unmatch", "tablut/cli/runtime.py")
        return _git("rev-parse", "HEAD") + ("+" if _git("status", "--porcelain") else "")
    except (OSError, subprocess.SubprocessError):
        # git is missing, refuses to read the checkout, or does not track these files.
        return None


def interruptible(work: Callable[[], Answer]) -> Answer:
    """Run a function that may spend hours in compiled code, so that it can still be interrupted immediately.

    Kernels do not handle signals. The function therefore runs in a separate thread, which is
    abandoned when the main thread is interrupted; the process then ends without waiting for it.
    """
    ended: Future[Answer] = Future()

    def run() -> None:
        """Do the work, and store its result or exception."""
        try:
            ended.set_result(work())
        except BaseException as error:
            ended.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    while not ended.done():
        wait([ended], timeout=0.2)
    return ended.result()


@contextmanager
def progress(name: str) -> Iterator[Observer]:
    """Yield an observer that shows progress on standard error: a bar on a terminal, or otherwise occasional lines."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    from tablut.cli.people import PeopleConsole

    # The console is bound to the current stream, because the code within the context may redirect standard error.
    console = PeopleConsole(file=sys.stderr)

    class Doing(TextColumn):
        """Column that shows the current activity, with a note while kernels are being compiled."""

        def render(self, task: Task) -> Text:
            return super().render(task).append(_COMPILES if compiling() else "")

    columns = (
        Doing(name + " {task.description}", markup=False),
        BarColumn(bar_width=20),
        TextColumn("{task.completed:,}{task.fields[rate]}", markup=False),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    watched, ended = console.is_terminal, threading.Event()
    with Progress(*columns, console=console, disable=not watched, transient=True) as display:
        shown = _Shown(name, display)
        if not watched:
            threading.Thread(target=shown.speak_until, args=(ended,), daemon=True).start()
        try:
            yield shown
        finally:
            ended.set()


class _Shown(Observer):
    """Observer that shows the progress of a command; rates and forecasts exclude the time spent on compiling."""

    def __init__(self, name: str, display: Progress) -> None:
        self.name, self.display, self.watched = name, display, display.console.is_terminal
        self.task = display.add_task("", total=None, rate="")
        self.begin("")

    def begin(self, step: str, total: int | None = None) -> None:
        """Start the progress bar of a step."""
        self.step, self.total, self.done = step, total, 0
        self.began = self.moved = wall_clock()
        self.display.remove_task(self.task)
        self.task = self.display.add_task(step, total=total, rate="")

    def advance(self, count: int = 1) -> None:
        """Advance the progress bar."""
        self.done, self.moved = self.done + count, wall_clock()
        self.display.update(self.task, completed=self.done, rate=self._rate())

    def note(self, text: str) -> None:
        """Show a text beside the bar."""
        self.step = text
        self.display.update(self.task, description=text)

    def say(self, text: str) -> None:
        """Print a line above the bar. Without a terminal, print nothing."""
        if self.watched:
            self.display.console.print(text, soft_wrap=True)

    def announce(self, text: str, seconds: float) -> None:
        """Print what is about to begin. Without a terminal, print this only for work that takes long."""
        self.say(text)
        if not self.watched and seconds >= _LONG:
            complain(f"{self.name}: {text}")

    def speak_until(self, ended: threading.Event) -> None:
        """Write a progress line at regular intervals until the work has ended."""
        while not ended.wait(_EVERY):
            of_all = "" if self.total is None else f" of {self.total:,}"
            speed = "" if compiling() else f"{self._rate()}{self._left()}"
            counted = f": {self.done:,}{of_all}{speed}" if self.done or of_all else ""
            complain(f"{self.name} {self.step}{_COMPILES if compiling() else ''}{counted}")

    @property
    def _speed(self) -> float:
        return self.done / (self.moved - self.began) if self.moved > self.began else 0.0

    def _rate(self) -> str:
        return f", {self._speed:,.0f} a second" if self._speed >= 1 else ""

    def _left(self) -> str:
        if self.total is None or not self._speed:
            return ""
        left = (self.total - self.done) / self._speed - (wall_clock() - self.moved)
        return f", about {duration(max(0.0, left))} left"
