"""What ``tablut match``, ``tournament`` and ``measure`` print."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tablut.cli.tables import Table, label, number, prose

if TYPE_CHECKING:
    from tablut.cli.people import PeopleConsole
    from tablut.play.arena.match import MatchSummary
    from tablut.play.arena.measures import GameMeasures
    from tablut.play.arena.tournament import TournamentSummary

__all__ = ["show_match", "show_measures", "show_tournament"]


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _elo(value: float | None, share: float) -> str:
    if value is None:
        return "+∞" if share > 0.5 else "−∞"
    return f"{value:+.0f}"


def _elo_text(summary: MatchSummary) -> str:
    low, high = summary.elo_interval
    low_share, high_share = summary.score_interval
    return f"{_elo(summary.elo, summary.score)} ({_elo(low, low_share)} to {_elo(high, high_share)})"


def show_match(console: PeopleConsole, summary: MatchSummary) -> None:
    """Print a match.

    Parameters
    ----------
    console : PeopleConsole
        Where.
    summary : MatchSummary
        What the match says.
    """
    console.print(f"{summary.a} against {summary.b}, {summary.variant}", style="bold")
    console.print(
        f"{summary.games:,} games: {summary.a_wins:,} won, {summary.draws:,} drawn, {summary.b_wins:,} lost; "
        f"{summary.plies:.1f} plies on average"
    )
    low, high = summary.score_interval
    console.print(f"score        {_percent(summary.score)} ({_percent(low)} to {_percent(high)})")
    console.print(f"Elo          {_elo_text(summary)}, of 95 %")
    sure = "over 99.9 %" if summary.superiority > 0.999 else _percent(summary.superiority)
    console.print(f"superiority  {sure} likely that {summary.a} is the better one")
    table = Table(label(f"{summary.a} plays"), number("won"), number("drawn"), number("lost"))
    for name, colour in (("a_white", "white"), ("a_black", "black")):
        found = summary.by_colour[name]
        table.add(colour, f"{found['wins']:,}", f"{found['draws']:,}", f"{found['losses']:,}")
    console.print(table)
    ends = Table(number("games"), label("ended by"))
    for name, count in summary.termination.items():
        ends.add(f"{count:,}", name.replace("_", " "))
    console.print(ends)
    for fault in summary.faults:
        console.print(f"fault: {fault}", style="red")
    if (test := summary.sprt) is not None:
        said = {
            "accepted": f"accepted: {test.elo1:g} Elo is the likelier difference",
            "rejected": f"rejected: {test.elo0:g} Elo is the likelier difference",
            "running": "not decided yet",
        }
        console.print(f"test of {test.elo0:g} against {test.elo1:g} Elo: {said[test.state]}")
        console.print(f"log-likelihood ratio {test.ratio:.2f}, ends at {test.lower:.2f} and {test.upper:.2f}")


def show_measures(console: PeopleConsole, found: GameMeasures) -> None:
    """Print the measures of a game.

    Parameters
    ----------
    console : PeopleConsole
        Where.
    found : GameMeasures
        What the games say.
    """
    console.print(f"{found.variant} as {found.player} plays it", style="bold")
    cut = f", {found.capped:,} of them cut off as drawn" if found.capped else ""
    console.print(f"{found.games:,} games{cut}")
    table = Table(label("measure"), number("mean"), label("95 %"))
    for name, value, digits in (
        ("legal moves of a position", found.branching, 2),
        ("plies of a game", found.plies, 2),
        ("log10 of the game tree", found.log10_tree, 2),
        ("plies that repeat a position", found.repeated, 2),
    ):
        table.add(name, f"{value.mean:.{digits}f}", f"{value.low:.{digits}f} to {value.high:.{digits}f}")
    console.print(table)
    low, high = found.white_score_interval
    console.print(f"white wins {found.white:,}, black {found.black:,}, drawn {found.draws:,}")
    console.print(f"white scores {_percent(found.white_score)} ({_percent(low)} to {_percent(high)})")


def show_tournament(console: PeopleConsole, summary: TournamentSummary) -> None:
    """Print a tournament.

    Parameters
    ----------
    console : PeopleConsole
        Where.
    summary : TournamentSummary
        What the tournament says.
    """
    console.print(f"Tournament, {summary.variant}", style="bold")
    table = Table(
        label("player"), number("games"), number("won"), number("drawn"), number("lost"), number("Elo"), label("95 %")
    )
    for row in summary.table:
        low, high = row.elo_interval
        counts = [f"{value:,}" for value in (row.games, row.wins, row.draws, row.losses)]
        table.add(row.player, *counts, f"{row.elo:+.0f}", f"{low:+.0f} to {high:+.0f}")
    console.print(table)
    matches = Table(number("won"), number("drawn"), number("lost"), prose("match"))
    for match in summary.matches:
        matches.add(f"{match.a_wins:,}", f"{match.draws:,}", f"{match.b_wins:,}", f"{match.a} against {match.b}")
    console.print(matches)
    for match in summary.matches:
        for fault in match.faults:
            console.print(f"fault: {fault}", style="red")
