"""The players that ship, by name: one line each, its module loaded when it is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from tablut.errors import InputError
from tablut.play.players.options import PlayerOptions
from tablut.variants import as_variant

if TYPE_CHECKING:
    from collections.abc import Callable

    from tablut.play.players.protocol import Player
    from tablut.variants import Variant, VariantLike

__all__ = ["PLAYERS", "PlayerSpec", "make_player", "player_names"]


class PlayerSpec(NamedTuple):
    """A player, named but not loaded.

    Attributes
    ----------
    target : str
        ``module:callable`` that takes a `Variant` and `PlayerOptions`.
    help : str
        What it is, in one line.
    """

    target: str
    help: str


PLAYERS: Final[dict[str, PlayerSpec]] = {
    "alphabeta": PlayerSpec("tablut.play.players.alphabeta:AlphaBetaPlayer", "the compiled alpha-beta search"),
    "random": PlayerSpec("tablut.play.players.uniform:RandomPlayer", "any legal move, each as likely as the others"),
}
"""By name. A further player is a further line."""


def player_names() -> tuple[str, ...]:
    """Return the names of all players.

    Examples
    --------
    >>> player_names()
    ('alphabeta', 'random')
    """
    return tuple(PLAYERS)


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

    Raises
    ------
    InputError
        If there is no player of that name, or an option is out of range.

    Examples
    --------
    >>> from tablut import Board
    >>> from tablut.play.search.limits import SearchLimits
    >>> board = Board("brandubh")
    >>> str(make_player("random", board.variant, PlayerOptions(seed=1)).choose(board, SearchLimits(nodes=1)).move)
    'd2-f2'
    """
    variant = as_variant(variant)
    if name not in PLAYERS:
        raise InputError(f"player {name!r}: unknown; the players are {', '.join(PLAYERS)}")
    module, _, attribute = PLAYERS[name].target.partition(":")
    factory = cast("Callable[[Variant, PlayerOptions], Player]", getattr(import_module(module), attribute))
    return factory(variant, options or PlayerOptions())
