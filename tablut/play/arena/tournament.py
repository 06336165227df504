"""Tournaments (a match between every pair of players), ratings for the players, and measures of a game."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from scipy.special import expit
from scipy.stats import norm

from tablut.board import Board
from tablut.errors import InputError, shown_value
from tablut.play.arena.game import EndedGame
from tablut.play.arena.match import MatchReport, MatchSummary, ScoredGame, play_match
from tablut.play.arena.plan import Contestant, MatchPlan, check_contestants, contestant, plan_match, same_names
from tablut.play.arena.statistics import elo_of, wilson
from tablut.play.bridges.objects import PlayerLike
from tablut.play.search.limits import SearchLimits
from tablut.results import Result
from tablut.variants import Variant, VariantLike
from tablut.work.files import brief, child
from tablut.work.ledger import Kind, refuse_foreign


class TournamentRow(Result):
    """Row of a tournament table: one player's results and rating."""

    player: str
    games: int
    wins: int
    draws: int
    losses: int
    elo: float
    elo_interval: list[float]


class TournamentSummary(Result):
    """Summary of a tournament: its table and its matches."""

    variant: str
    table: list[TournamentRow]
    matches: list[MatchSummary]


class Tournament(NamedTuple):
    """Tournament between players given as texts or as Python objects, with a match between every two of them.

    - ``players``: At least two players, in any form that `contestant` accepts.
    - ``variant``, ``games``: Rule set, and number of games in each match.
    - ``limits``: Limits for each move of players without limits of their own, or None for 0.1 seconds.
    - ``seed``: Random seed of the openings and the players.

    Examples
    --------
    >>> from tablut.play.search.limits import SearchLimits
    >>> def last_move(board, limits):
    ...     return list(board.legal_moves)[-1]
    >>> players = [last_move, "random", "greedy"]
    >>> report = Tournament(players, "brandubh-5-4v0", games=2, limits=SearchLimits(nodes=1)).play()
    >>> sorted((row.player, row.games) for row in report.summary.table)
    [('greedy', 4), ('last_move', 4), ('random', 4)]
    """

    players: Sequence[PlayerLike]
    variant: VariantLike = "ashton"
    games: int = 2
    limits: SearchLimits | None = None
    seed: int = 1

    def play(
        self, *, threads: int = 1, folder: Path | None = None, watch: Callable[[ScoredGame], None] | None = None
    ) -> TournamentReport:
        """Play all matches, ``threads`` games at a time, and return the table and the matches.

        The games are stored in ``folder`` if it is given. ``watch`` is called with each game when it has ended.
        """
        if isinstance(self.players, str) or not isinstance(self.players, Sequence):
            raise InputError("expected a list of players", parameter="players", value=shown_value(self.players))
        everyone = [contestant(one, self.limits or SearchLimits(movetime=0.1)) for one in self.players]
        plan = plan_match(self.variant, "random", "random", self.games, self.limits, self.seed)
        check_contestants(everyone, plan.variant)
        return play_tournament(everyone, plan, threads=threads, folder=folder, watch=watch)


@brief
class TournamentReport(NamedTuple):
    """Matches and results of a tournament.

    ``summary`` is a summary of the results, and ``matches`` contains the matches, each with its games.
    """

    summary: TournamentSummary
    matches: tuple[MatchReport, ...]


def play_tournament(
    contestants: list[Contestant],
    plan: MatchPlan,
    *,
    threads: int = 1,
    folder: Path | None = None,
    watch: Callable[[ScoredGame], None] | None = None,
    on_interrupt: Callable[[TournamentReport], BaseException] | None = None,
) -> TournamentReport:
    """Return the table and the matches of a tournament between ``contestants``. Stored games are not played again.

    Each match follows the ``plan``, except for its two players. ``threads`` games are played simultaneously, and the
    games of each match are stored in a sub-folder of ``folder``. ``watch`` is called with each game when it has ended.
    ``on_interrupt`` takes a report and returns the exception to raise instead of `KeyboardInterrupt`.

    Raises
    ------
    InputError
        If there are fewer than two players, or a stored game is not valid.

    Examples
    --------
    >>> from tablut.play.arena import MatchPlan, contestant
    >>> from tablut.play.search.limits import SearchLimits
    >>> from tablut.variants import load_variant
    >>> players = [contestant(text, SearchLimits(nodes=1)) for text in ("random", "random@nodes=2", "random@nodes=3")]
    >>> plan = MatchPlan(load_variant("brandubh-5-4v0"), players[0], players[1], games=4)
    >>> [row.games for row in play_tournament(players, plan).summary.table]
    [8, 8, 8]
    """
    if len(contestants) < 2:
        raise InputError("expected at least two players", subject="tournament")
    names = same_names(contestants)
    contestants = [one._replace(text=name) for one, name in zip(contestants, names, strict=True)]
    reports: dict[tuple[int, int], MatchReport] = {}

    def _so_far() -> TournamentReport:
        return TournamentReport(_summary(plan, names, reports), tuple(reports.values()))

    def _stopped(match: MatchReport) -> BaseException:
        reports[pair] = match
        return KeyboardInterrupt() if on_interrupt is None else on_interrupt(_so_far())

    if folder is not None:
        refuse_foreign(folder, Kind("tournament", "match-*/game-*.txt"))
    for pair in combinations(range(len(contestants)), 2):
        first, second = (contestants[place] for place in pair)
        own = None if folder is None else child(folder, f"match-{pair[0]:03d}-{pair[1]:03d}", "tournament")
        reports[pair] = play_match(
            plan._replace(first=first, second=second), threads=threads, folder=own, watch=watch, on_interrupt=_stopped
        )
    return _so_far()


def _summary(plan: MatchPlan, names: list[str], reports: dict[tuple[int, int], MatchReport]) -> TournamentSummary:
    points = {
        pair: (report.tally.wins + report.tally.draws / 2, report.tally.games) for pair, report in reports.items()
    }
    rows = []
    for number, (name, rating) in enumerate(zip(names, ratings(len(names), points), strict=True)):
        # Wins, draws and losses of this player in each of its matches.
        own = [
            report.tally[:3][:: 1 if number == pair[0] else -1] for pair, report in reports.items() if number in pair
        ]
        wins, draws, losses = map(sum, zip(*own, strict=True))
        rows.append(
            TournamentRow(
                player=name,
                games=wins + draws + losses,
                wins=wins,
                draws=draws,
                losses=losses,
                elo=round(rating.elo, 1),
                elo_interval=[round(end, 1) for end in rating.interval],
            )
        )
    rows.sort(key=lambda row: -row.elo)
    return TournamentSummary(
        variant=plan.variant.name, table=rows, matches=[report.summary for report in reports.values()]
    )


# -- ratings of several players from their results, using the model of Bradley and Terry ---


# References
# ----------
# R. A. Bradley and M. E. Terry, "Rank analysis of incomplete block designs", Biometrika 39 (1952).
# R. Coulom, "Whole-history rating", 2008 (source of the virtual draws, a prior that keeps ratings finite).


_ELO: Final = 400 / math.log(10)
_VIRTUAL: Final = 1.0
"""Number of virtual draws that are added to each player's results. The virtual opponent has the mean rating."""


class Rating(NamedTuple):
    """Rating of a player relative to the other players, in Elo, with its 95 % interval."""

    elo: float
    interval: tuple[float, float]


def ratings(players: int, points: Mapping[tuple[int, int], tuple[float, int]]) -> list[Rating]:
    """Return the maximum-likelihood ratings, computed by Newton's method on a concave likelihood.

    ``points`` maps each pair of players to the points of its first player and the number of games.
    """
    won, games = np.zeros((players, players)), np.zeros((players, players))
    for (first, second), (score, count) in points.items():
        won[first, second], won[second, first] = score, count - score
        games[first, second] = games[second, first] = count
    strength, step = np.zeros(players), np.ones(players)
    while abs(step).max() > 1e-9:
        # The virtual draws count as half a win and half a loss against strength 0.
        chance, own = expit(strength[:, None] - strength), expit(strength)
        slope = (won - games * chance).sum(axis=1) + _VIRTUAL * (0.5 - own)
        weight = games * chance * (1 - chance)
        information = np.diag(weight.sum(axis=1) + _VIRTUAL * own * (1 - own)) - weight
        step = np.linalg.solve(information, slope)
        strength += step / max(1.0, abs(step).max())
    # Elo ratings are relative to the players' mean, so the uncertainty of the mean is removed.
    centre = np.eye(players) - 1 / players
    spread = np.sqrt(np.diag(centre @ np.linalg.inv(information) @ centre.T))
    z = float(norm.ppf(0.975))
    return [
        Rating(_ELO * float(at), (_ELO * float(at - z * error), _ELO * float(at + z * error)))
        for at, error in zip(strength - strength.mean(), spread, strict=True)
    ]


# ------------------------------------------------------------------------------------------
# Measures of a game: branching factor, length, balance, and size of the game tree


# The size of a game tree is estimated in two ways. The literature uses ``b ** d`` with the mean branching factor
# ``b`` and the mean length ``d`` of games. A more careful estimate takes, for each game, the logarithm of the product
# of the branching factors, and averages it over the games. A few unusual positions hardly affect this estimate.
#
# References
# ----------
# L. V. Allis, "Searching for Solutions in Games and Artificial Intelligence", 1994, section 6.2.


class Estimated(Result):
    """Estimate of a mean with its 95 % interval."""

    mean: float
    low: float
    high: float


class GameMeasures(Result):
    """Measures of a rule set, taken from games that a player plays against itself.

    - ``variant``, ``player``: Rule set, and the player that played both sides.
    - ``games``, ``capped``: Number of games, and number of games that were cut off as draws.
    - ``branching``: Number of legal moves in a position, averaged over each game and then over the games.
    - ``plies``, ``repeated``: Length of a game in plies, and number of its plies that repeat a position.
    - ``log10_tree``: Decimal logarithm of the product of the branching factors of a game.
    - ``log10_power``: The same as estimated in the literature: the mean length times the logarithm of the mean
      branching factor.
    - ``white``, ``black``, ``draws``: Numbers of wins for each side, and of draws.
    - ``white_score``, ``white_score_interval``: White's mean points per game, with Wilson's 95 % interval.
    - ``white_elo``: White's score as a difference in Elo, or None if the difference is infinite.
    """

    variant: str
    player: str
    games: int
    capped: int
    branching: Estimated
    plies: Estimated
    log10_tree: Estimated
    log10_power: float
    repeated: Estimated
    white: int
    black: int
    draws: int
    white_score: float
    white_score_interval: list[float]
    white_elo: float | None


def _measured(variant: Variant, game: EndedGame) -> tuple[list[int], int]:
    """Return the number of legal moves in each position of a game, and the number of plies that repeat a position."""
    board = Board(variant)
    factors, seen = [], {str(board.position)}
    for move in game.moves:
        factors.append(board.legal_moves.count())
        board.push(move)
        seen.add(str(board.position))
    return factors, len(game.moves) + 1 - len(seen)


def measure(variant: Variant, report: MatchReport) -> GameMeasures:
    """Return the measures of a ``variant``, given the ``report`` of a player's match against itself.

    Raises
    ------
    InputError
        If there are fewer than two games.

    Examples
    --------
    >>> from tablut.play.arena import MatchPlan, Openings, contestant, play_match
    >>> from tablut.play.search.limits import SearchLimits
    >>> from tablut.variants import load_variant
    >>> rules, random = load_variant("brandubh-5-4v0"), contestant("random", SearchLimits(nodes=1))
    >>> report = play_match(MatchPlan(rules, random, random, games=50, openings=Openings(0)))
    >>> found = measure(rules, report)
    >>> found.games, found.white + found.black + found.draws, found.branching.low < found.branching.mean
    (50, 50, True)
    """
    if len(report.played) < 2:
        raise InputError("expected at least two games", subject="measure")
    factors, repeated = zip(*(_measured(variant, one.game) for one in report.played), strict=True)
    winners = [one.game.winner for one in report.played]
    white, black, games = winners.count("white"), winners.count("black"), len(winners)
    points = white + (games - white - black) / 2
    elo = elo_of(points / games)
    branching = _estimated([sum(met) / len(met) for met in factors if met])
    lengths = [len(met) for met in factors]
    return GameMeasures(
        variant=variant.name,
        player=report.summary.a,
        games=games,
        capped=sum(one.game.termination == "ply_cap" for one in report.played),
        branching=branching,
        plies=_estimated(lengths),
        log10_tree=_estimated([sum(map(math.log10, met)) for met in factors]),
        log10_power=round(float(np.mean(lengths)) * math.log10(branching.mean), 4),
        repeated=_estimated(repeated),
        white=white,
        black=black,
        draws=games - white - black,
        white_score=round(points / games, 6),
        white_score_interval=[round(end, 6) for end in wilson(points, games)],
        white_elo=None if elo is None else round(elo, 1),
    )


def _estimated(values: Sequence[float]) -> Estimated:
    found = np.asarray(values, dtype=float)
    mean = float(found.mean())
    error = float(norm.ppf(0.975)) * float(found.std(ddof=1)) / math.sqrt(len(found))
    # None of these measures can be negative, but the interval for a rare event could extend below 0.
    return Estimated(mean=round(mean, 4), low=round(max(0.0, mean - error), 4), high=round(mean + error, 4))
