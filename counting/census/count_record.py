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

from counting.census.records import SealedPly
from counting.census.row_head import BINS, Bins, Count, Digest, Model

HUNDREDTHS: Final = 100


def edge(number: int) -> int:
    """Return the first bin of a hundredth."""
    return BINS * number // HUNDREDTHS


def hundredth_of(bins: tuple[int, int]) -> int | None:
    """Return the hundredth that some bins lie in, or None if they are none or lie in several."""
    number = min(-(-(bins[0] + 1) * HUNDREDTHS // BINS) - 1, HUNDREDTHS - 1)
    return number if edge(number) <= bins[0] < bins[1] <= edge(number + 1) else None


class TallyEntry(Model):
    """A tally: its bins, the bytes of the file, and the digest that the file must have."""

    bins: Bins
    bytes: Count
    digest: Digest


class Hundredth(Model):
    """What a hundredth of the bins holds."""

    number: Annotated[int, Field(ge=0, lt=HUNDREDTHS)]
    children: Count
    new: Count
    new_classes: Count
    decided: Count
    decided_classes: Count
    leaves: Digest


class CountRecord(SealedPly):
    """``count-007.json``: what of one ply was counted and not stored; see `SealedPly`."""

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
