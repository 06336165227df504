"""How a package contributes commands: entries light enough to be read for ``tablut --help``."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["CommandSpec"]


class CommandSpec(NamedTuple):
    """A sub-command, named but not loaded.

    A package lists its own in a tuple ``COMMANDS`` and registers that under the
    entry point group ``tablut.commands``.

    Attributes
    ----------
    name : str
        What the user types.
    target : str
        ``module:attribute`` of a function (see `tablut.cli.runtime.command`) or of a
        `typer.Typer` with sub-commands; imported when the command is used.
    help : str
        One line for the list of commands.
    order : int
        Place in that list.
    examples : tuple of str
        Whole command lines; `--help` shows those of the command, or of its sub-command, that is asked about.
        The documentation shows them too, where tests run them.
    """

    name: str
    target: str
    help: str
    order: int
    examples: tuple[str, ...] = ()
