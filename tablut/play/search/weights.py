"""What the evaluation counts, and how much each of it weighs.

A term is a number that describes a position from white's side; the evaluation is the
sum of the terms, each times its weight. Weights are in centi-logits: 100 more mean
that the odds of white winning are e times as high. They come from self-play
(`benchmarks.tuning`) and stand in ``data/weights.json``, one set for each family of
boards: escapes in the corners; on the edge beside camps; on the edge alone, with a king
that two soldiers capture or with one that takes four.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Final, Literal

from tablut.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tablut.variants import Variant

__all__ = [
    "CELL_TERMS",
    "HAND_WEIGHTS",
    "LINE_TERMS",
    "POSITION_TERMS",
    "RINGS",
    "SCALE",
    "SCALE_BITS",
    "TERMS",
    "load_weights",
    "scaled_weights",
    "weights_family",
]

RINGS: Final = 3
"""Distances from the edge with a weight of their own; what lies further in is the measure."""

LINE_TERMS: Final = ("attacker_moves", "defender_moves", "open_escapes")
"""Counted on every row and column: moves of the soldiers, cells from which the way to an escape is free."""

CELL_TERMS: Final = (
    "attackers_in_camp",
    "attackers_near_escape",
    "defenders_near_escape",
    *(f"attackers_ring_{ring}" for ring in range(RINGS)),
    *(f"defenders_ring_{ring}" for ring in range(RINGS)),
)
"""Counted by cell; white's include the king, which a line does not tell from a defender."""

POSITION_TERMS: Final = (
    "attackers",
    "defenders",
    "king_rays",
    "king_paths",
    "king_has_path",
    "king_moves",
    "king_ring",
    "attackers_beside_king",
    "defenders_beside_king",
    "king_capture_sides",
    "tempo",
)
"""Counted once: material, then the king's freedom, then what stands around it, then who is to move."""

TERMS: Final = LINE_TERMS + CELL_TERMS + POSITION_TERMS

SCALE_BITS: Final = 4
SCALE: Final = 1 << SCALE_BITS
"""Weights are rounded to this part of a centi-logit, so that the evaluation is exact in integers."""

HAND_WEIGHTS: Final[Mapping[str, float]] = dict.fromkeys(TERMS, 0.0) | {
    "attacker_moves": -1.0,
    "defender_moves": 1.0,
    "open_escapes": 3.0,
    "attackers": -30.0,
    "defenders": 50.0,
    "king_rays": 100.0,
    "king_paths": 20.0,
    "king_has_path": 40.0,
    "king_moves": 6.0,
    "attackers_beside_king": -25.0,
    "king_capture_sides": -50.0,
    "tempo": 10.0,
}
"""A guess, from which tuning starts and against which its result is measured."""

Family = Literal["corner", "camps", "edge", "edge_four"]


def weights_family(variant: Variant) -> Family:
    """Return which set of weights a variant uses, by where its king escapes and how it falls.

    Parameters
    ----------
    variant : Variant
        The rule set.

    Returns
    -------
    str
        The name of a set.

    Examples
    --------
    >>> from tablut.variants import load_variant
    >>> weights_family(load_variant("brandubh")), weights_family(load_variant("leiden"))
    ('corner', 'edge_four')
    >>> weights_family(load_variant("ashton"))
    'camps'
    """
    last = variant.size - 1
    corners = {0, last, variant.size * last, variant.size * variant.size - 1}
    if variant.regions.escapes <= corners:
        return "corner"
    if variant.regions.camps:
        return "camps"
    return "edge" if variant.rules.king.elsewhere == "two" else "edge_four"


@cache
def _stored() -> dict[str, dict[str, float]]:
    text = files("tablut.play.search").joinpath("data", "weights.json").read_text(encoding="utf-8")
    weights: dict[str, dict[str, float]] = json.loads(text)["weights"]
    return weights


def load_weights(variant: Variant) -> dict[str, float]:
    """Return the tuned weights for a variant, by term, in centi-logits.

    Parameters
    ----------
    variant : Variant
        The rule set.

    Returns
    -------
    dict of str to float
        One for each of `TERMS`.

    Examples
    --------
    >>> from tablut.variants import load_variant
    >>> list(load_weights(load_variant("ashton"))) == list(TERMS)
    True
    """
    return dict(_stored()[weights_family(variant)])


def scaled_weights(weights: Mapping[str, float]) -> dict[str, int]:
    """Return weights as integers: `SCALE` to a centi-logit, half of that for what two lines count.

    Parameters
    ----------
    weights : mapping of str to float
        One for each of `TERMS`.

    Returns
    -------
    dict of str to int
        By term.

    Raises
    ------
    InputError
        If a term is missing or unknown.

    Examples
    --------
    >>> scaled_weights(HAND_WEIGHTS)["open_escapes"]
    48
    """
    if set(weights) != set(TERMS):
        odd = sorted(set(weights) ^ set(TERMS))
        raise InputError(f"weights: terms {', '.join(odd)} are missing or unknown")
    return {term: round(weights[term] * (SCALE // 2 if term in CELL_TERMS else SCALE)) for term in TERMS}
