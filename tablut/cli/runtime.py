"""Common behaviour of all commands: ``--json``, provenance, exit codes, and progress on standard error.

A command returns a `Reply`: a result (a pydantic model), a function that shows it to people, and an exit code. An
interrupted command raises `Interrupted` with a reply that contains the results so far.
"""

from __future__ import annotations

import csv
import io
import shlex
import sys
import threading
import time
from concurrent.futures import Future, wait
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from tablut.cli.parameters import OnceOption
from tablut.cli.streams import AS_JSON, EXIT_INTERRUPTED, complain, json_text, one_line, printable, write_output
from tablut.errors import InputError, TablutError
from tablut.work.clocks import announced, compile_seconds, compiling, wall_clock
from tablut.work.progress import Observer, duration

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

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


@dataclass(frozen=True)
class Reply:
    """A command's reply: its result, its output for people, and its exit code."""

    result: Result
    show: Callable[[PeopleConsole], None]
    exit_code: int = 0
    seed: int | None = None
    table: tuple[type[Result], Iterable[Result]] | None = None
    """Row type and rows of the table that ``--csv`` prints."""
    commented: bool = True
    """Whether the CSV begins with a comment about its provenance."""


class Interrupted(Exception):  # noqa: N818
    """Exception that ends a command after an interrupt or an error. Its reply contains the results so far.

    A command raises it when it catches `KeyboardInterrupt` or the error. The reply is printed as usual; its JSON has
    ``interrupted`` set to true, and a line on standard error explains how to continue. The exit code is 130 after an
    interrupt, otherwise that of the error.
    """

    def __init__(self, reply: Reply, go_on: str = "", cause: BaseException | None = None) -> None:
        super().__init__(go_on)
        self.reply = reply
        self.go_on = go_on
        self.cause = cause if isinstance(cause, TablutError) else None


def respond(ctx: click.Context) -> int:
    """Run a context's command, print its result in the form that the user chose, and return the exit code."""
    started, told = time.perf_counter(), announced()
    asked = {name: value for name, value in ctx.params.items() if name != "as_csv"}
    as_json, as_csv = ctx.meta[AS_JSON.name], ctx.params.get("as_csv", False)
    options = {str(param.name): param for param in ctx.command.params if isinstance(param, OnceOption)}
    forms = ["--json"] * as_json + [option.opts[0] for name, option in options.items() if option.form and asked[name]]
    if as_csv and forms:
        raise InputError("cannot be combined", subject=" and ".join(["--csv", *forms]))
    _TYPED.set(shlex.join(ctx.obj))
    stopped, token = None, AS_JSON.set(as_json)
    callback: Any = ctx.command.callback
    try:
        reply = ctx.invoke(callback, **asked)
    except Interrupted as interrupted:
        stopped, reply = interrupted, interrupted.reply
        _name_options(ctx, interrupted.cause)
    except TablutError as error:
        _name_options(ctx, error)
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
        # A repeatable option that was not given is null.
        kept = {name: value for name, value in asked.items() if name not in options or options[name].recorded}
        parameters = {name: None if value == () else value for name, value in kept.items()}
        seconds = time.perf_counter() - started
        # Loaded only here, because pydantic would slow down `tablut --help`.
        from tablut.provenance import commit, origin

        body["provenance"] = origin(typed(), parameters, reply.seed, seconds, commit=commit())
        text = json_text(body)
    else:
        text = csv_of(reply, whole=stopped is None) if as_csv else text_of(reply)
    write_output(text)
    if announced() and not told:
        complain(f"compiling took {compile_seconds():.1f} s; reported times exclude it")
    if line:
        complain(line)
    return code


def _name_options(ctx: click.Context, error: TablutError | None) -> None:
    """Replace parameter names in an error with the options that the user knows."""
    words = {str(param.name): max(param.opts, key=len) for param in ctx.command.params}

    def option(name: str) -> str | None:
        # The commands have longer names for the library's parameters `count` and `hash`.
        return words.get(name) or next((word for long, word in words.items() if long.startswith(f"{name}_")), None)

    if error is not None:
        error.rename(option)


def csv_of(reply: Reply, *, whole: bool) -> str:
    """Return a reply's table as CSV: a comment with the provenance, the column names, and the rows."""
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
    """Return a value as a CSV cell: None becomes empty, and the parts of lists and objects are separated by spaces."""
    match value:
        case None | bool():
            return {None: "", True: "yes", False: "no"}[value]
        case list() | tuple():
            return " ".join(str(_cell(part)) for part in value)
        case dict():
            return " ".join(f"{name}={_cell(part)}" for name, part in value.items())
    return value


def text_of(reply: Reply) -> str:
    """Return a reply's output for people, formatted for the current standard output."""
    from tablut.cli.people import Page, PeopleConsole

    page = Page(sys.stdout)
    reply.show(PeopleConsole(file=page))
    return page.getvalue()


def typed() -> str:
    """Return the running command as the user typed it."""
    return _TYPED.get()


def interruptible(work: Callable[[], Answer]) -> Answer:
    """Run a function that may spend hours in compiled code, so that it can still be interrupted immediately.

    Kernels do not handle signals. The function therefore runs in a separate thread, which is
    abandoned when the main thread is interrupted; the process then ends without waiting for it.
    """
    ended: Future[Answer] = Future()

    def run() -> None:
        """Run the function, and store its result or exception."""
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
    """Yield an observer that shows progress on standard error: a bar on a terminal, otherwise occasional lines."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    from tablut.cli.people import PeopleConsole

    # The console is bound to the current stream, because the code within the context may redirect standard error.
    console = PeopleConsole(file=sys.stderr)

    class Doing(TextColumn):
        """Column that shows the current activity, and a note while kernels are being compiled."""

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
        shown = _ProgressDisplay(name, display)
        if not watched:
            threading.Thread(target=shown.speak_until, args=(ended,), daemon=True).start()
        try:
            yield shown
        finally:
            ended.set()


class _ProgressDisplay(Observer):
    """Observer that shows a command's progress. Rates and forecasts exclude the time spent on compiling."""

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
        """Announce work that is about to begin. Without a terminal, announce it only if it will take a long time."""
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
