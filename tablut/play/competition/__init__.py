"""Bologna competition: a client for its server, and a server with the same protocol.

`client` plays a game within the server's time limit. `referee` runs games between two clients and enforces the rules.
`tablut.formats.bologna` encodes and decodes the messages.
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
