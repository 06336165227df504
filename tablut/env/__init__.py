"""Environments for machine learning: single games for PettingZoo and OpenSpiel, and compiled batches of games."""

from tablut.env.batch import Batch, Successors, TableValues
from tablut.env.encoding import PLANES
from tablut.env.environments import env, spiel

__all__ = ["PLANES", "Batch", "Successors", "TableValues", "env", "spiel"]
