"""The rules of the game: how a position ends, and a slow but plain twin of the compiled engine."""

from tablut.rules.naive import NaiveGame, NaivePosition, NaiveResult
from tablut.rules.outcome import OUTCOMES, Outcome

__all__ = ["OUTCOMES", "NaiveGame", "NaivePosition", "NaiveResult", "Outcome"]
