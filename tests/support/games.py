"""The rule sets that long loops of tests go over: those that ship without the rules of the tafl family."""

from importlib.resources import files

from tablut.variants.library import older_variants
from tablut.variants.model import Repetition

OLDER = older_variants()
OLDER_NAMES = [variant.name for variant in OLDER]
_WIDE = files("tablut.variants.data").joinpath("alea-evangelii.toml").read_text(encoding="utf-8")
# Compiled rules hold no fort on a board over 11×11.
UNCOMPILED = _WIDE.replace("encirclement = ", 'fort = "on_edge"\nencirclement = ')


def recurrence(result: str) -> Repetition:
    """Return the rule that a position which stands for the second time has a result."""
    return Repetition.model_validate(result)
