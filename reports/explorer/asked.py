"""What a request may say: a rule set by name or as text, a position, moves. It becomes a `Board`, or one clear line.

Nothing here opens a file: a name is one of the rule sets that ship, anything else is the content itself.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from tablut.board import Board
from tablut.errors import InputError, VariantError
from tablut.formats.reading import read_position
from tablut.variants import Variant, shipped_variant
from tablut.variants.library import FILE_BYTES, is_own_name
from tablut.variants.schema import parse_variant

__all__ = ["GameAsked", "MovesAsked", "PositionAsked", "rules_of_text"]

MOST_MOVES: Final = 1000
_LONGEST_POSITION: Final = 8000
_LONGEST_MOVE: Final = 80


@lru_cache(maxsize=32)
def rules_of_text(text: str) -> Variant:
    """Return the rule set of a text, as a variant file has it.

    Parameters
    ----------
    text : str
        TOML, at most 64 KiB of it.

    Returns
    -------
    Variant
        Validated; equal texts give the same object.

    Raises
    ------
    VariantError
        Naming the field that is wrong.

    Examples
    --------
    >>> rules_of_text("first = 'white'")
    Traceback (most recent call last):
        ...
    tablut.errors.VariantError: your rules: field 'castle': is missing (and 5 more errors)
    """
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > FILE_BYTES:
        raise VariantError(f"your rules: have {size:,} bytes; at most {FILE_BYTES:,} are read")
    variant = parse_variant(text, name="my rules", origin="your rules")
    if not is_own_name(variant):
        raise VariantError(f"your rules: field 'name': {variant.name!r} ships and is another game; choose another name")
    return variant


class GameAsked(BaseModel):
    """Which game: a rule set that ships, or one's own."""

    model_config = ConfigDict(extra="forbid")

    variant: Annotated[
        str, Field(max_length=80, description="A rule set that ships; `rules` goes before it.", examples=["ashton"])
    ] = "ashton"
    rules: Annotated[
        str | None,
        Field(max_length=FILE_BYTES, description="Rules of your own: the text of a variant file (docs/variants.md)."),
    ] = None

    def game(self) -> Variant:
        """Return the rule set."""
        return shipped_variant(self.variant) if self.rules is None else rules_of_text(self.rules)


class PositionAsked(GameAsked):
    """A position of a game."""

    position: Annotated[
        str | None,
        Field(
            max_length=_LONGEST_POSITION,
            description="Our text, OpenTafl's, or the Bologna server's JSON; the start of the rule set by default.",
            examples=["9/9/9/4w4/2K6/9/9/9/4b4 b"],
        ),
    ] = None
    side: Annotated[
        Literal["w", "b"] | None, Field(description="The side to move, for a text that does not say it.")
    ] = None

    def board(self) -> Board:
        """Return a board of the position, playable or not."""
        variant = self.game()
        if self.position is None:
            return Board(variant)
        return Board(variant, read_position(self.position, variant.size, self.side))


class MovesAsked(PositionAsked):
    """A position, and moves that were made from it."""

    moves: Annotated[
        list[Annotated[str, Field(max_length=_LONGEST_MOVE)]],
        Field(max_length=MOST_MOVES, description="Moves made from the position, each in any notation."),
    ] = []

    def board(self) -> Board:
        """Return the board after the moves, with their history."""
        board = super().board()
        for number, text in enumerate(self.moves, 1):
            try:
                board.push_text(text)
            except InputError as error:
                raise type(error)(f"move {number}: {error}") from error
        return board
