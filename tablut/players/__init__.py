"""Players: whatever chooses moves, behind one protocol and found by name.

Importing this package loads no player and no numba.
"""

from tablut.players.options import PlayerOptions
from tablut.players.protocol import Choice, Player
from tablut.players.registry import PLAYERS, make_player, player_names

__all__ = ["PLAYERS", "Choice", "Player", "PlayerOptions", "make_player", "player_names"]
