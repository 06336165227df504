"""Hypothesis strategies for rule sets, boards and positions.

Beside the shipped variants there are variants that nobody plays: any combination of
rule fields, any terrain on any size. They find the table entries that no published
figure reaches.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from symmetry import Symmetry, dihedral
from tablut.position import diagram_cells, square_name
from tablut.rules import NaiveGame, NaivePosition
from tablut.variants import Rules, Variant, load_variant
from tablut.variants.model import CampRules, CastleRules, CornerRules, KingRules, Shieldwall
from tests.support.effort import fuzzing
from tests.support.games import OLDER

if TYPE_CHECKING:
    from collections.abc import Sequence


def squares(size: int) -> st.SearchStrategy[int]:
    """Generate the indices of the squares of a board."""
    return st.integers(0, size * size - 1)


def symmetries(size: int) -> st.SearchStrategy[Symmetry]:
    """Generate the eight symmetries of a board."""
    return st.sampled_from(dihedral(size))


def variants() -> st.SearchStrategy[Variant]:
    """Generate shipped variants."""
    return st.sampled_from(OLDER)


_LATER = st.fixed_dictionaries(
    {
        "shieldwall": st.none()
        | st.builds(Shieldwall, corner=st.booleans(), mover=st.sampled_from(["bracket", "any"])),
        "fort": st.sampled_from(["none", "on_edge", "on_edge_counted"]),
        "encirclement": st.sampled_from(["none", "no_way_to_edge"]),
    }
)


@st.composite
def rule_sets(draw: st.DrawFn, camp_cells: Sequence[str] = (), *, later: bool = False, forts: bool = True) -> Rules:
    """Generate combinations of rule fields, with `later` also those of the tafl family; some camp cells are inert.

    Compiled rules hold no forts on boards over 11×11. By default all of these boards have the rule on encirclement, as
    the one that ships: every kernel is compiled for one kind of them.
    """
    castle = CastleRules.model_validate(
        {
            "pass": draw(st.sampled_from(["nobody", "king", "everyone"])),
            "stop": draw(st.sampled_from(["nobody", "king"])),
            "hostile_to_white": draw(st.sampled_from(["never", "empty", "empty_or_besieged", "always"])),
            "hostile_to_black": draw(st.sampled_from(["never", "empty", "always"])),
        }
    )
    inert = draw(st.lists(st.sampled_from(sorted(camp_cells)), unique=True)) if camp_cells else []
    return Rules(
        first=draw(st.sampled_from(["white", "black"])),
        castle=castle,
        camps=CampRules(hostile=draw(st.booleans()), shelter=draw(st.booleans()), inert=tuple(inert)),
        corners=CornerRules(hostile=draw(st.booleans())),
        king=KingRules(
            armed=draw(st.booleans()),
            on_castle=draw(st.sampled_from(["four", "two"])),
            beside_castle=draw(st.sampled_from(["as_on_castle", "as_elsewhere"])),
            elsewhere=draw(st.sampled_from(["two", "four"])),
        ),
        no_moves=draw(st.sampled_from(["side_to_move_loses", "either_after_ply"])),
        repetition=draw(st.sampled_from(["draw", "mover_loses", "none"])),
        **(draw(_LATER) if later else {})
        | ({"fort": "none"} if later and (camp_cells or not forts) else {})
        | ({} if forts or fuzzing() else {"encirclement": "no_way_to_edge"}),
    )


def _camp_names(variant: Variant) -> list[str]:
    return [square_name(cell, variant.size) for camp in variant.regions.camps for cell in camp.cells]


@st.composite
def random_variants(draw: st.DrawFn, *, later: bool = False) -> Variant:
    """Generate shipped boards under any combination of rule fields."""
    variant = draw(variants())
    return replace(variant, name="random", rules=draw(rule_sets(_camp_names(variant), later=later)))


@st.composite
def random_terrains(draw: st.DrawFn, sizes: Sequence[int] = (3, 5, 7, 9, 11), *, later: bool = False) -> Variant:
    """Generate variants on boards with the castle, camps, escapes and corners anywhere."""
    size = draw(st.sampled_from(list(sizes)))
    random = Random(draw(st.integers(0, 2**32)))
    # No text on forts speaks of camps.
    camps = 0 if later and random.random() < 0.5 else 1
    cells = random.choices(".*ABCD", weights=[30, 4, *[camps] * 4], k=size * size)
    castle = random.choice([size * size // 2, random.randrange(size * size)])
    cells[castle] = random.choices("T.", weights=[5, later])[0]
    wide = later and size > 3 and random.random() < 0.2
    for corner in (0, size - 1, size * (size - 1), size * size - 1):
        if corner != castle:
            cells[corner] = random.choice("+X*.")
    for cell in range(size * size) if wide else ():
        if {0, 1, size - 2, size - 1}.issuperset(divmod(cell, size)) and cell != castle:
            cells[cell] = "X"
    start = ["K" if cell == castle else "." for cell in range(size * size)]
    homes = [cell for cell in range(size * size) if cells[cell] not in "TX" and cell != castle] or [0]
    start[random.choice(homes)] = "b"

    def _rows(letters: list[str]) -> tuple[str, ...]:
        return tuple("".join(letters[rank * size : (rank + 1) * size]) for rank in reversed(range(size)))

    variant = Variant("random", "", "", _rows(cells), _rows(start), OLDER[0].rules)
    rules = draw(rule_sets(_camp_names(variant), later=later, forts=size <= 11))
    if not {0, size - 1}.isdisjoint(divmod(castle, size)):
        rules = rules.model_copy(update={"fort": "none"})
    corners = rules.corners.model_copy(update={"wide": wide})
    return replace(variant, rules=rules.model_copy(update={"corners": corners}))


@st.composite
def small_variants(
    draw: st.DrawFn, size: int = 5, most_attackers: int = 2, most_defenders: int = 1, *, later: bool = False
) -> Variant:
    """Generate rule sets on a small board with any terrain, any rule fields and few soldiers.

    Unlike `random_terrains` the start keeps the rules of a variant file, and the board is
    small enough for every placement to be enumerated.
    """
    cells = size * size
    corners = {0, size - 1, cells - size, cells - 1}
    terrain = [draw(st.sampled_from("....*ABCD" + "+XX" * (cell in corners))) for cell in range(cells)]
    # Room for a king and an attacker, wherever the other cells are.
    inner = [cell for cell in range(cells) if cell not in corners]
    castle, home, ordinary = draw(st.permutations(inner))[:3]
    terrain[castle], terrain[home], terrain[ordinary] = draw(st.sampled_from("TT." if later else "T")), ".", "."
    start = ["."] * cells

    def _put(piece: str, ground: str, count: int) -> None:
        open_cells = [cell for cell in range(cells) if start[cell] == "." and terrain[cell] in ground]
        for cell in draw(st.permutations(open_cells))[:count]:
            start[cell] = piece

    start[draw(st.sampled_from([castle, home]))] = "K"
    _put("b", ".*+ABCD", draw(st.integers(1, most_attackers)))
    _put("w", ".*+", draw(st.integers(0, most_defenders)))

    def _rows(diagram: list[str]) -> tuple[str, ...]:
        return tuple("".join(diagram[row : row + size]) for row in range(cells - size, -1, -size))

    camps = [square_name(cell, size) for cell in range(cells) if terrain[cell] in "ABCD"]
    return Variant("drawn", "", "", _rows(terrain), _rows(start), draw(rule_sets(camps, later=later, forts=size <= 11)))


def shrunk(name: str, size: int = 5) -> Variant:
    """Return the rules of a shipped game on a small board, with two attackers and a defender."""
    whole = load_variant(name)
    letters, middle, wide = {*"".join(whole.terrain)}, size // 2, 1 + whole.rules.corners.wide

    def _ground(file: int, rank: int) -> str:
        across, up = min(file, size - 1 - file), min(rank, size - 1 - rank)
        if "X" in letters and max(across, up) < wide:
            return "X"
        if "*" in letters and min(across, up) == 0:
            return "*"
        return "T" if "T" in letters and (file, rank) == (middle, middle) else "."

    pieces = {(middle, middle): "K", (middle, 0): "b", (middle, size - 1): "b", (middle, middle - 1): "w"}
    cells = [[(file, rank) for file in range(size)] for rank in reversed(range(size))]
    terrain = tuple("".join(_ground(*cell) for cell in row) for row in cells)
    start = tuple("".join(pieces.get(cell, ".") for cell in row) for row in cells)
    return replace(whole, name=f"{name}-{size}", terrain=terrain, start=start)


def placement(variant: Variant, random: Random, *, soldiers: int | None = None) -> NaivePosition:
    """Return a random placement; half of the soldiers stand near the king.

    The position need not be reachable, and the game may be over.
    """
    size, terrain = variant.size, diagram_cells(variant.terrain)
    king_cells = [cell for cell in range(size * size) if terrain[cell] in ".+T"]
    middle = size * size // 2 if variant.regions.castle is None else variant.regions.castle
    king = middle if middle in king_cells and random.random() < 0.3 else random.choice(king_cells)
    pieces = {king: "K"}
    for _ in range(random.randrange(1, max(2, size * size // 3)) if soldiers is None else soldiers):
        if random.random() < 0.5:
            rank, file = divmod(king, size)
            rank, file = rank + random.randrange(-2, 3), file + random.randrange(-2, 3)
            if not (0 <= rank < size and 0 <= file < size):
                continue
            cell = rank * size + file
        else:
            cell = random.randrange(size * size)
        piece = random.choice("bbw")
        banned = "TX" if piece == "b" else "TXABCD"
        if cell not in pieces and terrain[cell] not in banned:
            pieces[cell] = piece
    return NaivePosition({(cell % size, cell // size): piece for cell, piece in pieces.items()}, random.choice("wb"))


def random_play(variant: Variant, random: Random, plies: int) -> list[NaivePosition]:
    """Return the undecided positions of a random game, the start first."""
    game = NaiveGame(variant)
    position = game.start()
    found = [position]
    for _ in range(plies):
        moves = game.legal_moves(position)
        if not moves:
            break
        # Captures are rare in random play, so a capturing move is preferred where there is one.
        results = [game.apply(position, move) for move in random.sample(moves, min(6, len(moves)))]
        result = max(results, key=lambda result: len(result.captured))
        if result.outcome is not None:
            break
        position = result.position
        found.append(position)
    return found
