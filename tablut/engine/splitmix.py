"""The pseudorandom number generator SplitMix64, in Python for stored values and in compiled code for play.

References
----------
G. L. Steele, D. Lea, C. H. Flood, Fast splittable pseudorandom number generators, OOPSLA 2014,
https://doi.org/10.1145/2660193.2660195. The constants are from S. Vigna's public-domain ``splitmix64.c``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tablut.engine.jit import I64, U64, inlined

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

_STEP: Final = 0x9E3779B97F4A7C15
_FIRST: Final = 0xBF58476D1CE4E5B9
_SECOND: Final = 0x94D049BB133111EB
_MASK: Final = (1 << 64) - 1


def split_mix(seed: int) -> Iterator[int]:
    """Yield the endless sequence of 64-bit outputs for a seed."""
    while True:
        seed = (seed + _STEP) & _MASK
        mixed = ((seed ^ (seed >> 30)) * _FIRST) & _MASK
        mixed = ((mixed ^ (mixed >> 27)) * _SECOND) & _MASK
        yield mixed ^ (mixed >> 31)


@inlined
def finalised(word: np.uint64) -> np.uint64:
    """Mix the bits of a word with a bijection under which every input bit affects every output bit."""
    mixed = (word ^ (word >> U64(30))) * U64(_FIRST)
    mixed = (mixed ^ (mixed >> U64(27))) * U64(_SECOND)
    return U64(mixed ^ (mixed >> U64(31)))


@inlined
def next_random(state: NDArray[np.uint64]) -> np.uint64:
    """Return the next output and advance the state, which is a pointer to one uint64."""
    state[0] += U64(_STEP)
    return finalised(U64(state[0]))


@inlined
def random_below(state: NDArray[np.uint64], count: int) -> int:
    """Return a pseudorandom integer from 0 to ``count`` - 1. ``count`` must be below 2**31."""
    return I64(((next_random(state) >> U64(32)) * U64(count)) >> U64(32))
