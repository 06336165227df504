"""The rules of the game: outcomes, and a slow plain Python implementation that serves as a reference for the engine."""

from tablut.rules.naive import NaiveGame, NaivePosition, NaiveResult
from tablut.rules.outcome import OUTCOMES, Outcome

__all__ = ["OUTCOMES", "NaiveGame", "NaivePosition", "NaiveResult", "Outcome"]
