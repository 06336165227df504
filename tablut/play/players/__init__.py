"""Players: whatever chooses moves, behind one protocol and found by name.

Importing this package loads no player and no numba.
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
