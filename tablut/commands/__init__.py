"""The commands of the game itself."""

from tablut.cli.spec import command_table

__all__ = ["COMMANDS"]

COMMANDS = command_table(__file__)
