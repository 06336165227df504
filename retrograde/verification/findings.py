"""What a verification finds: counts, the first of what is wrong in words, and which tiers have been verified.

A tier is noted in a record once all of its values are proved, so that a verification that was stopped goes on. What
was proved depends on its values, on those of the tiers that captures lead to, and on the program, so the note is bound
to the digests of all of these: when one of them changes, the tier is verified again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from pydantic import ConfigDict, Field

from tablut import __version__
from tablut.indexing.values import value_of_code, verdict_of
from tablut.results import Result
from tablut.store.records import Count, Digest, Part, Record, read_record, write_record

LISTED: Final = 20
"""Of what is wrong, so many are listed."""


class Wrong(Result):
    """Something that is wrong."""

    where: str
    what: str
    position: str | None = None


class Verification(Result):
    """What a verification found; it is filled while it runs.

    Attributes
    ----------
    variant : str
        The game.
    quick : bool
        Whether only files and values were compared with their digests.
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
    failed : list of Wrong
        The first of them.
    """

    model_config = ConfigDict(frozen=False, extra="forbid")

    variant: str
    quick: bool
    files_checked: int = 0
    positions_checked: int = 0
    verified_before: dict[str, int] = Field(default_factory=dict)
    samples: dict[str, int] = Field(default_factory=lambda: {"searched": 0, "followed": 0})
    played: dict[str, int] = Field(default_factory=lambda: {"wins": 0, "losses": 0, "draws": 0})
    published: dict[str, list[str]]
    failures: int = 0
    failed: list[Wrong] = Field(default_factory=list)

    def add(self, where: str, what: str, position: str | None = None) -> None:
        """Count a failure, and list it while there is room.

        Parameters
        ----------
        where, what : str
            The tier or folder, and what is wrong with it.
        position : str, optional
            A position that is concerned.
        """
        self.failures += 1
        if len(self.failed) < LISTED:
            self.failed.append(Wrong(where=where, what=what, position=position))


def describe(code: int) -> str:
    """Return a code in words."""
    if code == 0:
        return "not forced"
    verdict = verdict_of(value_of_code(code))
    return f"{verdict.wdl} in {verdict.dtm}"


# -- the record --------------------------------------------------------------------------------


class _Note(Part):
    proof: Digest
    positions: Count


class _Verified(Record):
    """Notes by game and by tier."""

    FORMAT = "tablut-verified-tiers"

    tiers: dict[str, dict[str, _Note]]


def proof_digest(values: str, below: Iterable[str]) -> str:
    """Return what the proof of a tier depends on, as one digest: its values, those below it, and the program."""
    from tablut.engine.kernel_cache import source_digest

    # Development versions are many programs: what the proof is compiled from says which.
    here = Path(__file__).with_name("proof.py")
    program = (__version__, source_digest("retrograde.verification.proof", here))
    return hashlib.sha256("\n".join((*program, values, *below)).encode()).hexdigest()


class VerifiedTiers:
    """The tiers that a file says are verified; written whenever one more is."""

    def __init__(self, path: Path, game: str) -> None:
        self.path, self.game = path, game
        found = read_record(path, _Verified, "verification record", "remove it, or name another file")
        self._tiers = {} if found is None else found.tiers

    def positions(self, tier: str, proof: str) -> int | None:
        """Return how many values of a tier were proved, or None if it was not, or not as it is now."""
        note = self._tiers.get(self.game, {}).get(tier)
        return note.positions if note is not None and note.proof == proof else None

    def add(self, tier: str, proof: str, positions: int) -> None:
        """Note a tier, and write the file."""
        self._tiers.setdefault(self.game, {})[tier] = _Note(proof=proof, positions=positions)
        write_record(self.path, _Verified(tiers=self._tiers))
