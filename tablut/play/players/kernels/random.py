"""Random numbers in compiled code: SplitMix64, the generator of `tablut.engine.zobrist.split_mix`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tablut.engine.jit import I64, U64, inlined

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["next_random", "random_below"]


@inlined
def next_random(state: NDArray[np.uint64]) -> np.uint64:
    """Return the next output, and move the state, a pointer to one uint64, on.

    Parameters
    ----------
    state : pointer to uint64
        One item.

    Returns
    -------
    uint64
        The output.
    """
    state[0] += U64(0x9E3779B97F4A7C15)
    mixed = U64(state[0])
    mixed = (mixed ^ (mixed >> U64(30))) * U64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> U64(27))) * U64(0x94D049BB133111EB)
    return U64(mixed ^ (mixed >> U64(31)))


@inlined
def random_below(state: NDArray[np.uint64], count: int) -> int:
    """Return an integer from 0 to below a count, of which there are fewer than 2**31.

    Parameters
    ----------
    state : pointer to uint64
        One item.
    count : int
        At least 1.

    Returns
    -------
    int
        Each as likely as the others, but for 2**-32.
    """
    return I64(((next_random(state) >> U64(32)) * U64(count)) >> U64(32))
