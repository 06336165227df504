"""The commands that render, and the one that serves."""

from tablut.cli.spec import command_table

COMMANDS = command_table(__file__)
