"""How a package contributes commands: entries light enough to be read for ``tablut --help``."""

from __future__ import annotations

from typing import NamedTuple


class CommandSpec(NamedTuple):
    """A sub-command, named but not loaded.

    A package lists its own in a tuple ``COMMANDS`` and registers that under the
    entry point group ``tablut.commands``.
    """

    name: str
    target: str
    help: str
    order: int
    examples: tuple[str, ...] = ()
