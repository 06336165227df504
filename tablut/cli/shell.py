"""Main program of the command line: it lists sub-commands, loads the requested one, and reports errors."""

from __future__ import annotations

import errno
import gc
import os
import re
import sys
from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from importlib import import_module
from importlib.metadata import entry_points
from itertools import groupby
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup
from typer.main import get_command

from tablut.cli.spec import GROUPS, CommandSpec
from tablut.cli.streams import (
    EXIT_DEFECT,
    EXIT_INTERRUPTED,
    complain,
    fail,
    leave,
    prepare_streams,
    watch_interrupts,
    write_output,
)
from tablut.errors import InputError, MachineError, TablutError, did_you_mean, output_failure, problem_of
from tablut.work.files import excerpt
from tablut.work.machine import check_address_space

__all__ = ["command_specs", "main", "run"]

EXIT_BAD_INPUT = 2

_TRACE = "TABLUT_TRACE"
_COMPLETE = "_TABLUT_COMPLETE"
_SHELLS = ("bash", "zsh", "fish", "powershell", "pwsh")
_COMPLETION = ("--install-completion", "--show-completion")

# Help without rich, which would take more time than everything else in `tablut --help`.
_SETTINGS: dict[str, Any] = {
    "rich_markup_mode": None,
    "add_completion": False,
    "pretty_exceptions_enable": False,
    "context_settings": {"help_option_names": ["-h", "--help"]},
}


def command_specs() -> dict[str, CommandSpec]:
    """Return all commands of the installed packages, keyed by name, in the order of ``tablut --help``."""
    found = [spec for entry in entry_points(group="tablut.commands") for spec in entry.load()]
    groups = [*GROUPS, *sorted({spec.group for spec in found} - GROUPS.keys())]
    return {spec.name: spec for spec in sorted(found, key=lambda spec: (groups.index(spec.group), spec.order))}


class _LazyGroup(TyperGroup):
    """A command group that imports the module of a command only when the command is used."""

    @cached_property
    def specs(self) -> dict[str, CommandSpec]:
        return command_specs()

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self.specs)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        spec = self.specs.get(cmd_name)
        if spec is None:
            return None
        module, attribute = spec.home
        target = getattr(import_module(module), attribute)
        if not isinstance(target, typer.Typer):
            app = typer.Typer(**_SETTINGS)
            app.command(spec.name)(target)
            target = app
        loaded = get_command(target)
        loaded.name = cmd_name
        _complete_help(loaded, cmd_name, spec.examples)
        return loaded

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not ctx.resilient_parsing:
            if args[:1] == ["help"]:
                args = [*(name for name in args[1:] if name != "help"), "--help"]
            if args[:1] and args[0] in _COMPLETION and not (args[1:] and args[1] in _SHELLS):
                # The name of the shell may be omitted; by default it is the calling shell.
                args = [args[0], "", *args[1:]]
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args[:1] == ["help"] and ctx.resilient_parsing:
            return None, None, []
        if args and args[0] not in self.specs and not args[0].startswith("-") and not ctx.resilient_parsing:
            hint = did_you_mean(args[0], [*self.specs, "help"], "`tablut --help` lists them")
            raise TablutError("no such command", subject=f"command {excerpt(args[0])}", remedy=hint)
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        try:
            from typer._click.shell_completion import CompletionItem
        except ImportError:  # a version of typer that does not bundle click
            from click.shell_completion import CompletionItem  # type: ignore[assignment]

        names = {name: spec.help for name, spec in self.specs.items()} | {"help": _HELP}
        found = [CompletionItem(name, help=text) for name, text in names.items() if name.startswith(incomplete)]
        # Only the completion of options is inherited; the completion of commands would load all of them.
        return [*found, *super(TyperGroup, self).shell_complete(ctx, incomplete)]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        _write_examples(_FIRST, ctx, formatter, "Begin with")
        for group, specs in groupby(self.specs.values(), key=lambda spec: spec.group):
            with formatter.section(GROUPS.get(group, group)):
                formatter.write_dl([(spec.name, spec.help) for spec in specs] + [("help", _HELP)] * (group == "check"))


def _complete_help(command: Any, name: str, examples: Sequence[str]) -> None:
    """Append the examples to the help of a command and of its sub-commands, and hide the Python types of arguments."""
    for argument in command.params:
        if argument.param_type_name == "argument":
            argument.display_type_rich = lambda **_: None
    start = ["tablut", *name.split()]
    command.format_epilog = partial(_write_examples, [line for line in examples if line.split()[: len(start)] == start])
    for inner, of_group in getattr(command, "commands", {}).items():
        _complete_help(of_group, f"{name} {inner}", examples)


def _write_examples(lines: Sequence[str], _: Any, formatter: Any, title: str = "Examples") -> None:
    if lines:
        with formatter.section(title):
            # Lines are not wrapped, so that the examples can be copied.
            formatter.write("".join(f"  {line}\n" for line in lines))


_FIRST = (
    "tablut bounds                    # the published bounds, checked and tightened",
    "tablut serve                     # boards, puzzles and games in the browser",
    "tablut play -v brandubh          # a game in the terminal",
    "tablut bestmove -v brandubh      # one move, with its score and line",
    "tablut solve -v brandubh-5-4v0   # a small board, solved completely",
)
_HELP = "Explain a command: `tablut help COMMAND`."

app = typer.Typer(cls=_LazyGroup, **_SETTINGS)


@app.callback(invoke_without_command=True)
def _tablut(
    ctx: typer.Context,
    version: bool = typer.Option(False, "--version", help="Print the version and exit."),
    install_completion: str = typer.Option(
        None, "--install-completion", metavar="SHELL", help="Install completion for bash, zsh, fish or powershell."
    ),
    show_completion: str = typer.Option(
        None, "--show-completion", metavar="SHELL", help="Print the script that installs completion."
    ),
) -> None:
    """Find exact answers about Tablut and related tafl games.

    With --json, every command prints one JSON object and nothing else.

    Exit codes: 0 done, 1 the answer is no, 2 bad input, 3 unknown (limits reached
    before a proof), 70 defect of this program, 74 failure of the machine (finished work
    is kept), 130 interrupted.
    """
    if version:
        from tablut import __version__

        typer.echo(f"tablut {__version__}")
        raise typer.Exit
    for wanted, install in ((install_completion, True), (show_completion, False)):
        if wanted is not None:
            typer.echo(_completion(wanted, install=install))
            raise typer.Exit
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())
        raise typer.Exit


def run(args: Sequence[str], program: typer.Typer = app, name: str = "tablut") -> int:
    """Run a command line (by default of `tablut`), and return the exit code."""
    try:
        with get_command(program).make_context(name, list(args), obj=[*name.split(), *args]) as context:
            context.command.invoke(context)
    except typer.Exit as end:
        return end.exit_code
    except (KeyboardInterrupt, typer.Abort):
        return fail(TablutError("interrupted"), EXIT_INTERRUPTED, args)
    except BrokenPipeError:
        # The process that reads the output has ended, as in `tablut help bounds | head -1`.
        return 0
    except Exception as error:
        if os.environ.get(_TRACE):
            sys.excepthook(type(error), error, error.__traceback__)
        reported = _reported(error, args, name)
        return fail(reported, reported.exit_code, args)
    return 0


def _reported(error: Exception, args: Sequence[str], name: str) -> TablutError:
    """Convert an exception of any kind to the error of the toolkit that reports it."""
    match error:
        case TablutError():
            return error
        case typer.TyperException():
            return _usage(error, args, name)
        case _ if any(isinstance(one, MemoryError) or _NO_MEMORY.search(str(one)) for one in _causes(error)):
            about = f" ({error})" if isinstance(error, MemoryError) and str(error) else ""
            remedy = "lower the memory limit, or choose a smaller task"
            return MachineError(f"this machine does not have enough memory{about}", remedy=remedy)
        case OSError() if error.errno in _MACHINE:
            about = repr(os.fsdecode(error.filename)) if isinstance(error.filename, (str, bytes)) else ""
            return MachineError(str(error.strerror), subject=about)
        case OSError() if error.errno in (errno.ENAMETOOLONG, errno.ELOOP):
            # Even testing whether such a file exists raises this error.
            return InputError(str(error.strerror), subject=f"file {excerpt(os.fsdecode(error.filename or ''))}")
    where, trace = "", error.__traceback__
    while trace is not None:
        where = f"{os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno}"  # noqa: PTH119
        trace = trace.tb_next
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return _DefectError(f"this is a bug in tablut ({what}; {where})", remedy=f"set {_TRACE}=1 to see the traceback")


class _DefectError(TablutError):
    exit_code = EXIT_DEFECT


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and then, one by one, the errors that caused it."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


_NO_MEMORY = re.compile("failed to map segment|cannot allocate memory|can't start new thread", re.IGNORECASE)
"""Messages about a lack of memory from the loader of shared libraries and from the thread module."""
_ADDRESS_SPACE_MIB = 192
"""Address space that commands without compiled code need, in MiB."""
_MACHINE = frozenset(
    {errno.EIO, errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.EROFS, errno.EFBIG, errno.EMFILE}
    | {errno.ENFILE, errno.ENOMEM, errno.EBADF, errno.ENODEV, errno.ESTALE, errno.EBUSY, errno.ETIMEDOUT}
    | {errno.ECONNREFUSED, errno.ECONNRESET, errno.EADDRINUSE, errno.EHOSTUNREACH, errno.ENETUNREACH}
)
"""System errors that count as failures of the machine."""


def _usage(error: typer.TyperException, args: Sequence[str], name: str) -> InputError:
    command = " ".join([name, *args[:1]]) if args and not args[0].startswith("-") else name
    # Some errors carry the context of the sub-command in which they arose.
    if (context := getattr(error, "ctx", None)) is not None:
        command = context.command_path
    message, known = error.message or error.format_message(), getattr(error, "possibilities", None) or ()
    if (details := getattr(error.__cause__, "errors", None)) is not None:  # typer reads values with pydantic
        detail, param = details()[0], error.param  # type: ignore[attr-defined]
        named = " / ".join(param.opts) if param.param_type_name == "option" else param.metavar
        subject, problem, word = str(named), problem_of(detail), str(detail["input"])
        known = param.metavar.split("|") if detail["type"] == "value_error" else ()
    else:
        for theirs, ours in _USAGE:
            message = re.sub(theirs, ours, message)
        subject, _, problem = message.rpartition(": ") if message.count(": ") == 1 else ("", "", message)
        word = message.partition(":")[0]
        extra = re.fullmatch("argument '(.*)': is one too many", message)
        rules = any("-v" in param.opts for param in context.command.params) if context is not None else False
        if extra and rules and extra[1] in _variant_names():
            return InputError(problem, subject=subject, remedy=f"choose the rule set with -v {extra[1]}")
    hint = _MOVED.get(f"{command}: {word}") or did_you_mean(word, known, f"see `{command} --help`")
    return InputError(problem.rstrip(".?"), subject=subject, remedy=hint)


def _variant_names() -> tuple[str, ...]:
    from tablut.variants import variant_names

    return variant_names()


_USAGE = (
    ("^No such option: (.*)", r"\1: no such option"),
    ("^Option '(.*?)' (requires|does)", r"\1: \2"),
    ("^Missing (argument|option) '(.*?)'", r"\1 \2: is missing"),
    ("^No such command '(.*?)'", r"command '\1': no such command"),
    (r"\. Did you mean", "; did you mean"),
    (r"^Got unexpected extra argument.*? \((.*)\)", r"argument '\1': is one too many"),
)
"""Patterns of typer's messages about a command line, with replacements that name the subject first."""
_MOVED = {
    "tablut puzzle: command 'make'": "in a checkout, run python -m reports.studies.collection",
    "tablut tablebase build: --trace": "in a checkout, run python -m reports.studies.scale trace",
}
"""Former commands and options, with their replacements."""


# -- completion with the tab key ----------------------------------------------------------


def _completion(shell: str, *, install: bool) -> str:
    """Install completion for a shell and return a message, or only return the script that would install it."""
    typers: Any = import_module("typer.completion")
    name = shell or _asking()
    option = "--install-completion" if install else "--show-completion"
    if name not in _SHELLS:
        what = f"{name!r} is not a supported shell" if name else "cannot detect your shell"
        raise InputError(what, subject=option, remedy=f"choose one of {', '.join(_SHELLS)}")
    if not install:
        return str(typers.get_completion_script(prog_name="tablut", complete_var=_COMPLETE, shell=name))
    try:
        _, path = typers.install(shell=name, prog_name="tablut", complete_var=_COMPLETE)
    except OSError as error:
        raise output_failure(f"{option}: {error.filename or ''}", error) from error
    return f"completion for {name} is installed in {path}; it takes effect in a new terminal"


def _asking() -> str:
    """Return the name of the shell from which the program was started, or an empty string if it is unknown."""
    import shellingham  # type: ignore[import-untyped]

    try:
        return str(shellingham.detect_shell()[0])
    except shellingham.ShellDetectionFailure:
        return ""


def _complete(group: Any) -> NoReturn:
    """Print the completions that a shell requests, and exit; nothing else is printed."""
    import_module("typer.completion").completion_init()
    try:
        group.main([], "tablut", complete_var=_COMPLETE)
        sys.exit(0)
    except Exception:
        # Errors are common in an incomplete line, and are not worth reporting.
        if os.environ.get("TABLUT_TRACE"):
            raise
        sys.exit(0)


def main(program: typer.Typer = app, name: str = "tablut") -> NoReturn:
    """Run a program with the conventions of ``tablut`` for streams, interrupts, completion and exit codes."""
    try:
        prepare_streams()
        watch_interrupts()
        try:
            check_address_space(_ADDRESS_SPACE_MIB)
        except MachineError as error:
            sys.exit(fail(error, error.exit_code, sys.argv[1:]))
        if _COMPLETE in os.environ:
            _complete(get_command(app))
        code = run(sys.argv[1:], program, name)
        try:
            write_output("")  # flushes the buffers
        except MachineError as error:
            if code != error.exit_code:  # otherwise it has been reported already
                complain(str(error))
            code = error.exit_code
    except KeyboardInterrupt:
        leave("interrupted")
    if code == EXIT_INTERRUPTED:
        leave()
    # Without this, a last garbage collection among millions of objects would delay the exit by half a second.
    gc.freeze()
    sys.exit(code)
