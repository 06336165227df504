"""Protocol, settings and registry of the players, which choose moves within limits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from typing import Final, NamedTuple, Protocol

from tablut.board import Board
from tablut.errors import SIGNED, SOME, THREADS, InputError, did_you_mean, numbers_of, whole_number
from tablut.play.search.limits import Choice, LimitKind, SearchLimits
from tablut.position import Move
from tablut.results import Result
from tablut.variants import Variant, VariantLike, as_variant
from tablut.work.files import excerpt


class BestLine(Result):
    """One of the best lines of a position, with its score and, if measured, its expected points from 0 to 1."""

    move: str
    score: int | None
    mate: int | None
    points: float | None
    depth: int
    pv: list[str]


def best_lines(choice: Choice) -> tuple[BestLine, ...]:
    """Return the lines of a choice, best first."""
    shared = ("score", "mate", "points", "depth")
    return tuple(
        BestLine(move=str(line.move), pv=list(map(str, line.pv)), **{name: getattr(line, name) for name in shared})
        for line in (choice, *choice.others)
    )


class BestMoveResult(Result):
    """Result of a command that lets a player choose a move. The first of its ``lines`` begins with the move."""

    variant: str
    position: str
    player: str
    move: str
    score: int | None
    mate: int | None
    points: float | None
    depth: int
    nodes: int
    pv: list[str]
    tbhits: int
    playouts: int
    source: str
    lines: tuple[BestLine, ...]


def bare_choice(move: Move) -> Choice:
    """Return a choice that contains only a move, without a score or statistics."""
    return Choice(move, score=None, mate=None, depth=0, nodes=0, pv=(move,))


def bestmove_result(board: Board, player: str, choice: Choice) -> BestMoveResult:
    """Return the command result for a player's choice. Raise InputError if the chosen move is illegal."""
    try:
        board.copy().push(choice.move)  # an external program may return any move
    except InputError as error:
        raise InputError(str(error), subject=f"player {excerpt(player)}") from error
    values = {name: value for name, value in choice._asdict().items() if name in BestMoveResult.model_fields}
    lines = best_lines(choice)
    values |= {"move": lines[0].move, "pv": lines[0].pv, "lines": lines}
    return BestMoveResult(variant=board.variant.name, position=str(board.position), player=player, **values)


class Player(Protocol):
    """Protocol that every player implements. A player plays one variant.

    It need not be notified of a new game, because the board passed to `choose` contains the whole history.
    """

    def choose(self, board: Board, limits: SearchLimits) -> Choice:
        """Return a move in an undecided position, within ``limits``, at least one of which is set.

        The ``board`` has the game history and is not changed.

        Raises
        ------
        InputError
            If the game is over, or no limit is given.
        """


# -- options of players, and the settings that each player declares ------------------------


BOOK: Final = "book"
"""Name of the setting for the book file. Every player accepts it."""
BOOK_MOVE: Final = "book-move"
"""Name of the setting for the way in which a book move is chosen. Every player accepts it."""
SHIPPED_TABLE_MIB: Final = 32
"""Memory in MiB for the built-in tables. All tiers of up to four men fit into it."""


class PlayerOptions(NamedTuple):
    """Options of a player. Each player uses the options that apply to it.

    - ``seed``: Seed of the player's random numbers.
    - ``hash_mib``: Memory in MiB for the transposition table, or for the states of a Monte Carlo player.
    - ``tablebase``: Tablebase store to probe, or None for the built-in tables.
    - ``table_mib``: Memory in MiB for the tables probed in the search tree. Tables that do not fit are probed at the
      root. Of the built-in tables, at most `SHIPPED_TABLE_MIB` MiB are used.
    - ``settings``: Names and values of settings specific to the player.
    - ``threads``: Number of search threads, if the player supports several.
    """

    seed: int = 0
    hash_mib: int = 64
    tablebase: str | None = None
    table_mib: int = 512
    settings: tuple[tuple[str, str], ...] = ()
    threads: int = 1

    def checked(self) -> PlayerOptions:
        """Return the same options, after checking those that have the same meaning for every player.

        Raises
        ------
        InputError
            If a number is out of range, or a setting is given twice.

        Examples
        --------
        >>> PlayerOptions(table_mib=-5).checked()
        Traceback (most recent call last):
            ...
        tablut.errors.InputError: table_mib -5: expected a whole number, 0 or more
        """
        once("option", self.settings)
        return numbers_of(self, seed=SIGNED, hash_mib=SOME, table_mib=whole_number, threads=THREADS)

    def split_book(self) -> tuple[PlayerOptions, dict[str, str]]:
        """Return the options without the settings of an opening book, and these settings."""
        book = {name: value for name, value in self.settings if name in (BOOK, BOOK_MOVE)}
        return self._replace(settings=tuple(setting for setting in self.settings if setting[0] not in book)), book


def once(what: str, given: Iterable[tuple[str, object]]) -> None:
    """Raise InputError if a name is given twice. The error states both values."""
    seen: dict[str, object] = {}
    for name, value in given:
        if name in seen:
            values = " and ".join(excerpt(str(one)) for one in (seen[name], value))
            raise InputError(f"is given twice, as {values}", subject=f"{what} {excerpt(name)}", remedy="leave one out")
        seen[name] = value


def number(kind: Callable[[str], int | float], text: str) -> int | float:
    """Parse a number written in ASCII digits. Python would also accept ``1_000`` and the digits of other scripts."""
    if "_" in text or not text.isascii():
        raise ValueError(text)
    return kind(text)


class Setting(NamedTuple):
    """Setting declared by a player.

    - ``default``: Default value, a text or a number. Other values are parsed as the same type.
    - ``choices``: Allowed values of a text setting.
    - ``least``, ``most``: Range of a number, including both ends.
    """

    default: str | int | float
    choices: tuple[str, ...] = ()
    least: float = 0
    most: float = 1_000_000

    def read(self, name: str, text: str) -> str | int | float:
        """Return the value that a ``text`` stands for, of the same type as the default.

        ``name`` is the name of the setting, for the error message.

        Raises
        ------
        InputError
            If the text is not an allowed value.

        Examples
        --------
        >>> Setting(8, least=1, most=512).read("depth", "12")
        12
        >>> Setting("root", ("root", "leaf")).read("from", "top")
        Traceback (most recent call last):
            ...
        tablut.errors.InputError: option from='top': expected root or leaf
        """
        if self.choices:
            if text not in self.choices:
                raise InputError(f"expected {' or '.join(self.choices)}", subject=f"option {name}={excerpt(text)}")
            return text
        try:
            value = number(type(self.default), text)  # type: ignore[arg-type]
        except (ValueError, OverflowError):
            value = None
        # This comparison also refuses NaN.
        if value is None or not self.least <= float(value) <= self.most:
            kind = "a whole number" if isinstance(self.default, int) else "a number"
            raise InputError(
                f"expected {kind} from {self.least:g} to {self.most:g}", subject=f"option {name}={excerpt(text)}"
            )
        return value


def read_settings(player: str, options: PlayerOptions, declared: Mapping[str, Setting]) -> dict[str, str | int | float]:
    """Return the values of all settings that a player has ``declared``, by name.

    They are given in ``options`` or have their default values. ``player`` is the player's name, for the error message.

    Raises
    ------
    InputError
        If a name is unknown or given twice, or a value is not allowed.

    Examples
    --------
    >>> read_settings("payoff", PlayerOptions(settings=(("own", "50"),)), {"own": Setting(60), "other": Setting(30)})
    {'own': 50, 'other': 30}
    """
    values = {name: setting.default for name, setting in declared.items()}
    options.checked()
    for name, text in options.settings:
        if name not in declared:
            every = f"its options are {', '.join(declared)}" if declared else "it has no options"
            known = did_you_mean(name, declared, every)
            raise InputError(f"is not an option of player {player}", subject=f"option {excerpt(name)}", remedy=known)
        values[name] = declared[name].read(name, text)
    return values


def parse_settings(texts: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return the names and values in ``texts`` of the form ``name=value``, for `PlayerOptions.settings`.

    Raises
    ------
    InputError
        If a text has no ``=`` or no name before it, or a name is given twice.

    Examples
    --------
    >>> parse_settings(["depth=8", "c=1.4"])
    (('depth', '8'), ('c', '1.4'))
    """
    found = []
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise InputError("expected NAME=VALUE", subject=f"option {excerpt(text)}")
        found.append((name.strip(), value.strip()))
    once("option", found)
    return tuple(found)


# -- registry of players, which loads a player's module when the player is first used ------


class PlayerSpec(NamedTuple):
    """Registry entry: the location of a player's class, a description, and what its search supports."""

    target: str
    help: str
    threaded: bool = False
    ended_by: tuple[LimitKind, ...] = ()


_HERE: Final = "tablut.play.players"
_SEARCH: Final[tuple[LimitKind, ...]] = ("movetime", "nodes", "depth")
_PLAYOUTS: Final[tuple[LimitKind, ...]] = ("movetime", "nodes", "playouts")

PLAYERS: Final[dict[str, PlayerSpec]] = {
    "alphabeta": PlayerSpec(
        f"{_HERE}.simple:AlphaBetaPlayer", "the compiled alpha-beta search", threaded=True, ended_by=_SEARCH
    ),
    "random": PlayerSpec(f"{_HERE}.simple:RandomPlayer", "any legal move, all equally likely"),
    "greedy": PlayerSpec(
        f"{_HERE}.simple:GreedyPlayer", "a capture if possible, else a king move towards a corner, else any move"
    ),
    "heuristic": PlayerSpec(f"{_HERE}.simple:HeuristicPlayer", "one of the best moves according to a scoring scheme"),
    "mcts": PlayerSpec(
        f"{_HERE}.montecarlo:MonteCarloPlayer", "traditional Monte Carlo search with UCT", ended_by=_PLAYOUTS
    ),
    "mcts-expanded": PlayerSpec(
        f"{_HERE}.montecarlo:ExpandedPlayer",
        "like mcts, but playouts stop at a victory path or when the king can be captured",
        ended_by=_PLAYOUTS,
    ),
    "mcts-improved": PlayerSpec(
        f"{_HERE}.montecarlo:ImprovedPlayer",
        "like mcts-expanded, but with (wins - losses)/total and another form of UCT",
        ended_by=_PLAYOUTS,
    ),
    "mcts-heuristic": PlayerSpec(
        f"{_HERE}.montecarlo:FilteredPlayer",
        "the best moves of heuristic, compared by mcts-improved",
        ended_by=_PLAYOUTS,
    ),
    "payoff": PlayerSpec(
        f"{_HERE}.minimax:PayoffPlayer",
        "minimax with iterative deepening, and values for pieces and distance to a corner",
        ended_by=_SEARCH,
    ),
    "minimax3": PlayerSpec(
        f"{_HERE}.minimax:MinimaxPlayer", "minimax to depth 3, with values for king and pieces", ended_by=_SEARCH
    ),
}
"""Built-in players, by name."""


def player_names() -> tuple[str, ...]:
    """Return the names of all players, in the order of `PLAYERS`.

    Examples
    --------
    >>> player_names()[:4]
    ('alphabeta', 'random', 'greedy', 'heuristic')
    """
    return tuple(PLAYERS)


def check_limits(name: str, limits: SearchLimits) -> SearchLimits:
    """Check that at least one limit can end the player's search, and return the limits."""
    return limits.checked(*(PLAYERS[name].ended_by if name in PLAYERS else ()))


def check_lines(name: str, lines: int, parameter: str = "lines") -> None:
    """Raise InputError if a player cannot find the given number of lines."""
    if lines > 1 and not (name in PLAYERS and PLAYERS[name].threaded):
        only = f"player {excerpt(name)} finds only one line"
        raise InputError(only, parameter=parameter, value=lines, remedy="use alphabeta")


def make_player(name: str, variant: VariantLike, options: PlayerOptions | None = None) -> Player:
    """Return a new player for a ``variant``. Its ``name`` is one of `player_names`, and ``options`` configure it.

    Raises
    ------
    InputError
        If there is no player with that name, or an option is unknown or out of range.

    Examples
    --------
    >>> from tablut import Board
    >>> from tablut.play.search.limits import SearchLimits
    >>> board = Board("brandubh")
    >>> str(make_player("random", board.variant, PlayerOptions(seed=1)).choose(board, SearchLimits(nodes=1)).move)
    'd2-f2'
    """
    variant, options, spec = as_variant(variant), (options or PlayerOptions()).checked(), spec_of(name)
    if not spec.threaded:
        refuse_threads(name, options)
    module, _, attribute = spec.target.partition(":")
    factory: Callable[[Variant, PlayerOptions], Player] = getattr(import_module(module), attribute)
    return factory(variant, options)


def refuse_threads(name: str, options: PlayerOptions) -> None:
    """Raise InputError if several threads are requested of a player that uses one."""
    if options.threads != 1:
        raise InputError(
            f"player {name} uses only one", parameter="threads", value=options.threads, remedy="leave it out"
        )


def spec_of(name: str) -> PlayerSpec:
    """Return the registry entry of a player. Raise InputError if the name is unknown."""
    if name not in PLAYERS:
        hint = did_you_mean(name, PLAYERS, f"the players are {', '.join(PLAYERS)}")
        raise InputError("does not exist", subject=f"player {excerpt(name)}", remedy=hint)
    return PLAYERS[name]


# -- players whose kernels are compiled or loaded before the clock starts ------------------


_SMALL_HASH: Final = 16
_MOMENT: Final = 0.02


def ready_player(name: str, variant: Variant, options: PlayerOptions) -> Player:
    """Return a new player whose first move takes no longer than later moves, because its kernels are loaded."""
    board = Board(variant)
    if board.outcome() is None:
        small = options._replace(hash_mib=min(options.hash_mib, _SMALL_HASH), table_mib=0)
        make_player(name, variant, small).choose(board, SearchLimits(movetime=_MOMENT))
    return make_player(name, variant, options)
