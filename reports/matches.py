"""Stored matches: output of ``tablut match --json``, checked for consistency before a page shows it."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from reports.stored import Provenance, hold, read_stored
from tablut.play.arena.match import MatchSummary
from tablut.play.arena.statistics import Tally, elo_of, interval_of_share, wilson

_CLOSE: Final = 2e-6
_ELO_CLOSE: Final = 0.06


class StoredMatch(MatchSummary):
    """A match with its provenance."""

    provenance: Provenance


def check_match(stored: StoredMatch, variant: str, players: tuple[str, str], command: str) -> None:
    """Check that a match has the expected variant, players and command, and that its counts are consistent."""
    if (stored.variant, stored.a, stored.b) != (variant, *players):
        raise ValueError(f"a, b: {stored.a!r} against {stored.b!r} under {stored.variant!r} is another match")
    hold(stored.provenance.command == command, "provenance.command: does not match the match")
    hold(f"-n {stored.games} " in command, f"games: {stored.games} is not the number in the command")
    if set(stored.by_colour) != {"a_white", "a_black"} or set(stored.decisive_plies) != set(stored.by_colour):
        raise ValueError("by_colour: expected a_white and a_black")
    for kind, whole in (("wins", stored.a_wins), ("losses", stored.b_wins), ("draws", stored.draws)):
        if any(set(counts) != {"wins", "losses", "draws"} for counts in stored.by_colour.values()):
            raise ValueError("by_colour: expected wins, losses and draws")
        if sum(counts[kind] for counts in stored.by_colour.values()) != whole:
            raise ValueError(f"by_colour: {kind} do not add up to {whole}")
    if any(2 * sum(counts.values()) != stored.games for counts in stored.by_colour.values()):
        raise ValueError("by_colour: is not half of the games for each colour")
    hold(not stored.faults, "faults: a game was lost because of a fault")
    if sum(stored.termination.values()) != stored.games or len(stored.slowest) != 2:
        raise ValueError("termination, slowest: do not cover the games and players")
    _check_statistics(stored)


def _check_statistics(stored: StoredMatch) -> None:
    """Recompute the score and its intervals, and compare them with the stored ones."""
    hold(len(stored.pairs) == 5 and 2 * sum(stored.pairs) == stored.games, "pairs: are not half as many as games")
    a, b, c, d, e = stored.pairs
    tally = Tally(stored.a_wins, stored.draws, stored.b_wins, (a, b, c, d, e))
    points = tally.wins + tally.draws / 2
    hold(b + 2 * c + 3 * d + 4 * e == 2 * points, "pairs: do not have the points of the games")
    ends = interval_of_share(tally)
    for name, given, again in (
        ("score", [stored.score], [tally.share]),
        ("score_interval", stored.score_interval, ends),
        ("score_wilson", stored.score_wilson, wilson(points, tally.games)),
    ):
        if len(given) != len(again) or any(abs(x - y) > _CLOSE for x, y in zip(given, again, strict=True)):
            raise ValueError(f"{name}: does not follow from the games")
    for stated, share in zip((stored.elo, *stored.elo_interval), (tally.share, *ends), strict=True):
        elo = elo_of(share)
        if (stated is None) != (elo is None) or abs((stated or 0) - (elo or 0)) > _ELO_CLOSE:
            raise ValueError("elo: does not follow from the score")


# -- our player against those of the sources: matches stored in ``reports/data/players`` as ``ours-NAME``


WANTED: Final = 0.99
"""Target score of our player."""
_ENDLESS: Final = "benchmarks/rules/mcgill-endless.toml"


class Opponent(NamedTuple):
    """A player of the sources, and the game in which our player meets it."""

    name: str
    text: str
    variant: str = "mcgill-endless"
    rules: str = _ENDLESS

    @property
    def command(self) -> str:
        """The command that plays the match."""
        games = "-n 400 --hash 8 --most-plies 1000 --grace 1 --seed 13 --json"
        return f"tablut match alphabeta@movetime=0.1 {self.text} -v {self.rules} {games}"


OPPONENTS: Final = (
    Opponent("mcts-heuristic", "mcts-heuristic@movetime=0.1"),
    Opponent("payoff", "payoff@movetime=0.1"),
    Opponent("heuristic", "heuristic@nodes=1"),
    Opponent("minimax3", "minimax3@movetime=0.1", "berkeley", "berkeley"),
)
"""The strongest players of the sources: 400 games each at 0.1 s a move, without a move limit."""


def results() -> dict[str, dict[str, Any]]:
    """Return the stored matches by the opponent's name, in the order of `OPPONENTS`."""
    return {one.name: read_stored("players", f"ours-{one.name}", StoredMatch, _check) for one in OPPONENTS}


def _check(stored: StoredMatch, name: str) -> None:
    """Check that a match belongs to its opponent and is internally consistent."""
    one = next(one for one in OPPONENTS if name == f"ours-{one.name}")
    check_match(stored, one.variant, ("alphabeta@movetime=0.1", one.text), one.command)
