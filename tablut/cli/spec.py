"""How a package contributes commands: entries light enough to be read for ``tablut --help``."""

from __future__ import annotations

from typing import NamedTuple


class CommandSpec(NamedTuple):
    """A sub-command, named but not loaded; the target is ``module:attribute``, or a module with ``NAME_command``.

    A package lists its own in a tuple ``COMMANDS`` and registers that under the
    entry point group ``tablut.commands``.
    """

    name: str
    target: str
    help: str
    order: int
    examples: tuple[str, ...] = ()

    @property
    def home(self) -> tuple[str, str]:
        """The module, and the command's name there."""
        module, _, attribute = self.target.partition(":")
        return module, attribute or f"{self.name}_command"


def command_table(text: str) -> tuple[CommandSpec, ...]:
    """Return the commands of a table: name, place in the list, target and help on a line, examples indented below."""
    found: list[CommandSpec] = []
    for line in text.strip().splitlines():
        if line.startswith(" "):
            found[-1] = found[-1]._replace(examples=(*found[-1].examples, line.strip()))
        else:
            name, order, target, words = line.split(None, 3)
            found.append(CommandSpec(name, target, words, int(order)))
    return tuple(found)
