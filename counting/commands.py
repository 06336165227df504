"""The commands that count."""

from tablut.cli.spec import CommandSpec

__all__ = ["COMMANDS"]

COMMANDS = (
    CommandSpec(
        "bounds", "counting.cli:bounds_command", "Regenerate, check and tighten the published complexity bounds.", 10
    ),
    CommandSpec(
        "exclusions",
        "counting.exclusions.cli:exclusions_command",
        "Find the locked sets, and count exactly the placements that contain one.",
        11,
    ),
    CommandSpec("census", "counting.census.cli:app", "Count the reachable positions, ply by ply.", 45),
    CommandSpec(
        "reachable", "counting.reachable.cli:app", "Estimate what share of the counted positions can be reached.", 46
    ),
)
