"""How often an interval must cover the truth in a simulation, whose own error is taken into account."""

import math

__all__ = ["assert_covered"]


def assert_covered(hits: float, draws: int, level: float) -> None:
    """Fail if intervals cover the truth less often than their level, by more than three errors of the simulation."""
    assert hits / draws >= level - 3 * math.sqrt(level * (1 - level) / draws)
