"""The exact number of constructed placements by material, as a sum of products of the regions' counts.

A polynomial in two variables is an array: entry ``[a, d]`` counts placements with ``a`` attackers and ``d`` defenders.
Numbers of more than 64 bits are split into two arrays, one with the low `_LIMB` bits and one with the rest, until they
are converted to Python integers.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from reports.studies.lower_bound.layout import ATTACKERS
from reports.studies.lower_bound.middle import middle_histogram
from tablut.engine.jit import kernel

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

MOST_WHITE: Final = 7
"""Maximum number of white pieces, including the king, that are parked together in an outer region."""
MOST_ATTACKERS: Final = 7
"""Maximum number of attackers parked in an outer region. Further attackers go to free cells of the region's camp."""
_DEFENDERS: Final = 8
_SHAPE: Final = (ATTACKERS + 1, _DEFENDERS + 1)
_EXTRA: Final = 10
"""Maximum number of pieces of one colour that can enter an outer region from the middle, plus one."""
_LIMB: Final = 24
_REGIONAL: Final = 50
"""Maximum number of bits in the entries of an outer region's polynomials.

For given contents of the cells in front of the lower doors, the middle has fewer than 2**26 placements, and each of
them is counted for at most 9 choices of the king. A sum of products of limbs therefore stays below 2**62.
"""


class RegionMaterial(NamedTuple):
    """An outer region's material: its numbers of attackers, defenders and kings."""

    attackers: int
    defenders: int
    king: int


def is_token_camp(held: int) -> bool:
    """Return whether black can lose a tempo within a camp, whatever pieces are outside it."""
    centre, tip = held & 1, held >> 3 & 1
    return centre != tip or (centre == 1 and held != 0b1111)


def _camp_counts(camp: str) -> list[int]:
    """Return how many sets of occupied cells a camp of the kind ``any``, ``token`` or ``useless`` can have, by size."""
    counts = [0] * 5
    for held in range(16):
        counts[held.bit_count()] += camp == "any" or is_token_camp(held) == (camp == "token")
    return counts


def _compatible(inner: int, door: int) -> bool:
    """Return whether a door and the cell in front of it contain pieces of at most one colour."""
    return {inner, door} != {1, 2}


def _region_polynomials(
    regions: Mapping[RegionMaterial, NDArray[np.int64]], camp: str, *, white: bool
) -> NDArray[np.int64]:
    """Return the polynomials for an outer region and its camp.

    ``camp`` is the kind of camp. Attackers may move into a camp of the kind ``any`` or ``useless`` (a camp that is not
    a token camp), but not into one of the kind ``token``. If ``white`` is not set, only placements without white pieces
    are counted. The axes of the result are: contents of the three cells in front of the doors in base 3, attackers and
    white pieces that come from the middle, king, attackers, defenders.
    """
    result = np.zeros((27, _EXTRA, _EXTRA, 2, *_SHAPE), dtype=np.int64)
    codes = list(product(range(3), repeat=3))
    fits = np.array([[all(map(_compatible, inner, doors)) for doors in codes] for inner in codes], dtype=np.int64)
    sets = _camp_counts(camp)
    for (attackers, defenders, king), by_doors in regions.items():
        if not white and defenders + king:
            continue
        before = fits @ by_doors
        for held in range(5):
            room = MOST_ATTACKERS + (0 if camp == "token" else 4 - held)
            if attackers + held > ATTACKERS:
                continue
            for more_black in range(min(_EXTRA, room - attackers + 1)):
                for more_white in range(min(_EXTRA, MOST_WHITE - defenders - king + 1)):
                    result[:, more_black, more_white, king, attackers + held, defenders] += sets[held] * before
    if int(result.max()) >= 1 << _REGIONAL:
        raise AssertionError("an outer region has more placements than the sums have room for")
    return result


@kernel
def _accumulate(
    counts: NDArray[np.int32],
    besieged: NDArray[np.int32],
    upper_low: NDArray[np.int64],
    upper_high: NDArray[np.int64],
    low: NDArray[np.int64],
    high: NDArray[np.int64],
) -> None:
    """Multiply a histogram of the middle by the upper region's polynomials, and add the result to ``low`` and ``high``.

    ``upper_low`` and ``upper_high`` have the shape (10, 10, 2, 17, 9), with axes as in `_region_polynomials`. ``low``
    and ``high`` have the shape (2, 10, 10, 17, 9). The index on the first axis is 1 if the king is in the lower region.
    The next two axes are the attackers and the white pieces that go to the lower region from the middle, and the last
    two are the material.
    """
    for up_black in range(10):
        for up_white in range(10 - up_black):
            for down_black in range(10):
                for down_white in range(10 - down_black):
                    count = np.int64(counts[up_black, up_white, down_black, down_white])
                    if count == 0:
                        continue
                    on_castle = count - besieged[up_black, up_white, down_black, down_white]
                    black, white = up_black + down_black, up_white + down_white
                    for a in range(17 - black):
                        for d in range(9):
                            p_low = upper_low[up_black, up_white, 0, a, d]
                            p_high = upper_high[up_black, up_white, 0, a, d]
                            if (p_low | p_high) != 0:
                                if d + white < 9:
                                    low[0, down_black, down_white, a + black, d + white] += p_low * on_castle
                                    high[0, down_black, down_white, a + black, d + white] += p_high * on_castle
                                    low[1, down_black, down_white, a + black, d + white] += p_low * count
                                    high[1, down_black, down_white, a + black, d + white] += p_high * count
                                # Any of the white pieces in the middle may be the king.
                                if white > 0 and d + white - 1 < 9:
                                    kings = count * white
                                    low[0, down_black, down_white, a + black, d + white - 1] += p_low * kings
                                    high[0, down_black, down_white, a + black, d + white - 1] += p_high * kings
                            q_low = upper_low[up_black, up_white, 1, a, d]
                            q_high = upper_high[up_black, up_white, 1, a, d]
                            if (q_low | q_high) != 0 and d + white < 9:
                                low[0, down_black, down_white, a + black, d + white] += q_low * count
                                high[0, down_black, down_white, a + black, d + white] += q_high * count


def _times(left: NDArray[Any], right: NDArray[np.int64]) -> NDArray[Any]:
    """Return the product of two polynomials, truncated at the starting material."""
    result = np.zeros(_SHAPE, dtype=object)
    for a, d in zip(*(axis.tolist() for axis in np.nonzero(right)), strict=True):
        result[a:, d:] += int(right[a, d]) * left[: _SHAPE[0] - a, : _SHAPE[1] - d]
    return result


def constructed_by_material(
    regions: Mapping[RegionMaterial, NDArray[np.int64]], tick: Callable[[int], object] = int
) -> dict[tuple[int, int], int]:
    """Return the number of placements that satisfy the theorem's conditions, by attackers and defenders."""
    regional = {
        (camp, white): _region_polynomials(regions, camp, white=white)
        for camp in ("any", "token", "useless")
        for white in (True, False)
    }
    side_any, side_useless = (_squared(_camp_counts(camp)) for camp in ("any", "useless"))
    # The kinds of upper camp, lower camp and both side camps: one case for each location of the token.
    cases = [
        ("any", "any", side_any - side_useless),
        ("token", "any", side_useless),
        ("useless", "token", side_useless),
    ]
    total = np.zeros(_SHAPE, dtype=object)
    middles: dict[tuple[int, ...], tuple[NDArray[np.int32], NDArray[np.int32]]] = {}
    for lower in range(27):
        gathered = {key: np.zeros((2, 2, _EXTRA, _EXTRA, *_SHAPE), dtype=np.int64) for key in regional}
        for upper in range(27):
            doors = tuple(code // base % 3 for code in (upper, lower) for base in (9, 3, 1))
            # A mirror image has the same counts.
            image = (*doors[2::-1], *doors[:2:-1])
            if image not in middles:
                middles[doors] = middle_histogram(doors)
            counts, besieged = middles[image if image in middles else doors]
            for key, polynomials in regional.items():
                above = np.ascontiguousarray(polynomials[upper])
                _accumulate(counts, besieged, above & ((1 << _LIMB) - 1), above >> _LIMB, *gathered[key])
            tick(1)
        # Count all placements of a case, and subtract those without a white piece in an outer region.
        for (above, below, sides), white in product(cases, (True, False)):
            part = _joined(gathered[above, white], regional[below, white][lower])
            total += (1 if white else -1) * _times(part, sides)
    return {(a, d): int(total[a, d]) for a in range(_SHAPE[0]) for d in range(_SHAPE[1]) if total[a, d]}


def _joined(gathered: NDArray[np.int64], below: NDArray[np.int64]) -> NDArray[Any]:
    """Multiply the lower region's polynomials by the combined sums of the upper region and the middle."""
    low, high = gathered
    result = np.zeros(_SHAPE, dtype=object)
    for king, black, white in product(range(2), range(_EXTRA), range(_EXTRA)):
        above = low[king, black, white].astype(object) + (high[king, black, white].astype(object) << _LIMB)
        if above.any():
            result += _times(above, below[black, white, king])
    return result


def _squared(camp: list[int]) -> NDArray[np.int64]:
    """Return the polynomial that counts the arrangements of two camps of the same kind."""
    result = np.zeros(_SHAPE, dtype=np.int64)
    for (one, first), (two, second) in product(enumerate(camp), repeat=2):
        result[one + two, 0] += first * second
    return result
