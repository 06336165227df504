"""What every command shares: ``--json``, provenance, exit codes, progress on standard error.

A command is a function decorated with `command` that returns a `Reply`: a result
(pydantic), a way to show it to people, and an exit code. An interrupted command
raises `Interrupted` with a reply that holds what was done until then.
"""

from __future__ import annotations

import inspect
import io
import json
import math
import os
import re
import shlex
import subprocess
import sys
import threading
import time
from contextvars import ContextVar
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_type_hints

import typer

from tablut.cli.interrupts import EXIT_INTERRUPTED
from tablut.cli.streams import complain, is_utf8, write_output
from tablut.compilation import announced, compile_seconds
from tablut.errors import InputError
from tablut.machine import peak_memory

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.progress import Progress

    from tablut.cli.people import PeopleConsole
    from tablut.errors import TablutError
    from tablut.results import Result

__all__ = [
    "EXIT_NO",
    "EXIT_UNKNOWN",
    "Interrupted",
    "Reply",
    "command",
    "commit",
    "interruptible",
    "json_wanted",
    "origin",
    "progress",
    "provenance",
    "text_of",
]

Answer = TypeVar("Answer")

EXIT_NO = 1
"""The answer is no: a check failed, a stipulation is refuted."""
EXIT_UNKNOWN = 3
"""Limits ran out before a proof."""

_as_json: ContextVar[bool] = ContextVar("as_json", default=False)

_LARGEST = 2**63 - 1
_LONGEST = 1e9
"""Most seconds, or of any other number that is not whole: thirty years."""


@dataclass(frozen=True)
class Reply:
    """What a command answers.

    Attributes
    ----------
    result : Result
        Dumped by ``--json``, provenance added.
    show : callable
        Prints the result to a console (`tablut.cli.people`); not called under ``--json``.
    exit_code : int
        0, `EXIT_NO`, `EXIT_UNKNOWN`, or 130 where the result itself says that it was interrupted.
    seed : int, optional
        The seed of everything random in the result.
    """

    result: Result
    show: Callable[[PeopleConsole], None]
    exit_code: int = 0
    seed: int | None = None


class Interrupted(Exception):  # noqa: N818
    """Ends a command early with a reply: exit code 130, or that of the error that ended it.

    Raised where the command caught the `KeyboardInterrupt` or the error. The reply is printed
    as always, under ``--json`` with ``interrupted`` true, and standard error says how to go on.

    Parameters
    ----------
    reply : Reply
        What was done until then.
    go_on : str
        The command that goes on from there, or what else helps; empty if nothing does.
    cause : TablutError, optional
        What ended the command, reported when the reply has been printed; an interrupt by default.

    Examples
    --------
    >>> raise Interrupted(Reply(result, show), "tablut census --all --store DIR --resume")  # doctest: +SKIP
    """

    def __init__(self, reply: Reply, go_on: str = "", cause: TablutError | None = None) -> None:
        super().__init__(go_on)
        self.reply = reply
        self.go_on = go_on
        self.cause = cause


def command(function: Callable[..., Reply]) -> Callable[..., None]:
    """Make a sub-command of a function that returns a `Reply`.

    Parameters
    ----------
    function : callable
        Its parameters are the command's, annotated as typer wants them; ``--json`` is
        added to them.

    Returns
    -------
    callable
        What a `tablut.cli.spec.CommandSpec` names.
    """
    hints = get_type_hints(function, include_extras=True)
    own = [
        parameter.replace(annotation=hints[name]) for name, parameter in inspect.signature(function).parameters.items()
    ]

    @wraps(function)
    def _wrapper(ctx: typer.Context, as_json: bool, **parameters: Any) -> None:
        started, told = time.perf_counter(), announced()
        _check_numbers(ctx, parameters)
        stopped, token = None, _as_json.set(as_json)
        try:
            reply = function(**parameters)
        except Interrupted as interrupted:
            stopped, reply = interrupted, interrupted.reply
        finally:
            _as_json.reset(token)
        if as_json:
            body = reply.result.model_dump(mode="json", by_alias=True)
            if stopped is not None:
                body["interrupted"] = True
            body["provenance"] = provenance(ctx, parameters, reply.seed, time.perf_counter() - started)
            text = _json_text(body)
        else:
            text = text_of(reply)
        write_output(text)
        if announced() and not told:
            complain(f"compiling took {compile_seconds():.1f} s, once; reported times leave it out")
        if stopped is not None and stopped.cause is not None:
            raise stopped.cause
        code = reply.exit_code if stopped is None else EXIT_INTERRUPTED
        if code == EXIT_INTERRUPTED:
            go_on = f"; go on with: {stopped.go_on}" if stopped is not None and stopped.go_on else ""
            complain(f"interrupted; above is what was done{go_on}")
        raise typer.Exit(code)

    keyword = inspect.Parameter.KEYWORD_ONLY
    context = inspect.Parameter("ctx", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    as_json = inspect.Parameter(
        "as_json",
        keyword,
        default=typer.Option(False, "--json", help="Print one JSON object and nothing else."),
        annotation=bool,
    )
    parameters = [context, *(parameter.replace(kind=keyword) for parameter in own), as_json]
    _wrapper.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    _wrapper.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return _wrapper


def json_wanted() -> bool:
    """Return whether the command that runs was given ``--json``, for one that says something before it answers."""
    return _as_json.get()


def _check_numbers(ctx: typer.Context, parameters: dict[str, Any]) -> None:
    """Refuse numbers that no kernel and no clock can take: beyond 63 bits, infinite, or not a number."""
    for name, value in parameters.items():
        numbers = value if isinstance(value, (list, tuple)) else [value]
        for given in numbers:
            if isinstance(given, int) and abs(given) > _LARGEST:
                raise InputError(f"{_typed(ctx, name)}: is too large; at most {_LARGEST:,}")
            if name == "threads" and isinstance(given, int) and given > (most := max(64, 4 * (os.cpu_count() or 1))):
                raise InputError(f"--threads {given}: at most {most} here; more would only wait for one another")
            if isinstance(given, float) and _LONGEST < abs(given) < math.inf:
                raise InputError(f"{_typed(ctx, name)}: is too large; at most {_LONGEST:,.0f}")
            if isinstance(given, float) and not math.isfinite(given):
                raise InputError(f"{_typed(ctx, name)} {given}: expected a finite number")


def _typed(ctx: typer.Context, name: str) -> str:
    """Return the name of a parameter as the user types it."""
    found = next((param for param in ctx.command.params if param.name == name), None)
    return max(found.opts, key=len) if found is not None else name


def _json_text(body: dict[str, Any]) -> str:
    text = json.dumps(body, ensure_ascii=not is_utf8(sys.stdout), indent=2)

    def escaped(sign: re.Match[str]) -> str:
        return sign[0] if sign[0].isprintable() else json.dumps(sign[0])[1:-1]

    # Outside its strings a JSON text is ASCII, so these characters stand within strings.
    return re.sub(r"[^\n -~]", escaped, text) + "\n"


class _Page(io.StringIO):
    """Takes what the console prints; the console takes it for standard output."""

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return getattr(sys.stdout, "encoding", None) or "utf-8"

    def isatty(self) -> bool:
        return sys.stdout.isatty()


def text_of(reply: Reply) -> str:
    """Return what a reply shows to people, laid out for standard output as it is now.

    Parameters
    ----------
    reply : Reply
        What a command answered.

    Returns
    -------
    str
        The page, with colours if standard output is a terminal.
    """
    from tablut.cli.people import PeopleConsole

    page = _Page()
    reply.show(PeopleConsole(file=page))
    return page.getvalue()


def provenance(ctx: typer.Context, parameters: dict[str, Any], seed: int | None, seconds: float) -> dict[str, Any]:
    """Return where a result comes from.

    Parameters
    ----------
    ctx : typer.Context
        Of the command that ran; its ``obj`` is the list of arguments that the user typed.
    parameters : dict
        Its parameters, defaults included.
    seed : int or None
        The seed of everything random in it.
    seconds : float
        Wall time that it took.

    Returns
    -------
    dict
        Keys ``version``, ``commit`` (of the checkout that the program runs from, ``+``
        appended if it has local changes; null otherwise), ``command``, ``parameters``,
        ``seed``, ``seconds``, ``compile_seconds`` (the part of them that went into
        compiling or loading kernels) and ``peak_rss_bytes``.
    """
    return origin(shlex.join(["tablut", *ctx.obj]), parameters, seed, seconds, commit=commit())


def origin(
    command_line: str, parameters: dict[str, Any], seed: int | None, seconds: float, *, commit: str | None
) -> dict[str, Any]:
    """Return where a result comes from, whoever asked for it; `provenance` is this for a command.

    Parameters
    ----------
    command_line : str
        What was asked, as it was typed.
    parameters : dict
        What it means, defaults included.
    seed : int or None
        The seed of everything random in it.
    seconds : float
        Wall time that it took.
    commit : str or None
        As `commit` returns it.

    Returns
    -------
    dict
        As `provenance`.
    """
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
    if not (root / ".git").exists():
        return None

    def _git(*arguments: str) -> str:
        return subprocess.run(
            ["git", "-C", str(root), *arguments], capture_output=True, text=True, check=True, timeout=10
        ).stdout.strip()

    try:
        return _git("rev-parse", "HEAD") + ("+" if _git("status", "--porcelain") else "")
    except (OSError, subprocess.SubprocessError):
        # No git on this machine, or a checkout that it will not read: the commit is not known.
        return None


def interruptible(work: Callable[[], Answer]) -> Answer:
    """Run work that compiled code may keep busy for hours, so that an interrupt is still heard at once.

    A kernel does not handle signals. It runs in a thread of its own here, which is
    abandoned when the main thread is interrupted; the process then ends without it.

    Parameters
    ----------
    work : callable
        Takes nothing, and changes nothing that an abandoned run would leave half done.

    Returns
    -------
    object
        What the work returns; its exceptions pass through.
    """
    results: list[Answer] = []
    failures: list[BaseException] = []

    def run() -> None:
        """Do the work and keep what it returns or raises."""
        try:
            results.append(work())
        except BaseException as error:
            # Raised again in the caller's thread.
            failures.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(timeout=0.2)
    if failures:
        raise failures[0]
    return results[0]


def progress(description: str) -> Progress:
    """Return a progress display on standard error, silent unless that is a terminal.

    Parameters
    ----------
    description : str
        What is being done.

    Returns
    -------
    rich.progress.Progress
        A context manager; add tasks to it.
    """
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    from tablut.cli.people import PeopleConsole

    # The stream of this moment: the code that runs within may redirect its own.
    console = PeopleConsole(file=sys.stderr)
    return Progress(
        TextColumn(description + " {task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.completed:,}", markup=False),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
        transient=True,
    )
