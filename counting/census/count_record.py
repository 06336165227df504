"""The record of a ply that was counted and not stored: what its tallies add up to, and in which shares.

``count-007.json`` binds the tallies of ``count-007/`` as the record of a ply binds its
parts. The bins are cut into hundredths, which tallies never straddle, so that counts of
a part of the ply can be compared, however many passes made them: a hundredth has a digest of
the numbers and hash sums of its new positions by leaf. The ``digest`` of the record covers
the game, the ply before, all counts and these digests. Passes, tallies, memory and times do not change it.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Final

from pydantic import Field

from counting.census.records import BINS, Bins, Count, Digest, Model, SealedPly

__all__ = ["HUNDREDTHS", "CountRecord", "Hundredth", "TallyEntry", "edge", "hundredth_of"]

HUNDREDTHS: Final = 100


def edge(number: int) -> int:
    """Return the first bin of a hundredth.

    Parameters
    ----------
    number : int
        From 0 to 100.

    Returns
    -------
    int
        From 0 to `BINS`.

    Examples
    --------
    >>> edge(0), edge(1), edge(10), edge(100)
    (0, 40, 409, 4096)
    """
    return BINS * number // HUNDREDTHS


def hundredth_of(bins: tuple[int, int]) -> int | None:
    """Return the hundredth that some bins lie in, or None if they are none or lie in several.

    Parameters
    ----------
    bins : tuple of int
        The first bin and the end.

    Returns
    -------
    int or None
        From 0 to 99.

    Examples
    --------
    >>> hundredth_of((40, 81)), hundredth_of((39, 41)), hundredth_of((4090, 4096))
    (1, None, 99)
    """
    number = min(-(-(bins[0] + 1) * HUNDREDTHS // BINS) - 1, HUNDREDTHS - 1)
    return number if edge(number) <= bins[0] < bins[1] <= edge(number + 1) else None


class TallyEntry(Model):
    """A tally: its bins, the bytes of the file, and the digest that the file must have."""

    bins: Bins
    bytes: Count
    digest: Digest


class Hundredth(Model):
    """What a hundredth of the bins holds.

    Attributes
    ----------
    number : int
        From 0 to 99.
    children, new, new_classes, decided, decided_classes : int
        As for the ply.
    leaves : str
        Digest of numbers and hash sums of the new positions by leaf; see `counting.census.row_sums.leaves_digest`.
    """

    number: Annotated[int, Field(ge=0, lt=HUNDREDTHS)]
    children: Count
    new: Count
    new_classes: Count
    decided: Count
    decided_classes: Count
    leaves: Digest


class CountRecord(SealedPly):
    """``count-007.json``: what of one ply was counted and not stored; see `SealedPly`.

    Attributes
    ----------
    before : str
        The digest of the ply before.
    leaves : str
        Digest of all hundredths; see `counting.census.row_sums.leaves_digest`.
    hundredths : tuple of Hundredth
        Those that were counted, in order; all other numbers are of these.
    tallies : tuple of TallyEntry
        In the order of bins.
    passes : int
        In how many passes the last run of the census counted.
    """

    counted: ClassVar[frozenset[str]] = SealedPly.counted | {"leaves", "hundredths"}

    before: Digest
    leaves: Digest
    hundredths: Annotated[tuple[Hundredth, ...], Field(min_length=1, max_length=HUNDREDTHS)]
    tallies: Annotated[tuple[TallyEntry, ...], Field(min_length=1, max_length=BINS)]
    passes: Annotated[int, Field(ge=1, le=BINS)]

    @property
    def whole(self) -> bool:
        """Whether all of the ply was counted."""
        return len(self.hundredths) == HUNDREDTHS
