"""The commands that render, and the one that serves."""

from tablut.cli.spec import command_table

COMMANDS = command_table("""
serve  look:1  reports.explorer.server The explorer in the browser, and a JSON API.
    tablut serve
    tablut serve --tablebase endings
bench  check:1 reports.bench           The behaviour fingerprint, and this machine's speeds.
    tablut bench
report check:3 reports.cli             Rebuild the tables, figures and pages, or check them.
    tablut report --site site
""")
