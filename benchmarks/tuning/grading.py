"""``python -m benchmarks.tuning.grading GAMES --variant NAME``: how reliably the thresholds for errors find errors.

A position is drawn from each of some stored games of a match. There, the move that was played and a random legal move
are graded as `tablut analyse` grades them, and once more with ten times as many nodes. A large error is a move that
loses 30 points of 100 or more according to the longer search, and a sound move one that loses at most 5. The output is
the share of large errors that were graded a mistake or a blunder, and the share of sound moves that have any grade.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tablut.board import Board
from tablut.play.analysis import GRADES, Analyst
from tablut.play.search.limits import SearchLimits
from tablut.records import read_record
from tablut.variants import load_variant

if TYPE_CHECKING:
    from tablut.position import Move

_LARGE, _SOUND = 0.3, 0.05
_FIRST, _LAST = 4, 120
"""Plies between which positions are drawn."""


def lost(analyst: Analyst, board: Board, move: Move) -> float:
    """Return the expected points that a move loses according to an analyst."""
    before = analyst.look(board)
    if move in before.best:
        return 0.0
    after = board.copy()
    after.push(move)
    if (ended := after.outcome()) is not None:
        left = 0.5 if ended.winner is None else float(ended.winner == board.turn)
    else:
        left = 1 - analyst.look(after).worth
    return max(0.0, before.worth - left)


@click.command()
@click.argument("games", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--variant", "-v", "name", required=True, help="Rule set of the games.")
@click.option("--positions", default=100, show_default=True, help="Number of games, and of positions.")
@click.option("--nodes", default=20_000, show_default=True, help="Nodes of the search that grades a move.")
@click.option("--seed", default=68, show_default=True, help="Seed of the positions and of the random moves.")
def main(games: Path, name: str, positions: int, nodes: int, seed: int) -> None:
    """Compare grades with the losses that a longer search finds."""
    variant, drawn = load_variant(name), random.Random(seed)
    analysts = [Analyst(variant, SearchLimits(nodes=many), proof_nodes=0) for many in (nodes, 10 * nodes)]
    losses: list[tuple[float, float]] = []
    for path in drawn.sample(sorted(games.glob("game-*.txt")), positions):
        moves = [one.move for one in read_record(path.read_text(encoding="utf-8")).moves]
        if len(moves) > _FIRST + 1:
            place = drawn.randrange(_FIRST, min(len(moves), _LAST))
            board = Board(variant)
            for move in moves[:place]:
                board.push(move)
            pair = moves[place], drawn.choice(list(board.legal_moves))
            losses += [(lost(analysts[0], board, move), lost(analysts[1], board, move)) for move in pair]
    mistake, least = (next(loss for loss, grade in GRADES if grade == word) for word in ("mistake", "inaccuracy"))
    large = [short >= mistake for short, long in losses if long >= _LARGE]
    sound = [short >= least for short, long in losses if long <= _SOUND]
    click.echo(
        f"{name}: {sum(large)} of {len(large)} large errors found, {sum(sound)} of {len(sound)} sound moves graded"
    )


if __name__ == "__main__":
    main()
