"""The commands that render, and the one that serves."""

from tablut.cli.spec import CommandSpec

COMMANDS = (
    CommandSpec(
        "bench",
        "reports.bench:bench_command",
        "The behaviour fingerprint, and this machine's speeds.",
        80,
        examples=("tablut bench",),
    ),
    CommandSpec(
        "serve",
        "reports.explorer.server:serve_command",
        "The explorer in the browser, and a JSON API.",
        85,
        examples=("tablut serve", "tablut serve --tablebase endings"),
    ),
    CommandSpec(
        "report",
        "reports.cli:report_command",
        "Rebuild the tables, figures and pages, or check them.",
        90,
        examples=("tablut report --site site",),
    ),
)
