"""How many examples a property is tried on: few in the runs that come with every change, many in a thorough run."""

from hypothesis import settings

__all__ = ["MORE", "examples"]

MORE = 20
"""How many times as many examples a thorough run tries: `pytest --hypothesis-profile=thorough`."""


def examples(few: int) -> int:
    """Return the examples of a property that takes a second or more; others keep hypothesis's own number."""
    return few * MORE if settings.get_current_profile_name() == "thorough" else few
