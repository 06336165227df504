"""Terms of the evaluation and their weights.

A term is a number that describes a position from white's point of view. The evaluation is the sum of the terms, each
multiplied by its weight. Weights are in centi-logits: an increase of 100 multiplies white's odds of winning by e. The
weights were tuned by self-play (`benchmarks.tuning`) and are stored in ``data/weights.json``.

There is one set of weights for each family of boards. The first family has escapes in the corners, and the second has
escapes on the edge beside camps. Boards with escapes on the edge but no camps form two families, in which either two or
four soldiers capture the king. Boards that have no camps and whose moves have distant effects (rings, forts,
shieldwalls) have separate sets.
"""

from __future__ import annotations

import io
import json
from functools import cache
from importlib.resources import files
from itertools import product
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import numpy as np

from tablut.errors import InputError
from tablut.notation import diagram_cells

if TYPE_CHECKING:
    from collections.abc import Mapping
    from importlib.resources.abc import Traversable

    from numpy.typing import NDArray

    from tablut.variants import Variant

RINGS: Final = 3
"""Number of distances from the edge with separate weights. Cells further inside are the baseline and have no weight."""

LINE_TERMS: Final = ("attacker_moves", "defender_moves", "open_escapes", "ends_closed", "ends_open")
"""Terms counted on every row and column.

The first three count the moves of the soldiers and the cells from which the way to an escape is free. The other two
count the ends of lines that contain white pieces. ``ends_closed`` counts the ends from which the first piece seen is an
attacker, and ``ends_open`` counts the ends from which it is a white piece. If white is surrounded, all ends are closed.
"""

CELL_TERMS: Final = (
    "attackers_in_camp",
    "attackers_near_escape",
    "defenders_near_escape",
    *(f"attackers_ring_{ring}" for ring in range(RINGS)),
    *(f"defenders_ring_{ring}" for ring in range(RINGS)),
)
"""Terms counted on every cell.

The terms for defenders also count the king, because the content of a line does not distinguish it from a defender.
"""

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
    "fort_wall",
)
"""Terms counted once for the position.

They describe the material, the king's freedom, the pieces around the king, and the side to move. ``fort_wall`` applies
only to variants with forts. If the king is at distance 0 or 1 from the edge, this term counts the defenders that are at
most two ranks and two files from the king.
"""

CORNER_TERMS: Final = ("corner_guards", "corners_sealed")
"""Terms for corners that are escapes, on boards whose moves have distant effects.

``corner_guards`` counts the attackers on the diagonal of four cells near the corner. ``corners_sealed`` counts the
corners in which this diagonal, or the diagonal of three cells, is filled with attackers.
"""

TERMS: Final = LINE_TERMS + CELL_TERMS + POSITION_TERMS + CORNER_TERMS

SCALE_BITS: Final = 4
SCALE: Final = 1 << SCALE_BITS
"""Number of units in a centi-logit. Weights are rounded to whole units, so that integers represent them exactly."""

Family = Literal["corner", "camps", "edge", "edge_four", "corner_afar", "edge_afar", "edge_four_afar"]


def weights_family(variant: Variant) -> Family:
    """Return the family of a variant, that is, the name of the set of weights that the variant uses.

    The family depends on where the king escapes, how it is captured, and whether moves have distant effects.
    """
    last, afar = variant.size - 1, variant.rules.act_afar
    corners = {0, last, variant.size * last, variant.size * variant.size - 1}
    if variant.regions.escapes <= corners:
        return "corner_afar" if afar else "corner"
    if variant.regions.camps:
        return "camps"
    if variant.rules.king.elsewhere == "two":
        return "edge_afar" if afar else "edge"
    return "edge_four_afar" if afar else "edge_four"


@cache
def _stored() -> dict[str, dict[str, float]]:
    text = files("tablut.play.search").joinpath("data", "weights.json").read_text(encoding="utf-8")
    weights: dict[str, dict[str, float]] = json.loads(text)["weights"]
    return weights


def load_weights(variant: Variant) -> dict[str, float]:
    """Return the tuned weights for a variant, in centi-logits, keyed by term."""
    return dict(_stored()[weights_family(variant)])


def scaled_weights(weights: Mapping[str, float]) -> dict[str, int]:
    """Return weights as integers in 1/`SCALE` centi-logits.

    Weights of cell terms are halved, because each cell is counted on two lines.
    """
    if set(weights) != set(TERMS):
        odd = sorted(set(weights) ^ set(TERMS))
        raise InputError(f"have missing or unknown terms: {', '.join(odd)}", subject="weights")
    return {term: round(weights[term] * (SCALE // 2 if term in CELL_TERMS else SCALE)) for term in TERMS}


# -- patterns: a learnt score for every possible content of a line and of a corner ---------


# Terms are features that a person would choose. A pattern is a score, learnt from games, for a particular arrangement
# of men on a particular line, given the king's cell. The scores of patterns are added to those of the terms. On lines,
# they cost no extra look-up, because the score of a line comes from a table anyway. Patterns are learnt from self-play
# (`benchmarks.tuning.patterns`). Each file in ``data/patterns`` contains the patterns for one board and one family of
# weights.


CORNER: Final = 3
"""Side length of the square that a pattern covers in a corner, except on boards whose moves have distant effects."""


NO_NET: Final = np.zeros((0, 8), dtype=np.int16)


class Patterns(NamedTuple):
    """Learnt scores of lines and corners for one board. N is the board's size, and C = N² is its number of cells.

    All scores are from white's point of view, in units of 1/`SCALE` centi-logits.

    Attributes
    ----------
    terrain : str
        The C letters of the board.
    family : str
        Family of weights with which the patterns were learnt; see `weights_family`.
    made : str
        Command that created the patterns, and the number of positions used.
    line_scores : ndarray of int16, shape (tables, 3**N)
        Scores by table and by content of a line in base 3. Digit 1 is an attacker, and digit 2 is a white piece.
    line_table : ndarray of uint8, shape (C, 2N)
        Number of the table to use for each cell of the king and each line.
    corner_scores : ndarray of int16, shape (4, 3**9)
        Scores by corner and by content of the corner's cells; see `corner_cells`.
    net : ndarray of int16, shape (3 * C + 3, 8)
        Weights of each unit of the net (`tablut.play.search.net`). The rows are an attacker on each cell, a white piece
        on each cell, the king on each cell, white to move, black to move, and the output weight. The array has no rows
        if there is no net.
    """

    terrain: str
    family: str
    made: str
    line_scores: NDArray[np.int16]
    line_table: NDArray[np.uint8]
    corner_scores: NDArray[np.int16]
    net: NDArray[np.int16] = NO_NET


def corner_rows(family: str, size: int) -> int:
    """Return the number of rows in a corner's pattern: 3 if the pattern is a square, 4 if it is a triangle."""
    return CORNER + (family.endswith("_afar") and size > CORNER)


def corner_cells(size: int, rows: int = CORNER) -> list[list[int]]:
    """Return the cells that the patterns cover in each corner, in the order of the digits."""
    near = [[(row, file) for file in range(rows) if rows == CORNER or 0 < row + file <= CORNER] for row in range(rows)]
    corners = []
    for upper, right in product((False, True), repeat=2):
        ranks = [size - 1 - row if upper else row for row in range(rows)]
        files = [sorted(size - 1 - file if right else file for _, file in of_row) for of_row in near]
        corners.append([rank * size + file for rank, of_rank in zip(ranks, files, strict=True) for file in of_rank])
    return corners


def read_patterns(stored: bytes) -> Patterns:
    """Read patterns from the bytes of a file."""
    with np.load(io.BytesIO(stored), allow_pickle=False) as arrays:
        terrain, family, made = (str(arrays[name]) for name in ("terrain", "family", "made"))
        lines, corners = arrays["line_scores"], arrays["corner_scores"]
        net = arrays.get("net", NO_NET)
        return Patterns(terrain, family, made, lines, arrays["line_table"], corners, net)


@cache
def _shipped() -> dict[tuple[str, str], Traversable]:
    """Return the packaged pattern files, keyed by terrain and family, without reading the scores in them."""
    found = {}
    for file in files("tablut.play.search").joinpath("data", "patterns").iterdir():
        if file.name.endswith(".npz"):
            with file.open("rb") as opened, np.load(opened, allow_pickle=False) as arrays:
                found[str(arrays["terrain"]), str(arrays["family"])] = file
    return found


@cache
def _stored_patterns(terrain: str, family: str) -> Patterns | None:
    file = _shipped().get((terrain, family))
    return None if file is None else read_patterns(file.read_bytes())


def load_patterns(variant: Variant) -> Patterns | None:
    """Return the patterns for the board and the family of a variant, or None if there are none.

    A family with distant effects falls back on the patterns of the corresponding family without distant effects.
    """
    terrain, family = "".join(diagram_cells(variant.terrain)), weights_family(variant)
    return _stored_patterns(terrain, family) or _stored_patterns(terrain, family.removesuffix("_afar"))
