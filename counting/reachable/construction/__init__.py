"""A proved lower bound of the number of reachable positions of ashton, without samples.

`prove_lower_bound` is the front door. `layout` cuts the board into regions; `closures` lists what can be assembled in
an outer region, `middle` what can be taken apart between them; `summing` multiplies and adds up; `steps` and `openings`
check the finite rest of the proof. `conditions` says the theorem of one placement, and `building` makes its game.
"""

from typing import TYPE_CHECKING

from tablut.lazy import lazy_exports

if TYPE_CHECKING:
    from counting.reachable.construction.bound import prove_lower_bound
else:
    __getattr__, __dir__ = lazy_exports(__name__, {"prove_lower_bound": "counting.reachable.construction.bound"})

__all__ = ["prove_lower_bound"]
