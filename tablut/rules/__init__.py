"""The rules of the game: outcomes, and a slow twin of the compiled engine in plain Python."""

from tablut.rules.naive import NaiveGame, NaivePosition, NaiveResult
from tablut.rules.outcome import OUTCOMES, Outcome

__all__ = ["OUTCOMES", "NaiveGame", "NaivePosition", "NaiveResult", "Outcome"]
