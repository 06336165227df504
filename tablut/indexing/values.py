"""What a position is worth to the side to move: four ways to write it, and how to get from one to another.

=========  ===============================  ================  =====================  ==================
word       what it is                       win in d plies    loss in d plies        neither side forced
=========  ===============================  ================  =====================  ==================
verdict    ``wdl`` and ``dtm``, for people  ``win``, d        ``loss``, d            ``draw``, None
value      a signed integer                 d                 -d - 1                 0
code       an unsigned integer, as stored   2 d               2 d + 1                0
item       a code while it is worked out    `DECIDED` | 2 d   `DECIDED` | (2 d + 1)  below `DECIDED`
=========  ===============================  ================  =====================  ==================

d is the distance in plies under best play: a win takes at least one, a loss none if there is
no legal move. A position that is not forced is *unresolved* where the history of the game
decides it, see `unforced`. `MISSING` is the value of a position of which nothing is known.

The functions of codes and items take and return numbers or arrays of them. They load no
numba; `tablut.indexing.tier_tables` has them compiled, for kernels.
"""

from __future__ import annotations

from typing import Any, Final, Literal, NamedTuple

from tablut.variants import Variant

Wdl = Literal["win", "draw", "loss", "unresolved"]

MISSING: Final = -32768
"""The value of a position that no table covers."""

DECIDED: Final = 0x8000
"""An item with this bit holds a code, in its lower bits."""
_CODE: Final = DECIDED - 1
CAPTURES: Final = 0x4000
"""Flag of an open item: a capture is among the moves, so a loss may take longer than the quiet moves say."""
SAFE: Final = 0x2000
"""Flag of an open item: a capture is known not to lose, so there will be no loss."""
COUNTER: Final = 0x1FFF
"""The other bits of an open item: how many quiet moves are not yet known to lose."""
ALIAS: Final = 0x7FFF
"""The item of an entry to which no position is ranked; see `tablut.indexing.tiers`."""
ALIAS_CODE: Final = 0xFFFF
"""Likewise, in arrays of codes that are to be stored."""
CODES: Final = 1 << 15
"""Number of codes that an item can hold, `ALIAS` among them."""


class Verdict(NamedTuple):
    """What a position is worth to the side to move."""

    wdl: Wdl
    dtm: int | None


# -- verdicts and values -------------------------------------------------------------------


def verdict_of(value: int, *, unforced: Wdl = "draw") -> Verdict:
    """Return the verdict of a value: n > 0 a win in n plies, n < 0 a loss in -n - 1, 0 not forced."""
    if value == 0:
        return Verdict(unforced, None)
    return Verdict("win", value) if value > 0 else Verdict("loss", -value - 1)


def value_of(verdict: Verdict) -> int:
    """Return the value of a verdict, the inverse of `verdict_of`."""
    if verdict.dtm is None:
        return 0
    return verdict.dtm if verdict.wdl == "win" else -verdict.dtm - 1


def a_ply_earlier(value: int) -> int:
    """Return what a ply that leads to a position is worth to the side that makes it."""
    return -value - 2 if value > 0 else -value


def within_limit(value: int, plies_left: int | None) -> int:
    """Return a value under a move limit: 0 where a win or loss takes more plies than are left."""
    plies = value if value > 0 else -value - 1
    return 0 if value and plies_left is not None and plies > plies_left else value


def unforced(variant: Variant) -> Wdl:
    """Return what a position is worth from which neither side can force a win."""
    return "draw" if variant.rules.repetition.draws else "unresolved"


# -- codes and items, for Python, for arrays and for kernels ---------------------------------


def value_of_code(code: Any) -> Any:
    """Return the value of a code."""
    return (code >> 1) ^ -(code & 1)


def code_of_value(value: int) -> int:
    """Return the code of a value, the inverse of `value_of_code`."""
    return (value << 1) ^ (value >> 63)


def plies_of(code: Any) -> Any:
    """Return the distance of a code, or of a decided item."""
    return (code & _CODE) >> 1


def is_loss(code: Any) -> Any:
    """Return whether a code, or a decided item, is a loss; otherwise it is a win, or 0."""
    return code & 1 != 0


def is_decided(item: Any) -> Any:
    """Return whether an item holds a code."""
    return item & DECIDED != 0


def code_of(item: Any) -> Any:
    """Return the code of an item: 0 for what is open, and for an alias."""
    return (item & _CODE) * (item >= DECIDED)


def won_in(plies: int) -> int:
    """Return the item of a win."""
    return DECIDED | (plies << 1)


def lost_in(plies: int) -> int:
    """Return the item of a loss."""
    return DECIDED | (plies << 1) | 1
