"""Expected points: tables fitted to games of the engine with itself, and tested on games of other seeds.

A table maps a score of the search to white's share of the points; see `tablut.play.search.expectation`. Its entries
minimise the squared error over the positions of the games, subject to one condition: the points never fall as the
score rises. Two penalties keep neighbouring entries close where there are few positions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from scipy.optimize import lsq_linear

from reports.rendering import axes_of
from reports.studies.balance.cells import plan_of, shipped_cell
from tablut.board import Board
from tablut.errors import InputError
from tablut.play.arena import play_match
from tablut.play.search.expectation import UNITS, Expectation
from tablut.play.search.limits import EVALUATION_LIMIT
from tablut.play.search.weights import evaluation_digest
from tablut.provenance import Provenance
from tablut.results import Result
from tablut.work.files import read_text

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from tablut.variants import Variant

LEVELS: Final = (0.005, 0.05, 0.15, 0.3, 0.45, 0.6, 0.75, 0.9, 0.97, 0.995)
"""Quantiles of the scores at which a table has entries."""
CROWDS: Final = (0.4, 0.75, 1.0)
"""Shares of the men at which a table has entries."""
TEMPO_STEPS: Final = (40, 20, 10)
"""Steps of the search for the bonus of the side to move, in centi-logits."""
EARLY: Final = 4
EARLY_WEIGHT: Final = 17
"""The first positions of a game count several times. They are few, but most looked at: every game begins there."""
BINS: Final = 10
LEAST: Final = 100
"""Smallest number of games for which the error of a bin counts."""
_SMOOTH: Final = 3.0
"""Weight of the penalties along the scores and across the other axes, in positions."""
_CHUNK: Final = 1 << 14


class Positions(NamedTuple):
    """Positions of games, as arrays with one item for each position.

    ``place`` is the number of plies since the opening, ``black`` is 1 if black is to move, ``score`` is from white's
    point of view, and ``points`` are white's.
    """

    game: NDArray[np.int64]
    place: NDArray[np.int64]
    black: NDArray[np.int64]
    score: NDArray[np.int64]
    men: NDArray[np.int64]
    points: NDArray[np.float64]


class Check(Result):
    """Expected and actual points of white in the games of one rule set.

    Attributes
    ----------
    variant : str
        Name of the rule set.
    nodes, seed, games, positions : int
        Nodes a move, seed of the openings, and numbers of games and of positions without a proven result.
    error : float
        Expected calibration error in points of 100: the mean over positions of the difference in their bin.
    white_to_move, black_to_move : float
        The same over the positions where one side is to move.
    largest : float or None
        Largest difference in a bin with positions of `LEAST` games or more, in points of 100.
    start : tuple of float
        Mean expected points of the first position after each opening, and points that white scored, of 100.
    bins : tuple of tuple
        For each bin that has positions: mean expected points, mean points, positions and games.
    """

    variant: str
    nodes: int
    seed: int
    games: int
    positions: int
    error: float
    white_to_move: float
    black_to_move: float
    largest: float | None
    start: tuple[float, float]
    bins: tuple[tuple[float, float, int, int], ...]


class Checks(Result):
    """The checks of all rule sets, with their provenance."""

    provenance: Provenance
    checks: tuple[Check, ...]


def positions_of(variant: Variant, nodes: int, folder: Path, *seeds: int) -> Positions:
    """Return the positions of the games in a folder whose scores are estimates. The games have one of the seeds."""
    files = sorted(folder.glob("game-*.txt"))
    plans = [plan_of(shipped_cell(variant.name), nodes, len(files), seed) for seed in seeds]
    record = read_text(files[0], "record")
    report = play_match(next((plan for plan in plans if plan.digest in record), plans[0]), folder=folder)
    rows: list[tuple[int, int, bool, int, int, float]] = []
    for number, scored in enumerate(report.played):
        game = scored.game
        if not game.scores:
            raise InputError("has no scores", subject=f"game {number} in {str(folder)!r}", remedy="play it again")
        board, first = Board(variant), len(game.moves) - len(game.scores)
        points = {"white": 1.0, "black": 0.0}.get(game.winner, 0.5)
        for ply, move in enumerate(game.moves):
            score = game.scores[ply - first] if ply >= first else None
            if score is not None and abs(score) <= EVALUATION_LIMIT:
                men = sum(board.position.material)
                rows.append((number, ply - first, board.turn == "black", score, men, points))
            board.push(move)
    *whole, points_column = np.array(rows, float).reshape(-1, len(Positions._fields)).T
    return Positions._make([*(column.astype(np.int64) for column in whole), points_column])


def stores_of(store: Path, name: str) -> dict[int, Path]:
    """Return the folders of a rule set's games in a store, keyed by nodes a move."""
    found = {int(path.name.split("@")[1]): path for path in store.glob(f"{name}@*")}
    return {nodes: found[nodes] for nodes in sorted(found) if any(found[nodes].glob("game-*.txt"))}


# -- the fit -------------------------------------------------------------------------------


def _hats(values: NDArray[Any], knots: tuple[int, ...]) -> NDArray[np.float64]:
    """Return the weights of the knots in linear interpolation. Shape (values, knots)."""
    clipped, grid = np.clip(values, knots[0], knots[-1]), np.array(knots, float)
    return np.array([np.interp(clipped, grid, row) for row in np.eye(len(knots))]).T


def fitted(variant: Variant, rows: dict[int, Positions]) -> Expectation:
    """Return the table that fits positions of a rule set's games. They are keyed by two or more numbers of nodes."""
    best = _fitted(variant, rows, 0)
    for step in TEMPO_STEPS:
        others = (_fitted(variant, rows, best[1].tempo + change) for change in (-step, step))
        best = min(best, *others, key=lambda one: one[0])
    return best[1]


def _fitted(variant: Variant, rows: dict[int, Positions], tempo: int) -> tuple[float, Expectation]:
    """Return the mean squared error and the table of the best fit with a given bonus for the side to move."""
    rows = {many: one._replace(score=one.score + tempo * (1 - 2 * one.black)) for many, one in rows.items()}
    nodes, full = tuple(rows), variant.attackers + variant.defenders
    men = tuple(round(share * full) for share in CROWDS)
    score = np.concatenate([one.score for one in rows.values()])
    scores = tuple(sorted({round(float(value)) for value in np.quantile(score, LEVELS)}))
    shape = len(nodes), len(men), len(scores)
    many = int(np.prod(shape))
    gram, target = np.zeros((many, many)), np.zeros(many)
    for at, one in enumerate(rows.values()):
        part = slice(at * many // len(nodes), (at + 1) * many // len(nodes))
        for start in range(0, len(one.score), _CHUNK):
            cut = slice(start, start + _CHUNK)
            weights = np.einsum("im,is->ims", _hats(one.men[cut], men), _hats(one.score[cut], scores))
            design = weights.reshape(len(weights), -1)
            weighted = design.T * np.where(one.place[cut] < EARLY, EARLY_WEIGHT, 1)
            gram[part, part] += weighted @ design
            target[part] += weighted @ one.points[cut]
    places = np.arange(many).reshape(shape)
    for axis in range(2):
        low, high = (np.delete(places, end, axis).ravel() for end in (-1, 0))
        penalty = _SMOOTH * (np.eye(many)[high] - np.eye(many)[low])
        gram += penalty.T @ penalty
    low, middle, high = (places[..., cut].ravel() for cut in (slice(-2), slice(1, -1), slice(2, None)))
    penalty = _SMOOTH * (np.eye(many)[low] - 2 * np.eye(many)[middle] + np.eye(many)[high])
    gram += penalty.T @ penalty
    # The unknowns are the increments from one score to the next. Then the condition is that none is negative.
    sums = np.kron(np.eye(many // len(scores)), np.tri(len(scores)))
    root = np.linalg.cholesky(gram + 1e-9 * np.eye(many))
    found = lsq_linear(root.T @ sums, np.linalg.solve(root, target), bounds=(0, np.inf))
    spent = float(found.x @ (sums.T @ gram @ sums) @ found.x - 2 * target @ sums @ found.x)
    entries = np.maximum.accumulate(np.rint(UNITS * np.clip(sums @ found.x, 0, 1)).astype(int).reshape(shape), axis=-1)
    return spent, Expectation(
        variant=variant.name,
        rules=variant.digest,
        evaluation=evaluation_digest(variant),
        games=tuple(len(np.unique(one.game)) for one in rows.values()),
        tempo=tempo,
        nodes=nodes,
        men=men,
        scores=scores,
        points=entries.tolist(),
    )


# -- the check -----------------------------------------------------------------------------


def checked(variant: Variant, table: Expectation, rows: Positions, nodes: int, seed: int) -> Check:
    """Compare the expected points of positions with the results of their games."""
    black = rows.black == 1
    triples = zip((rows.score * (1 - 2 * rows.black)).tolist(), rows.men.tolist(), black.tolist(), strict=True)
    shown = np.array([table.expected(score, men, nodes, black=moves) for score, men, moves in triples])
    shown = np.where(black, 1 - shown, shown)
    bins = np.minimum((BINS * shown).astype(int), BINS - 1)
    found, errors = [], []
    for one in np.unique(bins):
        own = bins == one
        games = len(np.unique(rows.game[own]))
        found.append(
            (round(100 * shown[own].mean(), 1), round(100 * rows.points[own].mean(), 1), int(own.sum()), games)
        )
        if games >= LEAST:
            errors.append(abs(100 * float(shown[own].mean() - rows.points[own].mean())))
    first = np.unique(rows.game, return_index=True)[1]
    return Check(
        variant=variant.name,
        nodes=nodes,
        seed=seed,
        games=len(first),
        positions=len(shown),
        error=_error(shown, rows.points, bins),
        white_to_move=_error(shown[~black], rows.points[~black], bins[~black]),
        black_to_move=_error(shown[black], rows.points[black], bins[black]),
        largest=round(max(errors), 1) if errors else None,
        start=(round(100 * float(shown[first].mean()), 1), round(100 * float(rows.points[first].mean()), 1)),
        bins=tuple(found),
    )


def _error(shown: NDArray[np.float64], points: NDArray[np.float64], bins: NDArray[np.int64]) -> float:
    differences = np.bincount(bins, shown - points, BINS)
    return round(100 * float(np.abs(differences).sum()) / len(shown), 1)


def draw_reliability(checks: list[dict[str, Any]]) -> Figure:
    """Draw a reliability diagram for each rule set: expected points of a bin against points scored."""
    across = 5
    figure, grid = axes_of(9.0, 1.9 * -(-len(checks) // across), -(-len(checks) // across), across)
    for axes in (panels := list(grid))[len(checks) :]:
        axes.set_axis_off()
    for axes, check in zip(panels, checks, strict=False):
        axes.plot([0, 100], [0, 100], color="#999999", linewidth=0.8)
        axes.fill_between([0, 100], [-8, 92], [8, 108], color="#e9e6dc", linewidth=0)
        shown, scored, _, games = zip(*check["bins"], strict=True)
        for expected, points, many in zip(shown, scored, games, strict=True):
            axes.plot(
                expected, points, "o", color="#2f6f8f", markersize=4, fillstyle="full" if many >= LEAST else "none"
            )
        axes.set(xlim=(0, 100), ylim=(0, 100), xticks=(0, 50, 100), yticks=(0, 50, 100), aspect="equal")
        axes.set_title(check["variant"], fontsize=8)
        axes.tick_params(labelsize=7)
    figure.supxlabel("points that white was expected to score, of 100", fontsize=9)
    figure.supylabel("points that white scored", fontsize=9)
    figure.tight_layout()
    return figure
