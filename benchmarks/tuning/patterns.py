"""``python -m benchmarks.tuning.patterns FILE``: patterns of lines and corners, from self-play.

The games are those of `benchmarks.tuning.games`, with a random move now and then. What a position
is worth is half the result of its game and half what the search said of it; after a random
move, only the latter. A logistic regression finds what patterns add to the terms of the
evaluation, whose weights stay as they are, under a ridge that draws a pattern to nothing.
"""

from __future__ import annotations

import io
from itertools import product
from pathlib import Path  # noqa: TC003 (typer reads the annotations when it runs)
from random import Random
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple

import numpy as np
import typer
from scipy.optimize import minimize

from benchmarks.tuning.games import play_game
from tablut.engine import engine_for
from tablut.engine.layout import KING_AT, head
from tablut.files import write_bytes
from tablut.notation import diagram_cells
from tablut.play.search.evaluation import evaluate_boards
from tablut.play.search.patterns import CORNER, Patterns, corner_cells
from tablut.play.search.searcher import Searcher
from tablut.play.search.terms import evaluation_tables
from tablut.play.search.weights import SCALE, load_weights
from tablut.variants import load_variant

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tablut.variants import Variant

__all__ = ["Layout", "Positions", "fit_patterns", "gather_positions", "layout_of", "patterns_command", "patterns_of"]

_SLOPE: Final = 0.85
"""Logits of a result to a logit of a search's score, as results show."""
_RESULT: Final = 0.5
"""The share of the result in what a position is worth."""
_LEAST: Final = SCALE // 4
"""What is smaller in a pattern is left out: it says nothing, and takes room."""
_CORNER_CONTENTS: Final = 3 ** (CORNER * CORNER)


class Positions(NamedTuple):
    """Quiet positions and what they are worth.

    Attributes
    ----------
    boards : ndarray of uint32, shape (n, 2N + 4)
        Undecided.
    worth : ndarray of float64, shape (n,)
        How likely white wins, 0 to 1.
    """

    boards: NDArray[np.uint32]
    worth: NDArray[np.float64]


def gather_positions(variant: Variant, *, games: int, nodes: int, seed: int) -> Positions:
    """Play games with the weights and patterns that ship; return their quiet positions.

    Parameters
    ----------
    variant : Variant
        The rule set.
    games : int
        How many.
    nodes : int
        Nodes a move.
    seed : int
        Of all that is random.

    Returns
    -------
    Positions
        In the order of the games.
    """
    searcher, random = Searcher(variant, hash_mib=2), Random(seed)
    boards, worth = [], []
    for _ in range(games):
        searcher.forget()
        result, quiet = play_game(
            [searcher] * 2, variant, random, nodes=nodes, opening=random.randint(3, 16), stray=0.03
        )
        for found in quiet:
            said = 1 / (1 + np.exp(-_SLOPE * found.score / 100))
            boards.append(found.board)
            worth.append(_RESULT * result + (1 - _RESULT) * said if found.judged else said)
    return Positions(np.array(boards), np.array(worth))


class Layout(NamedTuple):
    """Which contents of lines and corners are one pattern, by the symmetries of a board.

    Attributes
    ----------
    line_table : ndarray of uint8, shape (C, 2N)
        As in `tablut.play.search.patterns.Patterns`.
    line_pattern : ndarray of int32, shape (tables, 3**N)
        The number of the pattern, by table and content.
    corner_pattern : ndarray of int32, shape (4, 3**9)
        The same for corners.
    patterns : int
        How many numbers there are.
    """

    line_table: NDArray[np.uint8]
    line_pattern: NDArray[np.int32]
    corner_pattern: NDArray[np.int32]
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

    Parameters
    ----------
    variant : Variant
        The rule set.

    Returns
    -------
    Layout
        The same pattern for all images of a content under the symmetries.

    Examples
    --------
    >>> layout = layout_of(load_variant("brandubh"))
    >>> layout.line_table.shape, layout.line_pattern.shape, layout.corner_pattern.shape
    ((49, 14), (49, 2187), (4, 19683))
    """
    size, lines, corners = variant.size, _lines(variant.size), corner_cells(variant.size)
    contents = np.arange(3**size)
    backwards = _images(contents, list(range(size))[::-1])

    def _key(king: int, line: int) -> tuple[int, int, int]:
        along, across = (king % size, king // size) if line < size else (king // size, king % size)
        return (line, across, along) if across == line % size else (line, across, -1)

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
        len(used),
    )


def patterns_of(layout: Layout, boards: NDArray[np.uint32]) -> NDArray[np.int32]:
    """Return the patterns of boards: those of the lines, then those of the corners.

    Parameters
    ----------
    layout : Layout
        Of the board.
    boards : ndarray of uint32, shape (n, 2N + 4)
        Undecided.

    Returns
    -------
    ndarray of int32, shape (n, 2N + 4)
        Their numbers.
    """
    size = layout.line_table.shape[1] // 2
    ternary = (np.arange(1 << size)[:, None] >> np.arange(size) & 1) @ 3 ** np.arange(size)
    lines, king = boards[:, : 2 * size], head(boards)[:, KING_AT]
    contents = ternary[lines & 0xFFFF] + 2 * ternary[lines >> 16]
    found = [layout.line_pattern[layout.line_table[king, line], contents[:, line]] for line in range(2 * size)]
    for number, cells in enumerate(corner_cells(size)):
        content = sum(
            contents[:, cell // size] // 3 ** (cell % size) % 3 * 3**place for place, cell in enumerate(cells)
        )
        found.append(layout.corner_pattern[number, content])
    return np.stack(found, axis=1)


def fit_patterns(
    variant: Variant, layout: Layout, positions: Positions, *, ridge: float = 40.0, steps: int = 45
) -> Patterns:
    """Return the patterns that make what positions are worth most likely, beside the terms as they are.

    Parameters
    ----------
    variant : Variant
        Whose weights the terms have.
    layout : Layout
        Of its board.
    positions : Positions
        Of its games, or those of another with the same board.
    ridge : float
        Weight of a squared pattern, in logits, against one position.
    steps : int
        Of the descent, at most. It is stopped early: what later steps find is mostly noise.

    Returns
    -------
    Patterns
        Rounded.
    """
    raw = np.zeros(len(positions.boards), dtype=np.int64)
    evaluate_boards(
        engine_for(variant).tables, evaluation_tables(variant, load_weights(variant)), positions.boards, raw
    )
    numbers, base, worth = patterns_of(layout, positions.boards), raw / 100, positions.worth

    def _cost(weights: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        logits = base + weights[numbers].sum(axis=1)
        errors = np.repeat(1 / (1 + np.exp(-logits)) - worth, numbers.shape[1])
        gradient = ridge * weights + np.bincount(numbers.ravel(), errors, layout.patterns)
        cost = (np.logaddexp(0, logits) - worth * logits).sum() + ridge / 2 * (weights @ weights)
        return float(cost) / len(worth), gradient / len(worth)

    found = minimize(
        _cost, np.zeros(layout.patterns), jac=True, method="L-BFGS-B", options={"maxiter": steps, "maxcor": 12}
    )
    scores = np.rint(found.x * 100 * SCALE)
    scores = np.where(np.abs(scores) < _LEAST, 0, scores).astype(np.int16)
    terrain = "".join(diagram_cells(variant.terrain))
    return Patterns(terrain, scores[layout.line_pattern], layout.line_table, scores[layout.corner_pattern])


def patterns_command(
    output: Annotated[Path, typer.Argument(help="The file to write.")],
    names: Annotated[list[str] | None, typer.Option("--variant", help="Whose games; of one board.")] = None,
    games: Annotated[int, typer.Option(help="Games of each.")] = 10_000,
    nodes: Annotated[int, typer.Option(help="Nodes a move.")] = 800,
    seed: Annotated[int, typer.Option(help="Of all that is random.")] = 1,
) -> None:
    """Make patterns of lines and corners from self-play."""
    variants = [load_variant(name) for name in names or ["ashton", "bologna"]]
    if len({variant.terrain for variant in variants}) > 1:
        raise typer.BadParameter("the variants differ in their boards")
    samples = [
        gather_positions(variant, games=games, nodes=nodes, seed=seed + number)
        for number, variant in enumerate(variants)
    ]
    positions = Positions(*(np.concatenate(arrays) for arrays in zip(*samples, strict=True)))
    layout = layout_of(variants[0])
    patterns = fit_patterns(variants[0], layout, positions)
    written = io.BytesIO()
    np.savez_compressed(written, **patterns._asdict())
    write_bytes(output, written.getvalue())
    typer.echo(f"{len(positions.worth)} positions, {layout.patterns} patterns", err=True)


if __name__ == "__main__":
    typer.run(patterns_command)
