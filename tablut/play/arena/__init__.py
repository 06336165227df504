"""Matches between players: paired openings, budgets, records, intervals and the sequential test."""

from typing import TYPE_CHECKING

from tablut.lazy import lazy_exports

if TYPE_CHECKING:
    from tablut.play.arena.match import MatchReport, MatchSummary, ScoredGame, play_match
    from tablut.play.arena.plan import Contestant, MatchPlan, Openings, contestant
    from tablut.play.arena.statistics import Sprt, Tally
    from tablut.play.arena.tournament import GameMeasures, TournamentReport, measure, play_tournament
else:
    __getattr__, __dir__ = lazy_exports(__name__)

__all__ = [
    "Contestant",
    "GameMeasures",
    "MatchPlan",
    "MatchReport",
    "MatchSummary",
    "Openings",
    "ScoredGame",
    "Sprt",
    "Tally",
    "TournamentReport",
    "contestant",
    "measure",
    "play_match",
    "play_tournament",
]
