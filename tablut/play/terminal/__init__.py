"""A game in the terminal: a person against a player, two persons, or two players that are watched."""

from tablut.play.terminal.game import Ending, TerminalGame, TerminalSettings

__all__ = ["Ending", "TerminalGame", "TerminalSettings"]
