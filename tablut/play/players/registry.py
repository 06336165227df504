"""What a player is: something that chooses a move within limits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from typing import Final, NamedTuple, Protocol

from tablut.board import Board
from tablut.errors import InputError, did_you_mean
from tablut.play.search.limits import Choice, LimitKind, SearchLimits
from tablut.results import Result
from tablut.store.files import excerpt
from tablut.variants import Variant, VariantLike, as_variant


class BestMoveResult(Result):
    """A player's choice, as a command answers it."""

    variant: str
    position: str
    player: str
    move: str
    score: int | None
    mate: int | None
    depth: int
    nodes: int
    pv: list[str]
    tbhits: int
    playouts: int


def bestmove_result(board: Board, player: str, choice: Choice) -> BestMoveResult:
    """Return a player's choice as a command answers it."""
    try:
        board.copy().push(choice.move)  # a program may answer with anything
    except InputError as error:
        raise InputError(f"player {excerpt(player)}: {error}") from error
    said = {name: value for name, value in choice._asdict().items() if name in BestMoveResult.model_fields}
    said |= {"move": str(choice.move), "pv": [str(move) for move in choice.pv]}
    return BestMoveResult(variant=board.variant.name, position=str(board.position), player=player, **said)


class Player(Protocol):
    """A player of one variant.

    It may keep what it has learnt from move to move. A new game needs no notice: the
    board that it is shown has the whole history.
    """

    def choose(self, board: Board, limits: SearchLimits) -> Choice:
        """Return a move in an undecided position.

        Parameters
        ----------
        board : Board
            With the history of the game; not changed.
        limits : SearchLimits
            At least one. The answer comes before ``limits.movetime`` seconds are over.

        Raises
        ------
        InputError
            If the game is over, or the limits are none.
        """


# -- what a player may be told when it is made, and how it reads the settings that are its own ---


SHIPPED_TABLE_MIB: Final = 32
"""Memory for what search loads of the tables that ship: every tier of up to four men, in 35 ms."""


class PlayerOptions(NamedTuple):
    """Settings that a player takes as far as they concern it.

    Attributes
    ----------
    seed : int
        Of everything random in it.
    hash_mib : int
        Memory for transpositions, or for the states of a Monte Carlo player.
    tablebase : str or None
        A store to probe; by default what ships with the installed packages.
    table_mib : int
        Memory for tables that search probes; what does not fit is probed at the root alone. Of what ships
        `SHIPPED_TABLE_MIB` at most, which is every tier of up to four men.
    settings : tuple of (str, str)
        What only this player knows: names and values. A player refuses a name that it does not know.
    threads : int
        That search at once, by a player that can use them.
    """

    seed: int = 0
    hash_mib: int = 64
    tablebase: str | None = None
    table_mib: int = 512
    settings: tuple[tuple[str, str], ...] = ()
    threads: int = 1

    def checked(self) -> PlayerOptions:
        """Return the options, having checked those that mean the same to every player.

        Returns
        -------
        PlayerOptions
            These.

        Raises
        ------
        InputError
            If an amount of memory makes no sense, or a setting is given twice.

        Examples
        --------
        >>> PlayerOptions(table_mib=-5).checked()
        Traceback (most recent call last):
            ...
        tablut.errors.InputError: memory for tables: expected 0 MiB or more, not -5
        """
        for what, least, mib in (("transpositions", 1, self.hash_mib), ("tables", 0, self.table_mib)):
            if mib < least:
                raise InputError(f"memory for {what}: expected {least} MiB or more, not {mib}")
        once("option", (name for name, _ in self.settings))
        return self


def once(what: str, names: Iterable[str]) -> None:
    """Refuse a name that is given twice."""
    seen = set[str]()
    for name in names:
        if name in seen:
            raise InputError(f"{what} {excerpt(name)}: is given twice; leave one out")
        seen.add(name)


def number(kind: Callable[[str], int | float], text: str) -> int | float:
    """Return the number that a text gives in plain digits; Python itself would also take ``1_000`` and other digits."""
    if "_" in text or not text.isascii():
        raise ValueError(text)
    return kind(text)


class Setting(NamedTuple):
    """A setting that a player declares.

    Attributes
    ----------
    default : str, int or float
        Its value if nothing is said; a value given is read as one of the same type.
    choices : tuple of str
        The values of a text; none of a number.
    least, most : float
        The range of a number.
    """

    default: str | int | float
    choices: tuple[str, ...] = ()
    least: float = 0
    most: float = 1_000_000

    def read(self, name: str, text: str) -> str | int | float:
        """Return the value that a text gives.

        Parameters
        ----------
        name : str
            Of the setting, for the message.
        text : str
            Its value.

        Returns
        -------
        str, int or float
            Of the type of the default.

        Raises
        ------
        InputError
            If it is no value of the setting.

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
                raise InputError(f"option {name}={excerpt(text)}: expected {' or '.join(self.choices)}")
            return text
        try:
            value = number(type(self.default), text)  # type: ignore[arg-type]
        except (ValueError, OverflowError):
            value = None
        # A NaN is in no range.
        if value is None or not self.least <= float(value) <= self.most:
            kind = "a whole number" if isinstance(self.default, int) else "a number"
            raise InputError(f"option {name}={excerpt(text)}: expected {kind} from {self.least:g} to {self.most:g}")
        return value


def read_settings(player: str, options: PlayerOptions, declared: Mapping[str, Setting]) -> dict[str, str | int | float]:
    """Return the value of each setting that a player declares.

    Parameters
    ----------
    player : str
        Its name, for the message.
    options : PlayerOptions
        With what was said.
    declared : mapping of str to Setting
        What it knows.

    Returns
    -------
    dict of str to str, int or float
        All that are declared.

    Raises
    ------
    InputError
        If a name is unknown or given twice, or a value is none of its setting.

    Examples
    --------
    >>> read_settings("payoff", PlayerOptions(settings=(("own", "50"),)), {"own": Setting(60), "other": Setting(30)})
    {'own': 50, 'other': 30}
    """
    values = {name: setting.default for name, setting in declared.items()}
    options.checked()
    for name, text in options.settings:
        if name not in declared:
            known = did_you_mean(name, declared, f"its options are {', '.join(declared) or 'none'}")
            raise InputError(f"option {excerpt(name)}: unknown to player {player}; {known}")
        values[name] = declared[name].read(name, text)
    return values


def parse_settings(texts: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return the names and values of texts ``name=value``.

    Parameters
    ----------
    texts : sequence of str
        Any number of them.

    Returns
    -------
    tuple of (str, str)
        For `PlayerOptions.settings`.

    Raises
    ------
    InputError
        If one has no ``=``, or no name before it, or a name is given twice.

    Examples
    --------
    >>> parse_settings(["depth=8", "c=1.4"])
    (('depth', '8'), ('c', '1.4'))
    """
    found = []
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise InputError(f"option {excerpt(text)}: expected NAME=VALUE")
        found.append((name.strip(), value.strip()))
    once("option", (name for name, _ in found))
    return tuple(found)


# -- the players by name: one line each of those that ship, its module loaded when it is asked for ---


class PlayerSpec(NamedTuple):
    """A player, named but not loaded."""

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
    "random": PlayerSpec(f"{_HERE}.simple:RandomPlayer", "any legal move, each as likely as the others"),
    "greedy": PlayerSpec(f"{_HERE}.simple:GreedyPlayer", "captures, else runs for the corner, else any move"),
    "heuristic": PlayerSpec(f"{_HERE}.simple:HeuristicPlayer", "the best moves of a scoring scheme, any of them"),
    "mcts": PlayerSpec(f"{_HERE}.montecarlo:MonteCarloPlayer", "traditional Monte Carlo with UCT", ended_by=_PLAYOUTS),
    "mcts-expanded": PlayerSpec(
        f"{_HERE}.montecarlo:ExpandedPlayer",
        "as mcts; a victory path or a king that can be captured ends a playout",
        ended_by=_PLAYOUTS,
    ),
    "mcts-improved": PlayerSpec(
        f"{_HERE}.montecarlo:ImprovedPlayer",
        "as mcts-expanded, with (wins - losses)/total and another UCT",
        ended_by=_PLAYOUTS,
    ),
    "mcts-heuristic": PlayerSpec(
        f"{_HERE}.montecarlo:FilteredPlayer",
        "the heuristic's best moves, then improved Monte Carlo",
        ended_by=_PLAYOUTS,
    ),
    "payoff": PlayerSpec(
        f"{_HERE}.minimax:PayoffPlayer",
        "minimax, deepening, by pieces and nearness to the corner",
        ended_by=_SEARCH,
    ),
    "minimax3": PlayerSpec(f"{_HERE}.minimax:MinimaxPlayer", "minimax to depth 3 by king and pieces", ended_by=_SEARCH),
}
"""Those that ship, by name. A further one is a further line."""


def player_names() -> tuple[str, ...]:
    """Return the names of all players.

    Returns
    -------
    tuple of str
        In the order of the list.

    Examples
    --------
    >>> player_names()[:4]
    ('alphabeta', 'random', 'greedy', 'heuristic')
    """
    return tuple(PLAYERS)


def check_limits(name: str, limits: SearchLimits) -> SearchLimits:
    """Return the limits of a player, having checked that one of them ends its moves."""
    return limits.checked(*(PLAYERS[name].ended_by if name in PLAYERS else ()))


def make_player(name: str, variant: VariantLike, options: PlayerOptions | None = None) -> Player:
    """Return a new player of a variant.

    Parameters
    ----------
    name : str
        One of `player_names`.
    variant : Variant, str or path-like
        The rule set that it will play.
    options : PlayerOptions, optional
        Its settings.

    Returns
    -------
    Player
        A new one.

    Raises
    ------
    InputError
        If there is no player of that name, or an option is unknown or out of range.

    Examples
    --------
    >>> from tablut import Board
    >>> from tablut.play.search.limits import SearchLimits
    >>> board = Board("brandubh")
    >>> str(make_player("random", board.variant, PlayerOptions(seed=1)).choose(board, SearchLimits(nodes=1)).move)
    'd2-f2'
    """
    variant, options, spec = as_variant(variant), (options or PlayerOptions()).checked(), spec_of(name)
    if options.threads != 1 and not spec.threaded:
        raise InputError(f"threads {options.threads}: player {name} thinks in one; leave it out")
    module, _, attribute = spec.target.partition(":")
    factory: Callable[[Variant, PlayerOptions], Player] = getattr(import_module(module), attribute)
    return factory(variant, options)


def spec_of(name: str) -> PlayerSpec:
    """Return what is known of a player; refuse a name that no player has."""
    if name not in PLAYERS:
        hint = did_you_mean(name, PLAYERS, f"the players are {', '.join(PLAYERS)}")
        raise InputError(f"player {excerpt(name)}: unknown; {hint}")
    return PLAYERS[name]


# -- a player that has compiled and loaded what it needs, so that no clock pays for it -----


_SMALL_HASH: Final = 16
_MOMENT: Final = 0.02


def ready_player(name: str, variant: Variant, options: PlayerOptions) -> Player:
    """Return a new player whose first move takes no longer than the others."""
    board = Board(variant)
    if board.outcome() is None:
        small = options._replace(hash_mib=min(options.hash_mib, _SMALL_HASH), table_mib=0)
        make_player(name, variant, small).choose(board, SearchLimits(movetime=_MOMENT))
    return make_player(name, variant, options)
