"""What the default run leaves out: most examples of a property, for `-m fuzz`, most cases of a test, for `-m slow`."""

from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from hypothesis import settings

from tablut.variants import variant_names
from tests.support.games import OLDER_NAMES

__all__ = ["ALL_CASES", "MORE", "OLDER_CASES", "examples", "fuzzing", "slow_but"]

MORE = 20
"""How many times as many examples `pytest -m fuzz` tries, of some twice that."""


def fuzzing() -> bool:
    """Return whether this is `pytest -m fuzz`; by default kernels are compiled for few kinds of rule sets."""
    return not settings.default.derandomize


def examples(few: int, more: int = MORE) -> int:
    """Return the examples of a property that takes a second or more; others keep hypothesis's own number."""
    return few * more if fuzzing() else few


def slow_but(kept: Sequence[Any], cases: Iterable[Any]) -> list[Any]:
    """Return the cases of a test, first those that are kept; the others show the same again, and are slow."""
    slow = [case if type(case) is tuple else (case,) for case in cases if case not in kept]
    return [*kept, *(pytest.param(*case, marks=pytest.mark.slow) for case in slow)]


FEW = ("ashton", "berkeley", "brandubh-5-4v0")
OLDER_CASES = slow_but(FEW, OLDER_NAMES)
"""Names of rule sets as cases of a test."""
ALL_CASES = slow_but((*FEW, "copenhagen"), variant_names())
