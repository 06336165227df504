"""How many placements of each space contain no locked set: counted, written to a file, and read back.

A count takes seconds for a 5 x 5 board and up to hours for a full one, so the package ships
what was counted for its own rule sets (``data/NAME.json``). `tablut exclusions` counts again.
"""

from __future__ import annotations

from functools import cache, partial
from importlib import resources
from typing import TYPE_CHECKING, Final

from pydantic import ValidationError

from counting.exclusions.sets import locked_sets, orbits_of_sets, symmetries_of, without_king
from counting.exclusions.surviving import surviving
from counting.spaces import spaces
from symmetry import count_orbits
from tablut.errors import TablutError
from tablut.results import ExactInt, Result
from tablut.variants import as_variant

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from counting.spaces import Space
    from symmetry import Symmetry
    from tablut.variants import VariantLike

__all__ = [
    "COUNTED",
    "ExclusionRecord",
    "SetCount",
    "Survivors",
    "affordable_exclusions",
    "count_exclusions",
    "counted_spaces",
    "published_exclusions",
]

FORMAT: Final = 1

COUNTED: Final = ("no_end", "king_captured", "king_captured_undecided", "escaped")
"""The spaces of which the survivors are counted; the others have no locked placement worth a count."""

AFFORDABLE_PIECES: Final = 3
AFFORDABLE_STATES: Final = 200_000
"""What is counted on the spot: a second or two for most boards of 9 x 9, at most some fifteen for any of 11 x 11."""


class SetCount(Result):
    """How many minimal locked sets have so many pieces."""

    pieces: int
    sets: int
    orbits: int
    with_king: int


class Survivors(Result):
    """The placements of a space that contain no set of a family."""

    id: str
    placements: ExactInt
    classes: ExactInt
    fixed: dict[str, ExactInt]
    material: list[list[ExactInt]]


class ExclusionRecord(Result):
    """What was counted for one rule set."""

    format: int
    variant: str
    game: str
    pieces: int
    sets: list[SetCount]
    survivors: list[Survivors]

    def of(self, id_: str) -> Survivors:
        """Return what is left of a space."""
        return next(survivors for survivors in self.survivors if survivors.id == id_)


def counted_spaces(found: Mapping[str, Space]) -> dict[str, tuple[list[tuple[Space, int]], bool]]:
    """Return the spaces in which locked sets are looked for, and whether the king may be part of a set."""
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
    """Count the placements without a locked set of at most so many pieces.

    Parameters
    ----------
    variant : Variant, str or path-like
        The rule set.
    pieces : int
        The most pieces of a set.
    observe : callable, optional
        Called with what is counted, the place in it, and the number of states.

    Returns
    -------
    ExclusionRecord
        Exact throughout.

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
        format=FORMAT,
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
        survivors=survivors,
    )


class _TooManyStatesError(Exception):
    """A count took more than was granted."""


def affordable_exclusions(variant: VariantLike) -> ExclusionRecord | None:
    """Return what ships for a game, else what is counted in `AFFORDABLE_STATES`; None if that is not enough."""
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
    found = {}
    for file in (resources.files("counting.exclusions") / "data").iterdir():
        if file.name.endswith(".json"):
            try:
                record = ExclusionRecord.model_validate_json(file.read_bytes())
            except ValidationError as error:
                raise TablutError(f"{file.name}: no record of exclusions ({error.error_count()} errors)") from error
            found[record.game] = record
    return found


def published_exclusions(game: str) -> ExclusionRecord | None:
    """Return what was counted for a game; None if nothing is shipped."""
    return _all().get(game)
