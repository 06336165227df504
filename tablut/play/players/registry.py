"""The players by name: one line each of those that ship, its module loaded when it is asked for.

Another package adds a player by an entry point of the group ``tablut.players``: its name, and
``module:callable`` of what takes a `Variant` and `PlayerOptions` and returns a `Player`.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from tablut.errors import InputError
from tablut.files import excerpt
from tablut.play.players.options import PlayerOptions
from tablut.variants import as_variant

if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.metadata import EntryPoint

    from tablut.play.players.protocol import Player
    from tablut.play.search.limits import LimitKind, SearchLimits
    from tablut.variants import Variant, VariantLike

__all__ = ["PLAYERS", "PlayerSpec", "check_limits", "make_player", "player_names"]


class PlayerSpec(NamedTuple):
    """A player, named but not loaded.

    Attributes
    ----------
    target : str
        ``module:callable`` that takes a `Variant` and `PlayerOptions`.
    help : str
        What it is, in one line.
    threaded : bool
        Whether it can search in several threads.
    ended_by : tuple of str
        The limits of which it needs one; none for a player that any limit suits.
    """

    target: str
    help: str
    threaded: bool = False
    ended_by: tuple[LimitKind, ...] = ()


_HERE: Final = "tablut.play.players"
_SEARCH: Final[tuple[LimitKind, ...]] = ("movetime", "nodes", "depth")
_PLAYOUTS: Final[tuple[LimitKind, ...]] = ("movetime", "nodes", "playouts")

PLAYERS: Final[dict[str, PlayerSpec]] = {
    "alphabeta": PlayerSpec(
        f"{_HERE}.alphabeta:AlphaBetaPlayer", "the compiled alpha-beta search", threaded=True, ended_by=_SEARCH
    ),
    "random": PlayerSpec(f"{_HERE}.uniform:RandomPlayer", "any legal move, each as likely as the others"),
    "greedy": PlayerSpec(f"{_HERE}.greedy:GreedyPlayer", "captures, else runs for the corner, else any move"),
    "heuristic": PlayerSpec(f"{_HERE}.heuristic:HeuristicPlayer", "the best moves of a scoring scheme, any of them"),
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

_GROUP: Final = "tablut.players"
"""The entry points under which other packages register players."""


def _others() -> dict[str, EntryPoint]:
    """Return the players that other packages register; a name that ships is not replaced."""
    return {entry.name: entry for entry in entry_points(group=_GROUP) if entry.name not in PLAYERS}


def player_names() -> tuple[str, ...]:
    """Return the names of all players: those that ship, then those of other packages.

    Returns
    -------
    tuple of str
        At least those that ship.

    Examples
    --------
    >>> player_names()[:4]
    ('alphabeta', 'random', 'greedy', 'heuristic')
    """
    return (*PLAYERS, *sorted(_others()))


def check_limits(name: str, limits: SearchLimits) -> SearchLimits:
    """Return the limits of a player, having checked that one of them ends its moves.

    Parameters
    ----------
    name : str
        One of `player_names`; of a player of another package nothing is known.
    limits : SearchLimits
        For each move.

    Returns
    -------
    SearchLimits
        These.

    Raises
    ------
    InputError
        If none of them ends its moves, or one is not positive.

    Examples
    --------
    >>> from tablut.play.search.limits import SearchLimits
    >>> check_limits("mcts", SearchLimits(depth=3))
    Traceback (most recent call last):
        ...
    tablut.errors.InputError: limits: none given that would end this; name a time, a number of nodes or a number ...
    """
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
        If there is no player of that name, its package cannot be loaded, or an option is
        unknown or out of range.

    Examples
    --------
    >>> from tablut import Board
    >>> from tablut.play.search.limits import SearchLimits
    >>> board = Board("brandubh")
    >>> str(make_player("random", board.variant, PlayerOptions(seed=1)).choose(board, SearchLimits(nodes=1)).move)
    'd2-f2'
    """
    variant, options = as_variant(variant), options or PlayerOptions()
    factory = cast("Callable[[Variant, PlayerOptions], Player]", _factory(name))
    if options.threads != 1 and name in PLAYERS and not PLAYERS[name].threaded:
        raise InputError(f"threads {options.threads}: player {name} thinks in one; leave it out")
    return factory(variant, options)


def _factory(name: str) -> Any:
    if name in PLAYERS:
        module, _, attribute = PLAYERS[name].target.partition(":")
        return getattr(import_module(module), attribute)
    others = _others()
    if name not in others:
        raise InputError(f"player {excerpt(name)}: unknown; the players are {', '.join((*PLAYERS, *sorted(others)))}")
    try:
        return others[name].load()
    except (ImportError, AttributeError) as error:
        raise InputError(f"player {name!r}: its package, which names {others[name].value}, fails: {error}") from error
