"""The commands ``tablut match``, ``tournament`` and ``measure``, which compare players and measure games."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Any, Final, TypeVar

from pydantic import Field

from tablut.cli.command import command
from tablut.cli.options import (
    check_folder,
    position_field,
    read_position,
    seed_field,
    threads_field,
    variant_field,
    warn,
)
from tablut.cli.people import PeopleConsole, Table, label, number, prose
from tablut.cli.requests import Argument, Option
from tablut.cli.runtime import Interrupted, Reply, progress
from tablut.errors import InputError
from tablut.play.arena.game import FAULTS, Adjudicator
from tablut.play.arena.match import MatchReport, MatchSummary, play_match
from tablut.play.arena.plan import Adjudication, Contestant, MatchPlan, Openings, check_contestants, contestant
from tablut.play.arena.statistics import Sprt
from tablut.play.arena.tournament import (
    Estimated,
    GameMeasures,
    TournamentReport,
    TournamentRow,
    TournamentSummary,
    measure,
    play_tournament,
)
from tablut.play.book import BookOpenings
from tablut.play.player_requests import BudgetRequest, ControlRequest, hash_field, movetime_field
from tablut.play.players import PlayerOptions
from tablut.play.search.limits import SearchLimits, TimeControl, nominal_points
from tablut.position import Position
from tablut.results import Result
from tablut.variants import Variant, load_variant
from tablut.work.files import store_path
from tablut.work.progress import plural

Played = TypeVar("Played")

_ERRORS: Final = (0.05, 0.05)
_SHIPPED: Final = "shipped"
"""Value of ``--adjudicate-tables`` for the built-in tables."""


# -- options shared by ``tablut match``, ``tournament`` and ``measure`` --------------------


PLAYER_HELP = (
    "Player, such as alphabeta, optionally with settings: alphabeta@movetime=0.1,hash=16 (movetime, nodes, depth, "
    "playouts, tc, hash, threads, table-memory, tablebase). An external program is given as program:COMMAND if it uses "
    "the protocol of tablut engine, or as otep:, taflzero: or htp:COMMAND if it uses another protocol. A "
    "Python class of your own is given as MODULE:CLASS."
)


def games_field(default: int, words: str = "Number of games to play.") -> Any:
    """Describe a field as the option ``--games``."""
    return Option(default, words, "--games", "-n", least=1, most=10**6)


class _GamesRequest(BudgetRequest):
    """The part of a request shared by the commands ``match``, ``tournament`` and ``measure``."""

    movetime: float | None = movetime_field("0.1")
    variant: str = variant_field("ashton")
    opening: int = Option(4, "Number of random plies at the start of a game.", least=0, most=100)
    seed: int = seed_field("Random seed of the openings and the players.", 1)
    threads: int = threads_field("Number of games played simultaneously.")
    hash_mib: int = hash_field(16)
    most_plies: int = Option(500, "Number of plies after which a game is drawn (ply_cap).", least=1, most=20_000)
    store: str | None = Option(
        None, "Folder for the game records. Games already stored there are not played again.", metavar="DIR"
    )

    def contestants(
        self, players: Sequence[str], start: Position | None = None, control: TimeControl | None = None
    ) -> tuple[Variant, list[Contestant]]:
        """Return the rules and the players, after checking that the players support these rules and this start."""
        rules, limits = load_variant(self.variant), self.limits(movetime=0.1)
        if control is not None:
            limits = self.given or SearchLimits()
        everyone = [contestant(text, limits, PlayerOptions(hash_mib=self.hash_mib), control) for text in players]
        for line in check_contestants(everyone, rules, start):
            warn(line)
        if self.store is not None:
            check_folder(store_path(self.store), "--store")
        return rules, everyone

    def play(self, name: str, games: int, play: Callable[..., Played], reply: Callable[[Played], Reply]) -> Reply:
        """Play games with a progress display, and return the command's reply.

        If the user interrupts the command, the games played so far are reported.
        """
        go_on = "" if self.store is None else f"the same command; {self.store} contains the games so far"
        with progress(name) as observer:
            observer.begin("games", games)
            report = play(
                threads=self.threads,
                folder=None if self.store is None else store_path(self.store),
                watch=lambda _: observer.advance(),
                on_interrupt=lambda so_far: Interrupted(reply(so_far), go_on),
            )
        return reply(report)


class _PairedRequest(_GamesRequest, ControlRequest):
    """The part of a request shared by the commands in which different players meet."""

    position: str | None = position_field()
    candidates: int = Option(
        4,
        "Number of random openings tried for each pair of games. The most balanced opening is played.",
        least=1,
        most=100,
    )
    grace: float | None = Option(
        None,
        "Extra time that a player may use beyond its move time or its clock without losing the game. "
        "[default: 0.1, and 3 for external programs]",
        metavar="SECONDS",
        least=0,
    )
    adjudicate_tables: str | None = Option(
        None,
        "Tablebase that decides games as soon as a capture leads to one of its positions. It is a folder, or the "
        "word shipped for the built-in tables.",
        metavar="STORE",
    )
    adjudicate_scores: tuple[Annotated[int, Field(ge=2, le=1000)], Annotated[float, Field(ge=51, le=30_000)]] | None = (
        Option(
            None,
            "Decide a game for a side if, for PLIES plies in a row, both players expect it to score POINTS of 100 "
            "points or more, for example 95. A number over 100 is a score in centi-logits, and is converted. Games of "
            "players that report no score, such as random, are never decided in this way.",
            metavar="PLIES POINTS",
        )
    )
    openings: str | None = Option(
        None,
        "Opening book or collection of games to draw the openings from. Their length is set by --opening.",
        metavar="FILE",
    )

    def plan(self, players: Sequence[str], games: int) -> tuple[list[Contestant], MatchPlan]:
        """Return all players, and the plan for a match between the first two."""
        if self.control is not None and self.movetime is not None:
            raise InputError("cannot be combined with --movetime", subject="--tc", remedy="leave one out")
        start = read_position(self.position, load_variant(self.variant))
        rules, everyone = self.contestants(players, start, self.control)
        if self.opening and self.candidates > 1:
            from tablut.engine import engine_for

            engine_for(rules)  # reject a board where openings cannot be scored now, not in the match
        lines, judge = self._openings(), self._adjudication(rules)
        return everyone, MatchPlan(
            rules, everyone[0], everyone[1], games, self.seed, lines, start, self.most_plies, self.grace, True, judge
        )

    def _openings(self) -> Openings | BookOpenings:
        if self.openings is None:
            return Openings(self.opening, self.candidates, self.seed)
        return BookOpenings(self.openings, self.opening, self.seed)

    def _adjudication(self, rules: Variant) -> Adjudication:
        tables = "" if self.adjudicate_tables == _SHIPPED else self.adjudicate_tables
        plies, points = self.adjudicate_scores or (0, 0)
        if points > 100:
            share = nominal_points(round(points))
            warn(f"--adjudicate-scores: {points:g} is a score in centi-logits; it stands for {100 * share:.4g} points")
            points = 100 * share
        found = Adjudication(tables, plies, points / 100)
        Adjudicator(found, rules)  # reject missing tables now, not in the match
        return found


def warn_of_faults(reports: Sequence[MatchReport]) -> None:
    """Warn about games lost through a player's fault."""
    games = [one.game for report in reports for one in report.played]
    if faults := [game.fault for game in games if game.termination in FAULTS]:
        warn(f"{len(faults):,} of {len(games):,} games were lost through a fault; the first fault: {faults[0]}")


_SECTIONS: Final = {
    "Strength of the players": "movetime nodes playouts depth control grace hash_mib",
    "Openings": "position opening candidates openings",
    "When a game ends early": "most_plies adjudicate_tables adjudicate_scores",
    "When the match ends early": "sprt errors",
    "Files": "store",
}
"""Sections of the help: for each title, the names of its options."""


class MatchRequest(_PairedRequest):
    """The request of ``tablut match``."""

    first: str = Argument("A", PLAYER_HELP)
    second: str = Argument("B", "Opponent of A.")
    games: int = games_field(100)
    sprt: tuple[float, float] | None = Option(
        None,
        "Two Elo differences. The match ends when one of them is clearly more likely.",
        metavar="ELO0 ELO1",
    )
    errors: tuple[float, float] = Option(_ERRORS, "Error probabilities of the --sprt test.", metavar="ALPHA BETA")


@command(sections=_SECTIONS)
def match_command(request: MatchRequest) -> Reply:
    """Play a match between two players, and estimate which one is better and by how much.

    Each opening is played twice, with colours reversed. The 95 % intervals are based on the spread of these pairs of
    games. With --nodes, the same seed produces the same games for any number of threads.
    """
    sprt, errors = request.sprt, request.errors
    if sprt is None and errors != _ERRORS:
        raise InputError("applies only to --sprt", subject="--errors", remedy="leave it out, or add --sprt ELO0 ELO1")
    test = None if sprt is None else Sprt(*sprt, *errors).checked()
    _, plan = request.plan([request.first, request.second], request.games)

    def _reply(report: MatchReport) -> Reply:
        warn_of_faults([report])
        return Reply(report.summary, lambda console: show_match(console, report.summary), seed=request.seed)

    return request.play("match", request.games, partial(play_match, plan, sprt=test), _reply)


class TournamentRequest(_PairedRequest):
    """The request of ``tablut tournament``."""

    players: tuple[str, ...] = Argument("NAMES...", PLAYER_HELP)
    games: int = games_field(20, "Number of games of each match.")


@command(table=True, sections=_SECTIONS)
def tournament_command(request: TournamentRequest) -> Reply:
    """Play a match between every pair of players, and rate the players.

    In each match, every opening is played twice, with colours reversed. Elo ratings are relative to the mean of the
    players and have 95 % intervals.
    """
    players, games = request.players, request.games
    if len(players) < 2:
        raise InputError("expected at least two players", subject="tournament")
    everyone, plan = request.plan(players, games)

    def _reply(report: TournamentReport) -> Reply:
        warn_of_faults(report.matches)
        show, table = partial(show_tournament, summary=report.summary), (TournamentRow, report.summary.table)
        return Reply(report.summary, show, seed=request.seed, table=table)

    matches = len(players) * (len(players) - 1) // 2
    return request.play("tournament", games * matches, partial(play_tournament, everyone, plan), _reply)


class MeasureRequest(_GamesRequest):
    """The request of ``tablut measure``."""

    player: str = Argument("[PLAYER]", f"{PLAYER_HELP} [default: random]", "random")
    games: int = games_field(100)


@command(table=True)
def measure_command(request: MeasureRequest) -> Reply:
    """Let a player play itself, and measure the branching factor, length, tree size and balance of the game.

    The 95 % intervals are based on the variation between games. The first plies are random, so that the games differ.
    """
    games, seed = request.games, request.seed
    if games < 2:
        raise InputError("expected at least 2", subject=f"--games {games}")
    rules, (first, second) = request.contestants([request.player, request.player])
    openings = Openings(request.opening, 1, seed)
    plan = MatchPlan(rules, first, second, games, seed, openings, None, request.most_plies, math.inf, paired=False)

    def _reply(report: MatchReport) -> Reply:
        if len(report.played) < 2:
            raise KeyboardInterrupt
        found = measure(rules, report)
        rows = [_Measure(measure=name, **dict(value)) for name, value in found if isinstance(value, Estimated)]
        return Reply(found, lambda console: show_measures(console, found), seed=seed, table=(_Measure, rows))

    return request.play("measure", games, partial(play_match, plan), _reply)


class _Measure(Result):
    measure: str
    mean: float
    low: float
    high: float


# -- output of ``tablut match``, ``tournament`` and ``measure`` ----------------------------


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _elo(value: float | None, share: float) -> str:
    if value is None:
        return "+∞" if share > 0.5 else "−∞"
    return f"{value:+.0f}"


def _elo_text(summary: MatchSummary) -> str:
    low, high = summary.elo_interval
    low_share, high_share = summary.score_interval
    return f"{_elo(summary.elo, summary.score)} ({_elo(low, low_share)} to {_elo(high, high_share)}, 95 % interval)"


def _show_over_time(console: PeopleConsole, summary: MatchSummary) -> None:
    """Print how often and how far the players exceeded their time, if they did so."""
    players = zip((summary.a, summary.b), summary.moves_over_time, summary.worst_excess, strict=True)
    if said := [f"{name} {plural(moves, 'move')}, by up to {worst:.3f} s" for name, moves, worst in players if moves]:
        console.print(f"over time    {'; '.join(said)}", soft_wrap=True)


def show_match(console: PeopleConsole, summary: MatchSummary) -> None:
    """Print the results of a match."""
    console.print(f"{summary.a} against {summary.b}, {summary.variant}", style="bold")
    console.print(
        f"{plural(summary.games, 'game')}: {summary.a_wins:,} won, {summary.draws:,} drawn, {summary.b_wins:,} lost; "
        f"{summary.plies:.1f} plies on average"
    )
    low, high = summary.score_interval
    console.print(f"score        {_percent(summary.score)} ({_percent(low)} to {_percent(high)})")
    lost = [f"{name} {games:,}" for name, games in zip((summary.a, summary.b), summary.lost_by_fault, strict=True)]
    faulty = f"; games lost through faults, not on the board: {', '.join(lost)}" if any(summary.lost_by_fault) else ""
    console.print(f"Elo          {_elo_text(summary)}{faulty}", soft_wrap=True)
    if any(summary.time_controls):
        used = " and ".join(f"{seconds:.2f} s" for seconds in summary.seconds_a_game)
        console.print(
            f"clocks       {' and '.join(one or 'none' for one in summary.time_controls)}; {used} used a game"
        )
    _show_over_time(console, summary)
    if summary.adjudicated:
        console.print(f"adjudicated  {plural(summary.adjudicated, 'game')} decided before the end")
    sure = "over 99.9 %" if summary.superiority > 0.999 else _percent(summary.superiority)
    better = f"{sure} probability that {summary.a} is the stronger player"
    console.print(
        f"superiority  {better if summary.a != summary.b else 'not shown, because both players are the same'}"
    )
    table = Table(label(f"{summary.a} plays"), number("won"), number("drawn"), number("lost"))
    for name, colour in (("a_white", "white"), ("a_black", "black")):
        found = summary.by_colour[name]
        table.add(colour, f"{found['wins']:,}", f"{found['draws']:,}", f"{found['losses']:,}")
    console.print(table)
    ends = ((f"{count:,}", name.replace("_", " ")) for name, count in summary.termination.items())
    console.table((number("games"), label("ended by")), ends)
    for fault in summary.faults:
        console.print(f"fault: {fault}", style="red")
    if (test := summary.sprt) is not None:
        said = {
            "accepted": f"accepted: {test.elo1:g} Elo is the more likely difference",
            "rejected": f"rejected: {test.elo0:g} Elo is the more likely difference",
            "running": "not decided yet",
        }
        console.print(f"test of {test.elo0:g} against {test.elo1:g} Elo: {said[test.state]}")
        console.print(f"log-likelihood ratio {test.ratio:.2f}, limits {test.lower:.2f} and {test.upper:.2f}")


def show_measures(console: PeopleConsole, found: GameMeasures) -> None:
    """Print the measures of a rule set, taken from games that a player plays against itself."""
    console.print(f"{found.variant}, played by {found.player}", style="bold")
    cut = f", {found.capped:,} of them cut off as draws" if found.capped else ""
    console.print(f"{plural(found.games, 'game')}{cut}")
    table = Table(label("measure"), number("mean"), label("95 %"))
    for name, value in (
        ("legal moves per position", found.branching),
        ("plies per game", found.plies),
        ("log10 of the size of the game tree", found.log10_tree),
        ("repetitions per game", found.repeated),
    ):
        table.add(name, f"{value.mean:.2f}", f"{value.low:.2f} to {value.high:.2f}")
    console.print(table)
    low, high = found.white_score_interval
    console.print(f"white wins {found.white:,}, black {found.black:,}, drawn {found.draws:,}")
    console.print(f"white scores {_percent(found.white_score)} ({_percent(low)} to {_percent(high)})")


def show_tournament(console: PeopleConsole, summary: TournamentSummary) -> None:
    """Print the results of a tournament."""
    console.print(f"Tournament, {summary.variant}", style="bold")
    table = Table(
        label("player"), number("games"), number("won"), number("drawn"), number("lost"), number("Elo"), label("95 %")
    )
    for row in summary.table:
        low, high = row.elo_interval
        counts = [f"{value:,}" for value in (row.games, row.wins, row.draws, row.losses)]
        table.add(row.player, *counts, f"{row.elo:+.0f}", f"{low:+.0f} to {high:+.0f}")
    console.print(table)
    console.table(
        (number("won"), number("drawn"), number("lost"), prose("match")),
        (
            (f"{one.a_wins:,}", f"{one.draws:,}", f"{one.b_wins:,}", f"{one.a} against {one.b}")
            for one in summary.matches
        ),
    )
    for match in summary.matches:
        _show_over_time(console, match)
        for fault in match.faults:
            console.print(f"fault: {fault}", style="red")
