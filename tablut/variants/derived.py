"""Facts that are derived from a variant, computed once and kept in one place.

Tables, engines, indices and sets of locked pieces depend only on the rules. `derived` keeps all of them together, by
variant, so that equal variants share them. The facts of a variant that has not been used for a long time are dropped.
"""

from __future__ import annotations

from functools import lru_cache, wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from tablut.variants.model import Variant

Arguments = ParamSpec("Arguments")
Fact = TypeVar("Fact")


@lru_cache(maxsize=128)
def _facts_of(_variant: Variant) -> dict[Any, Any]:
    return {}


def derived(
    function: Callable[Concatenate[Variant, Arguments], Fact],
) -> Callable[Concatenate[Variant, Arguments], Fact]:
    """Make a function of a variant return the same object whenever it is called for equal variants and arguments."""

    @wraps(function)
    def fact_of(variant: Variant, /, *arguments: Arguments.args, **named: Arguments.kwargs) -> Fact:
        facts, key = _facts_of(variant), (function, arguments, *named.items())
        if key not in facts:
            facts.setdefault(key, function(variant, *arguments, **named))
        fact: Fact = facts[key]
        return fact

    return fact_of
