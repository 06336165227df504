"""Results of commands: pydantic models with exact integers, and rounded numbers for people."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Context
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, PlainSerializer, SerializerFunctionWrapHandler, model_serializer

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

ExactInt = Annotated[int, PlainSerializer(str, return_type=str, when_used="json")]
"""An integer that may exceed 2^53: a Python int in memory, a decimal string in JSON."""


class Result(BaseModel):
    """Base class of every result: frozen, and strict about its fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class SparseResult(Result):
    """A result that leaves out what is empty: there are thousands of it, and most have little to say."""

    @model_serializer(mode="wrap")
    def _without_what_is_not_there(self, whole: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {name: value for name, value in whole(self).items() if value not in (None, (), [])}


def grouped(value: int) -> str:
    """Return an exact integer as people read it, in groups of three digits that a line does not part."""
    return f"{value:,}".replace(",", "\N{NO-BREAK SPACE}")


def scientific(value: int, digits: int = 4) -> str:
    """Return an exact integer rounded to so many significant digits."""
    if abs(value) < 10**digits:
        return str(value)
    rounded = Context(prec=digits, rounding=ROUND_HALF_UP).create_decimal(value)
    return f"{rounded:.{digits - 1}e}".replace("e+", "e")


def bfile(values: Iterable[int], start: int, comments: Sequence[str]) -> str:
    r"""Return a sequence as a b-file: lines of index and value, comments behind ``#``."""
    lines = [f"# {comment}" for comment in comments]
    lines += [f"{number} {value}" for number, value in enumerate(values, start)]
    return "".join(f"{line}\n" for line in lines)
