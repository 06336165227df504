"""Options that the commands with players share: who plays, and how long it may think."""

from __future__ import annotations

from typing import Annotated

import typer

from tablut.cli.options import threads_option


def player_names_from(incomplete: str) -> list[str]:
    """Return the players whose names begin so, for ``autocompletion=``."""
    from tablut.play.players import player_names

    return [name for name in player_names() if name.startswith(incomplete)]


PlayerOption = Annotated[
    str,
    typer.Option(
        "--player",
        metavar="NAME",
        help="Who chooses: alphabeta, random, or a player of the sources, such as heuristic or payoff "
        "(docs/players.md).",
        autocompletion=player_names_from,
    ),
]
MovetimeOption = Annotated[
    float | None,
    typer.Option("--movetime", metavar="SECONDS", help="Time for a move; 2 if nothing else limits it."),
]
NodesOption = Annotated[int | None, typer.Option("--nodes", help="Moves to make in search for a move; repeatable.")]
PlayoutsOption = Annotated[
    int | None, typer.Option("--playouts", help="Games played out by a Monte Carlo player; repeatable.")
]
DepthOption = Annotated[int | None, typer.Option("--depth", "-d", help="Plies to search.")]
HashOption = Annotated[int, typer.Option("--hash", metavar="MIB", min=1, help="Memory for transpositions.")]
TablebaseOption = Annotated[
    str | None,
    typer.Option("--tablebase", metavar="STORE", help="A tablebase: its folder. [default: what ships]"),
]
TableMemoryOption = Annotated[
    int,
    typer.Option("--table-memory", metavar="MIB", min=0, help="Memory for tables in search; 32 of what ships."),
]
ThreadsOption = Annotated[int, threads_option("That search a move at once, by alphabeta; one alone is repeatable.")]
SeedOption = Annotated[int, typer.Option("--seed", help="Of a player that plays at random.")]
SettingsOption = Annotated[
    list[str] | None,
    typer.Option("--option", metavar="NAME=VALUE", help="A setting of the player; give it once a setting."),
]
