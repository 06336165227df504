"""The rule sets that long loops of tests go over: those that ship without the rules of the tafl family."""

from tablut.variants.library import older_variants
from tablut.variants.model import Repetition

OLDER = older_variants()
OLDER_NAMES = [variant.name for variant in OLDER]


def recurrence(result: str) -> Repetition:
    """Return the rule that a position which stands for the second time has a result."""
    return Repetition.model_validate(result)
