"""Table of this package's commands, which solve games and puzzles, prove claims, and build tablebases."""

from tablut.cli.shell import command_table

COMMANDS = command_table(__file__)
