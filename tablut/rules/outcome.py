"""Outcomes of games (termination and winner), and the small integer codes that kernels use for them.

A code describes the outcome of a single ply, so repetition and the move limit have none. A ply that leaves the side to
move without a legal move has the code `UNDECIDED` under ``no_moves = side_to_move_loses``.
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
"""Possible results of a finished game."""

UNDECIDED: Final = 0
KING_CAPTURED: Final = 1
KING_ESCAPED: Final = 2
NO_ATTACKERS: Final = 3
NO_MOVES_WHITE: Final = 4
"""Code of a ply that leaves white without a move, so that black has won."""
NO_MOVES_BLACK: Final = 5
"""Code of a ply that leaves black with soldiers but without a move, so that white has won."""
EXIT_FORT: Final = 6
ENCIRCLEMENT: Final = 7


class Outcome(NamedTuple):
    """End of a game: its ``termination`` and its ``winner``, which is None for a draw.

    The termination is ``king_captured``, ``king_escaped``, ``no_attackers`` (black's last soldier was captured),
    ``no_moves``, ``exit_fort``, ``encirclement``, ``repetition`` or ``move_limit``.

    Examples
    --------
    >>> OUTCOMES[KING_ESCAPED]
    Outcome(termination='king_escaped', winner='white')
    """

    termination: Termination
    winner: Literal["white", "black"] | None

    @property
    def how(self) -> str:
        """Termination in words, for example ``exit fort``."""
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
"""Outcome for each code that kernels return; None for `UNDECIDED`."""
