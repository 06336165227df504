"""How our player fares against those of the sources: matches kept in ``reports/data/players`` as ``ours-NAME``."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from reports.matches import StoredMatch, check_match
from reports.stored import read_stored

WANTED: Final = 0.99
"""The score that our player is to reach."""
_ENDLESS: Final = "benchmarks/rules/mcgill-endless.toml"


class Opponent(NamedTuple):
    """A player of the sources, and the game in which ours meets it."""

    name: str
    text: str
    variant: str = "mcgill-endless"
    rules: str = _ENDLESS

    @property
    def command(self) -> str:
        """The command that plays the match."""
        games = "-n 400 --hash 8 --most-plies 1000 --grace 1 --seed 13 --json"
        return f"tablut match alphabeta@movetime=0.1 {self.text} -v {self.rules} {games}"


OPPONENTS: Final = (
    Opponent("mcts-heuristic", "mcts-heuristic@movetime=0.1"),
    Opponent("payoff", "payoff@movetime=0.1"),
    Opponent("heuristic", "heuristic@nodes=1"),
    Opponent("minimax3", "minimax3@movetime=0.1", "berkeley", "berkeley"),
)
"""The hardest ones: 400 games at 0.1 s a move, without a move limit."""


def results() -> dict[str, dict[str, Any]]:
    """Return the stored matches by the opponent's name, in the order of `OPPONENTS`."""
    return {one.name: read_stored("players", f"ours-{one.name}", StoredMatch, _check) for one in OPPONENTS}


def _check(stored: StoredMatch, name: str) -> None:
    """Compare a match with its opponent, and with itself."""
    one = next(one for one in OPPONENTS if name == f"ours-{one.name}")
    check_match(stored, one.variant, ("alphabeta@movetime=0.1", one.text), one.command)
