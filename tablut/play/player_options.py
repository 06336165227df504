"""Options shared by the commands that use players: the player, its settings, and its limits for each move."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tablut.cli import command, options
from tablut.cli.command import Decorator, OnceOption, beginning, bundle
from tablut.errors import InputError
from tablut.play.players import PlayerOptions, parse_settings, player_names
from tablut.play.players.registry import BOOK, BOOK_MOVE
from tablut.play.search.limits import MOST_LINES, SearchLimits, read_time_control


def _once(declare: Any) -> Callable[..., Decorator]:
    """Return a function that declares an option which is refused if it is given twice."""
    return partial(declare, cls=OnceOption)


option, whole, real, choice = map(_once, (command.option, command.whole, command.real, command.choice))
file_option, threads_option = map(_once, (options.file_option, options.threads_option))
complete_player = beginning(player_names)

player_option = option(
    "--player",
    metavar="NAME",
    default="alphabeta",
    shell_complete=complete_player,
    help=f"Player: {', '.join(player_names())}; program:COMMAND for an external program, or MODULE:CLASS for a Python "
    "class of your own.",
)
nodes_option = whole("--nodes", help="Node limit for a move. It makes results repeatable.")
depth_option = whole("--depth", "-d", help="Search depth for a move, in plies.")
tablebase_option = option(
    "--tablebase", metavar="STORE", help="Folder of a tablebase. [default: the built-in tablebase, if any]"
)
settings_option = option(
    "--option",
    metavar="NAME=VALUE",
    multiple=True,
    help="Setting of the player, such as depth=2 for payoff; can be given several times. An unknown NAME lists the "
    "names.",
)


lines_option = whole(
    "--lines",
    least=1,
    most=MOST_LINES,
    default=1,
    help="Number of best lines that alphabeta finds. Each additional line needs its own transposition table of the "
    "same size. Moves that are equivalent by symmetry count as one line.",
)

control_option = option(
    "--tc",
    "control",
    metavar="CONTROL",
    callback=lambda _context, _option, text: None if text is None else read_time_control(text),
    help="Time control of a game for each side, in seconds: [MOVES/]SECONDS[+INCREMENT], such as 60+0.5 or 40/60.",
)


def hash_option(default: int = 64) -> Decorator:
    """Declare the option ``--hash``."""
    return whole(
        "--hash", "hash_mib", metavar="MIB", least=1, default=default, help="Memory for the transposition table."
    )


@dataclass(frozen=True)
class Budget:
    """Limits for choosing a move, as given on the command line."""

    movetime: float | None
    nodes: int | None
    playouts: int | None
    depth: int | None

    @property
    def given(self) -> SearchLimits | None:
        """Validated limits given by the user, or None if there are none."""
        limits = SearchLimits(self.movetime, self.nodes, self.depth, self.playouts)
        return None if limits == SearchLimits() else limits.checked()

    def limits(self, movetime: float = 2.0) -> SearchLimits:
        """Return the given limits. If there are none, return a time limit of ``movetime`` seconds."""
        return self.given or SearchLimits(movetime)


def budget(seconds: str = "2") -> tuple[Decorator, ...]:
    """Return the options for a `Budget`. Their help text shows ``seconds`` as the default time for a move."""
    return (
        real(
            "--movetime",
            metavar="SECONDS",
            help=f"Time for a move. [default: {seconds}, unless there is another limit]",
        ),
        nodes_option,
        whole("--playouts", help="Playout limit of a Monte Carlo player for a move. It makes results repeatable."),
        depth_option,
    )


budget_options = bundle("budget", Budget, *budget())


@dataclass(frozen=True)
class PlayerSettings:
    """Settings used to create a player."""

    hash_mib: int
    tablebase: str | None
    table_mib: int
    threads: int
    seed: int
    option: tuple[str, ...]
    book: Path | None
    book_move: str | None

    def __post_init__(self) -> None:
        if self.book_move is not None and not any(text.startswith(f"{BOOK}=") for text in self.all_settings):
            raise InputError("needs --book", subject=f"--book-move {self.book_move}")

    @property
    def all_settings(self) -> tuple[str, ...]:
        """The player's settings, including the settings for its book."""
        own = {BOOK: self.book, BOOK_MOVE: self.book_move}
        return (*self.option, *(f"{name}={value}" for name, value in own.items() if value is not None))

    def options(self) -> PlayerOptions:
        """Return the player's options."""
        settings = parse_settings(self.all_settings)
        return PlayerOptions(self.seed, self.hash_mib, self.tablebase, self.table_mib, settings, self.threads)


player_settings = bundle(
    "settings",
    PlayerSettings,
    hash_option(),
    tablebase_option,
    whole(
        "--table-memory",
        "table_mib",
        metavar="MIB",
        least=0,
        default=512,
        help="Memory for the tablebases that the search probes.",
    ),
    threads_option("Number of search threads of alphabeta. Results are repeatable only with one thread."),
    whole("--seed", default=0, help="Random seed of the player."),
    settings_option,
    file_option("--book", help="Opening book or collection of games. The player begins with its moves."),
    choice(
        "--book-move",
        words=("best", "draw"),
        help="How to choose a book move: best takes the move with the highest lower bound on its points, and draw "
        "picks one at random in proportion to its number of games. [default: best]",
    ),
)
