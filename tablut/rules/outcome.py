"""How a game ends: the termination, the winner, and the small integer by which kernels name both.

Draws by repetition or move limit need the history of a game and are no outcome of
a ply; neither is a side to move without a legal move under
``no_moves = side_to_move_loses``, which is lost but counts as undecided.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

Termination = Literal[
    "king_captured",
    "king_escaped",
    "no_attackers",
    "no_moves",
    "exit_fort",
    "encirclement",
    "repetition",
    "move_limit",
]

GameResult = Literal["white", "black", "draw"]
RESULTS: Final[tuple[GameResult, ...]] = ("white", "black", "draw")
"""Who won a game, or that nobody did."""

UNDECIDED: Final = 0
KING_CAPTURED: Final = 1
KING_ESCAPED: Final = 2
NO_ATTACKERS: Final = 3
NO_MOVES_WHITE: Final = 4
"""White cannot move: black has won."""
NO_MOVES_BLACK: Final = 5
"""Black has soldiers and cannot move: white has won."""
EXIT_FORT: Final = 6
ENCIRCLEMENT: Final = 7


class Outcome(NamedTuple):
    """The end of a game.

    Attributes
    ----------
    termination : str
        ``king_captured``, ``king_escaped``, ``no_attackers`` (black's last soldier
        was captured), ``no_moves``, ``exit_fort`` or ``encirclement``; by the history of a game also ``repetition`` or
        ``move_limit``.
    winner : {'white', 'black'} or None
        Who has won; None for a draw.

    Examples
    --------
    >>> OUTCOMES[KING_ESCAPED]
    Outcome(termination='king_escaped', winner='white')
    """

    termination: Termination
    winner: Literal["white", "black"] | None

    @property
    def how(self) -> str:
        """The termination as people read it: ``exit fort``."""
        return self.termination.replace("_", " ")


OUTCOMES: Final[tuple[Outcome | None, ...]] = (
    None,
    Outcome("king_captured", "black"),
    Outcome("king_escaped", "white"),
    Outcome("no_attackers", "white"),
    Outcome("no_moves", "black"),
    Outcome("no_moves", "white"),
    Outcome("exit_fort", "white"),
    Outcome("encirclement", "black"),
)
"""The outcome of each code that a kernel returns."""
