"""What the evaluation counts, and how much each of it weighs.

A term is a number that describes a position from white's side; the evaluation is the
sum of the terms, each times its weight. Weights are in centi-logits: 100 more mean
that the odds of white winning are e times as high. They come from self-play
(`benchmarks.tuning`) and stand in ``data/weights.json``, one set for each family of
boards: escapes in the corners; on the edge beside camps; on the edge alone, with a king
that two soldiers capture or with one that takes four. Without camps, those whose plies
act afar (rings, forts, shieldwalls) have sets of their own.
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
"""Distances from the edge with a weight of their own; what lies further in is the measure."""

LINE_TERMS: Final = ("attacker_moves", "defender_moves", "open_escapes", "ends_closed", "ends_open")
"""Counted on every row and column: moves of the soldiers, cells from which the way to an escape is free; of the ends
of lines with white pieces, those from which an attacker is seen first (four for each line, if a ring is closed) or
one of white's."""

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
    "fort_wall",
)
"""Counted once: material, then the king's freedom, then what stands around it, then who is to move; where there are
forts, defenders at most two ranks and files from a king at distance 0 or 1 from the edge."""

CORNER_TERMS: Final = ("corner_guards", "corners_sealed")
"""Counted in corners that are escapes, where plies act afar: attackers on the diagonal of four cells, and how
many corners have that one or the one of three cells full of them."""

TERMS: Final = LINE_TERMS + CELL_TERMS + POSITION_TERMS + CORNER_TERMS

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

_ENDS_WEIGHTS: Final[Mapping[str, float]] = {"ends_closed": -12.0, "ends_open": 6.0}
_CORNER_WEIGHTS: Final[Mapping[str, float]] = {"fort_wall": 15.0, "corner_guards": -10.0, "corners_sealed": -120.0}
"""Beside these, where plies act afar, and where the king also escapes in corners; each family's took a match."""

Family = Literal["corner", "camps", "edge", "edge_four", "corner_afar", "edge_afar", "edge_four_afar"]


def hand_weights(family: str) -> Mapping[str, float]:
    """Return the hand-set weights of a family."""
    afar = _ENDS_WEIGHTS if family.endswith("_afar") else {}
    return {**HAND_WEIGHTS, **afar, **(_CORNER_WEIGHTS if family == "corner_afar" else {})}


def weights_family(variant: Variant) -> Family:
    """Return which set of weights a variant uses, by where its king escapes and how it falls, and by what acts afar."""
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
    """Return the tuned weights for a variant, by term, in centi-logits."""
    return dict(_stored()[weights_family(variant)])


def scaled_weights(weights: Mapping[str, float]) -> dict[str, int]:
    """Return weights as integers: `SCALE` to a centi-logit, half of that for what two lines count."""
    if set(weights) != set(TERMS):
        odd = sorted(set(weights) ^ set(TERMS))
        raise InputError(f"weights: terms {', '.join(odd)} are missing or unknown")
    return {term: round(weights[term] * (SCALE // 2 if term in CELL_TERMS else SCALE)) for term in TERMS}


# -- what the evaluation has learnt by heart: a score for every content of a line and of a corner ---


# Terms count what a person would count. A pattern knows what the games showed of exactly these
# men on exactly this line, with the king where it is. Patterns are added to the terms, and cost
# no look-up of their own on lines, since the score of a line stands in a table either way. They
# come from self-play (`benchmarks.tuning.patterns`), hold for one board and one family of weights,
# and stand in ``data/patterns``, a file for each.


CORNER: Final = 3
"""The side of the square of cells in a corner that a pattern covers; where plies act afar, of the triangle there."""


NO_NET: Final = np.zeros((0, 8), dtype=np.int16)


class Patterns(NamedTuple):
    """Scores by content for one board; N is its size, C = N² its cells. All are white's, in 1/SCALE centi-logits.

    Attributes
    ----------
    terrain : str
        The C letters of the board.
    family : str
        Beside whose weights they were learnt, see `tablut.play.search.weights.weights_family`.
    made : str
        By which command, of how many positions.
    line_scores : ndarray of int16, shape (tables, 3**N)
        By table, and content of a line in base 3: digit 1 an attacker, 2 a white piece.
    line_table : ndarray of uint8, shape (C, 2N)
        The table for the king's cell and the line.
    corner_scores : ndarray of int16, shape (4, 3**9)
        By corner and the content of its cells, see `corner_cells`.
    net : ndarray of int16, shape (3 * C + 3, 8)
        By unit, what it adds for an attacker on a cell, a white piece, the king once more, white to move, black to
        move, and how much it says (`tablut.play.search.net`); or no rows.
    """

    terrain: str
    family: str
    made: str
    line_scores: NDArray[np.int16]
    line_table: NDArray[np.uint8]
    corner_scores: NDArray[np.int16]
    net: NDArray[np.int16] = NO_NET


def corner_rows(family: str, size: int) -> int:
    """Return on how many rows of a corner its pattern lies: three, a square; or four, the triangle that can seal it."""
    return CORNER + (family.endswith("_afar") and size > CORNER)


def corner_cells(size: int, rows: int = CORNER) -> list[list[int]]:
    """Return the cells that the patterns of each corner cover, in the order of the digits."""
    near = [[(row, file) for file in range(rows) if rows == CORNER or 0 < row + file <= CORNER] for row in range(rows)]
    corners = []
    for upper, right in product((False, True), repeat=2):
        ranks = [size - 1 - row if upper else row for row in range(rows)]
        files = [sorted(size - 1 - file if right else file for _, file in of_row) for of_row in near]
        corners.append([rank * size + file for rank, of_rank in zip(ranks, files, strict=True) for file in of_rank])
    return corners


def read_patterns(stored: bytes) -> Patterns:
    """Return patterns that were written."""
    with np.load(io.BytesIO(stored), allow_pickle=False) as arrays:
        terrain, family, made = (str(arrays[name]) for name in ("terrain", "family", "made"))
        lines, corners = arrays["line_scores"], arrays["corner_scores"]
        net = arrays.get("net", NO_NET)
        return Patterns(terrain, family, made, lines, arrays["line_table"], corners, net)


def written_patterns(patterns: Patterns) -> bytes:
    """Return patterns as the bytes of a file; the same ones for the same patterns."""
    written = io.BytesIO()
    np.savez_compressed(written, **patterns._asdict())
    return written.getvalue()


@cache
def _shipped() -> dict[tuple[str, str], Traversable]:
    """Return the files of patterns by what they are for. Only that is read of each."""
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

    Where plies act afar, those of a family that is the same otherwise are better than none.
    """
    terrain, family = "".join(diagram_cells(variant.terrain)), weights_family(variant)
    return _stored_patterns(terrain, family) or _stored_patterns(terrain, family.removesuffix("_afar"))
