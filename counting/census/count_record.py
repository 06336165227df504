"""The record of a ply that was counted and not stored: what its tallies add up to, and in which shares.

``count-007.json`` binds the tallies of ``count-007/`` as the record of a ply binds its
parts. The bins are cut into hundredths, which tallies never straddle, so that counts of
a part of the ply can be compared, however many passes made them: a hundredth has a digest of
the numbers and hash sums of its new positions by leaf. The ``digest`` of the record covers
the game, the ply before, all counts and these digests. Passes, tallies, memory and times do not change it.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Annotated, Any, Final

import numpy as np
from pydantic import Field

from counting.census.records import (
    BINS,
    FORMAT_VERSION,
    Bins,
    Count,
    Counters,
    Digest,
    Material,
    Model,
    PlyNumber,
    Sealed,
    digest_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from counting.census.files import RowFile

__all__ = ["HUNDREDTHS", "CountRecord", "Hundredth", "TallyEntry", "edge", "hundredth_of", "leaves_digest"]

HUNDREDTHS: Final = 100
_COUNTED: Final = {
    "game",
    "full",
    "ply",
    "before",
    "counters",
    "material",
    "children",
    "next_children",
    "expanded",
    "leaves",
    "hundredths",
}


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


def leaves_digest(files: Iterable[RowFile]) -> str:
    """Return the digest of how many rows each leaf has in all of the files, and of their hash sums.

    Parameters
    ----------
    files : iterable of RowFile
        Tallies, or parts of a stored ply: the same positions give the same digest.

    Returns
    -------
    str
        SHA-256 in hexadecimal.
    """
    found = list(files)
    counts = np.sum([file.counts for file in found], axis=0, dtype=np.int64)
    sums = np.sum([file.sums for file in found], axis=0, dtype=np.uint64)
    return hashlib.sha256(counts.astype("<i8").tobytes() + sums.astype("<u8").tobytes()).hexdigest()


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
        Digest of numbers and hash sums of the new positions by leaf; see `leaves_digest`.
    """

    number: Annotated[int, Field(ge=0, lt=HUNDREDTHS)]
    children: Count
    new: Count
    new_classes: Count
    decided: Count
    decided_classes: Count
    leaves: Digest


class CountRecord(Sealed):
    """``count-007.json``: what of one ply was counted and not stored.

    Attributes
    ----------
    game, full, ply, before, counters, material, children, next_children, expanded
        As for `counting.census.records.PlyRecord`; of the hundredths that were counted.
    leaves : str
        Digest of all of them; see `leaves_digest`.
    hundredths : tuple of Hundredth
        Those that were counted, in order.
    digest : str
        Of everything above.
    tallies : tuple of TallyEntry
        In the order of bins.
    passes : int
        In how many passes the last run of the census counted.
    cpu : float
        Processor seconds.
    checksum : str
        Of everything above.
    """

    format: int
    game: Digest
    full: bool
    ply: PlyNumber
    before: Digest
    counters: Counters
    material: Material
    children: Count
    next_children: Count
    expanded: tuple[Count, Count, Count, Count]
    leaves: Digest
    hundredths: Annotated[tuple[Hundredth, ...], Field(min_length=1, max_length=HUNDREDTHS)]
    digest: Digest
    tallies: Annotated[tuple[TallyEntry, ...], Field(min_length=1, max_length=BINS)]
    passes: Annotated[int, Field(ge=1, le=BINS)]
    cpu: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    checksum: Digest

    @property
    def whole(self) -> bool:
        """Whether all of the ply was counted."""
        return len(self.hundredths) == HUNDREDTHS

    @classmethod
    def make(cls, content: dict[str, Any]) -> CountRecord:
        """Return a record with its digests, from all its other fields but the format.

        Parameters
        ----------
        content : dict
            Every field but ``format``, ``digest`` and ``checksum``.

        Returns
        -------
        CountRecord
            Of this format version, with both digests.
        """
        counted = {name: content[name] for name in _COUNTED}
        whole = {**content, "format": FORMAT_VERSION, "digest": digest_of(counted)}
        return cls.model_validate_json(json.dumps({**whole, "checksum": digest_of(whole)}))

    def fault(self) -> str | None:
        """Return what is wrong with the record by itself, or None."""
        if self.format != FORMAT_VERSION:
            return f"format version {self.format}, not {FORMAT_VERSION}"
        content = self.model_dump(mode="json", exclude={"checksum"})
        if digest_of(content) != self.checksum:
            return "its checksum is another"
        if digest_of({name: content[name] for name in _COUNTED}) != self.digest:
            return "its digest is another"
        return None


def hundredth(number: int, files: Sequence[RowFile]) -> dict[str, Any]:
    """Return the fields of a `Hundredth`.

    Parameters
    ----------
    number : int
        Which.
    files : sequence of RowFile
        Its tallies.

    Returns
    -------
    dict
        As JSON has them.
    """
    stats = [file.header.stats.model_dump() for file in files]
    names = ("new", "new_classes", "decided", "decided_classes")
    return {
        "number": number,
        "children": sum(each["children"] for each in stats),
        **{name: sum(each["counters"][name] for each in stats) for name in names},
        "leaves": leaves_digest(files),
    }
