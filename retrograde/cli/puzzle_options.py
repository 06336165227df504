"""Options that the commands of ``tablut puzzle`` share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["MemoryOption", "NodesOption", "PositionsOption", "SecondsOption", "StoreOption"]

NodesOption = Annotated[
    int, typer.Option("--nodes", min=1, max=10**15, help="Moves to be made on the board, for each position.")
]
SecondsOption = Annotated[
    float | None, typer.Option("--seconds", min=0.0, max=1e9, help="Wall time for each position.")
]
MemoryOption = Annotated[
    int, typer.Option("--memory", metavar="MIB", min=1, max=1 << 24, help="For the transposition tables.")
]
PositionsOption = Annotated[
    int,
    typer.Option(
        "--positions",
        min=0,
        max=10**9,
        help="Most positions of an exhaustive listing, which can prove a draw; 0: none.",
    ),
]
StoreOption = Annotated[
    Path | None, typer.Option("--tablebase", metavar="STORE", help="A tablebase. [default: what ships, if anything]")
]
