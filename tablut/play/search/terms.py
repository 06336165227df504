"""The evaluation of a variant as tables: every line's score by its content, and what concerns the king.

All of it is read off the regions and slides of a variant, so that any rule set has an
evaluation, and one that its symmetries leave alone. What concerns soldiers is a sum over
lines and stands in one table, by the content of a line in base 3 (see
`tablut.engine.lines`); `tablut.play.search.evaluation` adds what depends on the king.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from tablut.engine.lines import board_lines, slide_masks
from tablut.engine.tables import build_tables
from tablut.errors import InputError
from tablut.play.search.patterns import load_patterns
from tablut.play.search.weights import CELL_TERMS, LINE_TERMS, POSITION_TERMS, RINGS, load_weights, scaled_weights
from tablut.variants.regions import CAMP_LETTERS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from tablut.play.search.patterns import Patterns
    from tablut.variants import Variant

__all__ = ["EvaluationTables", "cell_attributes", "evaluation_tables", "evaluation_tables_for", "line_features"]

_OPPOSITE: Final = {1: 4, 2: 8, 4: 1, 8: 2}


class EvaluationTables(NamedTuple):
    """The evaluation of a variant as kernels see it; N is its size, C = N² its cells.

    Attributes
    ----------
    line_score : ndarray of int16, flat
        Blocks of ``3**N`` scores of a line, by its content in base 3; white's, in
        1/SCALE centi-logits.
    line_score_at : ndarray of uint32, shape (C * 2N,)
        Where the block of a line begins, by the king's cell and the line.
    way_open : ndarray of uint16, flat
        Blocks of ``2**N`` masks: by a line's occupancy, the places from which a king
        could slide to an escape along it.
    way_open_at : ndarray of uint32, shape (2N,)
        Where the block of a line begins.
    ring : ndarray of uint8, shape (C,)
        Distance of a cell from the edge, 0 to N // 2.
    weights : ndarray of int64, shape (11,)
        Of `tablut.play.search.weights.POSITION_TERMS`, scaled.
    corners : int
        Whether corners have patterns, 1 or 0.
    corner_ternary : ndarray of uint16, shape (512,)
        By mask, the content in base 3 of nine cells with an attacker on each of them.
    corner_score : ndarray of int16, flat
        Blocks of ``3**9`` scores of a corner, by its content.
    """

    line_score: NDArray[np.int16]
    line_score_at: NDArray[np.uint32]
    way_open: NDArray[np.uint16]
    way_open_at: NDArray[np.uint32]
    ring: NDArray[np.uint8]
    weights: NDArray[np.int64]
    corners: int
    corner_ternary: NDArray[np.uint16]
    corner_score: NDArray[np.int16]


def cell_attributes(variant: Variant) -> dict[str, frozenset[int]]:
    """Return the cells that each of the terms by cell counts, whatever colour it counts.

    Parameters
    ----------
    variant : Variant
        The rule set.

    Returns
    -------
    dict
        ``camp``, ``near_escape`` (at most two steps from an escape that the king can
        reach) and ``ring_0``, ``ring_1`` ... (distance from the edge).

    Examples
    --------
    >>> from tablut.variants import load_variant
    >>> {name: len(cells) for name, cells in cell_attributes(load_variant("brandubh")).items()}
    {'camp': 0, 'near_escape': 24, 'ring_0': 24, 'ring_1': 16, 'ring_2': 8}
    """
    size, regions = variant.size, variant.regions
    cells = range(size * size)

    def _steps(first: int, second: int) -> int:
        """Return how many steps two cells are apart."""
        return abs(first // size - second // size) + abs(first % size - second % size)

    attributes = {
        "camp": frozenset(cell for camp in regions.camps for cell in camp.cells),
        "near_escape": frozenset(
            cell for cell in cells if any(_steps(cell, escape) <= 2 for escape in regions.approaches)
        ),
    }
    for ring in range(RINGS):
        attributes[f"ring_{ring}"] = frozenset(cell for cell in cells if _ring(cell, size) == ring)
    return attributes


def _ring(cell: int, size: int) -> int:
    rank, file = divmod(cell, size)
    return min(rank, file, size - 1 - rank, size - 1 - file)


def line_features(variant: Variant) -> tuple[NDArray[np.int16], NDArray[np.int64]]:
    """Return what the terms of lines and cells count on each line, for every content.

    Parameters
    ----------
    variant : Variant
        The rule set.

    Returns
    -------
    features : ndarray of int16, shape (blocks, 3**N, terms)
        By block, content in base 3, and term in the order of LINE_TERMS and CELL_TERMS.
    block : ndarray of int64, shape (2N,)
        The block of each line.
    """
    size = variant.size
    cells = [[rank * size + file for file in range(size)] for rank in range(size)]
    cells += [[rank * size + file for rank in range(size)] for file in range(size)]
    attributes = cell_attributes(variant)
    content = np.arange(3**size)
    digits = np.stack([content // 3**place % 3 for place in range(size)])
    occupancy = sum((digits[place] > 0).astype(np.int64) << place for place in range(size))
    known: dict[tuple[object, ...], int] = {}
    blocks: list[NDArray[np.int16]] = []
    block_of = []
    for terrain, places in zip(board_lines(variant), cells, strict=True):
        counted = _counted(attributes, places)
        escapes = tuple(cell in variant.regions.escapes for cell in places)
        signature = (_anonymous(terrain), escapes, tuple(map(tuple, counted)))
        if signature not in known:
            known[signature] = len(blocks)
            free = _soldier_moves(variant, terrain, digits, occupancy)
            free.append(_open_cells(variant, terrain, escapes, occupancy))
            by_cell = [
                sum((digits[place] == digit) & here for place, here in enumerate(mask)) for digit, mask in counted
            ]
            blocks.append(np.stack([np.asarray(term, dtype=np.int16) for term in free + by_cell], axis=1))
        block_of.append(known[signature])
    return np.stack(blocks), np.array(block_of)


def _anonymous(terrain: str) -> str:
    """Return the letters of a line with its camps renamed in the order in which they occur.

    Examples
    --------
    >>> _anonymous("C.B+C"), _anonymous(CAMP_LETTERS[::-1] + CAMP_LETTERS) == CAMP_LETTERS + CAMP_LETTERS[::-1]
    ('A.B.A', True)
    """
    camps = dict.fromkeys(letter for letter in terrain if letter in CAMP_LETTERS)
    names = dict(zip(camps, CAMP_LETTERS, strict=False))
    return "".join(names.get(letter, letter) for letter in terrain.replace("+", "."))


def _counted(attributes: Mapping[str, frozenset[int]], places: list[int]) -> list[tuple[int, tuple[bool, ...]]]:
    """Return, for each term by cell, the digit it counts and on which places of a line."""
    counted = []
    for term in CELL_TERMS:
        colour, _, where = term.partition("_")
        attribute = attributes[where.removeprefix("in_")]
        counted.append((1 if colour == "attackers" else 2, tuple(cell in attribute for cell in places)))
    return counted


def _soldier_moves(
    variant: Variant, terrain: str, digits: NDArray[np.int64], occupancy: NDArray[np.int64]
) -> list[NDArray[np.int64]]:
    """Return the moves along a line of its attackers, and of its white pieces as if all were defenders."""
    found = []
    for digit, masks in (
        (1, slide_masks(variant, terrain, "attacker")),
        (2, slide_masks(variant, terrain, "defender")),
    ):
        moves = np.zeros(len(occupancy), dtype=np.int64)
        for place in range(len(digits)):
            moves += np.where(digits[place] == digit, np.bitwise_count(masks[place, occupancy]), 0)
        found.append(moves)
    return found


def _open_cells(
    variant: Variant, terrain: str, escapes: tuple[bool, ...], occupancy: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the number of empty places, no escapes, from which a king could slide to an escape along the line."""
    open_places = _way_open(variant, terrain, escapes)[occupancy].astype(np.int64)
    standing = sum(
        1 << place for place, escape in enumerate(escapes) if not escape and _may_stand(variant, terrain[place])
    )
    return np.bitwise_count(open_places & ~occupancy & standing).astype(np.int64)


def _may_stand(variant: Variant, letter: str) -> bool:
    """Return whether a king on its way may stop on a cell of this terrain."""
    return letter in ".+" or (letter == "T" and variant.rules.castle.stop == "king")


def _way_open(variant: Variant, terrain: str, escapes: tuple[bool, ...]) -> NDArray[np.uint16]:
    """Return, by the occupancy of a line, the places from which a king could slide to an escape along it."""
    masks = slide_masks(variant, terrain, "king")
    target = np.uint16(sum(1 << place for place, escape in enumerate(escapes) if escape))
    found = np.zeros(masks.shape[1], dtype=np.uint16)
    for place in range(variant.size):
        found |= np.where(masks[place] & target, np.uint16(1 << place), np.uint16(0))
    return found


def evaluation_tables(
    variant: Variant, weights: Mapping[str, float] | None = None, patterns: Patterns | None = None
) -> EvaluationTables:
    """Return the evaluation of a variant.

    Parameters
    ----------
    variant : Variant
        The rule set.
    weights : mapping of str to float, optional
        One for each of `tablut.play.search.weights.TERMS`; the tuned ones, and the patterns that
        belong to them, by default.
    patterns : Patterns, optional
        Of this board, to be added to the weights given.

    Returns
    -------
    EvaluationTables
        For kernels.

    Raises
    ------
    InputError
        If a term is missing or unknown, or a line's score does not fit.

    Examples
    --------
    >>> from tablut.variants import load_variant
    >>> tables = evaluation_tables(load_variant("ashton"))
    >>> tables.line_score_at.shape  # a line's score depends on the king's cell
    (1458,)
    """
    size = variant.size
    if weights is None:
        weights, patterns = load_weights(variant), load_patterns(variant)
    scaled = scaled_weights(weights)
    features, block_of = line_features(variant)
    factors = np.array([scaled[term] for term in LINE_TERMS + CELL_TERMS], dtype=np.int64)
    scores, blocks = _with_patterns(features.astype(np.int64) @ factors, block_of, patterns, size * size)
    if np.abs(scores).max() > np.iinfo(np.int16).max:
        raise InputError("weights: too large; the score of a line does not fit into 16 bits")
    ways = [
        _way_open(variant, terrain, tuple(bool(int(mask) >> place & 1) for place in range(size)))
        for terrain, mask in zip(board_lines(variant), build_tables(variant).escapes_on, strict=True)
    ]
    return EvaluationTables(
        line_score=scores.astype(np.int16).ravel(),
        line_score_at=(blocks * 3**size).astype(np.uint32).ravel(),
        way_open=np.concatenate(ways),
        way_open_at=(np.arange(2 * size) << size).astype(np.uint32),
        ring=np.array([_ring(cell, size) for cell in range(size * size)], dtype=np.uint8),
        weights=np.array([scaled[term] for term in POSITION_TERMS], dtype=np.int64),
        corners=int(patterns is not None),
        corner_ternary=((np.arange(512)[:, None] >> np.arange(9) & 1) @ 3 ** np.arange(9)).astype(np.uint16),
        corner_score=np.zeros(1, dtype=np.int16) if patterns is None else patterns.corner_scores.ravel(),
    )


def _with_patterns(
    scores: NDArray[np.int64], block_of: NDArray[np.int64], patterns: Patterns | None, cells: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the scores of lines, one block for each line and pattern that meet, and the block by king's cell and line.

    The scores given are those of the terms, by block; ``block_of`` is the block of a line.
    """
    blocks = np.broadcast_to(block_of, (cells, len(block_of)))
    if patterns is None:
        return scores, blocks
    pairs = blocks * len(patterns.line_scores) + patterns.line_table
    met, found = np.unique(pairs, return_inverse=True)
    terms, tables = np.divmod(met, len(patterns.line_scores))
    return scores[terms] + patterns.line_scores[tables], found.reshape(pairs.shape)


@lru_cache(maxsize=16)
def evaluation_tables_for(variant: Variant) -> EvaluationTables:
    """Return the tuned evaluation of a variant, the same object for equal variants.

    Parameters
    ----------
    variant : Variant
        The rule set.

    Returns
    -------
    EvaluationTables
        The same object for equal variants.
    """
    return evaluation_tables(variant)
