"""``tablut match``, ``tournament`` and ``measure``: programs compared, games measured, with intervals."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from tablut.cli.options import PositionOption, VariantOption, read_position
from tablut.cli.runtime import Interrupted, Reply, command, progress
from tablut.errors import InputError
from tablut.files import check_output
from tablut.play.arena.contestants import check_contestants, contestant
from tablut.play.arena.match import MatchReport, Played, play_match
from tablut.play.arena.measures import measure
from tablut.play.arena.openings import Openings
from tablut.play.arena.options import (
    PLAYER_HELP,
    CandidatesOption,
    CapOption,
    GamesOption,
    GraceOption,
    MovetimeOption,
    OpeningOption,
    SeedOption,
    StoreOption,
    TableOption,
    ThreadsOption,
)
from tablut.play.arena.plan import MatchPlan
from tablut.play.arena.showing import show_match, show_measures, show_tournament
from tablut.play.arena.statistics import Sprt
from tablut.play.arena.tables import write_games
from tablut.play.arena.tournament import TournamentReport, play_tournament
from tablut.play.options import DepthOption, HashOption, NodesOption, PlayoutsOption
from tablut.play.players import PlayerOptions
from tablut.play.search.limits import SearchLimits
from tablut.variants import load_variant

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.progress import Progress


__all__ = ["match_command", "measure_command", "tournament_command"]


_ERRORS: Final = (0.05, 0.05)


@command
def match_command(
    first: Annotated[str, typer.Argument(metavar="A", help=PLAYER_HELP)],
    second: Annotated[str, typer.Argument(metavar="B", help="Its opponent.")],
    variant: VariantOption = "ashton",
    position: PositionOption = None,
    games: GamesOption = 100,
    movetime: MovetimeOption = None,
    nodes: NodesOption = None,
    playouts: PlayoutsOption = None,
    depth: DepthOption = None,
    opening: OpeningOption = 4,
    candidates: CandidatesOption = 4,
    seed: SeedOption = 1,
    threads: ThreadsOption = 1,
    hash_mib: HashOption = 16,
    most_plies: CapOption = 500,
    grace: GraceOption = 0.1,
    sprt: Annotated[
        tuple[float, float] | None,
        typer.Option("--sprt", metavar="ELO0 ELO1", help="End when one difference is likelier than the other."),
    ] = None,
    errors: Annotated[
        tuple[float, float], typer.Option("--errors", metavar="ALPHA BETA", help="Chances of error of that test.")
    ] = _ERRORS,
    store: StoreOption = None,
    parquet: TableOption = None,
) -> Reply:
    """Play a match between two players, and say who is better by how much.

    Each opening is played twice, with colours changed; intervals of 95 % come from the spread of these pairs.
    Under --nodes the same seed gives the same games, whatever the number of threads.
    """
    limits = _limits(movetime, nodes, depth, playouts)
    plan = _plan(variant, position, [first, second], limits, hash_mib, seed)._replace(
        games=games, openings=Openings(opening, candidates, seed), most_plies=most_plies, grace=grace
    )
    if sprt is None and errors != _ERRORS:
        raise InputError("--errors: is for --sprt ELO0 ELO1; leave it out, or name the two differences")
    test = None if sprt is None else Sprt(*sprt, *errors).checked()
    folder = _folder(store)
    _check_table(parquet)

    def _reply(report: MatchReport) -> Reply:
        if parquet is not None:
            write_games(Path(parquet), [report])
        return Reply(report.summary, lambda console: show_match(console, report.summary), seed=seed)

    with progress("match") as display:
        report = play_match(
            plan,
            threads=threads,
            folder=folder,
            sprt=test,
            watch=_bar(display, games),
            on_interrupt=lambda so_far: Interrupted(_reply(so_far), _go_on(store)),
        )
    return _reply(report)


@command
def tournament_command(
    players: Annotated[list[str], typer.Argument(metavar="NAMES", help=PLAYER_HELP)],
    variant: VariantOption = "ashton",
    position: PositionOption = None,
    games: GamesOption = 20,
    movetime: MovetimeOption = None,
    nodes: NodesOption = None,
    playouts: PlayoutsOption = None,
    depth: DepthOption = None,
    opening: OpeningOption = 4,
    candidates: CandidatesOption = 4,
    seed: SeedOption = 1,
    threads: ThreadsOption = 1,
    hash_mib: HashOption = 16,
    most_plies: CapOption = 500,
    grace: GraceOption = 0.1,
    store: StoreOption = None,
    parquet: TableOption = None,
) -> Reply:
    """Play a match between every two players, and rate them.

    --games is the number for every two of them. Elo is against the mean of the players, with intervals of 95 %.
    """
    if len(players) < 2:
        raise InputError("tournament: expected at least two players")
    limits = _limits(movetime, nodes, depth, playouts)
    _check_table(parquet)
    everyone = [contestant(text, limits, PlayerOptions(hash_mib=hash_mib)) for text in players]
    plan = _plan(variant, position, players, limits, hash_mib, seed)._replace(
        games=games, openings=Openings(opening, candidates, seed), most_plies=most_plies, grace=grace
    )

    def _reply(report: TournamentReport) -> Reply:
        if parquet is not None:
            write_games(Path(parquet), report.matches)
        return Reply(report.summary, lambda console: show_tournament(console, report.summary), seed=seed)

    with progress("tournament") as display:
        report = play_tournament(
            everyone,
            plan,
            threads=threads,
            folder=_folder(store),
            watch=_bar(display, games * len(players) * (len(players) - 1) // 2),
            on_interrupt=lambda so_far: Interrupted(_reply(so_far), _go_on(store)),
        )
    return _reply(report)


@command
def measure_command(
    player: Annotated[str, typer.Argument(metavar="PLAYER", help=PLAYER_HELP)] = "random",
    variant: VariantOption = "ashton",
    games: GamesOption = 100,
    movetime: MovetimeOption = None,
    nodes: NodesOption = None,
    playouts: PlayoutsOption = None,
    depth: DepthOption = None,
    opening: OpeningOption = 4,
    seed: SeedOption = 1,
    threads: ThreadsOption = 1,
    hash_mib: HashOption = 16,
    most_plies: CapOption = 500,
    store: StoreOption = None,
) -> Reply:
    """Let a player play itself, and say how large the game is: branching factor, length, tree, balance.

    Intervals of 95 % are over the games. The first plies are random, so that games differ.
    """
    if games < 2:
        raise InputError(f"--games {games}: expected at least 2")
    limits = _limits(movetime, nodes, depth, playouts)
    plan = _plan(variant, None, [player, player], limits, hash_mib, seed)._replace(
        games=games, openings=Openings(opening, 1, seed), most_plies=most_plies, grace=math.inf, paired=False
    )

    def _reply(report: MatchReport) -> Reply:
        found = measure(plan.variant, report)
        return Reply(found, lambda console: show_measures(console, found), seed=seed)

    def _interrupted(so_far: MatchReport) -> BaseException:
        return Interrupted(_reply(so_far), _go_on(store)) if len(so_far.played) > 1 else KeyboardInterrupt()

    with progress("measure") as display:
        report = play_match(
            plan,
            threads=threads,
            folder=_folder(store),
            watch=_bar(display, games),
            on_interrupt=_interrupted,
        )
    return _reply(report)


def _limits(movetime: float | None, nodes: int | None, depth: int | None, playouts: int | None) -> SearchLimits:
    if movetime is None and nodes is None and depth is None and playouts is None:
        movetime = 0.1
    return SearchLimits(movetime, nodes, depth, playouts).checked()


def _plan(
    variant: str, position: str | None, players: list[str], limits: SearchLimits, hash_mib: int, seed: int
) -> MatchPlan:
    rules = load_variant(variant)
    options = PlayerOptions(hash_mib=hash_mib)
    everyone = [contestant(text, limits, options) for text in players]
    check_contestants(everyone, rules)
    first, second = everyone[:2]
    return MatchPlan(rules, first, second, games=1, seed=seed, start=read_position(position, rules))


def _check_table(parquet: str | None) -> None:
    if parquet is not None:
        check_output(Path(parquet))


def _folder(store: str | None) -> Path | None:
    if store is None:
        return None
    folder = Path(store)
    if folder.exists() and not folder.is_dir():
        raise InputError(f"--store {store}: is no folder")
    return folder


def _go_on(store: str | None) -> str:
    return "" if store is None else f"the same command; {store} has the games so far"


def _bar(display: Progress, games: int) -> Callable[[Played], None]:
    task = display.add_task("games", total=games)

    def watch(_played: Played) -> None:
        display.update(task, advance=1)

    return watch
