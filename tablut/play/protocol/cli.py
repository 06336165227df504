"""``tablut engine``: the line protocol on standard input and output."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tablut.cli.options import VariantOption
from tablut.cli.runtime import Reply, command
from tablut.cli.streams import AS_JSON, read_line, write_output
from tablut.play.options import PlayerOption, PlayerSettings
from tablut.play.players import player_names
from tablut.play.protocol.engine import COMMANDS, LONGEST_LINE, OPTIONS, Engine, EngineOptions
from tablut.results import Result

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class _Option(Result):
    name: str
    default: str | int


class _Engine(Result):
    variant: str
    commands: list[str]
    options: list[_Option]
    players: list[str]


@command
def engine_command(
    *,
    variant: VariantOption = "ashton",
    player: PlayerOption = "alphabeta",
    settings: PlayerSettings,
    line: Annotated[
        list[str] | None,
        typer.Option("--line", "-l", metavar="TEXT", help="A line to obey instead of standard input; once a line."),
    ] = None,
) -> Reply:
    """Speak a line protocol for programs, shaped after UCI, until `quit` or the end of the input.

    The engine stays up between moves: rules, tables and memory are loaded once. With
    --json nothing is read: it tells the commands, options and players that there are.
    """
    options = EngineOptions(
        variant,
        player,
        settings.hash_mib,
        settings.tablebase or "",
        settings.table_mib,
        settings.threads,
        settings.seed,
        " ".join(settings.option or ()),
    )
    engine = Engine(lambda text: write_output(text + "\n"), options)
    result = _Engine(
        variant=engine.variant,
        commands=list(COMMANDS),
        options=[_Option(name=name, default=getattr(options, name)) for name in OPTIONS],
        players=list(player_names()),
    )
    reply = Reply(result, lambda _: None, seed=settings.seed)
    if not AS_JSON.get():
        _obey(engine, line if line else _lines())
    return reply


def _obey(engine: Engine, lines: Iterable[str]) -> None:
    for line in lines:
        if not engine.handle(line):
            engine.leave()
            return
    engine.finish()


def _lines() -> Iterator[str]:
    """Yield the lines of standard input; of one that is too long its beginning, so that it is refused."""
    while True:
        line = read_line(LONGEST_LINE + 1)
        if not line:
            return
        yield line.rstrip("\r\n")
        while len(line) == LONGEST_LINE + 2 and not line.endswith("\n"):
            line = read_line(LONGEST_LINE + 1)
