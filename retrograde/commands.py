"""Table of this package's commands for solving games, tablebases and puzzles."""

from tablut.cli.shell import command_table

COMMANDS = command_table(__file__)
