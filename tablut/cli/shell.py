"""Main program of the command line, which lists sub-commands, loads the requested one, and reports errors."""

from __future__ import annotations

import errno
import gc
import os
import re
import sys
from collections.abc import Iterator, Sequence
from functools import cached_property
from importlib import import_module
from importlib.metadata import entry_points
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import click
from click.shell_completion import CompletionItem, ShellComplete, get_completion_class

from tablut.cli.command import Command, Group, write_examples
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
from tablut.errors import InputError, MachineError, TablutError
from tablut.work.files import excerpt
from tablut.work.machine import check_address_space

__all__ = ["command_specs", "main", "run"]

_TRACE = "TABLUT_TRACE"
_COMPLETE = "_TABLUT_COMPLETE"
_CALLING = "calling"
_SETTINGS: dict[str, Any] = {
    "help_option_names": ["-h", "--help"],
    "max_content_width": 80,
    "show_default": True,
}

GROUPS = {
    "count": "How many positions are there",
    "reach": "Which can be reached",
    "solve": "Who wins",
    "play": "Play, and compare programs",
    "look": "Look at games",
    "check": "This installation",
}
"""Headings of the groups of commands, in the order of ``tablut --help``. Groups of other packages follow."""


class CommandSpec(NamedTuple):
    """Description of a sub-command whose module is not yet loaded.

    The target is ``module:attribute``, or a module that contains ``NAME_command``. A package lists its
    commands in a file ``commands.txt``, and is registered under the entry point group ``tablut.commands``.
    """

    name: str
    group: str
    order: int
    target: str
    help: str
    examples: tuple[str, ...] = ()

    @property
    def home(self) -> tuple[str, str]:
        """Name of the module that defines the command, and the name of its function there."""
        module, _, attribute = self.target.partition(":")
        return module, attribute or f"{self.name}_command"


def command_table(package: str) -> tuple[CommandSpec, ...]:
    """Read the commands of a package from its file ``commands.txt``.

    Each line contains the command's name, its group and its position within the group, the target, and the help text.
    Indented lines below a command are examples.
    """
    found: list[CommandSpec] = []
    for line in files(package).joinpath("commands.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith(" "):
            found[-1] = found[-1]._replace(examples=(*found[-1].examples, line.strip()))
        else:
            name, place, target, words = line.split(None, 3)
            group, _, order = place.partition(":")
            found.append(CommandSpec(name, group, int(order), target, words))
    return tuple(found)


_SHORT = {"rank": "position rank", "show": "position show", "status": "position status", "unrank": "position unrank"}
"""Short forms of commands."""

_FIRST = (
    "tablut bounds                    # how many positions Tablut has at most",
    "tablut serve                     # boards, puzzles and games in the browser",
    "tablut play -v brandubh          # a game in the terminal",
    "tablut bestmove -v brandubh      # one move, with its score and line",
    "tablut solve -v brandubh-5-4v0   # a small board, solved completely",
)
_HELP = "Explain a command: `tablut help COMMAND`."


def command_specs() -> dict[str, CommandSpec]:
    """Return all commands in the installed packages, keyed by name, in the order of ``tablut --help``."""
    found = [spec for entry in entry_points(group="tablut.commands") for spec in command_table(entry.value)]
    groups = [*GROUPS, *sorted({spec.group for spec in found} - GROUPS.keys())]
    return {spec.name: spec for spec in sorted(found, key=lambda spec: (groups.index(spec.group), spec.order))}


class _Program(Group):
    """The group of all commands. It imports a command's module only when the command is used."""

    @cached_property
    def specs(self) -> dict[str, CommandSpec]:
        return command_specs()

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.specs)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        name, _, inner = _SHORT.get(cmd_name, cmd_name).partition(" ")
        # The other packages are asked only if the command is none of the game's own, because finding them takes long.
        own = command_table("tablut.commands")
        spec = next((spec for spec in own if spec.name == name), None) or self.specs.get(name)
        if spec is None:
            return None
        module, attribute = spec.home
        loaded: click.Command = getattr(import_module(module), attribute)
        _give_examples(loaded, f"tablut {name}", spec.examples)
        return loaded.get_command(ctx, inner) if inner and isinstance(loaded, Group) else loaded

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if [word for word in args if word != "--json"][:1] == ["help"] and not ctx.resilient_parsing:
            # Otherwise, an option could take --help as its value, and the command would run.
            args = [*(name for name in args if name != "help" and not name.startswith("-")), "--help"]
        return super().parse_args(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
        names = {name: spec.help for name, spec in self.specs.items()} | {"help": _HELP}
        found = [CompletionItem(name, help=text) for name, text in names.items() if name.startswith(incomplete)]
        # Inherit only option completion, because group completion would load all commands.
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_examples(_FIRST, formatter, "Begin with")
        for group, specs in groupby(self.specs.values(), key=lambda spec: spec.group):
            with formatter.section(GROUPS.get(group, group)):
                formatter.write_dl([(spec.name, spec.help) for spec in specs] + [("help", _HELP)] * (group == "check"))
        about = Path(__file__).parents[1] / "about"  # as installed from a wheel
        place = about if about.is_dir() else about.parents[1]
        formatter.write(f"\nLicence, security policy and citation: {place}\n")


def _give_examples(command: click.Command, path: str, examples: Sequence[str]) -> None:
    """Assign to a command and its sub-commands the examples that begin with their names."""
    if isinstance(command, Command):
        words = path.split()
        others = [[*words, name] for name in command.inner]
        command.examples = [
            line
            for line in examples
            if line.split()[: len(words)] == words and line.split()[: len(words) + 1] not in others
        ]
    elif isinstance(command, Group):
        for name, inner in command.commands.items():
            _give_examples(inner, f"{path} {name}", examples)
        if command.own is not None:
            _give_examples(command.own, path, examples)


@click.group(cls=_Program, invoke_without_command=True)
@click.option("--version", is_flag=True, help="Print the version and exit.")
@click.option(
    "--show-completion",
    metavar="[SHELL]",
    is_flag=False,
    flag_value=_CALLING,
    help="Print the completion script for bash, zsh, fish or powershell. [default: for the calling shell]",
)
def program(version: bool, show_completion: str | None) -> None:
    """Find exact answers about Tablut and related tafl games.

    With --json, before or after its name, every command prints one JSON object and nothing
    else.

    Exit codes: 0 done, 1 the answer is no, 2 bad input, 3 unknown (limits reached
    before a proof), 70 defect of this program, 74 failure of the machine (finished work
    is kept), 130 interrupted.
    """
    if version:
        from tablut import __version__

        click.echo(f"tablut {__version__}")
    elif show_completion is not None:
        click.echo(_completion(show_completion).source(), nl=False)
    else:
        return
    click.get_current_context().exit()


def run(args: Sequence[str], program: click.Command = program, name: str = "tablut") -> int:
    """Run a command line (by default of `tablut`), and return the exit code."""
    try:
        with program.make_context(name, list(args), obj=[*name.split(), *args], **_SETTINGS) as context:
            program.invoke(context)
    except click.exceptions.Exit as end:
        return end.exit_code
    except (KeyboardInterrupt, click.Abort) as stop:
        # A command may raise the interrupt again with a message about what it has kept.
        return fail(TablutError(str(stop) or "interrupted"), EXIT_INTERRUPTED, args)
    except BrokenPipeError:
        # The process that reads the output has ended, as in `tablut help bounds | head -1`.
        return 0
    except Exception as error:
        if os.environ.get(_TRACE):
            sys.excepthook(type(error), error, error.__traceback__)
        reported = _reported(error)
        if any(isinstance(one, KeyboardInterrupt) for one in _causes(error)) and isinstance(reported, _DefectError):
            # Compiled modules replace an interrupt in the middle of an import by an exception of another kind.
            return fail(TablutError("interrupted"), EXIT_INTERRUPTED, args)
        return fail(reported, reported.exit_code, args)
    return 0


def _reported(error: Exception) -> TablutError:
    """Convert any exception to one of the toolkit's errors."""
    match error:
        case TablutError():
            return error
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
    """Yield an error, then the error that caused it, and so on."""
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


# -- completion with the tab key ----------------------------------------------------------


def _completion(shell: str) -> ShellComplete:
    """Return click's completion support for a shell, or raise an `InputError` if there is none."""
    name = {"pwsh": "powershell"}.get(shell, shell) if shell != _CALLING else Path(os.environ.get("SHELL", "")).stem
    known = get_completion_class(name)
    if known is None:
        what = "cannot detect your shell" if shell == _CALLING else f"{shell!r} is not a supported shell"
        raise InputError(what, subject="--show-completion", remedy="choose one of bash, zsh, fish, powershell")
    return known(program, {}, "tablut", _COMPLETE)


def _complete(group: click.Command) -> NoReturn:
    """Print the completions that a shell requests, print nothing else, and exit."""
    try:
        group.main([], "tablut", complete_var=_COMPLETE)
    except Exception:
        # Errors are common in an incomplete line, and are not worth reporting.
        if os.environ.get(_TRACE):
            raise
    sys.exit(0)


def main(program: click.Command = program, name: str = "tablut") -> NoReturn:
    """Run a program with the conventions of ``tablut`` for streams, interrupts, completion and exit codes."""
    try:
        prepare_streams()
        watch_interrupts()
        try:
            check_address_space(_ADDRESS_SPACE_MIB)
        except MachineError as error:
            sys.exit(fail(error, error.exit_code, sys.argv[1:]))
        if _COMPLETE in os.environ:
            _complete(program)
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
    # Without this, a final garbage collection of millions of objects would delay the exit by half a second.
    gc.freeze()
    sys.exit(code)
