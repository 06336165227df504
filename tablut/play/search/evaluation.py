"""Compiled static evaluation from white's point of view: a sum over lines, and terms that depend on the king.

Scores are in centi-logits: an increase of 100 multiplies white's odds of winning by e. Immediate wins are ignored,
because the search looks for them first (`tablut.play.search.node`). A *line* is a row or a column, a *place* is a
cell's index on its line, and a *wide* board is larger than 11×11.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tablut.engine.attacks import attackers_beside, king_slides, open_way, pieces_beside
from tablut.engine.distant import is_far
from tablut.engine.jit import I64, called, inlined, kernel, pointer, popcount, trailing_zeros
from tablut.engine.kernel_records import flat
from tablut.engine.kernels import line_content, moves_by_slides
from tablut.engine.layout import (
    BoardArray,
    board_items,
    coordinates,
    count_of,
    is_wide,
    king_of,
    line_of,
    occupied,
    own_pieces,
    side_of,
)
from tablut.engine.tables import board_lines, build_tables, slide_masks
from tablut.errors import InputError
from tablut.play.search.weights import (
    CELL_TERMS,
    CORNER,
    CORNER_TERMS,
    LINE_TERMS,
    POSITION_TERMS,
    RINGS,
    SCALE_BITS,
    corner_cells,
    corner_rows,
    load_patterns,
    load_weights,
    net_rows,
    net_score,
    scaled_weights,
    weights_family,
)
from tablut.position import NARROW
from tablut.variants.model import CAMP_LETTERS, derived

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from tablut.engine.tables import Tables
    from tablut.play.search.weights import Patterns
    from tablut.variants import Variant

(
    _ATTACKERS,
    _DEFENDERS,
    _KING_RAYS,
    _KING_PATHS,
    _KING_HAS_PATH,
    _KING_MOVES,
    _KING_RING,
    _ATTACKERS_BESIDE,
    _DEFENDERS_BESIDE,
    _CAPTURE_SIDES,
    _TEMPO,
    _FORT_WALL,
) = range(len(POSITION_TERMS))
"""Indices of the terms in `POSITION_TERMS` and of their weights."""
_CORNER_CONTENTS = 3 ** (CORNER * CORNER)
_MOST_PATHS = 4
"""Maximum number of king moves that are counted as threats to escape. Further threats are ignored."""


@inlined
def _rays(targets: int, place: int) -> int:
    """Return the number of directions (0 to 2) along a line that contain a target, as seen from a place."""
    below = targets & ((1 << place) - 1)
    return I64(below != 0) + I64((targets >> place) != 0)


@inlined
def open_places(rules: Tables, evaluation: EvaluationTables, board: BoardArray, line: int) -> int:
    """Return the places on a line from which a king could slide along the line to an escape."""
    at, occupancy = I64(evaluation.way_open_at[line]), occupied(line_of(board, line))
    if not is_wide(rules.exposed):
        return I64(evaluation.way_open[at + occupancy])
    found, escapes = I64(0), I64(rules.escapes_on[line]) & ~occupancy
    while escapes:
        place = trailing_zeros(escapes)
        escapes &= escapes - 1
        found |= I64(evaluation.way_open[at + place]) & open_way(occupancy, place)
    return found


@inlined
def _king_paths(
    rules: Tables, evaluation: EvaluationTables, board: BoardArray, king: int, row: int, column: int
) -> int:
    """Return how many of the king's moves, which are given as masks, could be followed by an escape at right angles."""
    rank, file = coordinates(rules, king)
    paths = 0
    while row:
        place = I64(trailing_zeros(row))
        row &= row - 1
        paths += (open_places(rules, evaluation, board, rules.size + place) >> rank) & 1
    while column:
        place = I64(trailing_zeros(column))
        column &= column - 1
        paths += (open_places(rules, evaluation, board, place) >> file) & 1
    return paths


@inlined
def king_terms(rules: Tables, evaluation: EvaluationTables, board: BoardArray) -> int:
    """Return the scaled part of the evaluation that depends on the king."""
    weights = evaluation.weights
    king = king_of(rules, board)
    rank, file = coordinates(rules, king)
    attackers = attackers_beside(rules, board, king)
    defenders = pieces_beside(rules, board, king, I64(0))
    sides = I64(rules.capture_sides[king * 16 + attackers]) & ~defenders
    score = weights[_KING_RING] * I64(evaluation.ring[king]) + weights[_CAPTURE_SIDES] * popcount(sides)
    score += weights[_ATTACKERS_BESIDE] * popcount(attackers) + weights[_DEFENDERS_BESIDE] * popcount(defenders)
    row, column = king_slides(rules, board, king)
    if (row | column) != 0:
        rays = _rays(row & I64(rules.escapes_on[rank]), file)
        rays += _rays(column & I64(rules.escapes_on[rules.size + file]), rank)
        paths = min(_king_paths(rules, evaluation, board, king, row, column), _MOST_PATHS)
        score += weights[_KING_RAYS] * rays + weights[_KING_MOVES] * (popcount(row) + popcount(column))
        score += weights[_KING_PATHS] * paths + weights[_KING_HAS_PATH] * I64(paths != 0)
    if is_far(rules.distant) and rules.distant.fort != 0 and evaluation.ring[king] <= 1:
        score += weights[_FORT_WALL] * _near_defenders(rules, board, rank, file)
    return score


@inlined
def _near_defenders(rules: Tables, board: BoardArray, rank: int, file: int) -> int:
    """Return the number of defenders that are at most two ranks and two files from the king."""
    count = I64(-1)
    for near in range(max(rank - 2, 0), min(rank + 3, rules.size)):
        count += popcount(((own_pieces(line_of(board, near), 0) << 2) >> file) & 31)
    return count


@inlined
def _corner_patterns(rules: Tables, evaluation: EvaluationTables, board: BoardArray, rows: int) -> int:
    """Return the scaled sum of the four corners' pattern scores, from white's point of view."""
    score = I64(0)
    for corner in range(4):
        first, step = (I64(0), I64(1)) if corner < 2 else (I64(rules.size - 1), I64(-1))
        attackers, whites = I64(0), I64(0)
        for row in range(rows):
            # The rows of a triangle have 3, 3, 2 and 1 cells, because the corner itself is left out.
            width = CORNER if rows == CORNER else min(rows - row, CORNER)
            inset = 1 if row == 0 and rows != CORNER else 0
            shift = rules.size - width - inset if corner & 1 else inset
            content, mask = line_of(board, first + step * row), (1 << width) - 1
            attackers |= ((own_pieces(content, 1) >> shift) & mask) << (CORNER * row)
            whites |= ((own_pieces(content, 0) >> shift) & mask) << (CORNER * row)
        content = I64(evaluation.corner_ternary[attackers]) + 2 * I64(evaluation.corner_ternary[whites])
        score += I64(evaluation.corner_score[corner * _CORNER_CONTENTS + content])
    return score


@called
def _line_terms(rules: Tables, evaluation: EvaluationTables, board: BoardArray) -> int:
    """Return the scaled part of a wide board's evaluation that is a sum over lines and cells."""
    size, factors = rules.size, 2 * rules.cells
    score = evaluation.line_score[factors] * moves_by_slides(rules, board, I64(1), I64(-1))
    score += evaluation.line_score[factors + 1] * moves_by_slides(rules, board, I64(0), I64(-1))
    for line in range(2 * size):
        occupancy = occupied(line_of(board, line))
        standing = I64(evaluation.way_open[I64(evaluation.way_open_at[line]) + size])
        free = open_places(rules, evaluation, board, line) & standing & ~occupancy
        score += evaluation.line_score[factors + 2] * popcount(free)
        black, white = own_pieces(line_of(board, line), 1), own_pieces(line_of(board, line), 0)
        if white != 0:
            closed = I64(black > white) + I64(black != 0 and (black & -black) < (white & -white))
            score += evaluation.line_score[factors + 3] * closed + evaluation.line_score[factors + 4] * (2 - closed)
    for side in range(2):
        for rank in range(size):
            own = own_pieces(line_of(board, rank), side)
            while own:
                score += evaluation.line_score[(1 - side) * rules.cells + rank * size + trailing_zeros(own)]
                own &= own - 1
    return I64(score)


@inlined
def evaluate(rules: Tables, evaluation: EvaluationTables, board: BoardArray) -> int:
    """Return the evaluation of an undecided position from white's point of view, in centi-logits."""
    lines = 2 * rules.size
    weights = evaluation.weights
    score = weights[_ATTACKERS] * count_of(rules, board, 1) + weights[_DEFENDERS] * count_of(rules, board, 0)
    score += king_terms(rules, evaluation, board)
    of_king = king_of(rules, board) * lines
    if is_wide(board):
        score += _line_terms(rules, evaluation, board)
    for line in range(0 if is_wide(board) else lines):
        score += I64(
            evaluation.line_score[I64(evaluation.line_score_at[of_king + line]) + line_content(rules, I64(board[line]))]
        )
    if evaluation.corners == CORNER:
        score += _corner_patterns(rules, evaluation, board, CORNER)
    if is_far(rules.distant) and evaluation.corners > CORNER:
        score += _corner_patterns(rules, evaluation, board, CORNER + 1)
    if not is_wide(board) and evaluation.has_net != 0:
        score += net_score(rules, evaluation.net, board)
    # The tempo term counts in favour of the side to move.
    score += weights[_TEMPO] * (1 - 2 * side_of(rules, board))
    return score >> SCALE_BITS


@kernel
def evaluate_boards(
    tables: Tables, terms: EvaluationTables, boards: NDArray[np.uint32], scores: NDArray[np.int64]
) -> None:
    """Write the evaluations of ``boards``, of shape (n, 2N + 4), into ``scores``, for white and in centi-logits."""
    rules, evaluation = flat(tables), flat(terms)
    items = board_items(rules.size)
    for index in range(len(boards)):
        scores[index] = evaluate(rules, evaluation, pointer(boards[index, :items]))


# -- evaluation tables: the score of every line, by content, and data about the king ---


# The tables are derived from the regions and slides of a variant. Therefore every rule set has an evaluation, which is
# invariant under the symmetries of the board. The terms for soldiers are a sum over lines. They are stored in one
# table, indexed by line content in base 3 (see `tablut.engine.tables`). The terms for the king are computed at
# run time (`king_terms`).


_OPPOSITE: Final = {1: 4, 2: 8, 4: 1, 8: 2}


class EvaluationTables(NamedTuple):
    """Evaluation tables of a variant for the kernels. N is the board's size, and C = N² is its number of cells.

    - ``line_score``: Blocks of ``3**N`` scores of a line, indexed by its pieces in base 3, in 1/SCALE centi-logits for
      white. For wide boards, int32 scores of an attacker and of a white piece on each cell, and the line terms'
      weights.
    - ``line_score_at``: Start of the block to use for each cell of the king and each line.
    - ``way_open``: Blocks of ``2**N`` masks, indexed by line occupancy: the places from which a king could slide along
      the line to an escape. For wide boards, ``N + 1`` masks of uint32: for each place that is an escape, the places
      from which a king on an empty line can reach it; and the places where a king may stop, except escapes.
    - ``way_open_at``: Start of a line's block.
    - ``ring``: Distance of a cell from the edge, from 0 to N // 2.
    - ``weights``: Scaled weights of `tablut.play.search.weights.POSITION_TERMS`.
    - ``corners``: Number of rows in a corner's pattern (`tablut.play.search.weights.corner_rows`), or 0.
    - ``corner_ternary``: Base-3 number of a corner's nine cells, indexed by the mask of its attackers (three bits a
      row).
    - ``corner_score``: Blocks of ``3**9`` scores, indexed by the pieces in a corner.
    - ``has_net``, ``net``: Whether there is a net, and its rows; see `tablut.play.search.weights.net_rows`.
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
    has_net: int
    net: NDArray[np.int16]


def cell_attributes(variant: Variant) -> dict[str, frozenset[int]]:
    """Return the sets of cells that the cell terms refer to, keyed by term name without the colour."""
    size, regions = variant.size, variant.regions
    cells = range(size * size)

    def _steps(first: int, second: int) -> int:
        """Return the Manhattan distance between two cells."""
        return abs(first // size - second // size) + abs(first % size - second % size)

    attributes = {
        "camp": regions.camp_terrain,
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
    """Return the values of the line and cell terms for every possible line, and the number of each line's block.

    The values have one block for each kind of line; rows are the possible arrangements of pieces, columns the terms.
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
            free.extend(_first_seen(digits))
            by_cell = [
                sum((digits[place] == digit) & here for place, here in enumerate(mask)) for digit, mask in counted
            ]
            blocks.append(np.stack([np.asarray(term, dtype=np.int16) for term in free + by_cell], axis=1))
        block_of.append(known[signature])
    return np.stack(blocks), np.array(block_of)


def _anonymous(terrain: str) -> str:
    """Return a line's letters, with its camps renamed in order of occurrence."""
    camps = dict.fromkeys(letter for letter in terrain if letter in CAMP_LETTERS)
    names = dict(zip(camps, CAMP_LETTERS, strict=False))
    return "".join(names.get(letter, letter) for letter in terrain.replace("+", "."))


def _counted(attributes: Mapping[str, frozenset[int]], places: Iterable[int]) -> list[tuple[int, tuple[bool, ...]]]:
    """Return, for each cell term, the digit to count and the places on the line where the term counts it."""
    counted = []
    for term in CELL_TERMS:
        colour, _, where = term.partition("_")
        attribute = attributes[where.removeprefix("in_")]
        counted.append((1 if colour == "attackers" else 2, tuple(cell in attribute for cell in places)))
    return counted


def _soldier_moves(
    variant: Variant, terrain: str, digits: NDArray[np.int64], occupancy: NDArray[np.int64]
) -> list[NDArray[np.int64]]:
    """Return the numbers of moves of attackers and of white pieces along a line. The king counts as a defender."""
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
    """Return the number of empty places, not counting escapes, from which a king could slide to an escape."""
    open_places = _way_open(variant, terrain, escapes)[occupancy].astype(np.int64)
    return np.bitwise_count(open_places & ~occupancy & _standing(variant, terrain, escapes)).astype(np.int64)


def _first_seen(digits: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return how many ends of a line have an attacker as the nearest piece, and how many have a white piece."""
    seen = [line[np.argmax(line > 0, axis=0), np.arange(line.shape[1])] for line in (digits, digits[::-1])]
    white = (digits == 2).any(axis=0)
    return [white * sum((first == digit).astype(np.int64) for first in seen) for digit in (1, 2)]


def _standing(variant: Variant, terrain: str, escapes: tuple[bool, ...]) -> int:
    """Return the places on a line where the king may stop, not counting escapes."""
    letters = ".+T" if variant.rules.castle.stop == "king" else ".+"
    return sum(1 << place for place, escape in enumerate(escapes) if not escape and terrain[place] in letters)


def _way_open(variant: Variant, terrain: str, escapes: tuple[bool, ...]) -> NDArray[np.uint16]:
    """Return a line's block in `EvaluationTables.way_open`."""
    masks = slide_masks(variant, terrain, "king")
    if variant.size > NARROW:
        reaches = masks[:, :1] >> np.arange(variant.size) & np.array(escapes)
        origins = (reaches.T << np.arange(variant.size)).sum(axis=1)
        return np.append(origins, _standing(variant, terrain, escapes)).astype(np.uint32)
    target = np.uint16(sum(1 << place for place, escape in enumerate(escapes) if escape))
    found = np.zeros(masks.shape[1], dtype=np.uint16)
    for place in range(variant.size):
        found |= np.where(masks[place] & target, np.uint16(1 << place), np.uint16(0))
    return found


def evaluation_tables(
    variant: Variant, weights: Mapping[str, float] | None = None, patterns: Patterns | None = None
) -> EvaluationTables:
    """Return the evaluation tables for a variant. By default, they use the tuned weights and patterns."""
    size = variant.size
    if weights is None:
        weights, patterns = load_weights(variant), load_patterns(variant)
    scaled = scaled_weights(weights)
    if size > NARROW:
        scores, blocks = _by_cell(variant, scaled), np.zeros((1, 1), dtype=np.int64)
    else:
        features, block_of = line_features(variant)
        factors = np.array([scaled[term] for term in LINE_TERMS + CELL_TERMS], dtype=np.int64)
        scores, blocks = _with_patterns(features.astype(np.int64) @ factors, block_of, patterns, size * size)
    bits = 32 if size > NARROW else 16
    if np.abs(scores).max() >> (bits - 1):
        raise InputError(f"are too large: the score of a line exceeds {bits} bits", subject="weights")
    rows = corner_rows(weights_family(variant) if patterns is None else patterns.family, size)
    corners = _corner_features(variant, rows) @ np.array([scaled[term] for term in CORNER_TERMS], dtype=np.int64)
    if patterns is not None:
        corners = corners + patterns.corner_scores
    if np.abs(corners).max() > np.iinfo(np.int16).max:
        raise InputError("are too large: the score of a corner exceeds 16 bits", subject="weights")
    net = np.zeros(0, dtype=np.int16) if patterns is None or not patterns.net.size else net_rows(patterns.net, size)
    ways = [
        _way_open(variant, terrain, tuple(bool(int(mask) >> place & 1) for place in range(size)))
        for terrain, mask in zip(board_lines(variant), build_tables(variant).escapes_on, strict=True)
    ]
    return EvaluationTables(
        line_score=scores.astype(f"int{bits}").ravel(),
        line_score_at=(blocks * 3**size).astype(np.uint32).ravel(),
        way_open=np.concatenate(ways),
        way_open_at=(np.arange(2 * size) * len(ways[0])).astype(np.uint32),
        ring=np.array([_ring(cell, size) for cell in range(size * size)], dtype=np.uint8),
        weights=np.array([scaled[term] for term in POSITION_TERMS], dtype=np.int64),
        corners=rows if corners.any() else 0,
        corner_ternary=_corner_ternary(rows),
        corner_score=corners.astype(np.int16).ravel(),
        has_net=int(net.size > 0),
        net=net.ravel(),
    )


def _corner_ternary(rows: int) -> NDArray[np.uint16]:
    """Return the content of a corner in base 3 for each mask of its attackers. Masks have three bits per row."""
    bits = range(9) if rows == CORNER else (0, 1, 2, 3, 4, 5, 6, 7, 9)
    return ((np.arange(1024)[:, None] >> np.array(bits) & 1) @ 3 ** np.arange(9)).astype(np.uint16)


def _corner_features(variant: Variant, rows: int) -> NDArray[np.int64]:
    """Return the values of the corner terms for each corner and each possible content of its cells."""
    size, last = variant.size, variant.size - 1
    features = np.zeros((4, _CORNER_CONTENTS, len(CORNER_TERMS)), dtype=np.int64)
    black = np.arange(_CORNER_CONTENTS)[:, None] // 3 ** np.arange(CORNER * CORNER) % 3 == 1
    for number, cells in enumerate(corner_cells(size, rows)):
        corner = (number >> 1) * last * size + (number & 1) * last
        if rows == CORNER or corner not in variant.regions.escapes:
            continue
        far = np.array([abs(cell // size - corner // size) + abs(cell % size - corner % size) for cell in cells])
        features[number, :, 0] = black[:, far == CORNER].sum(axis=1)
        features[number, :, 1] = black[:, far == CORNER].all(axis=1) | black[:, far == CORNER - 1].all(axis=1)
    return features


def _by_cell(variant: Variant, scaled: Mapping[str, int]) -> NDArray[Any]:
    """Return `EvaluationTables.line_score` for a wide board."""
    scores = np.zeros((2, variant.size**2), dtype=np.int64)
    for term, (digit, here) in zip(CELL_TERMS, _counted(cell_attributes(variant), range(variant.size**2)), strict=True):
        # Each cell is on two lines, so its weight was halved (`scaled_weights`).
        scores[digit - 1] += 2 * scaled[term] * np.array(here)
    return np.append(scores, [scaled[term] for term in LINE_TERMS])


def _with_patterns(
    scores: NDArray[np.int64], block_of: NDArray[np.int64], patterns: Patterns | None, cells: int
) -> tuple[NDArray[np.int64] | NDArray[np.int32], NDArray[np.int64]]:
    """Return the scores of lines with pattern scores added, and the block to use for each cell of the king and line.

    ``scores`` contains the term scores by block, and ``block_of`` each line's block. The result has one block for each
    pair of a term block and a pattern table that are used together.
    """
    blocks = np.broadcast_to(block_of, (cells, len(block_of)))
    if patterns is None:
        return scores, blocks
    pairs = blocks * len(patterns.line_scores) + patterns.line_table
    met, found = np.unique(pairs, return_inverse=True)
    terms, tables = np.divmod(met, len(patterns.line_scores))
    # Integers of 32 bits suffice and save memory. Clipping changes no result, because the caller rejects scores of this
    # size anyway.
    small = scores.clip(-(1 << 20), 1 << 20).astype(np.int32)
    return small[terms] + patterns.line_scores[tables], found.reshape(pairs.shape)


@derived
def evaluation_tables_for(variant: Variant) -> EvaluationTables:
    """Return the tuned evaluation tables for a variant. For equal variants, return the same object."""
    return evaluation_tables(variant)
