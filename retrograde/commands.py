"""Table of this package's commands: solving, tablebases and puzzles."""

from tablut.cli.shell import command_table

COMMANDS = command_table(__file__)
