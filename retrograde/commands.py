"""The commands that solve."""

from tablut.cli.spec import command_table

COMMANDS = command_table(__file__)
