"""The commands that count."""

from tablut.cli.spec import command_table

COMMANDS = command_table("""
bounds     count:1 counting.cli               Regenerate, check and tighten the published complexity bounds.
    tablut bounds
    tablut bounds -v mcgill
exclusions count:2 counting.cli               Find the locked sets, and count exactly the placements that contain one.
    tablut exclusions
census     count:3 counting.census.cli:app    Count the reachable positions, ply by ply.
    tablut census --plies 5
    tablut census -v ashton-5-4v0 --all
    tablut census verify ply6
reachable  reach:1 counting.reachable.cli:app Estimate what share of the counted positions can be reached.
    tablut reachable estimate --samples 200
    tablut reachable check samples.jsonl
""")
