"""The commands that solve."""

from tablut.cli.spec import CommandSpec

__all__ = ["COMMANDS"]

COMMANDS = (
    CommandSpec("solve", "retrograde.cli:solve_command", "Solve a reduced board completely: who wins.", 50),
    CommandSpec("tablebase", "retrograde.tablebase.cli:app", "Build, describe and verify endgame tablebases.", 52),
    CommandSpec("probe", "retrograde.tablebase.cli:probe_command", "Look a position up in a tablebase.", 54),
    CommandSpec("puzzle", "retrograde.puzzles.cli:app", "Prove wins, losses and draws; make and check puzzles.", 55),
)
