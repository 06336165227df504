"""Commands of the package `counting`."""

from tablut.cli.shell import command_table

COMMANDS = command_table(__file__)
