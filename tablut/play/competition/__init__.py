"""The Bologna competition: a client that plays on its server, and a server that speaks the same protocol.

`wire` is the layer of bytes, `client` plays a game and keeps its clock, `referee` serves games to two clients and
knows what a message means for a game.
"""

from tablut.play.competition.cli import write_player_script
from tablut.play.competition.client import ClientSettings, ServerGame, play_on_server
from tablut.play.competition.referee import Referee, RefereeSettings

__all__ = [
    "ClientSettings",
    "Referee",
    "RefereeSettings",
    "ServerGame",
    "play_on_server",
    "write_player_script",
]
