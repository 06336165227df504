"""What every command has without writing it: ``--json``, provenance, exit codes, progress on standard error.

A command is a function decorated with `command` that returns a `Reply`: a result
(pydantic), a way to show it to people, and an exit code.
"""

from __future__ import annotations

import inspect
import json
import os
import shlex
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_type_hints

import typer

from tablut.compilation import announced, compile_seconds

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console
    from rich.progress import Progress

    from tablut.results import Result

__all__ = ["EXIT_NO", "EXIT_UNKNOWN", "Reply", "command", "interruptible", "progress", "provenance"]

Answer = TypeVar("Answer")

EXIT_NO = 1
"""The answer is no: a check failed, a stipulation is refuted."""
EXIT_UNKNOWN = 3
"""Limits ran out before a proof."""


@dataclass(frozen=True)
class Reply:
    """What a command answers.

    Attributes
    ----------
    result : Result
        Dumped by ``--json``, provenance added.
    show : callable
        Prints the result to a rich console; not called under ``--json``.
    exit_code : int
        0, `EXIT_NO` or `EXIT_UNKNOWN`.
    seed : int, optional
        The seed of everything random in the result.
    """

    result: Result
    show: Callable[[Console], None]
    exit_code: int = 0
    seed: int | None = None


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
    def wrapper(ctx: typer.Context, as_json: bool, **parameters: Any) -> None:
        started = time.perf_counter()
        reply = function(**parameters)
        if as_json:
            body = reply.result.model_dump(mode="json", by_alias=True)
            body["provenance"] = provenance(ctx, parameters, reply.seed, time.perf_counter() - started)
            text = json.dumps(body, ensure_ascii=False, indent=2) + "\n"
        else:
            text = _for_people(reply)
        _print(text)
        _say_compiled()
        raise typer.Exit(reply.exit_code)

    keyword = inspect.Parameter.KEYWORD_ONLY
    context = inspect.Parameter("ctx", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    as_json = inspect.Parameter(
        "as_json",
        keyword,
        default=typer.Option(False, "--json", help="Print one JSON object and nothing else."),
        annotation=bool,
    )
    parameters = [context, *(parameter.replace(kind=keyword) for parameter in own), as_json]
    wrapper.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    wrapper.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return wrapper


def _say_compiled() -> None:
    """Say on standard error what compiling took, if it was more than a moment."""
    if announced():
        print(  # noqa: T201
            f"tablut: compiling took {compile_seconds():.1f} s, once; reported times leave it out", file=sys.stderr
        )


def _for_people(reply: Reply) -> str:
    from rich.console import Console

    console = Console(highlight=False)
    with console.capture() as captured:
        reply.show(console)
    return captured.get()


def _print(text: str) -> None:
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has gone (`tablut … | head`): nothing is wrong, and the interpreter must not try again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


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
    from tablut import __version__

    return {
        "version": __version__,
        "commit": _commit(),
        "command": shlex.join(["tablut", *ctx.obj]),
        "parameters": {name: _plain(value) for name, value in parameters.items()},
        "seed": seed,
        "seconds": round(seconds, 3),
        "compile_seconds": round(compile_seconds(), 3),
        "peak_rss_bytes": _peak_rss(),
    }


def _plain(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


def _commit() -> str | None:
    root = Path(__file__).resolve().parents[2]
    if not (root / ".git").exists():
        return None

    def git(*arguments: str) -> str:
        return subprocess.run(
            ["git", "-C", str(root), *arguments], capture_output=True, text=True, check=True, timeout=10
        ).stdout.strip()

    try:
        return git("rev-parse", "HEAD") + ("+" if git("status", "--porcelain") else "")
    except (OSError, subprocess.SubprocessError):
        # No git on this machine, or a checkout that it will not read: the commit is not known.
        return None


def _peak_rss() -> int | None:
    try:
        import resource
    except ImportError:  # not a POSIX system
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def interruptible(work: Callable[[], Answer]) -> Answer:
    """Run work that compiled code may keep busy for hours, so that an interrupt is still heard at once.

    A kernel does not look at signals. It runs in a thread of its own here, which is
    abandoned when the main thread is interrupted; the process then ends without it.

    Parameters
    ----------
    work : callable
        Takes nothing, and changes nothing that an abandoned run would leave half done.

    Returns
    -------
    object
        What the work returns; what it raises is raised.
    """
    results: list[Answer] = []
    failures: list[BaseException] = []

    def run() -> None:
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
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    # The stream of now: what runs within may direct its own elsewhere.
    console = Console(file=sys.stderr)
    return Progress(
        TextColumn(description + " {task.description}"),
        BarColumn(),
        TextColumn("{task.completed:,}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
        transient=True,
    )
