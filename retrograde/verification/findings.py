"""What a verification finds: counts, and the first of what is wrong, in words."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from tablut.indexing.values import value_of_code, verdict_of

if TYPE_CHECKING:
    from retrograde.tablebase.store import Standing

LISTED: Final = 20
"""Of what is wrong, so many are listed."""


@dataclass(frozen=True)
class Wrong:
    """Something that is wrong."""

    where: str
    what: str
    position: str | None = None


@dataclass
class Verification:
    """What a verification found.

    Attributes
    ----------
    positions_checked : int
        Values proved, classes with a side to move.
    verified_before : dict of str to int
        Tiers that were passed over, because a record has them as they are now, and their values.
    files_checked : int
        Files of which the content was compared with its digest.
    published : dict of str to list of str
        Tiers by how their values stand to the published ones (`retrograde.tablebase.store`): the ``same``,
        ``unknown`` there, or ``different``, which is a failure.
    samples : dict of str to int
        Positions played out: how many were ``searched``, and how many ``followed``.
    played : dict of str to int
        The same by what they are said to be: ``wins``, ``losses``, and ``draws`` for what neither side can force.
    failures : int
        How many things are wrong.
    wrong : list of Wrong
        The first of them.
    """

    positions_checked: int = 0
    verified_before: dict[str, int] = field(default_factory=dict)
    files_checked: int = 0
    published: dict[Standing, list[str]] = field(default_factory=lambda: {"same": [], "unknown": [], "different": []})
    samples: dict[str, int] = field(default_factory=lambda: {"searched": 0, "followed": 0})
    played: dict[str, int] = field(default_factory=lambda: {"wins": 0, "losses": 0, "draws": 0})
    failures: int = 0
    wrong: list[Wrong] = field(default_factory=list)

    def add(self, wrong: Wrong, count: int = 1) -> None:
        """Count failures, and list one of them while there is room.

        Parameters
        ----------
        wrong : Wrong
            One of the failures.
        count : int
            How many there are.
        """
        self.failures += count
        if len(self.wrong) < LISTED:
            self.wrong.append(wrong)


def describe(code: int) -> str:
    """Return a code in words."""
    if code == 0:
        return "not forced"
    verdict = verdict_of(value_of_code(code))
    return f"{verdict.wdl} in {verdict.dtm}"
