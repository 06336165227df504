"""The shell: lists the sub-commands, loads the one that is used, turns errors into lines and exit codes."""

from __future__ import annotations

import os
import sys
from functools import cached_property
from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from tablut.errors import TablutError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tablut.cli.spec import CommandSpec

__all__ = ["main", "run"]

EXIT_BAD_INPUT = 2
EXIT_INTERRUPTED = 130

# Plain help: rich would cost more time than everything else that `tablut --help` does.
_SETTINGS: dict[str, Any] = {"rich_markup_mode": None, "add_completion": False, "pretty_exceptions_enable": False}


class _LazyGroup(TyperGroup):
    """A group whose commands are known by name and help line until one is used."""

    @cached_property
    def specs(self) -> dict[str, CommandSpec]:
        found = [spec for entry in entry_points(group="tablut.commands") for spec in entry.load()]
        return {spec.name: spec for spec in sorted(found, key=lambda spec: spec.order)}

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self.specs)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        spec = self.specs.get(cmd_name)
        if spec is None:
            return None
        module, attribute = spec.target.split(":")
        target = getattr(import_module(module), attribute)
        if not isinstance(target, typer.Typer):
            app = typer.Typer(**_SETTINGS)
            app.command(spec.name)(target)
            target = app
        loaded = get_command(target)
        loaded.name = cmd_name
        return loaded

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and args[0] not in self.specs and not args[0].startswith("-"):
            raise TablutError(f"command {args[0]!r}: no such command; `tablut --help` lists them")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(spec.name, spec.help) for spec in self.specs.values()])


app = typer.Typer(cls=_LazyGroup, **_SETTINGS)


@app.callback(invoke_without_command=True)
def _tablut(
    ctx: typer.Context,
    version: bool = typer.Option(False, "--version", help="Print the version and exit."),
) -> None:
    """Exact answers about Tablut and its tafl relatives.

    Every command takes --json, which prints one JSON object and nothing else.
    Exit codes: 0 done, 1 the answer is no, 2 bad input, 3 unknown, 130 interrupted.
    """
    if version:
        from tablut import __version__

        typer.echo(f"tablut {__version__}")
        raise typer.Exit
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())
        raise typer.Exit


def run(args: Sequence[str]) -> int:
    """Run the command line and return its exit code.

    Parameters
    ----------
    args : sequence of str
        The arguments, without the program's name.

    Returns
    -------
    int
        As the interface promises; errors have been printed as one line each.
    """
    try:
        result = get_command(app)(list(args), prog_name="tablut", standalone_mode=False, obj=list(args))
    except typer.TyperException as error:
        command = " ".join(["tablut", *args[:1]]) if args and not args[0].startswith("-") else "tablut"
        # Some errors know how deep among the sub-commands they arose.
        if (context := getattr(error, "ctx", None)) is not None:
            command = context.command_path
        message = error.format_message().rstrip(".")
        return _refuse(f"{message}; see `{command} --help`")
    except TablutError as error:
        return _refuse(str(error), error.exit_code)
    except typer.Abort:
        return EXIT_INTERRUPTED
    return result if isinstance(result, int) else 0


def _refuse(message: str, exit_code: int = EXIT_BAD_INPUT) -> int:
    typer.echo("tablut: " + " ".join(message.split()), err=True)
    return exit_code


def main() -> None:
    """Run the ``tablut`` command."""
    code = run(sys.argv[1:])
    if code == EXIT_INTERRUPTED:
        # A kernel may still be running in a thread; a normal exit would wait for it.
        sys.stdout.flush()
        os._exit(code)
    sys.exit(code)
