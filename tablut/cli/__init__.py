"""The command-line program ``tablut``, whose sub-commands are contributed by the installed packages.

`shell` lists and loads the commands, and reports errors. `command` declares commands and their parameters with click;
`options` declares the parameters that many commands share. `runtime` provides JSON output, provenance and exit codes
for all commands; `people` and `streams` handle output.
"""

__all__ = ["main"]


def end_quietly(*_: object) -> None:
    """Handle an interrupt while the program is starting, when it can do no more than end."""
    import os

    os._exit(130)


def await_start() -> None:
    """Let an interrupt end the process quietly, until `tablut.cli.streams.watch_interrupts` takes over.

    An exception would not do: in the middle of an import, it can be printed, replaced or lost.
    """
    import _signal  # type: ignore[import-not-found]  # the module `signal` takes milliseconds to load

    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, end_quietly)


def main() -> None:
    """Run the ``tablut`` command."""
    await_start()
    from tablut.cli import shell

    shell.main()
