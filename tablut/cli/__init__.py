"""The ``tablut`` command: a shell that finds its sub-commands in the packages that contribute them.

`shell` lists and loads commands; `runtime` gives each of them JSON, provenance,
exit codes and error lines; `people` and `streams` are what they print on; `options`
holds the parameters that many share.
"""

__all__ = ["main"]


def main() -> None:
    """Run the ``tablut`` command."""
    # Imported here, so that an interrupt during the imports ends like any other.
    try:
        from tablut.cli import shell
    except KeyboardInterrupt:
        from tablut.cli.streams import leave

        leave("interrupted")
    shell.main()
