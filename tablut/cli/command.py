"""Base classes for commands: click, adapted to this program's conventions.

A command is a function that returns a `Reply`. It is decorated with `command` or with a method of a `Group`. Its
parameters are the fields of the request that it takes; see `tablut.cli.requests`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from tablut.cli.parameters import name_of
from tablut.cli.streams import AS_JSON
from tablut.errors import InputError, did_you_mean
from tablut.work.files import excerpt

if TYPE_CHECKING:
    from tablut.cli.runtime import Reply

# -- usage errors --------------------------------------------------------------------------


class _Refusing(click.Command):
    """Base class of commands that report usage errors as `InputError`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the words that follow the command."""
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            raise self._reported(error, ctx) from error

    def _reported(self, error: click.UsageError, ctx: click.Context) -> InputError:
        known: Iterable[str] = ()
        subject, problem = "", error.message
        words = {word: param for param in self.params for word in (*param.opts, *param.secondary_opts)}
        match error:
            case click.NoSuchOption():
                subject, problem = error.option_name, "no such option"
                known = [word for word in words if word.startswith("-")]  # not the names of arguments
            case click.MissingParameter():
                subject, problem = name_of(error.param), "is missing"
            case click.BadOptionUsage():
                subject, param = error.option_name, words.get(error.option_name)
                flagged = isinstance(param, click.Option) and param.is_flag
                problem = "takes no value" if flagged else f"needs a value, {param.metavar if param else ''}"
        return InputError(problem, subject=subject, remedy=way_out(ctx, subject, known))


def way_out(ctx: click.Context, word: str, known: Iterable[str]) -> str:
    """Return a remedy for an unknown word: the most similar known word, or the help command."""
    return did_you_mean(word, known, f"see `{ctx.command_path} --help`")


# -- commands ------------------------------------------------------------------------------


def _json_option(help: str) -> click.Option:  # noqa: A002
    """Return the option ``--json``, which a user may give before or after the name of a command."""

    def keep(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
        ctx.meta[AS_JSON.name] = value or ctx.meta.get(AS_JSON.name, False)

    return click.Option(["--json"], is_flag=True, expose_value=False, callback=keep, help=help)


class Command(_Refusing):
    """A command that returns a `Reply`. It adds the option ``--json`` and, if ``table`` is set, ``--csv``."""

    allow_extra_args = True  # extra arguments are refused below, with a hint

    def __init__(
        self, *arguments: Any, table: bool = False, sections: Mapping[str, str] | None = None, **settings: Any
    ) -> None:
        super().__init__(*arguments, **settings)
        function: Any = self.callback
        if "request" in inspect.get_annotations(function):
            from tablut.cli.requests import params_of, requested  # it loads pydantic, which takes long

            self.params, self.callback = params_of(function), requested(function)
        self.sections: Mapping[str, str] = sections or {}
        self.examples: Sequence[str] = ()
        self.inner: Mapping[str, click.Command] = {}
        if table:
            self.params.append(click.Option(["--csv", "as_csv"], is_flag=True, help="Print the table as CSV."))
        self.params.append(_json_option("Print one JSON object and nothing else."))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the words that follow the command, and refuse surplus words."""
        rest = super().parse_args(ctx, args)
        if rest and not ctx.resilient_parsing:
            hint = f"see `{ctx.command_path} --help`"
            if rest[0] in self.inner:
                hint = f"its options follow it: `{ctx.command_path} {rest[0]} --help` lists them"
            elif any("-v" in param.opts for param in self.params):
                from tablut.variants import variant_names

                if rest[0] in variant_names():
                    hint = f"choose the rule set with -v {rest[0]}"
            raise InputError("is one argument too many", subject=f"argument {excerpt(rest[0])}", remedy=hint)
        return rest

    def invoke(self, ctx: click.Context) -> None:
        """Run the command, print its result, and exit with its exit code."""
        from tablut.cli.runtime import respond

        ctx.exit(respond(ctx))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, by section if the command has sections: for each title, the names of its parameters."""
        titles = {name: title for title, names in self.sections.items() for name in names.split()}
        for section in ("Options", *self.sections):
            params = [one for one in self.get_params(ctx) if titles.get(str(one.name), "Options") == section]
            records = [one.get_help_record(ctx) for one in params if not isinstance(one, click.Argument)]
            if known := [record for record in records if record is not None]:
                with formatter.section(section):
                    formatter.write_dl(known)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the sub-commands and the examples."""
        write_commands(self.inner, formatter)
        write_examples(self.examples, formatter)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
        """Return the sub-commands and options that begin with the typed text."""
        names = [CompletionItem(name) for name in self.inner if name.startswith(incomplete)]
        return names + super().shell_complete(ctx, incomplete)


command = partial(click.command, cls=Command)


class Group(_Refusing, click.Group):
    """A group of commands. By default, it prints a list of them if the user names none."""

    command_class = Command
    own: Command | None = None
    """Command that runs if the user names no other command of the group."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.params.append(_json_option("Make the command print one JSON object and nothing else."))

    def default(self, **settings: Any) -> Callable[[Callable[..., Reply]], Command]:
        """Return a decorator for the command that runs if the user names no other command of the group."""

        def decorate(function: Callable[..., Reply]) -> Command:
            self.own = command(**settings)(function)
            self.own.inner = self.commands
            return self.own

        return decorate

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the group's options, or print its help if the user typed nothing after its name."""
        if {"--", "--json"}.issuperset(args) and not ctx.resilient_parsing:
            if "--json" in args:
                raise InputError("needs a command", subject="--json", remedy=f"see `{ctx.command_path} --help`")
            click.echo(ctx.get_help())
            ctx.exit()
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the typed name of a command, the command itself, and the remaining words."""
        name, *rest = args
        found = self.get_command(ctx, name)
        inner = next((word for word in rest if word != "--json"), None)
        if isinstance(found, Group) and found.own is not None and inner not in found.commands:
            found = found.own
        if found is None and not ctx.resilient_parsing:
            remedy = way_out(ctx, name, self.list_commands(ctx))
            raise InputError("no such command", subject=f"command {excerpt(name)}", remedy=remedy)
        return name, found, rest

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the group's commands and their examples."""
        write_commands(self.commands, formatter)
        write_examples([line for inner in self.commands.values() for line in getattr(inner, "examples", ())], formatter)


def write_commands(commands: Mapping[str, click.Command], formatter: click.HelpFormatter) -> None:
    """Write a list of commands, each with the first sentence of its help."""
    if commands:
        with formatter.section("Commands"):
            formatter.write_dl([(name, _summary(inner)) for name, inner in commands.items()])


def _summary(command: click.Command) -> str:
    return inspect.cleandoc(command.help or "").partition("\n")[0]


def write_examples(lines: Sequence[str], formatter: click.HelpFormatter, title: str = "Examples") -> None:
    """Write command lines without wrapping them, so that they can be copied."""
    if lines:
        with formatter.section(title):
            formatter.write("".join(f"  {line}\n" for line in lines))
