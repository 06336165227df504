"""The disputed points of the rules as scenes on small boards: what is set up, and what is tried there.

A scene says nothing about what follows; the engine does, when the scene is drawn (`docs.building.pictures`).
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from tablut.variants.schema import parse_variant

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tablut import Variant

# The boards: open ones, one whose edge is the king's aim, one with camps, one with corners that only a king may enter.
_SMALL = ".....\n.....\n..T..\n.....\n....."
_OPEN = ".......\n.......\n.......\n...T...\n.......\n.......\n......."
_EDGE = "*****\n*...*\n*.T.*\n*...*\n*****"
_CAMPS = "..AAA..\n...A...\n.......\n...T...\n.......\n...B...\n..BBB.."
_CORNERS = "X...X\n.....\n..T..\n.....\nX...X"
_STARTS = {
    5: "..b..\n.....\nb.K.b\n.....\n..b..",
    7: "...b...\n...b...\n...w...\nbbwKwbb\n...w...\n...b...\n...b...",
}

# What holds in a scene unless it says otherwise.
_RULES = {
    "first": '"black"',
    "no_moves": '"side_to_move_loses"',
    "repetition": '"draw"',
    "castle.pass": '"nobody"',
    "castle.stop": '"nobody"',
    "castle.hostile_to_white": '"never"',
    "castle.hostile_to_black": '"never"',
    "camps.hostile": "true",
    "camps.shelter": "true",
    "camps.inert": "[]",
    "corners.hostile": "true",
    "king.armed": "true",
    "king.on_castle": '"four"',
    "king.beside_castle": '"as_on_castle"',
    "king.elsewhere": '"two"',
}


class Scene(NamedTuple):
    """A position and what is tried in it."""

    heading: str
    position: str
    tried: str
    terrain: str = _SMALL
    rules: Mapping[str, str] = {}


class Subject(NamedTuple):
    """A column of pictures for each value of a field, or one row where nothing is disputed."""

    name: str
    values: tuple[str, ...]
    scenes: tuple[Scene, ...]


@cache
def _game(terrain: str, rules: tuple[tuple[str, str], ...]) -> Variant:
    tables: dict[str, list[str]] = {}
    for field, value in rules:
        table, _, name = field.rpartition(".")
        tables.setdefault(table, []).append(f"{name} = {value}")
    lines = ["format = 1", 'title = "A scene"', 'source = "docs/rules.md"']
    lines += [
        f'terrain = """\n{terrain}\n"""',
        f'start = """\n{_STARTS[terrain.count(chr(10)) + 1]}\n"""',
        *tables.pop(""),
    ]
    for table, fields in tables.items():
        lines += [f"[{table}]", *fields]
    return parse_variant("\n".join(lines), name="scene", origin="docs/building/scenes.py")


def game_of(scene: Scene, field: str = "", value: str = "") -> Variant:
    """Return the rules of a scene."""
    rules = _RULES | dict(scene.rules) | ({field: value} if value else {})
    return _game(scene.terrain, tuple(rules.items()))


SUBJECTS = (
    Subject(
        "slides",
        (),
        (
            Scene("like a rook, without a jump", "7/7/3b3/3K3/1w1b2w/7/7 w", "b3", _OPEN),
            Scene("out of a camp, and within it", "7/3b3/7/3K3/7/7/7 b", "d6", _CAMPS),
            Scene("nobody comes in", "7/7/2b4/3K3/7/7/7 b", "c5", _CAMPS),
        ),
    ),
    Subject(
        "captures",
        (),
        (
            Scene("between two attackers", "7/7/7/3K3/7/1bw4/3b3 b", "d1-d2", _OPEN),
            Scene("three at once", "7/7/7/3Kb2/4w2/2bw1wb/4b2 b", "e1-e2", _OPEN),
            Scene("moving in between is safe", "7/7/7/3K3/7/1b1b3/2w4 w", "c1-c2", _OPEN),
            Scene("the edge is no anvil", "7/7/w6/3K3/1b5/7/7 b", "b3-b5", _OPEN),
        ),
    ),
    Subject(
        "ends",
        (),
        (
            Scene("the king on an escape cell", "5/1K3/5/5/3b1 w", "b4-a4", _EDGE),
            Scene("black's last soldier taken", "5/5/2K2/1bw2/w4 w", "a1-a2"),
        ),
    ),
    Subject(
        "castle.pass",
        ('"nobody"', '"king"', '"everyone"'),
        (
            Scene("a soldier beside the castle", "K4/5/1b3/5/5 b", "b3"),
            Scene("the king beside it", "5/5/1K3/5/b4 w", "b3"),
        ),
    ),
    Subject("castle.stop", ('"nobody"', '"king"'), (Scene("the king beside the castle", "5/5/1K3/5/b4 w", "b3"),)),
    Subject(
        "castle.hostile_to_white",
        ('"never"', '"empty"', '"empty_or_besieged"', '"always"'),
        (
            Scene("the castle is empty", "b4/2w2/5/5/K4 b", "a5-c5"),
            Scene("the king stands on it", "b4/2w2/2K2/5/5 b", "a5-c5"),
            Scene("the king stands on it, besieged", "b4/2w2/1bKb1/2b2/5 b", "a5-c5"),
        ),
    ),
    Subject(
        "castle.hostile_to_black",
        ('"never"', '"empty"', '"always"'),
        (
            Scene("the castle is empty", "w4/2b2/5/5/K3b w", "a5-c5"),
            Scene("an unarmed king stands on it", "w4/2b2/2K2/5/4b w", "a5-c5", rules={"king.armed": "false"}),
        ),
    ),
    Subject(
        "camps.hostile",
        ("true", "false"),
        (
            Scene("a defender", "7/2w4/b6/3K3/7/7/7 b", "a5-c5", _CAMPS),
            Scene("an attacker", "7/2b4/w6/3K3/7/6b/7 w", "a5-c5", _CAMPS),
            Scene("the king", "7/2K4/b6/7/7/7/7 b", "a5-c5", _CAMPS),
        ),
    ),
    Subject(
        "camps.shelter",
        ("true", "false"),
        (Scene("an attacker in a camp", "7/2wb3/4w2/3K3/7/6b/7 w", "e5-e6", _CAMPS),),
    ),
    Subject(
        "camps.inert",
        ("[]", '["d7"]'),
        (Scene("d7 behind an attacker", "7/3b3/w6/3K3/7/6b/7 w", "a5-d5", _CAMPS, {"camps.shelter": "false"}),),
    ),
    Subject(
        "corners.hostile",
        ("true", "false"),
        (
            Scene("a defender", "5/5/2K2/2b2/1w3 b", "c2-c1", _CORNERS),
            Scene("an attacker", "5/4b/K4/2w2/1b3 w", "c2-c1", _CORNERS),
            Scene("the king", "5/5/5/2b2/1K3 b", "c2-c1", _CORNERS),
        ),
    ),
    Subject(
        "king.armed",
        ("true", "false"),
        (
            Scene("the king moves", "4b/5/5/wb2K/5 w", "e2-c2"),
            Scene("the king is the anvil", "4b/5/5/Kb2w/5 w", "e2-c2"),
        ),
    ),
    Subject(
        "king.on_castle",
        ('"four"', '"two"'),
        (
            Scene("attackers on two sides", "5/2b2/2K2/b4/5 b", "a2-c2"),
            Scene("on all four", "5/2b2/1bKb1/b4/5 b", "a2-c2"),
        ),
    ),
    Subject(
        "king.beside_castle",
        ('"as_on_castle"', '"as_elsewhere"'),
        (
            Scene("attackers on two sides", "3b1/1bK2/5/5/5 b", "d5-d4"),
            Scene("on the other three", "2bb1/1bK2/5/5/5 b", "d5-d4"),
        ),
    ),
    Subject(
        "king.elsewhere",
        ('"two"', '"four"'),
        (
            Scene("attackers on two sides", "5/5/5/bK3/2b2 b", "c1-c2"),
            Scene("on all four", "5/5/1b3/bK3/1bb2 b", "c1-c2"),
        ),
    ),
    Subject(
        "no_moves",
        ('"side_to_move_loses"', '"either_after_ply"'),
        (
            Scene("white shuts black in", "5/5/2K2/w4/b1w2 w", "c1-b1"),
            Scene("black shuts itself in", "2b4/1w5/2w4/3K3/7/7/7 b", "c7-c6", _CAMPS),
        ),
    ),
)

# The same position again, after two plies of each side.
REPETITION = Scene("the king goes and comes back", "4b/5/5/5/K4 w", "a1-b1 e5-d5 b1-a1 d5-e5")
REPETITION_VALUES = ('"draw"', '"mover_loses"', '"none"')
