"""Values of positions for the side to move, in four representations, and conversions between them.

=========  ===============================  ================  =====================  ==================
word       meaning                          win in d plies    loss in d plies        unforced
=========  ===============================  ================  =====================  ==================
verdict    ``wdl`` and ``dtm``, for people  ``win``, d        ``loss``, d            ``draw``, None
value      a signed integer                 d                 -d - 1                 0
code       an unsigned integer, as stored   2 d               2 d + 1                0
item       state while solving              `DECIDED` | 2 d   `DECIDED` | (2 d + 1)  below `DECIDED`
=========  ===============================  ================  =====================  ==================

d is the distance in plies to the end of the game under best play. The distance is at least 1 for a win, and 0 for a
loss because the side to move has no legal move. A position is *unforced* if neither side can force a win. An unforced
position is a draw, or *unresolved* if its result depends on the game history (see `unforced`). An item is *open*
until the solver has found its value. `MISSING` is the value of a position that no table covers.

The functions for codes and items accept numbers or arrays, and do not need numba. `tablut.indexing.tier_tables`
compiles these functions for use in kernels.
"""

from __future__ import annotations

from typing import Any, Final, Literal, NamedTuple

from tablut.variants import Variant

Wdl = Literal["win", "draw", "loss", "unresolved"]

MISSING: Final = -32768
"""Value of a position that no table covers."""

DECIDED: Final = 0x8000
"""Bit that marks a decided item. The lower bits of a decided item contain its code."""
_CODE: Final = DECIDED - 1
CAPTURES: Final = 0x4000
"""Flag of an open item whose position has capturing moves.

If the position is lost, the loss may take longer than the quiet moves alone suggest.
"""
SAFE: Final = 0x2000
"""Flag of an open item whose position has a capture that is known not to lose, so the position cannot be lost."""
COUNTER: Final = 0x1FFF
"""Mask of the other bits of an open item, which contain the number of quiet moves that are not yet known to lose."""
ALIAS: Final = 0x7FFF
"""Item of an alias; see `tablut.indexing.tiers`."""
ALIAS_CODE: Final = 0xFFFF
"""Code of an alias in an array of codes that is to be stored."""
CODES: Final = 1 << 15
"""Number of different codes that an item can hold, including `ALIAS`."""


class Verdict(NamedTuple):
    """The value of a position for the side to move, in words: the result and the distance in plies."""

    wdl: Wdl
    dtm: int | None


# -- verdicts and values -------------------------------------------------------------------


def verdict_of(value: int, *, unforced: Wdl = "draw") -> Verdict:
    """Return the verdict for a value n: a win in n plies if n > 0, a loss in -n - 1 if n < 0, ``unforced`` if n = 0."""
    if value == 0:
        return Verdict(unforced, None)
    return Verdict("win", value) if value > 0 else Verdict("loss", -value - 1)


def value_of(verdict: Verdict) -> int:
    """Return the value for a verdict. This is the inverse of `verdict_of`."""
    if verdict.dtm is None:
        return 0
    return verdict.dtm if verdict.wdl == "win" else -verdict.dtm - 1


def a_ply_earlier(value: int) -> int:
    """Return the value of a ply for the side that makes it, given the value of the position after the ply."""
    return -value - 2 if value > 0 else -value


def within_limit(value: int, plies_left: int | None) -> int:
    """Return a value under a move limit: 0 if the win or loss takes more plies than are left, else the value itself."""
    plies = value if value > 0 else -value - 1
    return 0 if value and plies_left is not None and plies > plies_left else value


def unforced(variant: Variant) -> Wdl:
    """Return the result of a position where neither side can force a win, under a variant's repetition rule."""
    return "draw" if variant.rules.repetition.draws else "unresolved"


# -- codes and items, for Python, for arrays and for kernels ---------------------------------


def value_of_code(code: Any) -> Any:
    """Return the value for a code."""
    return (code >> 1) ^ -(code & 1)


def code_of_value(value: int) -> int:
    """Return the code for a value. This is the inverse of `value_of_code`."""
    return (value << 1) ^ (value >> 63)


def plies_of(code: Any) -> Any:
    """Return the distance in plies that a code or a decided item contains."""
    return (code & _CODE) >> 1


def is_loss(code: Any) -> Any:
    """Return whether a code or a decided item is a loss, rather than a win or an unforced result."""
    return code & 1 != 0


def is_decided(item: Any) -> Any:
    """Return whether an item is decided and contains a code."""
    return item & DECIDED != 0


def code_of(item: Any) -> Any:
    """Return the code of an item, or 0 if the item is open or an alias."""
    return (item & _CODE) * (item >= DECIDED)


def won_in(plies: int) -> int:
    """Return the item for a win in the given number of plies."""
    return DECIDED | (plies << 1)


def lost_in(plies: int) -> int:
    """Return the item for a loss in the given number of plies."""
    return DECIDED | (plies << 1) | 1
