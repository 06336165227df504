"""Options that ``tablut match``, ``tournament`` and ``measure`` share."""

from __future__ import annotations

from typing import Annotated

import typer

from tablut.cli.options import seed_option, threads_option

__all__ = [
    "PLAYER_HELP",
    "CandidatesOption",
    "CapOption",
    "GamesOption",
    "GraceOption",
    "MovetimeOption",
    "OpeningOption",
    "SeedOption",
    "StoreOption",
    "TableOption",
    "ThreadsOption",
]

PLAYER_HELP = (
    "A player of bestmove, such as alphabeta, or with settings of its own: alphabeta@movetime=0.1,hash=16 (movetime, "
    "nodes, depth, playouts, hash, threads, table-memory, tablebase). Or program:COMMAND for a program that speaks the "
    "lines of tablut engine."
)

GamesOption = Annotated[
    int, typer.Option("--games", "-n", min=1, max=10**6, help="Games; each opening is played with both colours.")
]
MovetimeOption = Annotated[
    float | None,
    typer.Option("--movetime", metavar="SECONDS", help="Time for each move; 0.1 if nothing else limits it."),
]
OpeningOption = Annotated[
    int, typer.Option("--opening", min=0, max=100, help="Random plies that begin the games of a pair; 0 for none.")
]
CandidatesOption = Annotated[
    int,
    typer.Option(
        "--candidates",
        min=1,
        max=100,
        help="Openings drawn for each pair: the one that a short search calls closest to even is played.",
    ),
]
SeedOption = Annotated[int, seed_option("Of openings and of what is random in players.")]
ThreadsOption = Annotated[int, threads_option("Games at once.")]
CapOption = Annotated[
    int,
    typer.Option("--most-plies", min=1, max=20_000, help="A game so long counts as drawn (ply_cap)."),
]
GraceOption = Annotated[
    float, typer.Option("--grace", metavar="SECONDS", min=0, help="A move that exceeds its time by more loses.")
]
StoreOption = Annotated[
    str | None,
    typer.Option("--store", metavar="DIR", help="Keep a record of each game there, and go on with what is there."),
]
TableOption = Annotated[
    str | None, typer.Option("--parquet", metavar="FILE", help="Write the games to a table, a row a game.")
]
