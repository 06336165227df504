"""The commands of the game itself."""

from tablut.cli.spec import CommandSpec

__all__ = ["COMMANDS"]

COMMANDS = (
    CommandSpec("variants", "tablut.cli.variants:variants", "List the rule sets, or draw one with all its fields.", 20),
)
