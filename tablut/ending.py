"""How a game ends where the last ply does not tell: positions that were set up, and what the history decides.

What a ply decides is judged by the engine. `Board` asks here for the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from tablut.rules.outcome import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable

    from tablut.variants import Rules, Variant

__all__ = ["history_outcome", "standing_outcome"]


def standing_outcome(
    variant: Variant, cells: str, king: int | None, mobile: Callable[[Literal["white", "black"]], bool]
) -> Outcome | None:
    """Return how a position that was set up is decided by the way it stands, or None.

    Parameters
    ----------
    variant : Variant
        Whose rules hold.
    cells : str
        The pieces, by square.
    king : int or None
        The king's square, if there is exactly one.
    mobile : callable
        Returns whether a side has a legal move.

    Returns
    -------
    Outcome or None
        None also for a captured king: the same placement is an undecided one.

    Examples
    --------
    >>> from tablut.variants import load_variant
    >>> ashton = load_variant("ashton-5-4v0")
    >>> standing_outcome(ashton, "..b....K..b...b.....b....", 7, lambda side: True)
    >>> standing_outcome(ashton, ".Kb.......b...b.......b..", 1, lambda side: True)
    Outcome(termination='king_escaped', winner='white')
    """
    either = variant.rules.no_moves == "either_after_ply"
    if either and king is not None and not mobile("white"):
        return Outcome("no_moves", "black")
    if king in variant.regions.escapes:
        return Outcome("king_escaped", "white")
    if "b" not in cells:
        return Outcome("no_attackers", "white")
    if either and not mobile("black"):
        return Outcome("no_moves", "white")
    return None


def history_outcome(rules: Rules, turn: Literal["white", "black"], *, repeated: bool, ply: int) -> Outcome | None:
    """Return how the game before an undecided position decides it, or None.

    Parameters
    ----------
    rules : Rules
        Those of the variant.
    turn : {'white', 'black'}
        The side to move.
    repeated : bool
        Whether the position occurred earlier in the game.
    ply : int
        Plies played.

    Returns
    -------
    Outcome or None
        By repetition or by the move limit.

    Examples
    --------
    >>> from tablut.variants import load_variant
    >>> history_outcome(load_variant("mcgill").rules, "white", repeated=True, ply=100)
    Outcome(termination='move_limit', winner=None)
    """
    if rules.repetition != "none" and repeated:
        # The position recurred by the move of the side that is not to move.
        return Outcome("repetition", turn if rules.repetition == "mover_loses" else None)
    if rules.move_limit is not None and ply >= rules.move_limit:
        return Outcome("move_limit", None)
    return None
