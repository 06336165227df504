"""An environment for programs that learn: one game as PettingZoo has games, and many at once in compiled code."""

from tablut.env.batch import Batch
from tablut.env.encoding import PLANES

__all__ = ["PLANES", "Batch"]
