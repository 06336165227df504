"""Which counted positions can be reached: lemmas, proof games, certificates and estimates.

`estimate` and `check_file` are the front door. `lemmas` excludes positions, `games` finds proof games and lists whole
backward trees, `drawing` draws samples, `certificates` and `checker` keep and check what was found, the latter by the
plain rules.
"""

from typing import TYPE_CHECKING

from tablut.lazy import lazy_exports

if TYPE_CHECKING:
    from counting.reachable.checker import check_file
    from counting.reachable.estimation import estimate
else:
    __getattr__, __dir__ = lazy_exports(__name__)

__all__ = ["check_file", "estimate"]
