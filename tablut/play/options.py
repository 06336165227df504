"""Options shared by the commands that use players: the player, its settings, and its limits for a move."""

from __future__ import annotations

from typing import Annotated

import typer

from tablut.cli.options import threads_option
from tablut.cli.runtime import option_group
from tablut.play.players import PlayerOptions, parse_settings, player_names
from tablut.play.search.limits import SearchLimits
from tablut.work.machine import check_memory


def player_names_from(incomplete: str) -> list[str]:
    """Return the players whose names begin with the given text, for ``autocompletion=``."""
    return [name for name in player_names() if name.startswith(incomplete)]


PlayerOption = Annotated[
    str,
    typer.Option(
        "--player",
        metavar="NAME",
        help="Player: alphabeta, random, one from the literature, such as heuristic or payoff "
        "(docs/players.md), or program:COMMAND for an external program.",
        autocompletion=player_names_from,
    ),
]
NodesOption = Annotated[int | None, typer.Option("--nodes", help="Node limit for a move; repeatable.")]
DepthOption = Annotated[int | None, typer.Option("--depth", "-d", help="Search depth in plies.")]
HashOption = Annotated[int, typer.Option("--hash", metavar="MIB", min=1, help="Memory for the transposition table.")]
TablebaseOption = Annotated[
    str | None,
    typer.Option("--tablebase", metavar="STORE", help="Folder of a tablebase. [default: the shipped tables]"),
]

SettingsOption = Annotated[
    list[str] | None,
    typer.Option("--option", metavar="NAME=VALUE", help="Setting of the player; repeat it for each setting."),
]


@option_group
class Budget:
    """Limits of a player for a move."""

    movetime: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Time for a move; 2 if there is no other limit.")
    ] = None
    nodes: NodesOption = None
    playouts: Annotated[int | None, typer.Option(help="Playouts of a Monte Carlo player for a move; repeatable.")] = (
        None
    )
    depth: DepthOption = None

    @property
    def given(self) -> SearchLimits | None:
        """Limits that were given, after validation, or None if none were given."""
        limits = SearchLimits(self.movetime, self.nodes, self.depth, self.playouts)
        return None if limits == SearchLimits() else limits.checked()

    def limits(self, movetime: float = 2.0) -> SearchLimits:
        """Return the limits that were given, or else a time limit in seconds."""
        return self.given or SearchLimits(movetime)


@option_group
class PlayerSettings:
    """Options with which a player is created."""

    hash_mib: HashOption = 64
    tablebase: TablebaseOption = None
    table_mib: Annotated[
        int,
        typer.Option(
            "--table-memory",
            metavar="MIB",
            min=0,
            help="Memory for tables in the search; the shipped tables need at most 32.",
        ),
    ] = 512
    threads: Annotated[int, threads_option("Number of search threads of alphabeta; only one is repeatable.")] = 1
    seed: Annotated[int, typer.Option(help="Random seed of the player.")] = 0
    option: SettingsOption = None

    def options(self) -> PlayerOptions:
        """Return the player's options after checking those that apply to every player."""
        check_memory("hash", self.hash_mib)
        settings = parse_settings(self.option or ())
        return PlayerOptions(self.seed, self.hash_mib, self.tablebase, self.table_mib, settings, self.threads)
