"""``python -m benchmarks.tuning.patterns FILE --variant NAME``: patterns of lines and corners, from self-play.

What positions are worth comes from games (`benchmarks.tuning.positions`). A logistic regression
finds what patterns add to the terms of the evaluation, whose weights stay as they are, under a
ridge that draws a pattern to nothing. In rounds: each plays with the patterns of the one before,
the first with the terms alone, and learns from the positions of all. The file follows from the
command, so what ships can be made again; `benchmarks.tuning.judging` decides whether it ships.
"""

from __future__ import annotations

import time
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple

import numpy as np
import typer
from scipy.optimize import minimize

from benchmarks.tuning.positions import Positions, gather_positions
from tablut.engine import engine_for
from tablut.engine.layout import KING_AT, head
from tablut.notation import diagram_cells
from tablut.play.search.evaluation import evaluate_boards, evaluation_tables
from tablut.play.search.weights import (
    CORNER,
    SCALE,
    Patterns,
    corner_cells,
    corner_rows,
    load_weights,
    weights_family,
    written_patterns,
)
from tablut.store.files import write_bytes
from tablut.variants import load_variant

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tablut.variants import Variant

_LEAST: Final = SCALE // 4
"""What is smaller in a pattern is left out: it says nothing, and takes room."""
_LARGEST: Final = 9
"""Lines of larger boards know on which side of them the king stands, and not how far."""
_CORNER_CONTENTS: Final = 3 ** (CORNER * CORNER)


class Layout(NamedTuple):
    """Which contents of lines and corners are one pattern, by the symmetries of a board.

    Attributes
    ----------
    line_table : ndarray of uint8, shape (C, 2N)
        As in `tablut.play.search.weights.Patterns`.
    line_pattern : ndarray of int32, shape (tables, 3**N)
        The number of the pattern, by table and content.
    corner_pattern : ndarray of int32, shape (4, 3**9)
        The same for corners.
    corners : list of list of int
        The cells of each corner that a pattern covers.
    patterns : int
        How many numbers there are.
    """

    line_table: NDArray[np.uint8]
    line_pattern: NDArray[np.int32]
    corner_pattern: NDArray[np.int32]
    corners: list[list[int]]
    patterns: int


def _images(contents: NDArray[np.int64], places: list[int]) -> NDArray[np.int64]:
    """Return contents after what stood on each place has gone to the place given for it."""
    moved = np.zeros_like(contents)
    for place, target in enumerate(places):
        moved += contents // 3**place % 3 * 3**target
    return moved


def _lines(size: int) -> list[list[int]]:
    """Return the cells of every line."""
    cells = range(size)
    return [[rank * size + file for file in cells] for rank in cells] + [
        [rank * size + file for rank in cells] for file in cells
    ]


def layout_of(variant: Variant) -> Layout:
    """Return which contents are one pattern on the board of a variant.

    What counts of the king is its place on its own lines, and how far along the board it stands beside others.
    """
    size, lines = variant.size, _lines(variant.size)
    corners = corner_cells(size, corner_rows(weights_family(variant), size))
    contents = np.arange(3**size)
    backwards = _images(contents, list(range(size))[::-1])

    def _key(king: int, line: int) -> tuple[int, int, int]:
        along, across = (king % size, king // size) if line < size else (king // size, king % size)
        if across == line % size:
            return line, across, along
        # On a large board tables by the king's exact place would be too many for the games, and for the memory.
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
    """Return the patterns of boards: those of the lines, then those of the corners."""
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


def calibration(base: NDArray[np.float64], worth: NDArray[np.float64]) -> tuple[float, float]:
    """Return the slope and the level that make logits as likely as what positions are worth shows, the slope over 0."""

    def _cost(line: NDArray[np.float64]) -> float:
        logits = np.exp(line[0]) * base + line[1]
        return float((np.logaddexp(0, logits) - worth * logits).mean())

    slope, level = minimize(_cost, np.zeros(2), method="Nelder-Mead").x
    return float(np.exp(slope)), float(level)


def fit_patterns(
    variant: Variant, layout: Layout, positions: Positions, *, ridge: float = 40.0, steps: int = 45
) -> Patterns:
    """Return the patterns that make what positions are worth most likely, beside the terms as they are."""
    raw = np.zeros(len(positions.boards), dtype=np.int64)
    evaluate_boards(
        engine_for(variant).tables, evaluation_tables(variant, load_weights(variant)), positions.boards, raw
    )
    numbers, base, worth = patterns_of(layout, positions.boards), raw / 100, positions.worth
    slope = 1.0
    if variant.rules.act_afar:
        # Hand-set terms say which of two positions is better, not how good it is: patterns are not to mend that.
        slope, level = calibration(base, worth)
        base = slope * base + level
    shown = np.arange(layout.patterns)
    if variant.size > _LARGEST:
        # What no position shows stays at nothing: on a large board that is nearly all.
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
    """Return patterns from rounds of self-play and regression."""
    layout, found = layout_of(variants[0]), None
    gathered: list[Positions] = []
    for round_ in range(rounds):
        for number, variant in enumerate(variants):
            began = time.process_time()
            gathered.append(
                gather_positions(variant, games=games, nodes=nodes, seed=seed + 1000 * round_ + number, patterns=found)
            )
            spent = time.process_time() - began
            typer.echo(
                f"round {round_ + 1}, {variant.name}: {len(gathered[-1].worth)} positions, {spent:.0f} CPU s", err=True
            )
        positions = Positions(*(np.concatenate(arrays) for arrays in zip(*gathered, strict=True)))
        found = fit_patterns(variants[0], layout, positions)
    assert found is not None, "there is at least one round"
    return found._replace(made=f"{len(positions.worth)} positions of {games * rounds * len(variants)} games")


def patterns_command(
    output: Annotated[Path, typer.Argument(help="The file to write.")],
    names: Annotated[list[str], typer.Option("--variant", help="Whose games; several only of one board.")],
    games: Annotated[int, typer.Option(min=1, help="Games of each variant in a round.")] = 4_000,
    nodes: Annotated[int, typer.Option(min=1, help="Nodes a move.")] = 800,
    rounds: Annotated[int, typer.Option(min=1, help="Rounds of games and regression.")] = 3,
    seed: Annotated[int, typer.Option(help="Of all that is random.")] = 1,
) -> None:
    """Make patterns of lines and corners from self-play."""
    variants = [load_variant(name) for name in names]
    if len({(variant.terrain, weights_family(variant)) for variant in variants}) > 1:
        raise typer.BadParameter("the variants differ in their boards, or in their families of weights")
    patterns = make_patterns(variants, games=games, nodes=nodes, rounds=rounds, seed=seed)
    options = " ".join(f"--variant {name}" for name in names)
    command = f"{options} --games {games} --nodes {nodes} --rounds {rounds} --seed {seed}"
    patterns = patterns._replace(made=f"python -m benchmarks.tuning.patterns FILE {command}: {patterns.made}")
    write_bytes(output, written_patterns(patterns))
    typer.echo(patterns.made, err=True)


if __name__ == "__main__":
    typer.run(patterns_command)
