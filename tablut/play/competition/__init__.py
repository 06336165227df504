"""The Bologna competition: a client that plays on its server, and a server that speaks the same protocol.

`frames` is the layer of bytes, `thinking` keeps the clock, `client` plays a game,
`match` knows what a message means for a game, `referee` serves games to two clients.
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
