"""The commands that solve."""

from tablut.cli.spec import CommandSpec

__all__ = ["COMMANDS"]

COMMANDS = (CommandSpec("solve", "retrograde.cli:solve_command", "Solve a reduced board completely: who wins.", 50),)
