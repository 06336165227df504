"""The commands of the game itself."""

from tablut.cli.spec import CommandSpec

__all__ = ["COMMANDS"]

COMMANDS = (
    CommandSpec("variants", "tablut.cli.variants:variants", "List the rule sets, or draw one with all its fields.", 20),
    CommandSpec("show", "tablut.cli.positions:show_command", "Draw a position.", 21),
    CommandSpec("moves", "tablut.cli.positions:moves_command", "List the legal moves of a position.", 22),
    CommandSpec("apply", "tablut.cli.positions:apply_command", "Make moves and show where they lead.", 23),
    CommandSpec("status", "tablut.cli.positions:status_command", "Say why a position is impossible.", 24),
)
