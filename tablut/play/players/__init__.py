"""Players that choose moves, their common protocol, and a registry of their names.

Importing this package imports neither the players themselves nor numba.
"""

from tablut.play.players.registry import (
    PLAYERS,
    Player,
    PlayerOptions,
    Setting,
    make_player,
    parse_settings,
    player_names,
    read_settings,
)
from tablut.play.search.limits import Choice

__all__ = [
    "PLAYERS",
    "Choice",
    "Player",
    "PlayerOptions",
    "Setting",
    "make_player",
    "parse_settings",
    "player_names",
    "read_settings",
]
