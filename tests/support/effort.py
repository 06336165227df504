"""What the default run leaves out: most examples of a property, for `-m fuzz`, most cases of a test, for `-m slow`."""

from collections.abc import Container, Iterable
from typing import Any

import pytest
from hypothesis import settings

from tablut.variants import variant_names
from tests.support.games import OLDER_NAMES

__all__ = ["ALL_CASES", "MORE", "OLDER_CASES", "examples", "slow_but"]

MORE = 20
"""How many times as many examples `pytest -m fuzz` tries, of some twice that."""


def examples(few: int, more: int = MORE) -> int:
    """Return the examples of a property that takes a second or more; others keep hypothesis's own number."""
    return few * more if settings.get_current_profile_name() == "fuzz" else few


def slow_but(kept: Container[Any], cases: Iterable[Any]) -> list[Any]:
    """Return all cases of a test; those that are not kept show the same again, and are slow."""
    return [
        pytest.param(*(case if type(case) is tuple else [case]), marks=[] if case in kept else pytest.mark.slow)
        for case in cases
    ]


FEW = ("ashton", "berkeley", "brandubh-5-4v0")
OLDER_CASES = slow_but(FEW, OLDER_NAMES)
"""Names of rule sets as cases of a test."""
ALL_CASES = slow_but((*FEW, "copenhagen"), variant_names())
