"""Why positions of a small board are out of reach: all of them, each by a lemma or by a set that is never entered.

`explain` is the front door. `classes` tells the classes that a complete census reaches from the others, `closed`
looks at those that no lemma excludes.
"""

from typing import TYPE_CHECKING

from tablut.lazy import lazy_exports

if TYPE_CHECKING:
    from counting.reachable.explanation.explaining import Explanation, explain
else:
    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "Explanation": "counting.reachable.explanation.explaining",
            "explain": "counting.reachable.explanation.explaining",
        },
    )

__all__ = ["Explanation", "explain"]
