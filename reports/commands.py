"""The commands that render."""

from tablut.cli.spec import CommandSpec

__all__ = ["COMMANDS"]

COMMANDS = (
    CommandSpec("report", "reports.cli:report_command", "Rebuild the tables, figures and pages, or check them.", 90),
)
