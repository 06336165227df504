"""Count the placements of each space that contain no locked set, and store the counts.

A count takes seconds for a 5 x 5 board and up to hours for a full one, so the package includes the counts for its own
rule sets (``data/NAME.json``). `tablut exclusions` repeats a count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Final

from counting.exclusions.sets import LockedSet, locked_sets, orbits_of_sets, symmetries_of, without_king
from counting.exclusions.surviving import surviving
from counting.spaces import Space, spaces
from symmetry import Symmetry, count_orbits
from tablut.notation import parse_square, square_name
from tablut.results import ExactInt, Result
from tablut.variants import VariantLike, as_variant
from tablut.work.records import Count, Digest, Record, read_record

AFFORDABLE_PIECES: Final = 3
AFFORDABLE_STATES: Final = 200_000
"""Limits for counting when the package does not include a record.

A count within them takes a second or two for most 9 x 9 boards, and at most about fifteen seconds for any 11 x 11
board.
"""


class SetCount(Result):
    """The number of minimal locked sets with a given number of pieces."""

    pieces: int
    sets: int
    orbits: int
    with_king: int


class Survivors(Result):
    """Counts of the placements of a space that contain no locked set."""

    id: str
    placements: ExactInt
    classes: ExactInt
    fixed: dict[str, ExactInt]
    material: list[list[ExactInt]]


class ExclusionRecord(Record):
    """The counts for one rule set, and its minimal locked sets as texts like ``bd4 wd5``."""

    FORMAT = "tablut-exclusions"
    VERSION = 2

    variant: str
    game: Digest
    pieces: Count
    sets: list[SetCount]
    locked: list[str]
    survivors: list[Survivors]

    def fault(self) -> str | None:
        """Return a description of an inconsistency in the record, or None."""
        sizes = Counter(len(text.split()) for text in self.locked)
        return None if sizes == {size.pieces: size.sets for size in self.sets} else "locked: does not match the sets"

    def of(self, id_: str) -> Survivors:
        """Return the counts of a space."""
        return next(survivors for survivors in self.survivors if survivors.id == id_)


def counted_spaces(found: Mapping[str, Space]) -> dict[str, tuple[list[tuple[Space, int]], bool]]:
    """Return the spaces in which locked sets are counted, each as a signed sum of spaces.

    The flag next to each sum is true if the king may be part of a set.
    """
    undecided, besieged = found["no_end"], found["excluded_no_end"]
    captured, escaped, doomed = found["king_captured"], found["escaped"], found["excluded_escaped"]
    return {
        "no_end": ([(undecided, 1), (besieged, -1)], True),
        "king_captured": ([(captured, 1)], False),
        "king_captured_undecided": ([(captured, 1), (besieged, -1)], True),
        "escaped": ([(escaped, 1), (doomed, -1)], False),
    }


def count_exclusions(
    variant: VariantLike, pieces: int, observe: Callable[[str, int, int], None] | None = None
) -> ExclusionRecord:
    """Count the placements that contain no locked set of at most a given size.

    Parameters
    ----------
    variant : Variant, str or path-like
        The rule set.
    pieces : int
        The maximum number of pieces in a set.
    observe : callable, optional
        Called after each variable (a cell or a cycle of cells) with the name of the space and symmetry, the number
        of the variable, and the number of states.

    Returns
    -------
    ExclusionRecord
        The locked sets and the counts. All counts are exact.

    Examples
    --------
    >>> record = count_exclusions("brandubh-5-4v0", 3)
    >>> record.of("no_end").placements, record.of("no_end").classes
    (106279, 13456)
    """
    variant = as_variant(variant)
    family = locked_sets(variant, pieces)
    group = symmetries_of(variant, family)
    survivors = []
    for id_, (signed, with_king) in counted_spaces(spaces(variant)).items():
        sets = family if with_king else without_king(family)
        counts = {}
        for symmetry in group:
            report = observe and partial(observe, f"{id_}, {symmetry.name}")
            counts[symmetry.name] = surviving(signed, symmetry, sets, report)
        fixed = {name: material.total() for name, material in counts.items()}
        identity = counts[group[0].name]
        survivors.append(
            Survivors(
                id=id_,
                placements=identity.total(),
                classes=_orbits(group, fixed),
                fixed=fixed,
                material=[list(row) for row in identity.rows],
            )
        )
    orbits = orbits_of_sets(family, group)
    return ExclusionRecord(
        variant=variant.name,
        game=variant.digest,
        pieces=pieces,
        sets=[
            SetCount(
                pieces=size,
                sets=sum(len(found) == size for found in family),
                orbits=sum(len(found) == size for found, _ in orbits),
                with_king=sum(len(found) == size and any(piece == "K" for _, piece in found) for found in family),
            )
            for size in sorted({len(found) for found in family})
        ],
        locked=[_text_of(found, variant.size) for found in family],
        survivors=survivors,
    )


def _text_of(found: LockedSet, size: int) -> str:
    return " ".join(f"{piece}{square_name(cell, size)}" for cell, piece in sorted(found))


def sets_of(record: ExclusionRecord, size: int) -> list[LockedSet]:
    """Return the locked sets of a record; ``size`` is the size of the board."""
    return [frozenset((parse_square(item[1:], size), item[0]) for item in text.split()) for text in record.locked]


class _TooManyStatesError(Exception):
    """Raised when a count visits more states than allowed."""


def affordable_exclusions(variant: VariantLike) -> ExclusionRecord | None:
    """Return the built-in record for a game; if there is none, count one with small limits.

    The limits are `AFFORDABLE_PIECES` and `AFFORDABLE_STATES`. Return None if they do not suffice.
    """
    variant = as_variant(variant)
    left = AFFORDABLE_STATES

    def spend(_name: str, _place: int, states: int) -> None:
        nonlocal left
        left -= states
        if left < 0:
            raise _TooManyStatesError

    try:
        return published_exclusions(variant.digest) or count_exclusions(variant, AFFORDABLE_PIECES, spend)
    except _TooManyStatesError:
        return None


def _orbits(symmetries: tuple[Symmetry, ...], fixed: Mapping[str, int]) -> int:
    return count_orbits(symmetries, lambda symmetry: fixed[symmetry.name])


@cache
def _all() -> dict[str, ExclusionRecord]:
    files = sorted((Path(__file__).parent / "data").glob("*.json"))
    found = [read_record(file, ExclusionRecord, "record of exclusions", "install the package again") for file in files]
    return {record.game: record for record in found if record is not None}


def published_exclusions(game: str) -> ExclusionRecord | None:
    """Return the built-in record for a game, or None if there is no such record."""
    return _all().get(game)
