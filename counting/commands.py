"""The commands that count."""

from tablut.cli.spec import command_table

COMMANDS = command_table(__file__)
