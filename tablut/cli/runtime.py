"""What every command shares: ``--json``, provenance, exit codes, progress on standard error.

A command is a function decorated with `command` that returns a `Reply`: a result
(pydantic), a way to show it to people, and an exit code. An interrupted command
raises `Interrupted` with a reply that holds what was done until then.
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
from tablut.running.clocks import announced, compile_seconds, compiling, wall_clock
from tablut.running.machine import peak_memory
from tablut.running.progress import Observer, duration

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from rich.progress import Progress, Task
    from rich.text import Text

    from tablut.cli.people import PeopleConsole
    from tablut.results import Result

Answer = TypeVar("Answer")

_TYPED: ContextVar[str] = ContextVar("typed")

EXIT_NO = 1
"""The answer is no: a check failed, a stipulation is refuted."""
EXIT_UNKNOWN = 3
"""Limits ran out before a proof."""

_EVERY = 30.0
"""Seconds between lines about long work where no terminal shows a bar."""
_COMPILES = " (compiling)"
_LONG = 60
"""Seconds from which on a forecast is printed where there is no terminal."""
_LARGEST = 2**63 - 1
_LONGEST = 1e9
"""Most seconds, or of any other number that is not whole: thirty years."""


@dataclass(frozen=True)
class Reply:
    """What a command answers."""

    result: Result
    show: Callable[[PeopleConsole], None]
    exit_code: int = 0
    seed: int | None = None
    table: tuple[type[Result], Sequence[Result]] | None = None
    """What ``--csv`` prints: rows, and their kind."""
    commented: bool = True
    """Whether ``--csv`` says first where the table comes from."""


class Interrupted(Exception):  # noqa: N818
    """Ends a command early with a reply: exit code 130, or that of the error that ended it.

    Raised where the command caught the `KeyboardInterrupt` or the error. The reply is printed
    as always, under ``--json`` with ``interrupted`` true, and standard error says how to go on.
    """

    def __init__(self, reply: Reply, go_on: str = "", cause: BaseException | None = None) -> None:
        super().__init__(go_on)
        self.reply = reply
        self.go_on = go_on
        self.cause = cause if isinstance(cause, TablutError) else None


@dataclass_transform(frozen_default=True)
def option_group(group: type[Answer]) -> type[Answer]:
    """Make a frozen dataclass of options that several commands share; see `command`."""
    return dataclass(frozen=True)(group)


def tabular(function: Callable[..., Reply]) -> Callable[..., None]:
    """Make a sub-command, as `command` does, of a function whose `Reply` has a table: it has the option ``--csv``."""
    return command(function, table=True)


def with_sub_commands(function: Callable[..., None]) -> Callable[..., None]:
    """Let a command have sub-commands; no options stand before their names."""

    @wraps(function)
    def callback(ctx: typer.Context, **parameters: Any) -> None:
        if ctx.invoked_subcommand is None:
            function(ctx, **parameters)
            return
        given = [name for name in parameters if "COMMANDLINE" in str(ctx.get_parameter_source(name))]
        if any(parameters[name] != "" for name in given):
            raise InputError(
                f"{ctx.info_name} {ctx.invoked_subcommand}: options come after {ctx.invoked_subcommand!r}; "
                f"`tablut {ctx.info_name} {ctx.invoked_subcommand} --help` lists them"
            )

    callback.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    return callback


def command(function: Callable[..., Reply], *, table: bool = False) -> Callable[..., None]:
    """Make a sub-command of a function that returns a `Reply`.

    A parameter whose type is an `option_group` stands for the options that the group declares.
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
        parameters.pop("as_toml", None)  # a form of the answer, as CSV is
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
            go_on = f"; go on with: {stopped.go_on}" if stopped is not None and stopped.go_on else ""
            line = f"interrupted; above is what was done{go_on}"
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
            complain(f"compiling took {compile_seconds():.1f} s, once; reported times leave it out")
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


_METAVARS = {int: "N", str: "TEXT", Path: "FILE"}  # a number that is not whole has a unit, which its option names


def _metavar(kind: Any) -> str | None:
    """Return what stands in the help for a value of a kind: its choices, or a word; None for a flag."""
    inner = [one for one in get_args(kind) if one is not NoneType]
    if get_origin(kind) is Literal:
        return "|".join(inner)
    return _metavar(inner[0]) if inner else _METAVARS.get(kind)


_NUMBERS = {
    int: ("a whole number", re.compile(r"[+-]?[0-9]{1,400}")),
    float: ("a number", re.compile(r"[+-]?(([0-9]{1,400}\.?[0-9]{0,400}|\.[0-9]{1,400})(e[+-]?[0-9]{1,3})?|inf|nan)")),
}
"""What a number is called, and how it is written: Python also reads ``1_0``, blanks and the digits of all scripts."""


def _number_parser(kind: Any, least: float | None, most: float | None) -> Callable[[Any], Any] | None:
    """Return what reads a number of the command line within its limits; None for other kinds of values."""
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
    """Return whether the answer is to be CSV; refuse a second form beside it."""
    forms = {"--csv": "as_csv", "--bfile": "as_bfile", "--latex": "latex", "--toml": "as_toml"}
    asked = [option for option, name in forms.items() if parameters.get(name)] + ["--json"] * as_json
    if "--csv" in asked and len(asked) > 1:
        raise InputError(f"{' and '.join(asked)}: choose one of them")
    return "--csv" in asked


def _check_numbers(ctx: typer.Context, parameters: dict[str, Any]) -> None:
    """Refuse numbers that no kernel and no clock can take: beyond 63 bits, infinite, or not a number."""
    for name, value in parameters.items():
        numbers = value if isinstance(value, (list, tuple)) else [value]
        for given in numbers:
            if isinstance(given, int) and abs(given) > _LARGEST:
                raise InputError(f"{_option(ctx, name)}: is too large; at most {_LARGEST:,}")
            if isinstance(given, float) and _LONGEST < abs(given) < math.inf:
                raise InputError(f"{_option(ctx, name)}: is too large; at most {_LONGEST:,.0f}")
            if isinstance(given, float) and not math.isfinite(given):
                raise InputError(f"{_option(ctx, name)} {given}: expected a finite number")


def _option(ctx: typer.Context, name: str) -> str | None:
    """Return how the user types a parameter, or None if the command does not have it."""
    words = {str(param.name): max(param.opts, key=len) for param in ctx.command.params}
    # The library says `count` and `hash` where the command has a longer name.
    return words.get(name) or next((word for long, word in words.items() if name and long.startswith(f"{name}_")), None)


def _name_option(ctx: typer.Context, error: TablutError | None) -> None:
    """Put the option that the user typed in the place of the parameter that an error blames."""
    if error is not None:
        error.rename(lambda name: _option(ctx, name))


def csv_of(reply: Reply, *, whole: bool) -> str:
    """Return the table of a reply as CSV: a comment on where it comes from, the names of the columns, the rows."""
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
    """Return where an answer comes from, for a comment in it: rule set, version and command."""
    from tablut import __version__

    return f"variant {variant}; " * (variant is not None) + f"version {__version__}; command {typed()}"


def _cell(value: Any) -> Any:
    """Return a value as a cell of CSV: nothing for None, the parts of a list or an object with spaces between."""
    match value:
        case None | bool():
            return {None: "", True: "yes", False: "no"}[value]
        case list() | tuple():
            return " ".join(str(_cell(part)) for part in value)
        case dict():
            return " ".join(f"{name}={_cell(part)}" for name, part in value.items())
    return value


def text_of(reply: Reply) -> str:
    """Return what a reply shows to people, laid out for standard output as it is now."""
    from tablut.cli.people import Page, PeopleConsole

    page = Page(sys.stdout)
    reply.show(PeopleConsole(file=page))
    return page.getvalue()


def typed() -> str:
    """Return the command that runs, as it was typed."""
    return _TYPED.get()


def origin(
    command_line: str, parameters: dict[str, Any], seed: int | None, seconds: float, *, commit: str | None
) -> dict[str, Any]:
    """Return where a result comes from, whoever asked for it."""
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
    """Return the commit of the checkout that runs, ``+`` appended if it has changes; None outside of one."""
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
            return None  # a copy of the packages in another project's checkout
        _git("ls-files", "--error-unmatch", "tablut/cli/runtime.py")
        return _git("rev-parse", "HEAD") + ("+" if _git("status", "--porcelain") else "")
    except (OSError, subprocess.SubprocessError):
        # No git on this machine, a checkout that it will not read, or files that it does not track.
        return None


def interruptible(work: Callable[[], Answer]) -> Answer:
    """Run work that compiled code may keep busy for hours, so that an interrupt is still heard at once.

    A kernel does not handle signals. It runs in a thread of its own here, which is
    abandoned when the main thread is interrupted; the process then ends without it.
    """
    ended: Future[Answer] = Future()

    def run() -> None:
        """Do the work and keep what it returns or raises."""
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
    """Yield who shows progress on standard error: a bar on a terminal, else a line now and then."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    from tablut.cli.people import PeopleConsole

    # The stream of this moment: the code that runs within may redirect its own.
    console = PeopleConsole(file=sys.stderr)

    class Doing(TextColumn):
        """What is done; while kernels compile, that."""

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
    """Shows the progress of a command, at the speed of its work: compiling takes none of its time."""

    def __init__(self, name: str, display: Progress) -> None:
        self.name, self.display, self.watched = name, display, display.console.is_terminal
        self.task = display.add_task("", total=None, rate="")
        self.begin("")

    def begin(self, step: str, total: int | None = None) -> None:
        """Start a bar for a step."""
        self.step, self.total, self.done = step, total, 0
        self.began = self.moved = wall_clock()
        self.display.remove_task(self.task)
        self.task = self.display.add_task(step, total=total, rate="")

    def advance(self, count: int = 1) -> None:
        """Move the bar on."""
        self.done, self.moved = self.done + count, wall_clock()
        self.display.update(self.task, completed=self.done, rate=self._rate())

    def note(self, text: str) -> None:
        """Put it beside the bar."""
        self.step = text
        self.display.update(self.task, description=text)

    def say(self, text: str) -> None:
        """Print a line above the bar."""
        if self.watched:
            self.display.console.print(text, soft_wrap=True)

    def announce(self, text: str, seconds: float) -> None:
        """Print what begins; where nobody watches, only what takes long."""
        self.say(text)
        if not self.watched and seconds >= _LONG:
            complain(f"{self.name}: {text}")

    def speak_until(self, ended: threading.Event) -> None:
        """Write a line now and then until the work has ended."""
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
