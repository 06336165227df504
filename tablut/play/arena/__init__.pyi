from .match import (
    MatchReport as MatchReport,
    MatchSummary as MatchSummary,
    ScoredGame as ScoredGame,
    play_match as play_match,
)
from .plan import Contestant as Contestant, MatchPlan as MatchPlan, Openings as Openings, contestant as contestant
from .statistics import Sprt as Sprt, Tally as Tally
from .tournament import (
    GameMeasures as GameMeasures,
    Tournament as Tournament,
    TournamentReport as TournamentReport,
    measure as measure,
    play_tournament as play_tournament,
)
