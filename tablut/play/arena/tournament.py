"""A tournament: a match between every two players, and their ratings."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from tablut.errors import InputError
from tablut.files import child
from tablut.play.arena.contestants import same_names
from tablut.play.arena.match import MatchReport, MatchSummary, play_match
from tablut.play.arena.ratings import ratings
from tablut.results import Result

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tablut.play.arena.contestants import Contestant
    from tablut.play.arena.match import Played
    from tablut.play.arena.plan import MatchPlan

__all__ = ["TournamentReport", "TournamentRow", "TournamentSummary", "play_tournament"]


class TournamentRow(Result):
    """One player of a tournament."""

    player: str
    games: int
    wins: int
    draws: int
    losses: int
    elo: float
    elo_interval: list[float]


class TournamentSummary(Result):
    """What a tournament says.

    Attributes
    ----------
    variant : str
        The rule set.
    table : list of TournamentRow
        The players, the strongest first; Elo against their mean.
    matches : list of MatchSummary
        Between every two.
    """

    variant: str
    table: list[TournamentRow]
    matches: list[MatchSummary]


class TournamentReport(NamedTuple):
    """A tournament that was played.

    Attributes
    ----------
    summary : TournamentSummary
        What it says.
    matches : tuple of MatchReport
        Its matches, each with its games.
    """

    summary: TournamentSummary
    matches: tuple[MatchReport, ...]


def play_tournament(
    contestants: list[Contestant],
    plan: MatchPlan,
    *,
    threads: int = 1,
    folder: Path | None = None,
    watch: Callable[[Played], None] | None = None,
    on_interrupt: Callable[[TournamentReport], BaseException] | None = None,
) -> TournamentReport:
    """Play a match between every two of some players, or what a folder does not have of it.

    Parameters
    ----------
    contestants : list of Contestant
        At least two.
    plan : MatchPlan
        Of each match; its players are replaced.
    threads : int
        Games at once.
    folder : Path, optional
        Where the games are kept, a sub-folder a match.
    watch : callable, optional
        Told of each game.
    on_interrupt : callable, optional
        Makes of the matches so far what is raised instead of `KeyboardInterrupt`.

    Returns
    -------
    TournamentReport
        The table and the matches.

    Raises
    ------
    InputError
        If there are fewer than two players, or a kept game does not hold.

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
        raise InputError("tournament: expected at least two players")
    names = same_names(contestants)
    contestants = [one._replace(text=name) for one, name in zip(contestants, names, strict=True)]
    reports: dict[tuple[int, int], MatchReport] = {}

    def _so_far() -> TournamentReport:
        return TournamentReport(_summary(plan, names, reports), tuple(reports.values()))

    def _interrupted(match: MatchReport) -> BaseException:
        reports[pair] = match
        return KeyboardInterrupt() if on_interrupt is None else on_interrupt(_so_far())

    for pair in combinations(range(len(contestants)), 2):
        first, second = (contestants[place] for place in pair)
        own = None if folder is None else child(folder, f"match-{pair[0]:03d}-{pair[1]:03d}", "tournament")
        reports[pair] = play_match(
            plan._replace(first=first, second=second),
            threads=threads,
            folder=own,
            watch=watch,
            on_interrupt=_interrupted,
        )
    return _so_far()


def _summary(plan: MatchPlan, names: list[str], reports: dict[tuple[int, int], MatchReport]) -> TournamentSummary:
    points = {
        pair: (report.tally.wins + report.tally.draws / 2, report.tally.games) for pair, report in reports.items()
    }
    rows = []
    for number, (name, rating) in enumerate(zip(names, ratings(len(names), points), strict=True)):
        wins = draws = losses = 0
        for (first, second), report in reports.items():
            if number in (first, second):
                tally = report.tally
                draws += tally.draws
                wins += tally.wins if number == first else tally.losses
                losses += tally.losses if number == first else tally.wins
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
