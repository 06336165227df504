"""The command-line program ``tablut``, whose sub-commands are contributed by the installed packages.

`shell` lists and loads the commands, and reports errors. `command` declares commands and their parameters with click;
`options` declares the parameters that many commands share. `runtime` provides JSON output, provenance and exit codes
for all commands; `people` and `streams` handle output.
"""

__all__ = ["main"]


def main() -> None:
    """Run the ``tablut`` command."""
    # Imported here, so that an interrupt during the imports is handled like any other.
    try:
        from tablut.cli import shell
    except KeyboardInterrupt:
        from tablut.cli.streams import leave

        leave("interrupted")
    shell.main()
