"""Descriptions of the commands that packages contribute, light enough to be loaded for ``tablut --help``."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

GROUPS = {
    "count": "How many positions are there",
    "reach": "Which can be reached",
    "solve": "Who wins",
    "play": "Play, and compare programs",
    "look": "Look at games",
    "check": "This installation",
}
"""Headings of the groups of commands, in the order of ``tablut --help``; groups of other packages follow."""


class CommandSpec(NamedTuple):
    """Description of a sub-command whose module is not yet loaded.

    The target is ``module:attribute``, or a module that contains ``NAME_command``. A package lists its
    commands in a tuple ``COMMANDS`` and registers it under the entry point group ``tablut.commands``.
    """

    name: str
    group: str
    order: int
    target: str
    help: str
    examples: tuple[str, ...] = ()

    @property
    def home(self) -> tuple[str, str]:
        """Module that defines the command, and the name of the command's function in it."""
        module, _, attribute = self.target.partition(":")
        return module, attribute or f"{self.name}_command"


def command_table(beside: str) -> tuple[CommandSpec, ...]:
    """Read the commands from ``commands.txt`` in the folder of a module.

    Each line contains the name, the group with the position in it, the target, and the help text. Indented lines below
    a command are examples.
    """
    found: list[CommandSpec] = []
    for line in Path(beside).with_name("commands.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith(" "):
            found[-1] = found[-1]._replace(examples=(*found[-1].examples, line.strip()))
        else:
            name, place, target, words = line.split(None, 3)
            group, _, order = place.partition(":")
            found.append(CommandSpec(name, group, int(order), target, words))
    return tuple(found)
