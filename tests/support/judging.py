"""The judge of forged proofs: it plays a strategy out, and says what reader and checker make of a file.

`plays_out` plays on a `tablut.board.Board`, against every reply, with the whole history of the
game. It shares neither the reading nor the rules in plain Python with the checker.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from retrograde.proofs.certificate import game_of, read_certificate
from retrograde.proofs.checker import StrategyCheck
from tablut.board import Board
from tablut.errors import InputError
from tablut.position import Position

if TYPE_CHECKING:
    from tablut.variants import Variant

__all__ = ["Forgery", "accepts", "goes_on", "plays_out", "with_limit"]


class Forgery(NamedTuple):
    """A file that pretends to be a proof.

    Attributes
    ----------
    label : str
        What was done to it.
    text : str
        Its content.
    given : Variant or None
        The rule set that the reader is given, as by ``--variant``.
    """

    label: str
    text: str
    given: Variant | None


def with_limit(variant: Variant, limit: int | None) -> Variant:
    """Return a variant with another move limit.

    Parameters
    ----------
    variant : Variant
        The rule set.
    limit : int or None
        Plies after which a game is drawn.

    Returns
    -------
    Variant
        Otherwise equal.

    Examples
    --------
    >>> from tablut.variants import load_variant
    >>> with_limit(load_variant("ashton"), 3).rules.move_limit
    3
    """
    return replace(variant, rules=variant.rules.model_copy(update={"move_limit": limit}))


def accepts(forgery: Forgery) -> bool:
    """Return whether the reader and the checker take a file for a proof.

    Parameters
    ----------
    forgery : Forgery
        The file.

    Returns
    -------
    bool
        False if either refuses it.
    """
    try:
        proof = read_certificate("forged", forgery.text)
        rules = game_of("forged", proof, forgery.given)
        check = StrategyCheck(
            rules,
            proof.position,
            proof.winner,
            proof.plies,
            proof.strategy,
            plies_left=proof.plies_left,
            most_plies=0,
        )
    except InputError:
        return False
    check.run()
    return check.proved


def plays_out(forgery: Forgery, variant: Variant, most: int = 200_000) -> bool:
    """Return whether what a file claims is so: its strategy is played on a board, against everything.

    Parameters
    ----------
    forgery : Forgery
        A file that the reader has taken for a proof.
    variant : Variant
        The rule set that it is about.
    most : int
        Plies to be played.

    Returns
    -------
    bool
        Whether every play by the strategy is won in time.

    Raises
    ------
    RuntimeError
        If that takes more plies; a smaller proof is to be tried.
    """
    header, *entries = (json.loads(line) for line in forgery.text.removesuffix("\n").split("\n"))
    strategy = {position: move for position, _, move in entries}
    left = header.get("plies_left")
    most_left = variant.rules.move_limit
    if most_left is not None and (left is None or left > most_left):
        return False
    rules = with_limit(variant, left)
    position = Position.parse(header["position"], variant.size)
    if not goes_on(rules, position):
        return False
    board = Board(rules, position)
    outcome = board.outcome()
    if outcome is not None and (outcome.termination != "no_moves" or rules.rules.no_moves == "either_after_ply"):
        return False  # decided by the ply that led to it, or drawn: nothing is left to be won
    budget = [most]
    return _wins(board, header["winner"], header["plies"], strategy, budget)


def goes_on(variant: Variant, position: Position) -> bool:
    """Return whether every piece of a position stands where it may.

    Parameters
    ----------
    variant : Variant
        The rule set.
    position : Position
        Of a board of its size.

    Returns
    -------
    bool
        False where the rules do not say how to play on.
    """
    try:
        len(Board(variant, position).legal_moves)
    except InputError:
        return False
    return True


def _wins(board: Board, winner: str, plies: int, strategy: dict[str, str], budget: list[int]) -> bool:
    """Return whether every play by the strategy is won within so many plies of the root."""
    outcome = board.outcome()
    if outcome is not None:
        return outcome.winner == winner and board.ply <= plies
    if board.ply >= plies:
        return False
    if board.turn == winner:
        text = strategy.get(str(board.position))
        if text is None:
            return False
        try:
            board.push_text(text)
        except InputError:
            return False
        won = _wins(board, winner, plies, strategy, budget)
        board.pop()
        return won
    for move in list(board.legal_moves):
        budget[0] -= 1
        if budget[0] < 0:
            raise RuntimeError("too large to be played out")
        board.push(move)
        won = _wins(board, winner, plies, strategy, budget)
        board.pop()
        if not won:
            return False
    return True
