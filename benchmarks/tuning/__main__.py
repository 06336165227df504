"""``python -m benchmarks.tuning FILE``: tune the weights of the evaluation by self-play.

Tuning runs in several rounds. In each round, games are played with the weights from the previous round, and a
regression fits new weights. In the end, the tuned weights play a match against the hand-set weights and are accepted
unless they lose.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
import numpy as np

from benchmarks.tuning.games import gather, play_match
from benchmarks.tuning.regression import fit, term_values
from benchmarks.tuning.storing import hand_weights
from tablut.play.search.weights import Family, load_weights
from tablut.variants import load_variant
from tablut.work.files import write_text

if TYPE_CHECKING:
    from collections.abc import Mapping

TRAINING: Final[dict[Family, tuple[str, ...]]] = {
    "camps": ("ashton", "bologna"),
    "edge": ("berkeley",),
    "edge_four": ("leiden",),
    "corner": ("mcgill", "brandubh"),
    "corner_afar": ("copenhagen", "brandubh-federation"),
    "edge_afar": ("tawlbwrdd", "saami-tablut"),
    "edge_four_afar": ("sea-battle-11", "sea-battle-9"),
}
"""For each family, the variants whose games determine the weights."""


def tune(
    family: Family, *, games: int, nodes: int, rounds: int, seed: int, shipped: bool = False
) -> tuple[dict[str, float], dict[str, Any]]:
    """Return tuned weights for a family, and a record of the parameters that produced them."""
    variants = [load_variant(name) for name in TRAINING[family]]
    weights: Mapping[str, float] = load_weights(variants[0]) if shipped else hand_weights(family)
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
        weights = fit(values, results, hand_weights(family))
    history = {"variants": list(TRAINING[family]), "games": games, "nodes": nodes, "rounds": rounds, "seed": seed}
    if shipped:
        history["from_shipped"] = True
    return dict(weights), history | {"positions": positions}


@click.command(context_settings={"show_default": True})
@click.argument(
    "output", type=click.Path(path_type=Path), help="JSON file to write; its weights for other families are kept."
)
@click.option("--family", "families", multiple=True, help="Family to tune; all by default.")
@click.option("--games", type=int, default=6000, help="Number of games for each family and round.")
@click.option("--nodes", type=int, default=1000, help="Nodes per move.")
@click.option("--rounds", type=int, default=2, help="Number of rounds of play and regression.")
@click.option("--pairs", type=int, default=300, help="Pairs of games in the match with the hand-set weights.")
@click.option("--match-nodes", type=int, default=4000, help="Nodes per move in that match.")
@click.option("--seed", type=int, default=1, help="Seed of openings and samples.")
@click.option("--shipped", is_flag=True, help="Start from the shipped weights.")
def tuning_command(
    output: Path,
    families: tuple[str, ...],
    games: int,
    nodes: int,
    rounds: int,
    pairs: int,
    match_nodes: int,
    seed: int,
    shipped: bool,
) -> None:
    """Tune the weights for families of variants, and test them in a match against the hand-set weights."""
    unknown = sorted(set(families or ()) - set(TRAINING))
    if unknown:
        raise click.UsageError(f"{unknown[0]}: the families are {', '.join(TRAINING)}")
    body: dict[str, Any] = {"weights": {}, "tuning": {}, "match_against_hand_set": {}}
    if output.exists():
        body = json.loads(output.read_text(encoding="utf-8"))
    for family in TRAINING:
        if families and family not in families:
            continue
        started = time.process_time()
        body["weights"][family], body["tuning"][family] = tune(
            family, games=games, nodes=nodes, rounds=rounds, seed=seed, shipped=shipped
        )
        tuned, better = body["weights"][family], True
        for name in TRAINING[family]:
            score = play_match(
                tuned, hand_weights(family), load_variant(name), pairs=pairs, nodes=match_nodes, seed=seed + 999_999
            )
            low, high = score.interval95
            body["match_against_hand_set"][name] = score._asdict() | {
                "nodes": match_nodes,
                "share": round(score.share, 3),
                "interval95": [round(low, 3), round(high, 3)],
            }
            better = better and score.share >= 0.5
            click.echo(f"{name}: {score}, {score.share:.3f} ({low:.3f} to {high:.3f})", err=True)
        # Weights that lose a match are not accepted.
        body["tuning"][family]["taken"] = better
        body["weights"][family] = tuned if better else dict(hand_weights(family))
        body["tuning"][family]["cpu_seconds"] = round(time.process_time() - started)
        write_text(output, json.dumps(body, indent=1) + "\n")


if __name__ == "__main__":
    tuning_command()
