"""The rule fields: one for each point on which the sources of Tablut differ.

The pydantic models here are at once the schema of a variant file's rules, the
frozen value that the program carries about, and the text that explains a field
to a reader (`rule_fields`).
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, NamedTuple

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

__all__ = ["CampRules", "CastleRules", "CornerRules", "KingRules", "RuleField", "Rules", "rule_fields"]


MOST_PLIES: Final = 1_000_000
"""The highest move limit."""


def _strict_bool(value: Any) -> bool:
    # TOML has booleans; a quoted "false" is a slip that must not become True.
    if not isinstance(value, bool):
        raise ValueError("expected true or false")
    return value


def _small_letters(value: Any) -> Any:
    # Squares are read in either case; equal rules must be equal values.
    return [name.lower() if isinstance(name, str) else name for name in value] if isinstance(value, list) else value


Flag = Annotated[bool, BeforeValidator(_strict_bool)]


class _Fields(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class CastleRules(_Fields):
    """What the castle (throne, konakis) does."""

    passable: Literal["nobody", "king", "everyone"] = Field(
        alias="pass", description="who may slide across the empty castle"
    )
    stop: Literal["nobody", "king"] = Field(description="who may end a move on it (its first occupant starts there)")
    hostile_to_white: Literal["never", "empty", "empty_or_besieged", "always"] = Field(
        description="when it is an anvil against a white soldier; besieged: the king on it with three black neighbours"
    )
    hostile_to_black: Literal["never", "empty", "always"] = Field(
        description="when it is an anvil against a black soldier"
    )


class CampRules(_Fields):
    """What camp cells do. Nobody enters a camp; a soldier may move within its own and leave for good."""

    hostile: Flag = Field(description="camp cells are anvils against soldiers of both colours and against the king")
    shelter: Flag = Field(description="a soldier standing in a camp cannot be captured")
    inert: Annotated[tuple[str, ...], BeforeValidator(_small_letters)] = Field(
        default=(), description="camp cells that are not anvils against black soldiers"
    )


class CornerRules(_Fields):
    """What the king-only corners (``X``) do."""

    hostile: Flag = Field(description="X corners are anvils against everybody, the king too")


class KingRules(_Fields):
    """How strong the king is."""

    armed: Flag = Field(description="the king captures, as mover and as anvil")
    on_castle: Literal["four", "two"] = Field(
        default="four", description="how many sides it takes to capture it on the castle"
    )
    beside_castle: Literal["as_on_castle", "as_elsewhere"] = Field(
        default="as_on_castle",
        description="beside the castle: all four sides hostile, the castle one, or as elsewhere",
    )
    elsewhere: Literal["two", "four"] = Field(
        description="away from the castle: two hostile sides in line, or black soldiers on all four"
    )


class Rules(_Fields):
    """All rule fields of a variant, frozen and hashable.

    Examples
    --------
    >>> from tablut.variants import load_variant
    >>> load_variant("ashton").rules.castle.stop
    'nobody'
    """

    first: Literal["white", "black"] = Field(description="who moves first")
    castle: CastleRules
    camps: CampRules = CampRules(hostile=False, shelter=False)
    corners: CornerRules = CornerRules(hostile=False)
    king: KingRules
    no_moves: Literal["side_to_move_loses", "either_after_ply"] = Field(
        description="when a side without a legal move has lost: on its turn, or after either side's ply"
    )
    repetition: Literal["draw", "mover_loses", "none"] = Field(
        description="what recreating an earlier position of the game does"
    )
    # Kernels count plies in 32 bits; no game of a thousandth of that length was ever played.
    move_limit: Annotated[int, Field(gt=0, le=MOST_PLIES, strict=True)] | None = Field(
        default=None, description="the game is drawn after so many plies"
    )


class RuleField(NamedTuple):
    """One rule field as a reader sees it.

    Attributes
    ----------
    name : str
        With dots, such as ``castle.pass``.
    value : bool, int, str, list or None
        As a variant file has it; None where nothing is set.
    meaning : str
        One line.
    """

    name: str
    value: Any
    meaning: str


def rule_fields(rules: Rules) -> list[RuleField]:
    """Return every rule field with its dotted name, value and meaning.

    Parameters
    ----------
    rules : Rules
        The rules of a variant.

    Returns
    -------
    list of RuleField
        In the order of the variant file.

    Examples
    --------
    >>> from tablut.variants import load_variant
    >>> rule_fields(load_variant("leiden").rules)[1]
    RuleField(name='castle.pass', value='everyone', meaning='who may slide across the empty castle')
    """
    fields = []

    def _collect(model: BaseModel, prefix: str) -> None:
        for attribute, info in type(model).model_fields.items():
            name, value = prefix + (info.alias or attribute), getattr(model, attribute)
            if isinstance(value, BaseModel):
                _collect(value, name + ".")
            else:
                shown = list(value) if isinstance(value, tuple) else value
                fields.append(RuleField(name, shown, info.description or ""))

    _collect(rules, "")
    return fields
