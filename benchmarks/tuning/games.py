"""Games that the search plays against itself as training data for tuning, and matches that test the result.

The search plays from random openings, with a fixed number of nodes per move. Some quiet positions are sampled from each
game, and each is stored with the game's result for white: 1, ½ or 0. All games are reproducible from the seed.
"""

from __future__ import annotations

import math
from collections import Counter
from itertools import chain
from random import Random
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from tablut.engine import engine_for
from tablut.engine.layout import SIDE_AT, head
from tablut.play.search.limits import PROVEN, SearchLimits
from tablut.play.search.searcher import Root, Searcher
from tablut.rules.outcome import OUTCOMES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from tablut.variants import Variant

_LONGEST: Final = 150
"""Number of plies after which a game counts as drawn. It is doubled on boards larger than 9x9."""


class Quiet(NamedTuple):
    """A position where the chosen move is not a capture and the score is not a proven win or loss.

    Attributes
    ----------
    board : ndarray of uint32, shape (2N + 4,)
        The board array of an undecided position.
    score : int
        Search score in hundredths of a logit, from white's point of view.
    judged : bool
        True if no later move of the game was random, so that the game's result reflects the position.
    """

    board: NDArray[np.uint32]
    score: int
    judged: bool


class Sample(NamedTuple):
    """Positions with the results of their games.

    Attributes
    ----------
    boards : ndarray of uint32, shape (n, 2N + 4)
        Board arrays of quiet, undecided positions.
    results : ndarray of float64, shape (n,)
        1 if white won, 0 if black won, ½ for a draw.
    """

    boards: NDArray[np.uint32]
    results: NDArray[np.float64]


class MatchScore(NamedTuple):
    """The results of a match, from the first player's point of view."""

    wins: int
    draws: int
    losses: int

    @property
    def share(self) -> float:
        """Points per game."""
        return (self.wins + self.draws / 2) / (self.wins + self.draws + self.losses)

    @property
    def interval95(self) -> tuple[float, float]:
        """The 95 % confidence interval of the share: plus or minus 1.96 standard errors."""
        games = self.wins + self.draws + self.losses
        variance = (self.wins + self.draws / 4) / games - self.share**2
        error = 1.96 * math.sqrt(variance / games)
        return self.share - error, self.share + error


def play_game(
    searchers: Sequence[Searcher],
    variant: Variant,
    random: Random,
    *,
    nodes: int | None,
    opening: int,
    stray: float = 0.0,
    movetime: float | None = None,
    odds: float = 1.0,
) -> tuple[float, list[Quiet]]:
    """Play a game after an opening of random moves. Return the result for white and the quiet positions.

    ``opening`` is the number of random plies at the start, and ``stray`` is the probability of a random move later on.
    Black has ``odds`` times as many nodes, or as much time, per move as white. The geometric mean of both is ``nodes``
    or ``movetime``.
    """
    engine, rules = engine_for(variant), variant.rules
    board = engine.start()
    limits = [
        SearchLimits(nodes=nodes and max(1, round(nodes * share)), movetime=movetime and movetime * share)
        for share in (odds**-0.5, odds**0.5)
    ]
    past: list[int] = []
    since_capture = 0
    quiet: list[Quiet] = []
    for ply in range(_LONGEST * (1 + (variant.size > 9))):
        side = int(head(board)[SIDE_AT])
        moves = engine.legal_moves(board).tolist()
        if not moves:
            return float(side), quiet
        key = engine.key(board)
        occurrence = past[len(past) - since_capture :].count(key) + 1
        if rules.repetition.result != "none" and occurrence >= rules.repetition.times:
            # The side that is not to move has just repeated the position.
            winner = rules.repetition.winner("white" if side else "black")
            return (0.5 if winner is None else float(winner == "white")), quiet
        if rules.move_limit is not None and ply >= rules.move_limit:
            return 0.5, quiet
        strays = ply < opening or (stray > 0 and random.random() < stray)
        if strays:
            move, score = random.choice(moves), 0
            quiet = [found._replace(judged=False) for found in quiet]
        else:
            root = Root(board, moves, past[len(past) - since_capture :], ply)
            thought = searchers[side].think(root, limits[side])
            move, score = thought.move.code, thought.score or 0
        past.append(key)
        before = board.copy()
        undo, code = engine.make(board, move)
        captures = len(engine.captured(undo))
        since_capture = 0 if captures else since_capture + 1
        outcome = OUTCOMES[code]
        if outcome is not None:
            return float(outcome.winner == "white"), quiet
        if not strays and not captures and abs(score) < PROVEN:
            quiet.append(Quiet(before, -score if side else score, judged=True))
    return 0.5, quiet


def play_pairs(
    searchers: Sequence[Searcher],
    variant: Variant,
    *,
    pairs: int,
    nodes: int | None,
    seed: int,
    movetime: float | None = None,
    odds: float = 1.0,
) -> Iterator[tuple[float, float]]:
    """Play pairs of games with colours swapped, each pair from a random opening of 4, 6 or 8 plies.

    Yield the first player's points in the two games of each pair. Black has ``odds`` times as many nodes or as much
    time as white, so that both sides win games where white is the stronger side.
    """
    random = Random(seed)
    for number in range(pairs):
        opening_seed, points = random.getrandbits(64), []
        for swapped in (False, True):
            for searcher in searchers:
                searcher.forget()
            order = searchers[::-1] if swapped else searchers
            opening = 4 + 2 * (number % 3)
            result, _ = play_game(
                order, variant, Random(opening_seed), nodes=nodes, opening=opening, movetime=movetime, odds=odds
            )
            points.append(1 - result if swapped else result)
        yield points[0], points[1]


def play_match(
    first: Mapping[str, float], second: Mapping[str, float], variant: Variant, *, pairs: int, nodes: int, seed: int
) -> MatchScore:
    """Play a match between two sets of weights, in pairs of games with colours swapped."""
    searchers = [Searcher(variant, hash_mib=4, weights=weights) for weights in (first, second)]
    made = Counter(chain.from_iterable(play_pairs(searchers, variant, pairs=pairs, nodes=nodes, seed=seed)))
    return MatchScore(made[1.0], made[0.5], made[0.0])


def gather(
    variant: Variant, weights: Mapping[str, float], *, games: int, nodes: int, seed: int, share: float = 0.25
) -> Sample:
    """Return quiet positions from self-play with the results of their games. ``share`` is the fraction to sample."""
    searcher, random = Searcher(variant, hash_mib=4, weights=weights), Random(seed)
    boards, results = [], []
    for number in range(games):
        searcher.forget()
        result, quiet = play_game([searcher] * 2, variant, random, nodes=nodes, opening=4 + number % 8)
        for found in quiet:
            if random.random() < share:
                boards.append(found.board)
                results.append(result)
    return Sample(np.array(boards), np.array(results))
