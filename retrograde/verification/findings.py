"""Results of a verification: counts, descriptions of the first failures, and a record of the tiers verified.

A tier is added to the record once all of its values are proved, so that an interrupted verification can resume. The
proof depends on the values of the tier, on those of the tiers that captures lead to, and on the program. The record
therefore stores a digest of all three. If any of them changes, the tier is verified again.
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
from tablut.work.records import Count, Digest, Part, Record, read_record, write_record

LISTED: Final = 20
"""Maximum number of failures that are listed."""


class Wrong(Result):
    """A failure: the tier or folder, what is wrong, and the position concerned, if any."""

    where: str
    what: str
    position: str | None = None


class Verification(Result):
    """Result of a verification, filled in while it runs.

    Attributes
    ----------
    variant : str
        Name of the game.
    quick : bool
        Whether only files and values were compared with their digests.
    positions_checked : int
        Number of values proved. Each is the value of a class with one side to move.
    verified_before : dict of str to int
        Tiers that were skipped because the record contains them unchanged, with their numbers of values.
    files_checked : int
        Number of files whose content was compared with its digest.
    published : dict of str to list of str
        Tiers, by how their values compare with the published ones (`retrograde.tablebase.store`): ``same``, ``unknown``
        if none are published, or ``different``, which is a failure.
    samples : dict of str to int
        Numbers of positions played out: how many were ``searched``, and how many ``followed``.
    played : dict of str to int
        The same positions by stored value: ``wins``, ``losses``, and ``draws`` for all unforced positions.
    failures : int
        Number of failures.
    failed : list of Wrong
        The first failures, at most 20.
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
        """Count a failure, and list it if the list is not full.

        Parameters
        ----------
        where, what : str
            The tier or folder, and what is wrong with it.
        position : str, optional
            The position concerned.
        """
        self.failures += 1
        if len(self.failed) < LISTED:
            self.failed.append(Wrong(where=where, what=what, position=position))


def describe(code: int) -> str:
    """Return a description of a code."""
    if code == 0:
        return "not forced"
    verdict = verdict_of(value_of_code(code))
    return f"{verdict.wdl} in {verdict.dtm}"


# -- the record --------------------------------------------------------------------------------


class _Note(Part):
    proof: Digest
    positions: Count


class _Verified(Record):
    """Record of verified tiers: notes by the digest of the game and the name of the tier."""

    FORMAT = "tablut-verified-tiers"

    tiers: dict[str, dict[str, _Note]]


def proof_digest(values: str, below: Iterable[str]) -> str:
    """Return a digest of everything that a tier's proof depends on: its values, those below it, and the program."""
    from tablut.engine.kernel_cache import source_digest

    # Different programs can have the same development version, so add a digest of the source of the proof.
    here = Path(__file__).with_name("proof.py")
    program = (__version__, source_digest("retrograde.verification.proof", here))
    return hashlib.sha256("\n".join((*program, values, *below)).encode()).hexdigest()


class VerifiedTiers:
    """The verified tiers that a record file lists. The file is written whenever a tier is added."""

    def __init__(self, path: Path, game: str) -> None:
        self.path, self.game = path, game
        found = read_record(path, _Verified, "verification record", "remove it or choose another file")
        self._tiers = {} if found is None else found.tiers

    def positions(self, tier: str, proof: str) -> int | None:
        """Return how many values of a tier were proved, or None if the tier was not verified in its present state."""
        note = self._tiers.get(self.game, {}).get(tier)
        return note.positions if note is not None and note.proof == proof else None

    def add(self, tier: str, proof: str, positions: int) -> None:
        """Add a tier to the record, and write the file."""
        self._tiers.setdefault(self.game, {})[tier] = _Note(proof=proof, positions=positions)
        write_record(self.path, _Verified(tiers=self._tiers))
