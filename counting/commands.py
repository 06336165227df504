"""The commands of the package `counting`."""

from tablut.cli.spec import command_table

COMMANDS = command_table(__file__)
