"""Weights from self-play: ``python -m tablut.play.search.tuning``.

The method is Texel's tuning in the form of a logistic regression. The search plays
itself with a fixed number of nodes a move, from openings of random moves. From each game
some quiet positions are taken, with the game's result for white as 1, ½ or 0. The
weights are those that make the results most likely if a position's odds are the
exponential of its evaluation, under a ridge that draws them towards the hand-set ones.
Several rounds follow on each other, each playing with the weights of the one before.

Everything is repeatable from the seed. The regression is Newton's iteration in numpy.

References
----------
P. Österlund, Texel's tuning method, 2014,
https://www.chessprogramming.org/Texel%27s_Tuning_Method
"""

from __future__ import annotations

import json
import math
import time
from pathlib import Path  # noqa: TC003 (typer reads the annotations when it runs)
from random import Random
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple

import numpy as np
import typer

from tablut.engine import engine_for
from tablut.engine.layout import SIDE_AT, head
from tablut.files import write_text
from tablut.play.search.evaluation import evaluate_boards
from tablut.play.search.limits import SearchLimits
from tablut.play.search.scores import PROVEN
from tablut.play.search.searcher import Root, Searcher
from tablut.play.search.terms import evaluation_tables
from tablut.play.search.weights import HAND_WEIGHTS, TERMS, Family
from tablut.rules.outcome import OUTCOMES
from tablut.variants import load_variant

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from tablut.variants import Variant

__all__ = ["MatchScore", "Sample", "fit", "play_game", "play_match", "term_values", "tune"]

TRAINING: Final[dict[Family, tuple[str, ...]]] = {
    "camps": ("ashton",),
    "edge": ("berkeley",),
    "edge_four": ("leiden",),
    "corner": ("mcgill", "brandubh"),
}
"""The variants whose games decide about the weights of a family."""

_LONGEST: Final = 150
"""Plies after which a game counts as drawn."""
_RIDGE: Final = 3e-4
"""Weight of the squared distance from the hand-set weights, in logits, against one position."""


class Sample(NamedTuple):
    """Positions with the results of their games.

    Attributes
    ----------
    boards : ndarray of uint32, shape (n, 2N + 4)
        Quiet and undecided.
    results : ndarray of float64, shape (n,)
        1 where white won, 0 where black did, ½ for a draw.
    """

    boards: NDArray[np.uint32]
    results: NDArray[np.float64]


class MatchScore(NamedTuple):
    """Results of a match from the first side's view."""

    wins: int
    draws: int
    losses: int

    @property
    def share(self) -> float:
        """Points by game."""
        return (self.wins + self.draws / 2) / (self.wins + self.draws + self.losses)

    @property
    def interval95(self) -> tuple[float, float]:
        """The share plus and minus 1.96 standard errors of the mean of the games."""
        games = self.wins + self.draws + self.losses
        variance = (self.wins + self.draws / 4) / games - self.share**2
        error = 1.96 * math.sqrt(variance / games)
        return self.share - error, self.share + error


def play_game(
    searchers: Sequence[Searcher], variant: Variant, random: Random, *, nodes: int, opening: int
) -> tuple[float, list[NDArray[np.uint32]]]:
    """Play a game from an opening of random moves.

    Parameters
    ----------
    searchers : sequence of two Searcher
        White's and black's; they may be the same.
    variant : Variant
        The rule set.
    random : Random
        Of the opening.
    nodes : int
        Nodes a move.
    opening : int
        Random plies at the start.

    Returns
    -------
    result : float
        1 if white won, 0 if black did, ½ for a draw; a game of 150 plies is one.
    quiet : list of ndarray
        The boards after the opening whose chosen move captures nothing and proves nothing.
    """
    engine, rules = engine_for(variant), variant.rules
    board, limits = engine.start(), SearchLimits(nodes=nodes)
    past: list[int] = []
    since_capture = 0
    quiet: list[NDArray[np.uint32]] = []
    for ply in range(_LONGEST):
        side = int(head(board)[SIDE_AT])
        moves = engine.legal_moves(board).tolist()
        if not moves:
            return float(side), quiet
        key = engine.key(board)
        if rules.repetition != "none" and key in past[len(past) - since_capture :]:
            # The side that is not to move has recreated the position.
            return (0.5 if rules.repetition == "draw" else 1.0 - side), quiet
        if rules.move_limit is not None and ply >= rules.move_limit:
            return 0.5, quiet
        if ply < opening:
            move, score = random.choice(moves), 0
        else:
            root = Root(board, moves, past[len(past) - since_capture :], ply)
            thought = searchers[side].think(root, limits)
            move, score = thought.move, thought.score
        past.append(key)
        before = board.copy()
        undo, code = engine.make(board, move)
        captures = len(engine.captured(undo))
        since_capture = 0 if captures else since_capture + 1
        outcome = OUTCOMES[code]
        if outcome is not None:
            return float(outcome.winner == "white"), quiet
        if ply >= opening and not captures and abs(score) < PROVEN:
            quiet.append(before)
    return 0.5, quiet


def play_match(
    first: Mapping[str, float], second: Mapping[str, float], variant: Variant, *, pairs: int, nodes: int, seed: int
) -> MatchScore:
    """Play two sets of weights against each other, each opening twice with colours changed."""
    searchers = [Searcher(variant, hash_mib=4, weights=weights) for weights in (first, second)]
    random = Random(seed)
    tally = {1.0: 0, 0.5: 0, 0.0: 0}
    for number in range(pairs):
        opening_seed = random.getrandbits(64)
        for swapped in (False, True):
            for searcher in searchers:
                searcher.forget()
            order = searchers[::-1] if swapped else searchers
            opening = 4 + 2 * (number % 3)
            result, _ = play_game(order, variant, Random(opening_seed), nodes=nodes, opening=opening)
            tally[1 - result if swapped else result] += 1
    return MatchScore(tally[1.0], tally[0.5], tally[0.0])


def gather(
    variant: Variant, weights: Mapping[str, float], *, games: int, nodes: int, seed: int, share: float = 0.25
) -> Sample:
    """Return quiet positions of self-play, a share of each game's, with the results."""
    searcher, random = Searcher(variant, hash_mib=4, weights=weights), Random(seed)
    boards, results = [], []
    for number in range(games):
        searcher.forget()
        result, quiet = play_game([searcher] * 2, variant, random, nodes=nodes, opening=4 + number % 8)
        for board in quiet:
            if random.random() < share:
                boards.append(board)
                results.append(result)
    return Sample(np.array(boards), np.array(results))


def term_values(variant: Variant, boards: NDArray[np.uint32]) -> NDArray[np.float64]:
    """Return the terms of boards, shape (n, terms): the evaluation with one weight at a time."""
    tables = engine_for(variant).tables
    scores = np.zeros(len(boards), dtype=np.int64)
    columns = []
    for term in TERMS:
        unit = dict.fromkeys(TERMS, 0.0) | {term: 1.0}
        evaluate_boards(tables, evaluation_tables(variant, unit), boards, scores)
        columns.append(scores.astype(np.float64))
    return np.stack(columns, axis=1)


def fit(values: NDArray[np.float64], results: NDArray[np.float64], prior: Mapping[str, float]) -> dict[str, float]:
    """Return the most likely weights, in centi-logits, drawn towards a prior.

    Parameters
    ----------
    values : ndarray of float64, shape (n, terms)
        As `term_values` gives them.
    results : ndarray of float64, shape (n,)
        1, ½ or 0.
    prior : mapping of str to float
        Weights, in centi-logits; a term that never varies keeps its own.
    """
    spread = values.std(axis=0)
    used = spread > 0
    scaled = values[:, used] / spread[used]
    centre = np.array([prior[term] for term in TERMS])[used] / 100 * spread[used]
    beta = centre.copy()

    def cost(beta: NDArray[np.float64]) -> float:
        logits = scaled @ beta
        likelihood = np.logaddexp(0, logits) - results * logits
        return float(likelihood.mean() + _RIDGE / 2 * ((beta - centre) ** 2).sum())

    for _ in range(100):
        odds = 0.5 + 0.5 * np.tanh(scaled @ beta / 2)
        gradient = scaled.T @ (odds - results) / len(results) + _RIDGE * (beta - centre)
        curvature = (scaled * (odds * (1 - odds))[:, None]).T @ scaled / len(results) + _RIDGE * np.eye(used.sum())
        step = np.linalg.solve(curvature, gradient)
        # Far from the best weights a whole step may overshoot.
        while cost(beta - step) > cost(beta) and np.abs(step).max() > 1e-9:
            step /= 2
        beta -= step
        if np.abs(step).max() < 1e-9:
            break
    fitted = np.array([prior[term] for term in TERMS])
    fitted[used] = beta / spread[used] * 100
    return {term: round(float(weight), 2) for term, weight in zip(TERMS, fitted, strict=True)}


def tune(family: Family, *, games: int, nodes: int, rounds: int, seed: int) -> tuple[dict[str, float], dict[str, Any]]:
    """Return tuned weights of a family, and how they came about."""
    weights: Mapping[str, float] = HAND_WEIGHTS
    variants = [load_variant(name) for name in TRAINING[family]]
    positions = 0
    for round_ in range(rounds):
        samples = [
            gather(variant, weights, games=games // len(variants), nodes=nodes, seed=seed + 1000 * round_ + number)
            for number, variant in enumerate(variants)
        ]
        values = np.concatenate(
            [term_values(*pair) for pair in zip(variants, (s.boards for s in samples), strict=True)]
        )
        results = np.concatenate([sample.results for sample in samples])
        positions = len(results)
        weights = fit(values, results, HAND_WEIGHTS)
    history = {"variants": list(TRAINING[family]), "games": games, "nodes": nodes, "rounds": rounds, "seed": seed}
    return dict(weights), history | {"positions": positions}


def main(
    output: Annotated[Path, typer.Argument(help="The JSON file to write; what it says of other families stays.")],
    families: Annotated[list[str] | None, typer.Option("--family", help="Only this one; all by default.")] = None,
    games: Annotated[int, typer.Option(help="Games a family and round.")] = 6000,
    nodes: Annotated[int, typer.Option(help="Nodes a move.")] = 1000,
    rounds: Annotated[int, typer.Option(help="Rounds of play and regression.")] = 2,
    pairs: Annotated[int, typer.Option(help="Pairs of games of the match against the hand-set weights.")] = 300,
    match_nodes: Annotated[int, typer.Option(help="Nodes a move in that match.")] = 4000,
    seed: Annotated[int, typer.Option(help="Of openings and samples.")] = 1,
) -> None:
    """Tune families of variants, and play the result against the hand-set weights."""
    unknown = sorted(set(families or ()) - set(TRAINING))
    if unknown:
        raise typer.BadParameter(f"{unknown[0]}: the families are {', '.join(TRAINING)}")
    body: dict[str, Any] = {"weights": {}, "tuning": {}, "match_against_hand_set": {}}
    if output.exists():
        body = json.loads(output.read_text(encoding="utf-8"))
    for family in TRAINING:
        if families and family not in families:
            continue
        started = time.process_time()
        body["weights"][family], body["tuning"][family] = tune(
            family, games=games, nodes=nodes, rounds=rounds, seed=seed
        )
        tuned, better = body["weights"][family], True
        for name in TRAINING[family]:
            score = play_match(
                tuned, HAND_WEIGHTS, load_variant(name), pairs=pairs, nodes=match_nodes, seed=seed + 999_999
            )
            low, high = score.interval95
            body["match_against_hand_set"][name] = score._asdict() | {
                "nodes": match_nodes,
                "share": round(score.share, 3),
                "interval95": [round(low, 3), round(high, 3)],
            }
            better = better and score.share >= 0.5
            typer.echo(f"{name}: {score}, {score.share:.3f} ({low:.3f} to {high:.3f})", err=True)
        # Weights that lose the match are not taken.
        body["tuning"][family]["taken"] = better
        body["weights"][family] = tuned if better else dict(HAND_WEIGHTS)
        body["tuning"][family]["cpu_seconds"] = round(time.process_time() - started)
        write_text(output, json.dumps(body, indent=1) + "\n")


if __name__ == "__main__":
    typer.run(main)
