"""The commands that render pages, and the command that serves the explorer."""

from tablut.cli.shell import command_table

COMMANDS = command_table(__file__)
