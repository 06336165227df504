"""The commands that solve."""

from tablut.cli.spec import CommandSpec

__all__ = ["COMMANDS"]

COMMANDS = (
    CommandSpec("puzzle", "retrograde.puzzles.cli:app", "Prove wins, losses and draws; make and check puzzles.", 55),
)
