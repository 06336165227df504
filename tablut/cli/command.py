"""Base classes and decorators for commands: click, adapted to this program's conventions.

A command is a function that returns a `Reply`. It is decorated with `command` or with a method of a `Group`. Its
parameters are declared by the decorators `argument`, `option`, `whole`, `real`, `choice` and `flag`. A `bundle`
declares options that several commands share, and passes them as one object.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, Final

import click
from click.shell_completion import CompletionItem

from tablut.cli.streams import AS_JSON
from tablut.errors import InputError, did_you_mean
from tablut.work.files import excerpt

if TYPE_CHECKING:
    from tablut.cli.runtime import Reply

Decorator = Callable[[Any], Any]

# -- parameters ----------------------------------------------------------------------------


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
        self.words = words

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the word unchanged, or raise `InputError` if it is not one of the permitted words."""
        if value in self.words:
            return value
        problem = f"expected {', '.join(self.words[:-1])} or {self.words[-1]}, not {excerpt(value)}"
        raise InputError(problem, subject=name_of(param), remedy=did_you_mean(value, self.words))

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
        """Return the permitted words that begin with the typed text."""
        return [CompletionItem(word) for word in self.words if word.startswith(incomplete)]


def name_of(param: click.Parameter | None) -> str:
    """Return the name that users know a parameter by: its options, or an argument's placeholder."""
    if isinstance(param, click.Option):
        return " / ".join(param.opts)
    return "" if param is None else (param.metavar or str(param.name).upper()).strip("[].")


def beginning(names: Callable[[], Iterable[str]]) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    """Return a function for ``shell_complete=`` that completes the typed text to one of the given names."""
    return lambda _ctx, _param, incomplete: [name for name in names() if name.startswith(incomplete)]


class OnceOption(click.Option):
    """An option that is refused if it is given twice. Of any other option, the last value counts."""

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        """Add the option to a command's parser."""
        super().add_to_parser(parser, ctx)
        for word in () if self.multiple else self.opts:
            added = (parser._long_opt | parser._short_opt)[word]
            added.process = partial(self._store, added.process)

    def _store(self, store: Callable[[Any, Any], None], value: Any, state: Any) -> None:
        if self.name in state.opts:
            both = " and ".join(excerpt(str(one)) for one in (state.opts[self.name], value))
            raise InputError(f"is given twice, as {both}", subject=name_of(self), remedy="leave one out")
        store(value, state)


option = click.option
argument = click.argument
flag = partial(click.option, is_flag=True)


def whole(
    *names: str, least: int | None = None, most: int | None = None, metavar: str = "N", **settings: Any
) -> Decorator:
    """Declare an option that takes a whole number: a count, or an amount in the unit named by the placeholder."""
    return click.option(*names, type=NumberType(int, least, most), metavar=metavar, **settings)


def real(
    *names: str, metavar: str, least: float | None = None, most: float | None = None, **settings: Any
) -> Decorator:
    """Declare an option that takes a number in the unit named by the placeholder."""
    return click.option(*names, type=NumberType(float, least, most), metavar=metavar, **settings)


def choice(*names: str, words: Sequence[str], **settings: Any) -> Decorator:
    """Declare an option that takes one of several words."""
    return click.option(*names, type=WordType(words), metavar="|".join(words), **settings)


def bundle(name: str, kind: Callable[..., Any], *options: Decorator) -> Decorator:
    """Return a decorator that declares options and passes their values as one object in a single parameter."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def bundled(**values: Any) -> Any:
            own = {field: values.pop(field) for field in fields}
            return function(**values, **{name: kind(**own)})

        fields = [str(param.name) for param in declared(*options)]
        for declare in reversed(options):
            bundled = declare(bundled)
        return bundled

    return decorate


def declared(*options: Decorator) -> list[click.Parameter]:
    """Return the parameters that the given decorators declare, in the order of the decorators."""

    @click.command()
    def command() -> None:
        """Do nothing; the function only serves to collect the parameters."""

    for declare in reversed(options):
        command = declare(command)
    return command.params[::-1]


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
