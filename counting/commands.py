"""The commands that count."""

from tablut.cli.spec import CommandSpec

COMMANDS = (
    CommandSpec(
        "bounds",
        "counting.cli:bounds_command",
        "Regenerate, check and tighten the published complexity bounds.",
        10,
        examples=("tablut bounds", "tablut bounds -v mcgill"),
    ),
    CommandSpec(
        "exclusions",
        "counting.cli:exclusions_command",
        "Find the locked sets, and count exactly the placements that contain one.",
        11,
        examples=("tablut exclusions",),
    ),
    CommandSpec(
        "census",
        "counting.census.cli:app",
        "Count the reachable positions, ply by ply.",
        45,
        examples=(
            "tablut census --plies 5",
            "tablut census -v ashton-5-4v0 --all",
            "tablut census verify ply6",
        ),
    ),
    CommandSpec(
        "reachable",
        "counting.reachable.cli:app",
        "Estimate what share of the counted positions can be reached.",
        46,
        examples=(
            "tablut reachable estimate --samples 200",
            "tablut reachable check samples.jsonl",
        ),
    ),
)
