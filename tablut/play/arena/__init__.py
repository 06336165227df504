"""Matches between players: paired openings, budgets, records, intervals and the sequential test."""

from typing import TYPE_CHECKING

from tablut.lazy import lazy_exports

if TYPE_CHECKING:
    from tablut.play.arena.contestants import Contestant, contestant
    from tablut.play.arena.match import MatchReport, MatchSummary, Played, play_match
    from tablut.play.arena.measures import GameMeasures, measure
    from tablut.play.arena.openings import Openings
    from tablut.play.arena.plan import MatchPlan
    from tablut.play.arena.statistics import Sprt, Tally
    from tablut.play.arena.tournament import TournamentReport, play_tournament
else:
    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "Contestant": "tablut.play.arena.contestants",
            "GameMeasures": "tablut.play.arena.measures",
            "MatchPlan": "tablut.play.arena.plan",
            "MatchReport": "tablut.play.arena.match",
            "MatchSummary": "tablut.play.arena.match",
            "Openings": "tablut.play.arena.openings",
            "Played": "tablut.play.arena.match",
            "Sprt": "tablut.play.arena.statistics",
            "Tally": "tablut.play.arena.statistics",
            "TournamentReport": "tablut.play.arena.tournament",
            "contestant": "tablut.play.arena.contestants",
            "measure": "tablut.play.arena.measures",
            "play_match": "tablut.play.arena.match",
            "play_tournament": "tablut.play.arena.tournament",
        },
    )

__all__ = [
    "Contestant",
    "GameMeasures",
    "MatchPlan",
    "MatchReport",
    "MatchSummary",
    "Openings",
    "Played",
    "Sprt",
    "Tally",
    "TournamentReport",
    "contestant",
    "measure",
    "play_match",
    "play_tournament",
]
