"""The line protocol for programs: `engine` understands the lines and searches, `cli` is the command.

docs/engine-protocol.md describes it for those who write the other side.
"""

from tablut.play.protocol.engine import Engine, EngineOptions

__all__ = ["Engine", "EngineOptions"]
