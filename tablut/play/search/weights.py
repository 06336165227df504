"""Terms of the evaluation with their weights, patterns and nets.

A term is a number that describes a position from white's point of view; the evaluation is their weighted sum. Weights
are in centi-logits: an increase of 100 multiplies white's odds of winning by e. They were tuned by self-play
(`benchmarks.tuning`) and are stored in ``data/weights.json``, in one set for each family of boards (`weights_family`).
"""

from __future__ import annotations

import hashlib
import io
import json
from functools import cache
from importlib.resources import files
from itertools import product
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from symmetry import dihedral
from tablut.engine.jit import I64, inlined
from tablut.engine.layout import BoardArray, king_of, line_of, side_of
from tablut.errors import InputError
from tablut.play.search.transposition import own_lines
from tablut.position import diagram_cells

if TYPE_CHECKING:
    from collections.abc import Mapping
    from importlib.resources.abc import Traversable

    from numpy.typing import NDArray

    from tablut.engine.tables import Tables
    from tablut.variants import Variant

RINGS: Final = 3
"""Number of distances from the edge with separate weights. Cells further inside are the baseline and have no weight."""

LINE_TERMS: Final = ("attacker_moves", "defender_moves", "open_escapes", "ends_closed", "ends_open")
"""Terms counted on every row and column: moves of soldiers, cells with a free way to an escape, and ends of lines.

``ends_closed`` counts the ends of lines with white pieces where the first piece seen is an attacker, and ``ends_open``
those where it is a white piece.
"""

CELL_TERMS: Final = (
    "attackers_in_camp",
    "attackers_near_escape",
    "defenders_near_escape",
    *(f"attackers_ring_{ring}" for ring in range(RINGS)),
    *(f"defenders_ring_{ring}" for ring in range(RINGS)),
)
"""Terms counted on every cell. Those for defenders also count the king, which looks like a defender in a line."""

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
"""Terms counted once for the position: material, the king's freedom and neighbours, and the side to move.

``fort_wall``, for variants with forts, counts the defenders within two ranks and two files of a king near the edge.
"""

CORNER_TERMS: Final = ("corner_guards", "corners_sealed")
"""Terms for corners that are escapes, on boards whose moves have distant effects.

``corner_guards`` counts the attackers on a corner's diagonal of four cells, and ``corners_sealed`` the corners where
this diagonal, or the one of three cells, is full of attackers.
"""

TERMS: Final = LINE_TERMS + CELL_TERMS + POSITION_TERMS + CORNER_TERMS

SCALE_BITS: Final = 4
SCALE: Final = 1 << SCALE_BITS
"""Number of units in a centi-logit. Weights are rounded to whole units, so that integers represent them exactly."""

Family = Literal["corner", "camps", "edge", "edge_four", "corner_afar", "edge_afar", "edge_four_afar"]


def weights_family(variant: Variant) -> Family:
    """Return the name of the set of weights that a variant uses."""
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
    """Return weights in 1/`SCALE` centi-logits. Weights of cell terms are halved, because each cell is on two lines."""
    if set(weights) != set(TERMS):
        odd = sorted(set(weights) ^ set(TERMS))
        raise InputError(f"have missing or unknown terms: {', '.join(odd)}", subject="weights")
    return {term: round(weights[term] * (SCALE // 2 if term in CELL_TERMS else SCALE)) for term in TERMS}


# -- patterns: a learnt score for every possible content of a line or corner ---------


# Terms are features that a person would choose. A pattern is a score, learnt from games, for a particular arrangement
# of men on a particular line, given the king's cell. The scores of patterns are added to those of the terms. On lines,
# they cost no extra look-up, because a line's score comes from a table anyway. Patterns are learnt from self-play
# (`benchmarks.tuning.patterns`). Each file in ``data/patterns`` contains the patterns for one board and one family of
# weights.


CORNER: Final = 3
"""Side length of the square that a pattern covers in a corner, except on boards whose moves have distant effects."""


NO_NET: Final = np.zeros((0, 8), dtype=np.int16)


class Patterns(NamedTuple):
    """Learnt scores of lines and corners for one board, for white, in 1/`SCALE` centi-logits. C is the number of cells.

    - ``terrain``, ``family``: The C letters of the board, and the family of weights that the patterns were learnt with.
    - ``made``: Command that created the patterns, and the number of positions used.
    - ``line_scores``: Scores by table and by a line's pieces in base 3. Digit 1 is an attacker, digit 2 a white piece.
    - ``line_table``: Number of the table to use for each cell of the king and each line.
    - ``corner_scores``: Scores by corner and by the pieces on its cells; see `corner_cells`.
    - ``net``: Weights of each unit of the net (`net_score`), or no rows: an attacker on each cell, a white piece on
      each cell, the king on each cell, white to move, black to move, and the output weight.
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
    """Return the cells that the patterns cover in each corner, in digit order."""
    near = [[(row, file) for file in range(rows) if rows == CORNER or 0 < row + file <= CORNER] for row in range(rows)]
    corners = []
    for upper, right in product((False, True), repeat=2):
        ranks = [size - 1 - row if upper else row for row in range(rows)]
        files = [sorted(size - 1 - file if right else file for _, file in of_row) for of_row in near]
        corners.append([rank * size + file for rank, of_rank in zip(ranks, files, strict=True) for file in of_rank])
    return corners


def read_patterns(stored: bytes) -> Patterns:
    """Read patterns from a file's bytes."""
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
    """Return the patterns for a variant's board and family, or None if there are none.

    A family with distant effects falls back on the patterns of the corresponding family without distant effects.
    """
    terrain, family = "".join(diagram_cells(variant.terrain)), weights_family(variant)
    return _stored_patterns(terrain, family) or _stored_patterns(terrain, family.removesuffix("_afar"))


def evaluation_digest(variant: Variant) -> str:
    """Return the SHA-256 digest of everything that a variant's evaluation is made from: weights, patterns and net."""
    found = hashlib.sha256(repr(sorted(load_weights(variant).items())).encode())
    if (patterns := load_patterns(variant)) is not None:
        found.update(f"{patterns.terrain} {patterns.family}".encode())
        for array in (patterns.line_scores, patterns.line_table, patterns.corner_scores, patterns.net):
            found.update(f"{array.shape} {array.dtype.itemsize}".encode())
            found.update(array.astype(array.dtype.newbyteorder("<")).tobytes())
    return found.hexdigest()


# -- net: a small neural network whose score is added to the terms and patterns ------------


# The net has one hidden layer of `UNITS` units, like an NNUE (Y. Nasu, Efficiently updatable neural-network-based
# evaluation functions for computer shogi, 2018). Each unit adds up weights. Each man contributes a weight that depends
# on its cell, the king's cell contributes a further weight, and the side to move contributes another. The sum is
# clipped to the range from 0 to `FULL`. The score is the weighted sum of the units' outputs. Every unit is
# applied to the board in each of its eight symmetries with the same weights, so symmetric positions have equal scores.
#
# All arithmetic uses integers. The sums of all units in all symmetries are the `_LANES` lanes of one vector of 16-bit
# numbers. Each man adds one row of weights. Weights are rejected if a sum could overflow. An NNUE updates its
# sums incrementally. Here, the sums are computed from scratch for each position, because a board has few men, and
# adding a row takes only one or two instructions.


LARGEST: Final = 11
"""Size of the largest board that a net supports."""
FULL: Final = 256
"""Largest output of a unit."""
OUTPUT_BITS: Final = 8
UNITS: Final = 8
_LANES: Final = 8 * UNITS
"""Number of sums that are computed in parallel: one for each unit and each symmetry of the square."""
_MORE: Final = 3
"""Number of rows after the rows for cells: white to move, black to move, and the output weights of the units."""
_SMALL: Final = (3, 3, 10)
_LARGE: Final = (6, 2, 11)
"""How the men of a board up to 9×9, and of a larger board, are packed.

The numbers are the number of words, the number of ranks packed into a word, and the number of bits in a rank for each
side.
"""
_SMALLEST_LARGE: Final = 10
_MEN: Final = 65
"""Number of rows for a word: one row for each of its 64 bits, and a row of zeros for an empty word."""
_ROUND: Final = 4
"""Number of rows added before each test for further men. Once the word is empty, rows of zeros are added."""
_intrinsic: Any = intrinsic


_SUMS: Final = ir.VectorType(ir.IntType(16), _LANES)
_PRODUCTS: Final = ir.VectorType(ir.IntType(32), _LANES)


@_intrinsic  # type: ignore[untyped-decorator]
def _output(_context: Any, net: Any, words: Any, _king: Any, _side: Any, _weights: Any) -> Any:
    """Return the weighted sum of the units' outputs.

    The arguments are the rows of the net, a tuple of words that contain the men, and the row numbers for the king, the
    side to move and the output weights. numba does not reliably vectorise such a loop, so this is written in LLVM
    instructions.
    """

    def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        rows, men, king, side, weights = args
        sums = builder.add(_row(builder, rows, king), _row(builder, rows, side))
        at = cgutils.alloca_once_value(builder, sums)
        for number in range(words.count):
            _add_men(builder, rows, at, builder.extract_value(men, number), number * _MEN)
        return _weighted(builder, _clipped(builder, builder.load(at)), _row(builder, rows, weights))

    return types.int64(net, words, *[types.int64] * 3), codegen


def _row(builder: Any, rows: Any, number: Any) -> Any:
    """Load a row of a net."""
    place = builder.gep(rows, [builder.mul(number, ir.Constant(number.type, _LANES))])
    return builder.load(builder.bitcast(place, _SUMS.as_pointer()), align=2)


def _add_men(builder: Any, rows: Any, sums_at: Any, word: Any, first_row: int) -> None:
    """Append the row of each man in a word of packed men, starting with the lowest bit.

    For an empty word, ``cttz`` returns 64, which is the index of the row of zeros.
    """
    left_at = cgutils.alloca_once_value(builder, word)
    body, after = (builder.append_basic_block(name) for name in ("men", "done"))
    builder.branch(body)
    builder.position_at_end(body)
    for _ in range(_ROUND):
        men = builder.load(left_at)
        number = builder.add(builder.cttz(men, cgutils.false_bit), ir.Constant(men.type, first_row))
        builder.store(builder.add(builder.load(sums_at), _row(builder, rows, number)), sums_at)
        builder.store(builder.and_(men, builder.sub(men, ir.Constant(men.type, 1))), left_at)
    builder.cbranch(cgutils.is_not_null(builder, builder.load(left_at)), body, after)
    builder.position_at_end(after)


def _clipped(builder: Any, sums: Any) -> Any:
    """Clip each lane to the range from 0 to `FULL`."""
    least, most = (ir.Constant(_SUMS, [value] * _LANES) for value in (0, FULL))
    sums = builder.select(builder.icmp_signed("<", sums, least), least, sums)
    return builder.select(builder.icmp_signed(">", sums, most), most, sums)


def _weighted(builder: Any, units: Any, weights: Any) -> Any:
    """Multiply the lanes by their weights in 32 bits, and add them up."""
    products = builder.mul(builder.sext(units, _PRODUCTS), builder.sext(weights, _PRODUCTS))
    kind, name = ir.FunctionType(ir.IntType(32), [_PRODUCTS]), f"llvm.vector.reduce.add.v{_LANES}i32"
    add = cgutils.get_or_insert_function(builder.module, kind, name)
    return builder.sext(builder.call(add, [products]), ir.IntType(64))


@inlined
def _men(rules: Tables, board: BoardArray, rank: int, ranks: int, half: int) -> int:
    """Return the men on the given number of ranks, packed into one word."""
    word = I64(0)
    for number in range(ranks):
        if rank + number < rules.size:
            line = I64(line_of(board, rank + number))
            word |= ((line & ((1 << half) - 1)) | (line >> 16 << half)) << (2 * half * number)
    return word


@inlined
def net_score(rules: Tables, net: NDArray[np.int16], board: BoardArray) -> int:
    """Return the scaled score of a net from white's point of view, for a board of size 11 or less."""
    king, side, more = king_of(rules, board), side_of(rules, board), rules.cells
    if rules.size < _SMALLEST_LARGE:
        at, ranks, half = I64(_MEN * _SMALL[0]), _SMALL[1], _SMALL[2]
        words = (
            _men(rules, board, I64(0), ranks, half),
            _men(rules, board, I64(ranks), ranks, half),
            _men(rules, board, I64(2 * ranks), ranks, half),
        )
        return _output(net, words, at + king, at + more + side, at + more + 2) >> OUTPUT_BITS
    at, ranks, half = I64(_MEN * _LARGE[0]), _LARGE[1], _LARGE[2]
    more_words = (
        _men(rules, board, I64(0), ranks, half),
        _men(rules, board, I64(ranks), ranks, half),
        _men(rules, board, I64(2 * ranks), ranks, half),
        _men(rules, board, I64(3 * ranks), ranks, half),
        _men(rules, board, I64(4 * ranks), ranks, half),
        _men(rules, board, I64(5 * ranks), ranks, half),
    )
    return _output(net, more_words, at + king, at + more + side, at + more + 2) >> OUTPUT_BITS


def net_rows(net: NDArray[np.int16], size: int) -> NDArray[np.int16]:
    """Return a net's rows in the form that the kernels use.

    There is one row for every combination of kind of man, cell, king's cell and side to move. The output
    weights follow. Raise InputError if the net is for a board of another size, or if a sum could overflow.
    """
    cells = size * size
    if size > LARGEST or net.shape != (3 * cells + _MORE, UNITS):
        raise InputError(
            f"does not have eight units for a board of side {size}", subject="net", remedy=f"use at most side {LARGEST}"
        )
    largest = np.abs(net.astype(np.int64))
    sums = np.maximum(largest[:cells], largest[cells : 2 * cells]).sum(axis=0)
    sums += largest[2 * cells : 3 * cells].max(axis=0) + largest[3 * cells : -1].max(axis=0)
    # The weighted sum of all lanes has at most 30 bits.
    if sums.max() > np.iinfo(np.int16).max:
        raise InputError("has weights that are too large for 16-bit sums", subject="net")
    words, ranks, half = _SMALL if size < _SMALLEST_LARGE else _LARGE
    rows = own_lines((_MEN * words + cells + _MORE) * _LANES, np.int16).reshape(-1, _LANES)
    men = [_MEN * (rank // ranks) + 2 * half * (rank % ranks) + file for rank in range(size) for file in range(size)]
    for number, element in enumerate(dihedral(size)):
        image, lanes = np.array(element.table), slice(number * UNITS, (number + 1) * UNITS)
        for kind, at in enumerate((np.array(men), np.array(men) + half, np.arange(cells) + _MEN * words)):
            rows[at, lanes] = net[kind * cells + image]
        rows[-_MORE:, lanes] = net[-_MORE:]
    return rows
