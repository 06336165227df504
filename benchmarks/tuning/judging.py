"""``python -m benchmarks.tuning.judging NEW [OLD] --variant NAME``: play the match that new patterns must win.

The new patterns play against the old patterns, or against the evaluation without patterns. Both sides have the same
number of nodes or the same time per move, and both use the shipped weights. With ``--odds``, whoever plays black has
more nodes or time than white. A sequential probability ratio test ends the match as soon as one of the two given Elo
differences is sufficiently more likely than the other.
"""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from benchmarks.tuning.games import play_pairs
from tablut.play.arena.statistics import Sprt, Tally, elo_of, interval_of_share
from tablut.play.search.searcher import Searcher
from tablut.play.search.weights import Patterns, load_weights, read_patterns
from tablut.variants import load_variant

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tablut.variants import Variant

_EVERY = 20
"""Number of pairs of games between two progress lines."""


class Judgement(NamedTuple):
    """The state of a match: its tally, and the log-likelihood ratio and the state of its sequential test."""

    tally: Tally
    ratio: float
    state: str

    def __str__(self) -> str:
        tally = self.tally
        low, high = interval_of_share(tally)
        elos = [elo_of(share) for share in (tally.share, low, high)]
        best, least, most = ("inf" if elo is None else f"{elo:+.0f}" for elo in elos)
        score = f"{tally.wins}, {tally.draws}, {tally.losses}"
        return f"{score}  Elo {best} ({least} to {most})  LLR {self.ratio:.2f} {self.state}"


def judge(
    players: Sequence[Patterns | None],
    variant: Variant,
    *,
    pairs: int,
    nodes: int | None,
    seed: int,
    test: Sprt,
    movetime: float | None = None,
    odds: float = 1.0,
    watch: Callable[[Judgement], None] | None = None,
) -> Judgement:
    """Play a match between two sets of patterns until the test ends or all pairs are played."""
    weights = load_weights(variant)
    searchers = [Searcher(variant, hash_mib=8, weights=weights, patterns=patterns) for patterns in players]
    played = play_pairs(searchers, variant, pairs=pairs, nodes=nodes, seed=seed, movetime=movetime, odds=odds)
    return judge_pairs(played, test, watch)


def judge_pairs(
    played: Iterable[tuple[float, float]], test: Sprt, watch: Callable[[Judgement], None] | None = None
) -> Judgement:
    """Take the first player's points from each pair of games until the test ends, and return the state of the match."""
    made: list[tuple[float, float]] = []
    stands = Judgement(Tally(), 0.0, "running")
    for points in played:
        made.append(points)
        tally = Tally.of(list(chain.from_iterable(made)), made)
        stands = Judgement(tally, test.ratio(tally.pairs), test.state(tally.pairs))
        if watch is not None and len(made) % _EVERY == 0:
            watch(stands)
        if stands.state != "running":
            break
    return stands


@click.command(context_settings={"show_default": True})
@click.argument("new", type=click.Path(path_type=Path), help="File of the new patterns.")
@click.argument(
    "old",
    required=False,
    type=click.Path(path_type=Path),
    help="File of the old patterns; by default, the evaluation without patterns.",
)
@click.option("--variant", "name", default="ashton", help="Rule set.")
@click.option("--pairs", type=click.IntRange(1, None), default=500, help="Maximum number of openings.")
@click.option("--nodes", type=click.IntRange(1, None), default=10_000, help="Nodes per move.")
@click.option("--movetime", type=float, help="Time per move in seconds, instead of nodes.")
@click.option(
    "--odds",
    type=click.FloatRange(0, None, min_open=True),
    default=1.0,
    help="Nodes or time of black for each node or second of white. Their geometric mean is --nodes or --movetime.",
)
@click.option("--seed", type=int, default=1, help="Seed of the openings.")
@click.option("--sprt", type=float, nargs=2, default=(0, 10), metavar="ELO0 ELO1", help="Elo differences to test.")
def judging_command(
    new: Path,
    old: Path | None,
    name: str,
    pairs: int,
    nodes: int,
    movetime: float | None,
    odds: float,
    seed: int,
    sprt: tuple[float, float],
) -> None:
    """Play new patterns against old patterns, or against the evaluation without patterns."""
    players = [None if file is None else read_patterns(file.read_bytes()) for file in (new, old)]
    test = Sprt(*sprt).checked()
    found = judge(
        players,
        load_variant(name),
        pairs=pairs,
        nodes=nodes if movetime is None else None,
        movetime=movetime,
        odds=odds,
        seed=seed,
        test=test,
        watch=lambda stands: click.echo(stands, err=True),
    )
    each = f"{nodes} nodes" if movetime is None else f"{movetime} s"
    each += f", odds {odds:g}" if odds != 1 else ""
    click.echo(f"{name}, {each}, seed {seed}: {found}")


if __name__ == "__main__":
    judging_command()
