"""Players: whatever chooses moves, behind one protocol and found by name.

Importing this package loads no player and no numba.
"""

from tablut.play.players.options import PlayerOptions, Setting, parse_settings, read_settings
from tablut.play.players.protocol import Choice, Player
from tablut.play.players.registry import PLAYERS, make_player, player_names

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
