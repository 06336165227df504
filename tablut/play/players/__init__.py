"""Players that choose moves, and a registry of their names. Importing this package does not import numba."""

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
