"""A variant's rules in words, derived from all its rule fields together.

A single field often does not determine what happens in play. For example, whether two attackers capture the king beside
the castle depends on three fields. A claim answers one question about play, both as a sentence and as data. A test
compares the data with the behaviour of `tablut.rules.naive`, for all combinations of values of any two fields.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from tablut.variants import Variant

_WORDS = {
    "attacker": "an attacker",
    "defender": "a defender",
    "king": "the king",
    "empty castle": "the empty castle",
    "besieged castle": "the castle while the king stands on it with attackers on the other three sides",
    "occupied castle": "the castle while the king stands on it",
    "camp": "a camp cell",
    "corner": "an X corner",
    "end": "at an end of the row",
    "front": "in front of it",
}


class Claim(NamedTuple):
    """Answer to one question about play under a rule set, as data and as a sentence."""

    question: str
    answer: Mapping[str, Any]
    sentence: str


def claims(variant: Variant) -> list[Claim]:
    """Return the claims about play that follow from a variant's rule fields, one for each question.

    Examples
    --------
    >>> from tablut.variants import load_variant
    >>> found = {claim.question: claim.answer for claim in claims(load_variant("brandubh"))}
    >>> found["king beside the castle"]
    {'sides': 4, 'hostile': ['attacker', 'empty castle', 'corner']}
    """
    return [*_movement(variant), *_captures_of_soldiers(variant), *_captures_of_the_king(variant), *_ends(variant)]


def _listed(names: Iterable[str], last: str = "or") -> str:
    words = [_WORDS[name] for name in names] or ["nobody"]
    return f" {last} ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def _terrain(variant: Variant) -> list[str]:
    """Return the kinds of cells, except the castle, that are hostile to both sides."""
    rules, regions = variant.rules, variant.regions
    camps = ["camp"] * bool(rules.camps.hostile and regions.camps)
    return camps + ["corner"] * bool(rules.corners.hostile and regions.royal_corners)


def _movement(variant: Variant) -> Iterator[Claim]:
    rules = variant.rules
    yield Claim("first", {"side": rules.first}, f"{rules.first.capitalize()} moves first.")
    if variant.regions.castles:
        crossing = {"nobody": [], "king": ["king"], "everyone": ["attacker", "defender", "king"]}[rules.castle.passable]
        stopping = ["king"] * (rules.castle.stop == "king")
        text = (
            f"Who may slide across the empty castle: {_listed(crossing, 'and')}. "
            f"Who may stop on it: {_listed(stopping)}."
        )
        yield Claim("castle", {"crossing": crossing, "stopping": stopping}, text)


def _captures_of_soldiers(variant: Variant) -> Iterator[Claim]:
    rules, regions, wall = variant.rules, variant.regions, variant.rules.shieldwall
    white = ["defender", "king"] if rules.king.armed else ["defender"]
    pairs = (
        ("defender", ["attacker"], rules.castle.hostile_to_white),
        ("attacker", white, rules.castle.hostile_to_black),
    )
    for victim, men, castle in pairs:
        when = ["empty castle"] * (castle != "never") + ["occupied castle"] * (castle == "always")
        when += ["besieged castle"] * (castle == "empty_or_besieged")
        hostile = men + when * len(regions.castles) + _terrain(variant)
        inert = list(rules.camps.inert) if victim == "attacker" and "camp" in hostile else []
        sheltered = rules.camps.shelter and victim == "attacker" and bool(regions.camps)
        text = f"{_WORDS[victim].capitalize()} is captured between {_listed(men)} that arrives and {_listed(hostile)}"
        text += f"; not against {', '.join(inert)}" * bool(inert) + "; not in a camp" * sheltered + "."
        answer = {"movers": men, "hostile": hostile, "inert": inert, "sheltered": sheltered}
        yield Claim(f"capture of {_WORDS[victim]}", answer, text)
    if wall is not None:
        corner, completing = wall.corner and bool(regions.royal_corners), ["end"] + ["front"] * (wall.mover == "any")
        text = f"A shieldwall is completed by a piece that arrives {_listed(completing)}. A corner "
        text += (
            f"{'may' if corner else 'does not'} replace a piece at an end. "
            f"The king {'takes' if rules.king.armed else 'has no'} part."
        )
        yield Claim("shieldwall", {"corner": corner, "completing": completing, "king": rules.king.armed}, text)


def _captures_of_the_king(variant: Variant) -> Iterator[Claim]:
    king, terrain = variant.rules.king, _terrain(variant)
    anywhere = king.elsewhere, terrain * (king.elsewhere == "two")
    places = {"elsewhere" if variant.regions.castles else "anywhere": anywhere}
    if variant.regions.castles:
        as_on_castle = king.on_castle, ["empty castle", *terrain]
        places["beside the castle"] = as_on_castle if king.beside_castle == "as_on_castle" else anywhere
        places["on the castle"] = king.on_castle, terrain * (king.on_castle == "two")
    for place, (strength, cells) in places.items():
        hostile, sides = ["attacker", *cells], "each of its four" if strength == "four" else "two opposite"
        text = f"The king {place} is captured with {_listed(hostile)} on {sides} sides."
        yield Claim(f"king {place}", {"sides": 4 if strength == "four" else 2, "hostile": hostile}, text)


def _ends(variant: Variant) -> Iterator[Claim]:
    rules, times, result = variant.rules, variant.rules.repetition.times, variant.rules.repetition.result
    either, limit = rules.no_moves == "either_after_ply", rules.move_limit
    text = f"A side that cannot move loses {'after a ply of either side' if either else 'on its turn'}."
    yield Claim("no moves", {"either": either}, text)
    text = f"Result when a position occurs {times} times: {result.replace('_', ' ')}."
    yield Claim("repetition", {"times": times, "result": result}, text)
    text = f"The game is drawn after {limit:,} plies." if limit else "The number of plies is not limited."
    yield Claim("move limit", {"plies": limit}, text)
    fort, ring = rules.fort != "none", rules.encirclement != "none"
    yield Claim(
        "fort", {"wins": fort}, f"White {'wins' if fort else 'does not win'} with an unbreakable fort on the edge."
    )
    text = f"Black {'wins' if ring else 'does not win'} by cutting every white piece off from the edge."
    yield Claim("encirclement", {"wins": ring}, text)
