"""How many examples a property is tried on: few and fixed in every run, many and new ones under `pytest -m fuzz`."""

from hypothesis import settings

__all__ = ["MORE", "examples"]

MORE = 20
"""How many times as many examples `pytest -m fuzz` tries."""


def examples(few: int) -> int:
    """Return the examples of a property that takes a second or more; others keep hypothesis's own number."""
    return few * MORE if settings.get_current_profile_name() == "fuzz" else few
