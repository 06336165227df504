"""Who plays in a match: a player with a budget and options, said in one word.

``alphabeta@nodes=5000`` is a player of `tablut.play.players` with a budget of its own;
what is not said is the match's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tablut.errors import InputError
from tablut.files import excerpt
from tablut.play.players import PlayerOptions, make_player
from tablut.play.search.limits import SearchLimits

if TYPE_CHECKING:
    from tablut.play.players import Player
    from tablut.variants import Variant

__all__ = ["Contestant", "contestant", "same_names"]

_LIMITS = {"movetime": float, "nodes": int, "depth": int, "playouts": int}
_OPTIONS = {"hash": "hash_mib", "table-memory": "table_mib", "tablebase": "tablebase"}
_SETTING = "option."
"""Before the name of a setting that only the player knows: ``mcts@playouts=1000,option.depth=12``."""


class Contestant(NamedTuple):
    """A player and what it plays with.

    Attributes
    ----------
    text : str
        As it was said; what results call it.
    player : str
        A name of the registry.
    limits : SearchLimits
        For each move.
    options : PlayerOptions
        All but the seed.
    """

    text: str
    player: str
    limits: SearchLimits
    options: PlayerOptions

    def make(self, variant: Variant, seed: int) -> Player:
        """Return a new player.

        Parameters
        ----------
        variant : Variant
            The rule set.
        seed : int
            Of everything random in it.

        Returns
        -------
        Player
            Which knows nothing of earlier games.
        """
        return make_player(self.player, variant, self.options._replace(seed=seed))


def contestant(text: str, limits: SearchLimits, options: PlayerOptions | None = None) -> Contestant:
    """Return the contestant that a text names.

    Parameters
    ----------
    text : str
        ``NAME`` or ``NAME@key=value,key=value…``: movetime, nodes, depth, playouts, hash, table-memory, tablebase,
        and ``option.NAME`` for a setting of the player's own.
    limits : SearchLimits
        The match's, for a text that names none of its own.
    options : PlayerOptions, optional
        Likewise.

    Returns
    -------
    Contestant
        With limits that have been checked.

    Raises
    ------
    InputError
        If a key is unknown or its value is no number.

    Examples
    --------
    >>> fast = contestant("alphabeta@nodes=500,hash=2", SearchLimits(movetime=1.0))
    >>> fast.player, fast.limits.nodes, fast.limits.movetime, fast.options.hash_mib
    ('alphabeta', 500, None, 2)
    """
    name, _, settings = text.partition("@")
    own: dict[str, Any] = {}
    other: dict[str, Any] = {}
    own_settings: list[tuple[str, str]] = []
    for setting in filter(None, settings.split(",")):
        key, equals, value = setting.partition("=")
        if equals and key.startswith(_SETTING):
            own_settings.append((key.removeprefix(_SETTING), value))
            continue
        if not equals or key not in {*_LIMITS, *_OPTIONS}:
            raise InputError(
                f"player {excerpt(text)}: {excerpt(setting)}: expected key=value with one of "
                f"{', '.join([*_LIMITS, *_OPTIONS, _SETTING + 'NAME'])}"
            )
        try:
            if key in _LIMITS:
                own[key] = _LIMITS[key](value)
            else:
                other[_OPTIONS[key]] = value if key == "tablebase" else int(value)
        except ValueError as error:
            raise InputError(f"player {excerpt(text)}: {key}={excerpt(value)}: expected a number") from error
    chosen = SearchLimits(**own) if own else limits
    settled = (options or PlayerOptions())._replace(**other)
    settled = settled._replace(settings=(*settled.settings, *own_settings))
    return Contestant(text, name, chosen.checked(), settled)


def same_names(contestants: list[Contestant]) -> list[str]:
    """Return names that tell contestants apart, also where two are said alike.

    Parameters
    ----------
    contestants : list of Contestant
        In their order.

    Returns
    -------
    list of str
        Their texts; from the second of the same text on with a number.

    Examples
    --------
    >>> one = contestant("random", SearchLimits(nodes=1))
    >>> same_names([one, one])
    ['random', 'random (2)']
    """
    seen: dict[str, int] = {}
    names = []
    for one in contestants:
        seen[one.text] = seen.get(one.text, 0) + 1
        names.append(one.text if seen[one.text] == 1 else f"{one.text} ({seen[one.text]})")
    return names
