"""Commands about the game itself: positions, moves, rule sets, records, perft."""

from tablut.cli.shell import command_table

__all__ = ["COMMANDS"]

COMMANDS = command_table(__file__)
