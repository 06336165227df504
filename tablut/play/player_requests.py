"""Parts of the requests of commands that use players: the player, its settings, and its limits for each move."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, model_validator

from tablut.cli.options import tablebase_field, threads_field
from tablut.cli.requests import Option, Request, beginning
from tablut.errors import InputError
from tablut.play.players import PlayerOptions, parse_settings, player_names
from tablut.play.players.registry import BOOK, BOOK_MOVE
from tablut.play.search.limits import MOST_LINES, SearchLimits, TimeControl, read_time_control

complete_player = beginning(player_names)


def nodes_field() -> Any:
    """Describe a field as the option ``--nodes``."""
    return Option(None, "Node limit for a move. It makes results repeatable.", least=1)


def depth_field() -> Any:
    """Describe a field as the option ``--depth``."""
    return Option(None, "Search depth for a move, in plies.", "--depth", "-d", least=1)


def settings_field() -> Any:
    """Describe a field as the option ``--option``, whose values `parse_settings` parses."""
    words = "Setting of the player, such as depth=2 for payoff; can be given several times."
    return Option((), f"{words} An unknown NAME lists the names.", metavar="NAME=VALUE")


def hash_field(default: int = 64) -> Any:
    """Describe a field as the option ``--hash``."""
    words = "Memory for the transposition table."
    return Option(default, words, "--hash", metavar="MIB", least=1)


def movetime_field(default: str) -> Any:
    """Describe a field as the option ``--movetime``. Its help shows ``default``, the time without any limit."""
    words = f"Time for a move. [default: {default}, unless there is another limit]"
    return Option(None, words, metavar="SECONDS")


class PlayerRequest(Request):
    """A request that names a player."""

    player: str = Option(
        "alphabeta",
        f"Player: {', '.join(player_names())}; program:COMMAND for an external program, or MODULE:CLASS for a Python "
        "class of your own.",
        metavar="NAME",
        complete=complete_player,
    )


class LinesRequest(Request):
    """A request for the best lines of a search."""

    lines: int = Option(
        1,
        "Number of best lines that alphabeta finds. Each additional line needs its own transposition table of the "
        "same size. Moves that are equivalent by symmetry count as one line.",
        least=1,
        most=MOST_LINES,
    )


class ControlRequest(Request):
    """A request for games with a time control."""

    control: Annotated[
        TimeControl | None, BeforeValidator(lambda text: None if text is None else read_time_control(text))
    ] = Option(
        None,
        "Time control of a game for each side, in seconds: [MOVES/]SECONDS[+INCREMENT], such as 60+0.5 or 40/60.",
        "--tc",
        metavar="CONTROL",
    )


class BudgetRequest(Request):
    """A request with limits for choosing a move."""

    movetime: float | None = movetime_field("2")
    nodes: int | None = nodes_field()
    playouts: int | None = Option(
        None, "Playout limit of a Monte Carlo player for a move. It makes results repeatable.", least=1
    )
    depth: int | None = depth_field()

    @property
    def given(self) -> SearchLimits | None:
        """Validated limits given by the user, or None if there are none."""
        limits = SearchLimits(self.movetime, self.nodes, self.depth, self.playouts)
        return None if limits == SearchLimits() else limits.checked()

    def limits(self, movetime: float = 2.0) -> SearchLimits:
        """Return the given limits. If there are none, return a time limit of ``movetime`` seconds."""
        return self.given or SearchLimits(movetime)


class PlayerSettingsRequest(Request):
    """A request with the settings of a player."""

    hash_mib: int = hash_field()
    tablebase: str | None = tablebase_field()
    table_mib: int = Option(
        512,
        "Memory for the tablebases that the search probes.",
        "--table-memory",
        metavar="MIB",
        least=0,
    )
    threads: int = threads_field("Number of search threads of alphabeta. Results are repeatable only with one thread.")
    seed: int = Option(0, "Random seed of the player.")
    option: tuple[str, ...] = settings_field()
    book: Path | None = Option(None, "Opening book or collection of games. The player begins with its moves.")
    book_move: Literal["best", "draw"] | None = Option(
        None,
        "How to choose a book move: best takes the move with the highest lower bound on its points, and draw "
        "picks one at random in proportion to its number of games. [default: best]",
    )

    @model_validator(mode="after")
    def _check_book(self) -> Self:
        if self.book_move is not None and not any(text.startswith(f"{BOOK}=") for text in self.all_settings):
            raise InputError("needs --book", subject=f"--book-move {self.book_move}")
        return self

    @property
    def all_settings(self) -> tuple[str, ...]:
        """The player's settings, including the settings for its book."""
        own = {BOOK: self.book, BOOK_MOVE: self.book_move}
        return (*self.option, *(f"{name}={value}" for name, value in own.items() if value is not None))

    def player_options(self) -> PlayerOptions:
        """Return the player's options."""
        settings = parse_settings(self.all_settings)
        return PlayerOptions(self.seed, self.hash_mib, self.tablebase, self.table_mib, settings, self.threads)
