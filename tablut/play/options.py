"""Options that the commands with players share: who plays, and how long it may think."""

from __future__ import annotations

from typing import Annotated

import typer

from tablut.cli.options import threads_option
from tablut.cli.runtime import option_group
from tablut.play.players import PlayerOptions, parse_settings, player_names
from tablut.play.search.limits import SearchLimits
from tablut.running.machine import check_memory


def player_names_from(incomplete: str) -> list[str]:
    """Return the players whose names begin so, for ``autocompletion=``."""
    return [name for name in player_names() if name.startswith(incomplete)]


PlayerOption = Annotated[
    str,
    typer.Option(
        "--player",
        metavar="NAME",
        help="Who chooses: alphabeta, random, a player of the sources, such as heuristic or payoff "
        "(docs/players.md), or program:COMMAND for a program of yours.",
        autocompletion=player_names_from,
    ),
]
NodesOption = Annotated[int | None, typer.Option("--nodes", help="Moves to make in search for a move; repeatable.")]
DepthOption = Annotated[int | None, typer.Option("--depth", "-d", help="Plies to search.")]
HashOption = Annotated[int, typer.Option("--hash", metavar="MIB", min=1, help="Memory for transpositions.")]
TablebaseOption = Annotated[
    str | None,
    typer.Option("--tablebase", metavar="STORE", help="A tablebase: its folder. [default: what ships]"),
]

SettingsOption = Annotated[
    list[str] | None,
    typer.Option("--option", metavar="NAME=VALUE", help="A setting of the player; give it once a setting."),
]


@option_group
class Budget:
    """How long a player may think about a move."""

    movetime: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Time for a move; 2 if nothing else limits it.")
    ] = None
    nodes: NodesOption = None
    playouts: Annotated[int | None, typer.Option(help="Games played out by a Monte Carlo player; repeatable.")] = None
    depth: DepthOption = None

    @property
    def given(self) -> SearchLimits | None:
        """The limits that were given, checked; None if there are none."""
        limits = SearchLimits(self.movetime, self.nodes, self.depth, self.playouts)
        return None if limits == SearchLimits() else limits.checked()

    def limits(self, movetime: float = 2.0) -> SearchLimits:
        """Return the limits, by default a time alone."""
        return self.given or SearchLimits(movetime)


@option_group
class PlayerSettings:
    """What a player is made with."""

    hash_mib: HashOption = 64
    tablebase: TablebaseOption = None
    table_mib: Annotated[
        int,
        typer.Option("--table-memory", metavar="MIB", min=0, help="Memory for tables in search; 32 of what ships."),
    ] = 512
    threads: Annotated[int, threads_option("That search a move at once, by alphabeta; one alone is repeatable.")] = 1
    seed: Annotated[int, typer.Option(help="Of a player that plays at random.")] = 0
    option: SettingsOption = None

    def options(self) -> PlayerOptions:
        """Return the options of the player, checked as far as they concern every player."""
        check_memory("hash", self.hash_mib)
        settings = parse_settings(self.option or ())
        return PlayerOptions(self.seed, self.hash_mib, self.tablebase, self.table_mib, settings, self.threads)
