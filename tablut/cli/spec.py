"""How a package contributes commands: entries light enough to be read for ``tablut --help``."""

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
"""What people want, in the order of ``tablut --help``; a group of another package's own comes after these."""


class CommandSpec(NamedTuple):
    """A sub-command, named but not loaded; the target is ``module:attribute``, or a module with ``NAME_command``.

    A package lists its own in a tuple ``COMMANDS`` and registers that under the
    entry point group ``tablut.commands``.
    """

    name: str
    group: str
    order: int
    target: str
    help: str
    examples: tuple[str, ...] = ()

    @property
    def home(self) -> tuple[str, str]:
        """The module, and the command's name there."""
        module, _, attribute = self.target.partition(":")
        return module, attribute or f"{self.name}_command"


def command_table(beside: str) -> tuple[CommandSpec, ...]:
    """Return the commands of ``commands.txt`` beside a module: name, group and place, target, help; examples below."""
    found: list[CommandSpec] = []
    for line in Path(beside).with_name("commands.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith(" "):
            found[-1] = found[-1]._replace(examples=(*found[-1].examples, line.strip()))
        else:
            name, place, target, words = line.split(None, 3)
            group, _, order = place.partition(":")
            found.append(CommandSpec(name, group, int(order), target, words))
    return tuple(found)
