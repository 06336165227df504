"""The commands that solve."""

from tablut.cli.spec import CommandSpec

__all__ = ["COMMANDS"]

COMMANDS = (
    CommandSpec("solve", "retrograde.cli.solve:solve_command", "Solve a reduced board completely: who wins.", 50),
    CommandSpec("tablebase", "retrograde.cli.tablebase:app", "Build, describe and verify endgame tablebases.", 52),
    CommandSpec("probe", "retrograde.cli.tablebase:probe_command", "Look a position up in a tablebase.", 54),
    CommandSpec("puzzle", "retrograde.cli.puzzle:app", "Solve puzzles; prove wins, losses and draws.", 55),
)
