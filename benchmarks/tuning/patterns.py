"""``python -m benchmarks.tuning.patterns FILE --variant NAME``: train patterns for lines and corners by self-play.

The training positions and their values come from games (`benchmarks.tuning.positions`). A logistic regression with a
ridge penalty finds the scores that patterns add to the evaluation's terms, whose weights stay fixed. Training runs in
rounds. Each round plays with the patterns from the previous round and learns from the positions of all rounds so far.
The first round plays without patterns. The same command always produces the same file, so shipped patterns can be
reproduced. A match (`benchmarks.tuning.judging`) decides whether patterns are shipped.
"""

from __future__ import annotations

import time
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import click
import numpy as np
from scipy.optimize import minimize

from benchmarks.tuning.positions import Positions, calibration, gather_positions
from benchmarks.tuning.storing import written_patterns
from tablut.engine import engine_for
from tablut.engine.layout import KING_AT, head
from tablut.play.search.evaluation import evaluate_boards, evaluation_tables
from tablut.play.search.weights import CORNER, SCALE, Patterns, corner_cells, corner_rows, load_weights, weights_family
from tablut.position import diagram_cells
from tablut.variants import load_variant
from tablut.work.files import write_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tablut.variants import Variant

_LEAST: Final = SCALE // 4
"""Smallest score of a pattern that is stored. Smaller scores have little effect and would only take up space."""
_LARGEST: Final = 9
"""Size of the largest boards where the patterns of a line depend on the king's distance from the line.

On larger boards, they depend only on which side of the line the king is.
"""
_CORNER_CONTENTS: Final = 3 ** (CORNER * CORNER)


class Layout(NamedTuple):
    """A numbering of patterns. Contents of lines and corners that are symmetric images of each other share a number.

    Attributes
    ----------
    line_table : ndarray of uint8, shape (C, 2N)
        The same array as in `tablut.play.search.weights.Patterns`.
    line_pattern : ndarray of int32, shape (tables, 3**N)
        Number of the pattern for each table and each content of a line.
    corner_pattern : ndarray of int32, shape (4, 3**9)
        Number of the pattern for each corner and each content of its cells.
    corners : list of list of int
        The cells that belong to each corner's pattern.
    patterns : int
        Number of different patterns.
    """

    line_table: NDArray[np.uint8]
    line_pattern: NDArray[np.int32]
    corner_pattern: NDArray[np.int32]
    corners: list[list[int]]
    patterns: int


def _images(contents: NDArray[np.int64], places: list[int]) -> NDArray[np.int64]:
    """Return contents (numbers in base 3) after moving the digit of each place to the place given in ``places``."""
    moved = np.zeros_like(contents)
    for place, target in enumerate(places):
        moved += contents // 3**place % 3 * 3**target
    return moved


def _lines(size: int) -> list[list[int]]:
    """Return the cells of every line, rows before columns."""
    cells = range(size)
    return [[rank * size + file for file in cells] for rank in cells] + [
        [rank * size + file for rank in cells] for file in cells
    ]


def layout_of(variant: Variant) -> Layout:
    """Return the numbering of patterns for a variant's board.

    The patterns of a line depend on the king: on its place if it stands on the line, otherwise on its rank (for
    a row) or file (for a column). `_LARGEST` describes the exception for large boards.
    """
    size, lines = variant.size, _lines(variant.size)
    corners = corner_cells(size, corner_rows(weights_family(variant), size))
    contents = np.arange(3**size)
    backwards = _images(contents, list(range(size))[::-1])

    def _key(king: int, line: int) -> tuple[int, int, int]:
        along, across = (king % size, king // size) if line < size else (king // size, king % size)
        if across == line % size:
            return line, across, along
        # On large boards, tables by the king's exact rank or file would need too many games and too much memory.
        return (line, across if size <= _LARGEST else size * (across > line % size), -1)

    tables: dict[tuple[tuple[int, int, int], bool, bool], int] = {}
    keys: dict[tuple[int, int, int], int] = {}
    rows: list[NDArray[np.int64]] = []
    line_table = np.zeros((size * size, 2 * size), dtype=np.uint8)
    for king, line in product(range(size * size), range(2 * size)):
        found = []
        for element in variant.symmetries:
            image = [element.table[cell] for cell in lines[line]]
            number = next(number for number, cells in enumerate(lines) if set(cells) == set(image))
            found.append((_key(element.table[king], number), image != lines[number]))
        least = min(key for key, _ in found)
        turned = {backward for key, backward in found if key == least}
        name = (least, False in turned, True in turned)
        if name not in tables:
            tables[name] = len(tables)
            at = keys.setdefault(least, len(keys))
            both = np.minimum(contents, backwards)
            rows.append(at * 3**size + (both if len(turned) == 2 else backwards if True in turned else contents))
        line_table[king, line] = tables[name]
    of_corner = []
    everything = np.arange(_CORNER_CONTENTS)
    for own in corners:
        least_of = np.full(_CORNER_CONTENTS, 4 * _CORNER_CONTENTS)
        for element in variant.symmetries:
            image = [element.table[cell] for cell in own]
            other = next(place for place, cells in enumerate(corners) if set(cells) == set(image))
            moved = _images(everything, [corners[other].index(cell) for cell in image])
            least_of = np.minimum(least_of, other * _CORNER_CONTENTS + moved)
        of_corner.append(least_of + len(keys) * 3**size)
    used, numbers = np.unique(np.concatenate([np.concatenate(rows), np.concatenate(of_corner)]), return_inverse=True)
    in_lines = len(rows) * 3**size
    return Layout(
        line_table,
        numbers[:in_lines].reshape(len(rows), -1).astype(np.int32),
        numbers[in_lines:].reshape(4, -1).astype(np.int32),
        corners,
        len(used),
    )


def patterns_of(layout: Layout, boards: NDArray[np.uint32]) -> NDArray[np.int32]:
    """Return the pattern numbers for each board: first those of all lines, then those of all corners."""
    size = layout.line_table.shape[1] // 2
    ternary = (np.arange(1 << size)[:, None] >> np.arange(size) & 1) @ 3 ** np.arange(size)
    lines, king = boards[:, : 2 * size], head(boards)[:, KING_AT]
    contents = ternary[lines & 0xFFFF] + 2 * ternary[lines >> 16]
    found = [layout.line_pattern[layout.line_table[king, line], contents[:, line]] for line in range(2 * size)]
    for number, cells in enumerate(layout.corners):
        content = sum(
            contents[:, cell // size] // 3 ** (cell % size) % 3 * 3**place for place, cell in enumerate(cells)
        )
        found.append(layout.corner_pattern[number, content])
    return np.stack(found, axis=1)


def fit_patterns(
    variant: Variant, layout: Layout, positions: Positions, *, ridge: float = 40.0, steps: int = 45
) -> Patterns:
    """Return the pattern scores that, added to the fixed terms, best predict the worth of positions."""
    raw = np.zeros(len(positions.boards), dtype=np.int64)
    evaluate_boards(
        engine_for(variant).tables, evaluation_tables(variant, load_weights(variant)), positions.boards, raw
    )
    numbers, base, worth = patterns_of(layout, positions.boards), raw / 100, positions.worth
    slope = 1.0
    if variant.rules.act_afar:
        # Hand-set terms rank positions but are not calibrated. They are calibrated here, so that the patterns do not
        # have to make up for it.
        line = calibration(base, worth, positions.odds)
        slope, base = line.slope, line.logits(base, positions.odds)
    shown = np.arange(layout.patterns)
    if variant.size > _LARGEST:
        # Patterns that do not occur in any position keep the score 0. On a large board, these are nearly all patterns.
        shown, numbers = np.unique(numbers, return_inverse=True)

    def _cost(weights: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        logits = base + weights[numbers].sum(axis=1)
        errors = np.repeat(1 / (1 + np.exp(-logits)) - worth, numbers.shape[1])
        gradient = ridge * weights + np.bincount(numbers.ravel(), errors, len(shown))
        cost = (np.logaddexp(0, logits) - worth * logits).sum() + ridge / 2 * (weights @ weights)
        return float(cost) / len(worth), gradient / len(worth)

    found = minimize(_cost, np.zeros(len(shown)), jac=True, method="L-BFGS-B", options={"maxiter": steps, "maxcor": 12})
    rounded = np.rint(found.x / slope * 100 * SCALE)
    scores = np.zeros(layout.patterns, dtype=np.int16)
    scores[shown] = np.where(np.abs(rounded) < _LEAST, 0, rounded)
    terrain = "".join(diagram_cells(variant.terrain))
    return Patterns(
        terrain,
        weights_family(variant),
        "",
        scores[layout.line_pattern],
        layout.line_table,
        scores[layout.corner_pattern],
    )


def make_patterns(variants: Sequence[Variant], *, games: int, nodes: int, rounds: int, seed: int) -> Patterns:
    """Train patterns in rounds of self-play and regression."""
    layout, found = layout_of(variants[0]), None
    gathered: list[Positions] = []
    for round_ in range(rounds):
        for number, variant in enumerate(variants):
            began = time.process_time()
            gathered.append(
                gather_positions(variant, games=games, nodes=nodes, seed=seed + 1000 * round_ + number, patterns=found)
            )
            spent = time.process_time() - began
            click.echo(
                f"round {round_ + 1}, {variant.name}: {len(gathered[-1].worth)} positions, {spent:.0f} CPU s", err=True
            )
        positions = Positions(*(np.concatenate(arrays) for arrays in zip(*gathered, strict=True)))
        found = fit_patterns(variants[0], layout, positions)
    assert found is not None, "there is at least one round"
    return found._replace(made=f"{len(positions.worth)} positions of {games * rounds * len(variants)} games")


@click.command(context_settings={"show_default": True})
@click.argument("output", type=click.Path(path_type=Path), help="File to write.")
@click.option(
    "--variant", "names", multiple=True, required=True, help="Variant to play; several must have the same board."
)
@click.option("--games", type=click.IntRange(1, None), default=4_000, help="Games per variant and round.")
@click.option("--nodes", type=click.IntRange(1, None), default=800, help="Nodes per move.")
@click.option("--rounds", type=click.IntRange(1, None), default=3, help="Number of rounds of games and regression.")
@click.option("--seed", type=int, default=1, help="Random seed.")
def patterns_command(output: Path, names: tuple[str, ...], games: int, nodes: int, rounds: int, seed: int) -> None:
    """Train patterns for lines and corners by self-play."""
    variants = [load_variant(name) for name in names]
    if len({(variant.terrain, weights_family(variant)) for variant in variants}) > 1:
        raise click.UsageError("the variants differ in their boards, or in their families of weights")
    patterns = make_patterns(variants, games=games, nodes=nodes, rounds=rounds, seed=seed)
    options = " ".join(f"--variant {name}" for name in names)
    command = f"{options} --games {games} --nodes {nodes} --rounds {rounds} --seed {seed}"
    patterns = patterns._replace(made=f"python -m benchmarks.tuning.patterns FILE {command}: {patterns.made}")
    write_bytes(output, written_patterns(patterns))
    click.echo(patterns.made, err=True)


if __name__ == "__main__":
    patterns_command()
