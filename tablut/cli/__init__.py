"""Command line program ``tablut``, whose sub-commands are contributed by the installed packages.

`shell` lists and loads the commands. `runtime` provides JSON output, provenance, exit codes and
error lines for all of them; `people` and `streams` handle output; `options` defines parameters
that many commands share.
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
