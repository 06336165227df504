"""The cells of the *atlas*, which is this study's collection of games.

A *cell* is a shipped rule set, or a shipped rule set with one disputed rule changed.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from reports.rulebook import with_field
from tablut.errors import VariantError
from tablut.play.arena import MatchPlan, Openings, contestant
from tablut.play.players import PlayerOptions
from tablut.play.search.limits import SearchLimits
from tablut.variants import load_variant, variant_names
from tablut.variants.schema import parse_variant, write_variant

if TYPE_CHECKING:
    from tablut.variants import Variant

STRENGTHS: Final = (5_000, 50_000)
"""Playing strengths, in nodes per move for both sides."""
SHIPPED: Final = (
    *("brandubh", "brandubh-federation", "saami-tablut", "sea-battle-9", "berkeley", "leiden", "mcgill", "ashton"),
    *("bologna", "copenhagen", "fetlar", "tawlbwrdd", "tawlbwrdd-throneless", "sea-battle-11", "alea-evangelii"),
)
"""The shipped games except the reduced boards, in order of play."""
CHANGED: Final = ("brandubh", "saami-tablut", "sea-battle-9", "fetlar", "tawlbwrdd", "copenhagen", "sea-battle-11")
"""The games with single rules changed."""
SEED: Final = 20_261_123
HASH: Final = 64
"""Size of the transposition table in MiB. No search of this study fills it."""
OPENINGS: Final = Openings(4, 1, SEED)
"""Random plies at the beginning of each game. They depend on the seed, the number of the game and the legal moves."""
MOST_PLIES: Final = 500


class Cell(NamedTuple):
    """A rule set in the atlas: a shipped game, or a game with one rule changed."""

    game: str
    change: str
    words: str
    variant: Variant

    @property
    def name(self) -> str:
        """Identifier used in the data files."""
        return f"{self.game}+{self.change}" if self.change else self.game


def shipped_cell(game: str) -> Cell:
    """Return the cell for a shipped game."""
    return Cell(game, "", "as it ships", load_variant(game))


def reduced_cells() -> list[Cell]:
    """Return the cells of the shipped reduced boards, which are not in the atlas."""
    return [shipped_cell(name) for name in variant_names() if name not in SHIPPED]


def changed_cells(game: str) -> tuple[list[Cell], dict[str, str]]:
    """Return the cells where one of a game's disputed rules is changed, and the reason for each omitted change."""
    cells, left_out = [], {}
    variant = load_variant(game)
    for change in _CHANGES:
        words, fields, terrain = change_of(variant, change)
        rules = variant.rules
        for field, value in fields.items():
            rules = with_field(rules, field, value)
        other = replace(variant, name=f"{game}+{change}", terrain=terrain, rules=rules)
        try:
            # The parser of variant files reports contradictory rules.
            other = parse_variant(write_variant(other), name=other.name, origin=other.name)
        except VariantError as error:
            left_out[change] = f"{words}: {str(error).removeprefix(f'{other.name}: ')}"
            continue
        if not variant.regions.castles and change == "throne":
            left_out[change] = f"{words}: the board has no throne"
        else:
            cells.append(Cell(game, change, words, other))
    return cells, left_out


_CHANGES: Final = ("king", "armed", "escape", "throne", "repetition", "shieldwall", "fort", "encirclement")
_LOST: Final = {"times": 3, "result": "white_loses"}


def change_of(variant: Variant, change: str) -> tuple[str, dict[str, Any], tuple[str, ...]]:
    """Return a disputed rule's changed value in words, as rule field values, and as terrain."""
    rules, corners = variant.rules, bool(variant.regions.royal_corners)
    fields: dict[str, Any]
    terrain = variant.terrain
    match change:
        case "king":
            many = "two" if rules.king.elsewhere == "four" else "four"
            words, fields = f"king taken by {many}", {"king.elsewhere": many}
        case "armed":
            words, fields = f"king {'unarmed' if rules.king.armed else 'armed'}", {"king.armed": not rules.king.armed}
        case "escape":
            words = f"escape {'on the edge' if corners else 'in the corners'}"
            terrain, fields = _other_escapes(terrain, corners), {"corners.hostile": not corners}
        case "throne":
            words = "throne hostile to nobody"
            fields = {"castle.hostile_to_white": "never", "castle.hostile_to_black": "never"}
        case "repetition":
            draws = rules.repetition.draws
            words = f"repetition {'loses for white' if draws else 'draws'}"
            fields = {"repetition": _LOST if draws else _LOST | {"result": "draw"}}
        case "shieldwall":
            words = f"{'no ' if rules.shieldwall else ''}shieldwall"
            fields = {"shieldwall": None if rules.shieldwall else {"corner": corners, "mover": "bracket"}}
        case "fort":
            found = rules.fort != "none"
            words, fields = f"{'no ' if found else ''}fort", {"fort": "none" if found else "on_edge"}
        case _:
            found = rules.encirclement != "none"
            words = f"{'no ' if found else ''}encirclement"
            fields = {"encirclement": "none" if found else "no_way_to_edge"}
    return words, fields, terrain


def _other_escapes(terrain: tuple[str, ...], corners: bool) -> tuple[str, ...]:
    """Return the terrain with the escapes moved from the corners to the whole edge, or from the edge to the corners."""
    last = len(terrain) - 1

    def _letter(rank: int, file: int) -> str:
        ends = (rank in (0, last)) + (file in (0, last))
        if not ends:
            return terrain[rank][file]
        return "*" if corners else "X" if ends == 2 else "."

    return tuple("".join(_letter(rank, file) for file in range(last + 1)) for rank in range(last + 1))


def plan_of(cell: Cell, nodes: int, games: int, seed: int = SEED) -> MatchPlan:
    """Return the plan for a cell's games at one strength, as ``tablut measure alphabeta`` would play them."""
    player = contestant("alphabeta", SearchLimits(nodes=nodes), PlayerOptions(hash_mib=HASH))
    openings = OPENINGS._replace(seed=seed)
    return MatchPlan(cell.variant, player, player, games, seed, openings, None, MOST_PLIES, math.inf, paired=False)


def all_cells() -> list[Cell]:
    """Return all cells in order of play: first the shipped games, then the changed games."""
    return [*map(shipped_cell, SHIPPED), *(cell for game in CHANGED for cell in changed_cells(game)[0])]
