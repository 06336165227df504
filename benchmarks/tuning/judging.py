"""``python -m benchmarks.tuning.judging NEW [OLD] --variant NAME``: the match that patterns have to win.

The first patterns play the second ones, or the terms alone, at a number of nodes a move, or with equal time; both
sides have the weights that ship. A sequential test ends the match where one of its two
differences in Elo is likelier than the other.
"""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from benchmarks.tuning.games import play_pairs
from tablut.play.arena.statistics import Sprt, Tally, elo_of, interval_of_share
from tablut.play.search.searcher import Searcher
from tablut.play.search.weights import Patterns, load_weights, read_patterns
from tablut.variants import load_variant

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tablut.variants import Variant

_EVERY = 20
"""Pairs between two lines about how the match stands."""


class Judgement(NamedTuple):
    """How a match of patterns stands."""

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
    watch: Callable[[Judgement], None] | None = None,
) -> Judgement:
    """Play a match of patterns until the test has ended, or all pairs are played."""
    weights = load_weights(variant)
    searchers = [Searcher(variant, hash_mib=8, weights=weights, patterns=patterns) for patterns in players]
    made: list[tuple[float, float]] = []
    stands = Judgement(Tally(), 0.0, "running")
    for points in play_pairs(searchers, variant, pairs=pairs, nodes=nodes, seed=seed, movetime=movetime):
        made.append(points)
        tally = Tally.of(list(chain.from_iterable(made)), made)
        stands = Judgement(tally, test.ratio(tally.pairs), test.state(tally.pairs))
        if watch is not None and len(made) % _EVERY == 0:
            watch(stands)
        if stands.state != "running":
            break
    return stands


def judging_command(
    new: Annotated[Path, typer.Argument(help="The file of the first patterns.")],
    old: Annotated[Path | None, typer.Argument(help="The file of the second ones; by default the terms alone.")] = None,
    name: Annotated[str, typer.Option("--variant", help="The rule set.")] = "ashton",
    pairs: Annotated[int, typer.Option(min=1, help="Openings, at most.")] = 500,
    nodes: Annotated[int, typer.Option(min=1, help="Nodes a move.")] = 10_000,
    movetime: Annotated[float | None, typer.Option(help="Seconds a move, in place of the nodes.")] = None,
    seed: Annotated[int, typer.Option(help="Of the openings.")] = 1,
    sprt: Annotated[tuple[float, float], typer.Option(metavar="ELO0 ELO1", help="The two differences.")] = (0, 10),
) -> None:
    """Play patterns against others, or against the terms alone."""
    players = [None if file is None else read_patterns(file.read_bytes()) for file in (new, old)]
    test = Sprt(*sprt).checked()
    found = judge(
        players,
        load_variant(name),
        pairs=pairs,
        nodes=nodes if movetime is None else None,
        movetime=movetime,
        seed=seed,
        test=test,
        watch=lambda stands: typer.echo(stands, err=True),
    )
    each = f"{nodes} nodes" if movetime is None else f"{movetime} s"
    typer.echo(f"{name}, {each}, seed {seed}: {found}")


if __name__ == "__main__":
    typer.run(judging_command)
