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
numba; `tablut.indexing.tier_values` has them compiled, for kernels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

if TYPE_CHECKING:
    from tablut.variants import Variant

__all__ = [
    "ALIAS",
    "ALIAS_CODE",
    "CAPTURES",
    "CODES",
    "COUNTER",
    "DECIDED",
    "MISSING",
    "SAFE",
    "Verdict",
    "Wdl",
    "a_ply_earlier",
    "code_of",
    "code_of_value",
    "is_decided",
    "is_loss",
    "lost_in",
    "plies_of",
    "unforced",
    "value_of",
    "value_of_code",
    "verdict_of",
    "within_limit",
    "won_in",
]

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
    """What a position is worth to the side to move.

    Attributes
    ----------
    wdl : {'win', 'draw', 'loss', 'unresolved'}
        ``unresolved`` where the rules let the history of the game decide.
    dtm : int or None
        Plies to the end under best play; None unless a side can force a win.

    Examples
    --------
    >>> verdict_of(3), verdict_of(-1), verdict_of(0)
    (Verdict(wdl='win', dtm=3), Verdict(wdl='loss', dtm=0), Verdict(wdl='draw', dtm=None))
    """

    wdl: Wdl
    dtm: int | None


# -- verdicts and values -------------------------------------------------------------------


def verdict_of(value: int, *, unforced: Wdl = "draw") -> Verdict:
    """Return the verdict of a value: n > 0 a win in n plies, n < 0 a loss in -n - 1, 0 not forced.

    Parameters
    ----------
    value : int
        As `tablut.prober.Prober.probe_words` gives it; not `MISSING`.
    unforced : {'draw', 'unresolved'}
        The verdict where neither side can force a win.

    Returns
    -------
    Verdict
        For the side to move.

    Examples
    --------
    >>> verdict_of(2), verdict_of(0, unforced="unresolved")
    (Verdict(wdl='win', dtm=2), Verdict(wdl='unresolved', dtm=None))
    """
    if value == 0:
        return Verdict(unforced, None)
    return Verdict("win", value) if value > 0 else Verdict("loss", -value - 1)


def value_of(verdict: Verdict) -> int:
    """Return the value of a verdict, the inverse of `verdict_of`.

    Parameters
    ----------
    verdict : Verdict
        The verdict.

    Returns
    -------
    int
        Its value.

    Examples
    --------
    >>> [value_of(verdict_of(value)) for value in (-3, -1, 0, 1, 4)]
    [-3, -1, 0, 1, 4]
    """
    if verdict.dtm is None:
        return 0
    return verdict.dtm if verdict.wdl == "win" else -verdict.dtm - 1


def a_ply_earlier(value: int) -> int:
    """Return what a ply that leads to a position is worth to the side that makes it.

    Parameters
    ----------
    value : int
        The position's, to the side to move there; not `MISSING`.

    Returns
    -------
    int
        The value of the ply, to its mover: a win for the one is a loss for the other, a ply further off.

    Examples
    --------
    >>> a_ply_earlier(value_of(Verdict("loss", 0))), a_ply_earlier(value_of(Verdict("win", 3))), a_ply_earlier(0)
    (1, -5, 0)
    """
    return -value - 2 if value > 0 else -value


def within_limit(value: int, plies_left: int | None) -> int:
    """Return a value under a move limit: 0 where a win or loss takes more plies than are left.

    Parameters
    ----------
    value : int
        As `tablut.prober.Prober.probe_words` gives it; not `MISSING`.
    plies_left : int or None
        Plies before the game is drawn; None without a limit.

    Returns
    -------
    int
        The value, or 0.

    Examples
    --------
    >>> within_limit(5, 4), within_limit(5, 5), within_limit(-5, 4), within_limit(-6, 4), within_limit(5, None)
    (0, 5, -5, 0, 5)
    """
    plies = value if value > 0 else -value - 1
    return 0 if value and plies_left is not None and plies > plies_left else value


def unforced(variant: Variant) -> Wdl:
    """Return what a position is worth from which neither side can force a win.

    Parameters
    ----------
    variant : Variant
        The rule set.

    Returns
    -------
    {'draw', 'unresolved'}
        The second where a repetition loses the game for the mover.

    Examples
    --------
    >>> from tablut.variants import load_variant
    >>> unforced(load_variant("ashton")), unforced(load_variant("berkeley"))
    ('draw', 'unresolved')
    """
    return "unresolved" if variant.rules.repetition == "mover_loses" else "draw"


# -- codes and items, for Python, for arrays and for kernels ---------------------------------


def value_of_code(code: Any) -> Any:
    """Return the value of a code.

    Parameters
    ----------
    code : int or ndarray of int64
        Signed, since values are.

    Returns
    -------
    int or ndarray of int64
        The value.

    Examples
    --------
    >>> [value_of_code(code) for code in range(6)]
    [0, -1, 1, -2, 2, -3]
    """
    return (code >> 1) ^ -(code & 1)


def code_of_value(value: int) -> int:
    """Return the code of a value, the inverse of `value_of_code`.

    Parameters
    ----------
    value : int
        Not `MISSING`.

    Returns
    -------
    int
        The code.

    Examples
    --------
    >>> [code_of_value(value_of_code(code)) for code in range(6)]
    [0, 1, 2, 3, 4, 5]
    """
    return (value << 1) ^ (value >> 63)


def plies_of(code: Any) -> Any:
    """Return the distance of a code, or of a decided item.

    Parameters
    ----------
    code : int or ndarray of integers
        Not 0.

    Returns
    -------
    int or ndarray of integers
        Plies to the end.

    Examples
    --------
    >>> plies_of(7), plies_of(DECIDED | 7)
    (3, 3)
    """
    return (code & _CODE) >> 1


def is_loss(code: Any) -> Any:
    """Return whether a code, or a decided item, is a loss; otherwise it is a win, or 0.

    Parameters
    ----------
    code : int or ndarray of integers
        The code.

    Returns
    -------
    bool or ndarray of bool
        Whether the side to move loses.

    Examples
    --------
    >>> is_loss(7), is_loss(DECIDED | 6), is_loss(0)
    (True, False, False)
    """
    return code & 1 != 0


def is_decided(item: Any) -> Any:
    """Return whether an item holds a code.

    Parameters
    ----------
    item : int or ndarray of uint16
        The item.

    Returns
    -------
    bool or ndarray of bool
        Otherwise it is open, or an alias'.

    Examples
    --------
    >>> is_decided(DECIDED | 6), is_decided(6), is_decided(ALIAS)
    (True, False, False)
    """
    return item & DECIDED != 0


def code_of(item: Any) -> Any:
    """Return the code of an item: 0 for what is open, and for an alias.

    Parameters
    ----------
    item : int or ndarray of uint16
        The item.

    Returns
    -------
    int or ndarray of uint16
        The code.

    Examples
    --------
    >>> code_of(DECIDED | 7), code_of(7), code_of(ALIAS)
    (7, 0, 0)
    """
    return (item & _CODE) * (item >= DECIDED)


def won_in(plies: int) -> int:
    """Return the item of a win.

    Parameters
    ----------
    plies : int
        Its distance.

    Returns
    -------
    int
        The item.

    Examples
    --------
    >>> value_of_code(code_of(won_in(3)))
    3
    """
    return DECIDED | (plies << 1)


def lost_in(plies: int) -> int:
    """Return the item of a loss.

    Parameters
    ----------
    plies : int
        Its distance.

    Returns
    -------
    int
        The item.

    Examples
    --------
    >>> value_of_code(code_of(lost_in(3)))
    -4
    """
    return DECIDED | (plies << 1) | 1
