"""A player that has compiled and loaded what it needs, so that no clock pays for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tablut.board import Board
from tablut.play.players import make_player
from tablut.play.search.limits import SearchLimits

if TYPE_CHECKING:
    from tablut.play.players import Player, PlayerOptions
    from tablut.variants import Variant

__all__ = ["ready_player"]

_SMALL_HASH: Final = 16
_MOMENT: Final = 0.02


def ready_player(name: str, variant: Variant, options: PlayerOptions) -> Player:
    """Return a new player whose first move takes no longer than the others.

    Parameters
    ----------
    name : str
        As `tablut.play.players.make_player` takes it.
    variant : Variant
        The rule set.
    options : PlayerOptions
        Its settings.

    Returns
    -------
    Player
        Not asked anything yet: another one of its kind chose a move and was thrown away.

    Raises
    ------
    InputError
        As `tablut.play.players.make_player`.

    Examples
    --------
    >>> from tablut.play.players import PlayerOptions
    >>> from tablut.variants import load_variant
    >>> brandubh = load_variant("brandubh")
    >>> player = ready_player("random", brandubh, PlayerOptions(seed=1))
    >>> str(player.choose(Board(brandubh), SearchLimits(nodes=1)).move)
    'd2-f2'
    """
    board = Board(variant)
    if board.outcome() is None:
        small = options._replace(hash_mib=min(options.hash_mib, _SMALL_HASH), table_mib=0)
        make_player(name, variant, small).choose(board, SearchLimits(movetime=_MOMENT))
    return make_player(name, variant, options)
