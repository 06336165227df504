"""Who plays in a match: a player with a budget and options, said in one word.

``alphabeta@nodes=5000`` is a player of `tablut.play.players` with a budget of its own;
what is not said is the match's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tablut.errors import InputError
from tablut.files import excerpt
from tablut.play.players import PlayerOptions, make_player
from tablut.play.players.registry import check_limits
from tablut.play.search.limits import SearchLimits

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tablut.play.arena.processes import IdlePrograms
    from tablut.play.players import Player
    from tablut.variants import Variant

__all__ = ["PREFIX", "Contestant", "check_contestants", "close_player", "contestant", "same_names"]

PREFIX: Final = "program:"
"""Before the command of a program that plays."""

_LIMITS = {"movetime": float, "nodes": int, "depth": int, "playouts": int}
_OPTIONS = {"hash": "hash_mib", "table-memory": "table_mib", "tablebase": "tablebase", "threads": "threads"}
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

    def make(self, variant: Variant, seed: int, idle: IdlePrograms | None = None) -> Player:
        """Return a new player, to be closed by `close_player`.

        Parameters
        ----------
        variant : Variant
            The rule set.
        seed : int
            Of everything random in it.
        idle : IdlePrograms, optional
            Where a program comes from; by default it is started for this player alone.

        Returns
        -------
        Player
            Which knows nothing of earlier games.
        """
        if self.player.startswith(PREFIX):
            from tablut.play.arena.programs import ProgramPlayer

            command = self.player.removeprefix(PREFIX)
            return ProgramPlayer(command, variant, self.options._replace(seed=seed), idle)
        return make_player(self.player, variant, self.options._replace(seed=seed))


def check_contestants(contestants: Iterable[Contestant], variant: Variant) -> None:
    """Refuse players that do not exist, do not play these rules, or would never end a move, before any game.

    Parameters
    ----------
    contestants : iterable of Contestant
        Who is to play; a program is started and ended.
    variant : Variant
        The rule set.

    Raises
    ------
    InputError
        Naming the player.
    """
    for one in contestants:
        try:
            check_limits(one.player, one.limits)
        except InputError as error:
            raise InputError(f"player {excerpt(one.text)}: {error}") from error
        close_player(one.make(variant, 1))


def contestant(text: str, limits: SearchLimits, options: PlayerOptions | None = None) -> Contestant:
    """Return the contestant that a text names.

    Parameters
    ----------
    text : str
        ``NAME`` or ``program:COMMAND``, each also with settings,
        ``NAME@key=value,key=value…``: movetime, nodes, depth, playouts, hash, table-memory, tablebase, threads,
        and ``option.NAME`` for a setting of the player's own. Settings follow the last ``@``, so a command
        that contains one ends with another.
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
    name, at, settings = text.rpartition("@") if text.startswith(PREFIX) else text.partition("@")
    if not at and text.startswith(PREFIX):
        name, settings = text, ""
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


def close_player(player: Player) -> None:
    """Have a player let go of what it holds, such as a process; most hold nothing.

    Parameters
    ----------
    player : Player
        It is not asked again.
    """
    close = getattr(player, "close", None)
    if close is not None:
        close()


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
