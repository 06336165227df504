"""``python -m benchmarks.tuning.net FILE --variant NAME``: train a small net that complements the shipped patterns.

The training positions and their values come from self-play (`benchmarks.tuning.positions`), as for patterns. The net
(`tablut.play.search.weights`) learns a correction to the sum of terms and patterns, which stay fixed except for a
common slope. Training uses Adam on batches in an order determined by the seed. It runs in rounds. Each round plays with
the net from the previous round and learns from the positions of all rounds so far, or of the most recent ones. The
first round plays without a net. One game is held out for every twenty training games, to measure the gain. The
patterns, the net and a record of both are written to FILE after each round.

If a board has no shipped patterns, the net complements the terms alone. If black has more or fewer nodes than white,
training also learns what the odds of a game contribute to its result. Otherwise, the net would take positions for good
that come from games with favourable odds.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click
import numpy as np
from scipy.special import expit

from benchmarks.tuning.positions import OPENING, RESULT, STRAY, Positions, calibration, gather_positions
from benchmarks.tuning.storing import written_patterns
from symmetry import dihedral
from tablut.engine import engine_for
from tablut.engine.layout import KING_AT, SIDE_AT, head
from tablut.play.search.evaluation import evaluate_boards, evaluation_tables
from tablut.play.search.weights import (
    CORNER,
    FULL,
    OUTPUT_BITS,
    SCALE,
    UNITS,
    Patterns,
    load_patterns,
    load_weights,
    weights_family,
)
from tablut.position import diagram_cells
from tablut.variants import load_variant
from tablut.work.files import write_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from tablut.variants import Variant

_BATCH: Final = 4096
_RATE: Final = 5e-3
"""Initial learning rate of Adam. It decays to zero along a cosine curve."""
_CHUNK: Final = 20_000
_HELD_OUT: Final = 20
"""Number of training games for each game that is held out."""


def features_of(boards: NDArray[np.uint32], size: int) -> NDArray[np.uint8]:
    """Return the input features of boards as an array of shape (n, 3C + 2).

    For each cell, the features indicate an attacker, a white piece and the king. The last two features indicate the
    side to move.
    """
    found = np.zeros((len(boards), 3 * size * size + 2), dtype=np.uint8)
    cells, state, rows = size * size, head(boards), np.arange(len(boards))
    for rank in range(size):
        for file in range(size):
            found[:, rank * size + file] = boards[:, rank] >> file & 1
            found[:, cells + rank * size + file] = boards[:, rank] >> (16 + file) & 1
    found[rows, 2 * cells + state[:, KING_AT]] = 1
    found[rows, 3 * cells + state[:, SIDE_AT]] = 1
    return found


class Net(NamedTuple):
    """The parameters of a net in training.

    They are the input weights for each feature and unit, the output weights, and the weights of the base. The first
    column of the base is the evaluation without the net, in logits. Further columns describe the game rather than the
    position, and the search does not use their weights.
    """

    weights: NDArray[np.float32]
    say: NDArray[np.float32]
    slope: NDArray[np.float32]


class Learner:
    """A trainer of a net that is invariant under the symmetries of the board."""

    def __init__(self, variant: Variant, slope: Sequence[float], seed: int) -> None:
        cells, self._random = variant.size**2, np.random.default_rng(seed)
        tables = np.array([element.table for element in dihedral(variant.size)])
        sides = np.broadcast_to([3 * cells, 3 * cells + 1], (len(tables), 2))
        self._images = np.concatenate([tables, tables + cells, tables + 2 * cells, sides], axis=1)
        weights = self._random.normal(scale=0.15, size=(3 * cells + 2, UNITS)).astype(np.float32)
        weights[-2:] = 0.3
        say = self._random.normal(scale=0.02, size=UNITS).astype(np.float32)
        self.net = Net(weights, say, np.array(slope, dtype=np.float32))

    def _forward(self, features: NDArray[np.uint8]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the inputs of all units under all symmetries, and each unit's output summed over the symmetries."""
        whole = self.net.weights[self._images].transpose(1, 0, 2).reshape(features.shape[1], -1)
        sums = features.astype(np.float32) @ np.ascontiguousarray(whole)
        return sums, sums.clip(0, 1).reshape(len(features), -1, UNITS).sum(axis=1)

    def logits(self, features: NDArray[np.uint8], base: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return the logits of positions. Each logit is the scaled base plus the net's output."""
        said = [self._forward(features[at : at + _CHUNK])[1] @ self.net.say for at in range(0, len(base), _CHUNK)]
        return np.asarray(base @ self.net.slope + np.concatenate(said), dtype=np.float64)

    def _gradient(self, features: NDArray[np.uint8], base: NDArray[np.float32], worth: NDArray[np.float32]) -> Net:
        sums, shown = self._forward(features)
        errors = ((expit(base @ self.net.slope + shown @ self.net.say) - worth) / len(worth)).astype(np.float32)
        inside = (sums > 0) & (sums < 1)
        blame = np.where(inside, np.tile(self.net.say, len(self._images)) * errors[:, None], np.float32(0))
        whole = (features.astype(np.float32).T @ blame).reshape(features.shape[1], -1, UNITS)
        weights = np.zeros_like(self.net.weights)
        for number, image in enumerate(self._images):
            weights[image] += whole[:, number]
        return Net(weights, shown.T @ errors, errors @ base)

    def learn(
        self, features: NDArray[np.uint8], base: NDArray[np.float32], worth: NDArray[np.float32], epochs: int
    ) -> None:
        """Train the net on positions with Adam for the given number of epochs."""
        first, second = (Net(*(np.zeros_like(part) for part in self.net)) for _ in range(2))
        batches = max(1, len(base) // _BATCH)
        for step in range(epochs * batches):
            if step % batches == 0:
                order = self._random.permutation(len(base))
            batch = order[step % batches * _BATCH :][:_BATCH]
            rate = _RATE / 2 * (1 + np.cos(np.pi * step / (epochs * batches)))
            found = self._gradient(features[batch], base[batch], worth[batch])
            for part, by, mean, square in zip(self.net, found, first, second, strict=True):
                mean += (by - mean) / 10
                square += (by * by - square) / 1000
                part -= rate * (mean / (1 - 0.9 ** (step + 1))) / (np.sqrt(square / (1 - 0.999 ** (step + 1))) + 1e-9)

    def rounded(self) -> NDArray[np.int16]:
        """Return the net rounded to integers, in the format of pattern files."""
        weights = self.net.weights * FULL
        say = self.net.say / self.net.slope[0] * 100 * SCALE * (1 << OUTPUT_BITS) / FULL
        # The last row contains the output weights of the units.
        most = np.iinfo(np.int16).max
        return np.rint(np.concatenate([weights, say[None]])).clip(-most, most).astype(np.int16)


def loss(logits: NDArray[np.float64], worth: NDArray[np.float64]) -> float:
    """Return the mean logistic loss of the given logits relative to the positions' worth."""
    return float((np.logaddexp(0, logits) - worth * logits).mean())


def fit_net(
    variant: Variant, patterns: Patterns, positions: Positions, held_out: Positions, *, epochs: int, seed: int
) -> tuple[NDArray[np.int16], tuple[float, float]]:
    """Train a net on positions. Return the net and the losses on held-out positions, without the net and with it."""
    evaluation = evaluation_tables(variant, load_weights(variant), patterns)
    bases = []
    for boards, _, odds in (positions, held_out):
        raw = np.zeros(len(boards), dtype=np.int64)
        evaluate_boards(engine_for(variant).tables, evaluation, boards, raw)
        bases.append(np.stack([raw / 100, np.ones(len(raw)), odds], axis=1))
    line = calibration(bases[0][:, 0], positions.worth, positions.odds)
    # Terms without patterns rank positions, but a balanced position may score far from 0. The level makes up for this
    # in training, so that the net does not have to learn it. The search plays as well without the level. The odds are
    # left out too, because they belong to the game.
    columns = 3 if positions.odds.any() or not patterns.line_scores.any() else 1
    learner = Learner(variant, line[:columns], seed)
    shown, unseen = (base[:, :columns].astype(np.float32) for base in bases)
    features = features_of(positions.boards, variant.size)
    learner.learn(features, shown, positions.worth.astype(np.float32), epochs)
    without, found = bases[1] @ np.array(line), learner.logits(features_of(held_out.boards, variant.size), unseen)
    return learner.rounded(), (loss(without, held_out.worth), loss(found, held_out.worth))


def no_patterns(variant: Variant) -> Patterns:
    """Return patterns whose scores are all 0, for a board that has no shipped patterns."""
    size = variant.size
    lines, table = np.zeros((1, 3**size), dtype=np.int16), np.zeros((size * size, 2 * size), dtype=np.uint8)
    corners = np.zeros((4, 3 ** (CORNER * CORNER)), dtype=np.int16)
    return Patterns(
        "".join(diagram_cells(variant.terrain)), weights_family(variant), "no patterns", lines, table, corners
    )


class Plan(NamedTuple):
    """What `make_net` does.

    In each of ``rounds`` rounds, every variant plays ``games`` games with ``nodes`` nodes per move. They begin with a
    random number of random plies in the range ``opening``, and later moves are random with the probability ``stray``.
    The ratio of black's nodes to white's is drawn between 1 and ``odds`` for each game. A round of training passes
    ``epochs`` times over the positions of the last ``recent`` rounds, or of all rounds if ``recent`` is 0. A game's
    result has the weight ``result`` in the worth of its positions.
    """

    games: int
    nodes: int
    rounds: int
    epochs: int
    seed: int
    opening: tuple[int, int] = OPENING
    stray: float = STRAY
    recent: int = 0
    odds: float = 1.0
    result: float = RESULT


def make_net(variants: Sequence[Variant], shipped: Patterns, plan: Plan) -> Iterator[tuple[int, Patterns]]:
    """Train a net in rounds of self-play. After each round, yield its number and the patterns together with the net."""
    gathered: tuple[list[Positions], list[Positions]] = ([], [])
    patterns = plain = shipped._replace(net=shipped.net[:0])
    for round_ in range(plan.rounds):
        for number, variant in enumerate(variants):
            began = time.process_time()
            for kept, many, of in zip(gathered, (plan.games, -(-plan.games // _HELD_OUT)), (0, 500), strict=True):
                found = gather_positions(
                    variant,
                    games=many,
                    nodes=plan.nodes,
                    seed=of + plan.seed + 1000 * round_ + number,
                    patterns=patterns,
                    opening=plan.opening,
                    stray=plan.stray,
                    odds=plan.odds,
                    result=plan.result,
                    with_level=plan.odds != 1 or not shipped.line_scores.any(),
                )
                kept.append(found)
                del kept[: -plan.recent * len(variants) or None if plan.recent else 0]
            spent, (boards, worth, _) = time.process_time() - began, gathered[0][-1]
            said = f"{len(boards)} positions, mean worth {worth.mean():.2f}, {spent:.0f} CPU s"
            click.echo(f"round {round_ + 1}, {variant.name}: {said}", err=True)
        learnt, held_out = (
            Positions(*(np.concatenate(arrays) for arrays in zip(*kept, strict=True))) for kept in gathered
        )
        net, losses = fit_net(variants[0], plain, learnt, held_out, epochs=plan.epochs, seed=plan.seed + round_)
        click.echo(f"loss on games held out: {losses[0]:.4f} without the net, {losses[1]:.4f} with it", err=True)
        patterns = plain._replace(net=net)
        games = plan.games * min(plan.recent or round_ + 1, round_ + 1) * len(variants)
        yield round_ + 1, patterns._replace(made=f"{len(learnt.worth)} positions of {games} games")


@click.command(context_settings={"show_default": True})
@click.argument("output", type=click.Path(path_type=Path), help="File to write.")
@click.option(
    "--variant", "names", multiple=True, required=True, help="Variant to play; several must have the same board."
)
@click.option("--games", type=click.IntRange(1, None), default=8_000, help="Games per variant and round.")
@click.option("--nodes", type=click.IntRange(1, None), default=800, help="Nodes per move.")
@click.option("--rounds", type=click.IntRange(1, None), default=3, help="Number of rounds of games and training.")
@click.option("--epochs", type=click.IntRange(1, None), default=8, help="Number of training epochs in a round.")
@click.option("--seed", type=int, default=1, help="Random seed.")
@click.option(
    "--opening", type=click.IntRange(0, None), nargs=2, default=OPENING, help="Range of random plies at the start."
)
@click.option("--stray", type=click.FloatRange(0, 1), default=STRAY, help="Probability of a random move later on.")
@click.option(
    "--recent", type=click.IntRange(0, None), default=0, help="Number of latest rounds to learn from; 0 means all."
)
@click.option(
    "--odds",
    type=click.FloatRange(0, None, min_open=True),
    default=1.0,
    help="Most nodes of black for each node of white, or fewest if less than 1.",
)
@click.option(
    "--result", type=click.FloatRange(0, 1), default=RESULT, help="Weight of a game's result in its positions' worth."
)
def net_command(output: Path, names: tuple[str, ...], **options: Any) -> None:
    """Train a net that complements the shipped patterns, by self-play."""
    variants, plan = [load_variant(name) for name in names], Plan(**options)
    if len({(variant.terrain, weights_family(variant)) for variant in variants}) > 1:
        raise click.UsageError("the variants differ in their boards, or in their families of weights")
    shipped = load_patterns(variants[0]) or no_patterns(variants[0])
    for number, made in make_net(variants, shipped, plan):
        words = [f"--variant {name}" for name in names]
        for option, value in plan._replace(rounds=number)._asdict().items():
            if option not in Plan._field_defaults or value != Plan._field_defaults[option]:
                words.append(f"--{option} {' '.join(map(str, value)) if isinstance(value, tuple) else value}")
        of = shipped.made.split("; a net: ")[0]
        said = f"{of}; a net: python -m benchmarks.tuning.net FILE {' '.join(words)}: {made.made}"
        write_bytes(output, written_patterns(made._replace(made=said)))
        click.echo(said, err=True)


if __name__ == "__main__":
    net_command()
