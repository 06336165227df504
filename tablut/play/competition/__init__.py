"""Client and server for the Bologna competition's protocol.

The messages are encoded and decoded by `tablut.formats.bologna`.
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
