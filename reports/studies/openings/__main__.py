"""``python -m reports.studies.openings``: search the openings, check the certificates, and render the page."""

from __future__ import annotations

import hashlib
import json
import math
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Final

from reports.studies.openings.deciding import (
    DATA,
    FOLDER,
    GAME,
    Decided,
    Findings,
    Opening,
    Strategy,
    checked_strategy,
    openings,
    read_findings,
)
from reports.studies.openings.guided import GuidedWork, given_moves
from reports.studies.openings.joining import adopt
from reports.studies.openings.outline import LEAST, read_outline, write_outline
from reports.studies.openings.selfplay import plan, ship
from reports.studies.rendered import PageRequest, rendered
from retrograde.proofs.certificate import certificate_of, read_certificate
from retrograde.proofs.proof_tree import FIRST_PART
from retrograde.proofs.proving import ProofRun, run_task
from retrograde.proofs.strategy_checker import StrategyCheck
from retrograde.proofs.table import INFINITE
from retrograde.proofs.win_search import ProofBudget, ProofLimits, WinSearch
from tablut.board import Board
from tablut.cli.command import Group
from tablut.cli.options import seed_field, threads_field
from tablut.cli.requests import Option, Request
from tablut.cli.runtime import Reply, progress, typed
from tablut.cli.shell import main
from tablut.engine import engine_for
from tablut.errors import InputError
from tablut.play.arena import MatchReport, play_match
from tablut.provenance import Provenance, commit, origin
from tablut.results import Result
from tablut.variants import load_variant
from tablut.work.clocks import wall_clock
from tablut.work.files import store_path, write_bytes, write_text
from tablut.work.progress import plural
from tablut.work.run import LocalScheduler
from tablut.work.sealed_records import DataFile, check_data

if TYPE_CHECKING:
    from retrograde.proofs.proving import Proving
    from tablut.work.progress import Observer

app = Group(help="Brandubh's openings: searched, proved, checked.")
NAME = "python -m reports.studies.openings"
CERTIFICATE: Final = "certificate.jsonl.gz"
_SHIPPED: Final = 5_000_000
"""Maximum size in bytes of a file that is kept with the study."""
_SHIPPED_GAMES: Final = ("ashton", "brandubh", "copenhagen")
"""Rule sets whose games the toolkit ships."""
_SMALL: Final = 64 << 10
"""Maximum size in bytes of the certificates that are kept for openings about which there is no claim."""
_SHORT: Final = 2_000_000
"""Maximum number of moves in the search that excludes short wins."""


class _Verdicts(Result):
    verdicts: dict[str, str]


class _Outlines(Result):
    lines: dict[str, int]


class DecideRequest(Request):
    """The parameters of the command."""

    store: str = Option(..., "Folder of the searches.", metavar="DIR")
    only: str = Option("*", "Only openings whose moves match the pattern.", metavar="PATTERN")
    hours: float = Option(1.0, "Time limit in hours for each opening.", metavar="H", least=0)
    nodes: int = Option(20000000, "Number of moves made by each task.", least=1)
    memory: int = Option(2048, "Memory for a table in MiB.", metavar="MIB", least=1)
    threads: int = threads_field("Number of threads for each task; they share one table.")
    guide: int = Option(0, "Number of moves made by the engine to choose a move for white.", least=0)
    line: str = Option(
        "", "Moves from the start; white's moves among them take precedence over the engine's.", metavar="MOVES"
    )


@app.command("decide")
def decide_command(request: DecideRequest) -> Reply:
    """Search each opening for a win by white, and record the results. Small certificates are kept with the study.

    The openings that seem nearest to a proof come first, and a search continues from the results of earlier searches.
    Openings that are proved, with a certificate in the store, are skipped. With --guide, a position that a task leaves
    open is searched further after the move that the engine chooses, and all tasks share what has been proved.
    """
    data, workers, given = read_findings(), LocalScheduler(1), given_moves(Board(GAME), request.line)
    chosen = sorted(_chosen(request.only), key=lambda one: _far(data.get(one.name)))
    for opening in chosen:
        if _far(data.get(opening.name)) == 0 and _kept(request.store, opening):
            continue
        began, board = wall_clock(), opening.board()
        with progress(opening.name) as observer:
            run = _unsearched(opening, observer, request.nodes, request.memory << 20, request.threads)
            work = GuidedWork(run, guide=request.guide, given=given, observer=observer) if request.guide else run_task
            run.run(workers, _folder(request.store, opening), request.hours, work)
            found = run.result()
            least = None if found.status == "proved" else _not_within(board, min(request.nodes // 10, _SHORT))
        data = _write({opening.name: _decided(run, found, opening, round(wall_clock() - began, 1), least)})
    return _reply(chosen, data)


class JoinRequest(Request):
    """The parameters of the command."""

    store: str = Option(..., "Folder of the searches.", metavar="DIR")
    only: str = Option(..., "Only openings whose moves match the pattern.", metavar="PATTERN")
    hours: float = Option(0.0, "Number of hours after which no new searches are started.", metavar="H", least=0)
    nodes: int = Option(20000000, "Number of moves made by each task.", least=1)
    memory: int = Option(2048, "Memory for a table in MiB.", metavar="MIB", least=1)
    threads: int = threads_field("Number of parallel tasks, each with its own table.")
    share: bool = Option(False, "Run one task at a time, with all threads.")
    guide: int = Option(60000000, "Number of moves made by the engine to choose a move for white.", least=0)
    line: str = Option(
        "", "Moves from the start; white's moves among them take precedence over the engine's.", metavar="MOVES"
    )
    outline: str = Option("", "Outline of the proof, which makes most searches unnecessary.", metavar="FILE")


@app.command("join")
def join_command(request: JoinRequest) -> Reply:
    """Combine the proofs in the store into proofs of the openings that lead to the proved positions.

    The openings in between are proved as parts of such a proof. With --hours, open positions are searched with the
    engine's guidance and the help of all proved positions, and the results become part of the proof. After an
    interruption, the same command continues with the proofs that it had at the beginning.
    """
    chosen, data, given = _chosen(request.only), read_findings(), given_moves(Board(GAME), request.line)
    listed = {one.name: one for one in openings()[1]}
    for opening in chosen:
        began, folder = wall_clock(), _folder(request.store, opening)
        with progress(opening.name) as observer:
            run = _unsearched(
                opening, observer, request.nodes, request.memory << 20, request.threads if request.share else 1
            )
            undecided = InputError(
                f"the proofs after {opening.name} do not decide it", subject=f"--only {request.only}"
            )
            between = (
                [] if _begun(opening, folder, observer) else _join(run, request.store, opening, listed, data, observer)
            )
            if not request.hours and run.result().status != "proved" and not (folder / FIRST_PART).exists():
                raise undecided
            told = read_outline(Path(request.outline), run) if request.outline else None
            work = GuidedWork(run, guide=request.guide, given=given, observer=observer, outline=told)
            run.run(LocalScheduler(1 if request.share else request.threads), folder, request.hours, work)
            made = _parts(run, request.store, opening, listed, observer)
            if not request.hours and run.whole is None:
                raise undecided
        for one, its in between:
            seconds = sum(data[name].seconds for name in _after(one) & data.keys())
            part = _decided(its, its.result(), one, seconds, None)
            made[one.name] = part.model_copy(update={"part_of": opening.name})
        if run.whole is not None:
            made[opening.name] = _decided(run, run.result(), opening, round(wall_clock() - began, 1), None)
            strategy = Strategy(certificate_of(run.engine, run.prover, run.board, 0, run.whole))
            for name, found in (data | made).items():
                if found.part_of == opening.name and not found.line:
                    made[name] = found.model_copy(update={"line": strategy.line(listed[name].board())})
        data = _write(made)
    return _reply(chosen, data)


def _begun(opening: Opening, folder: Path, observer: Observer) -> bool:
    """Return whether a join has begun in a folder. If the folder contains a search made by `decide`, raise an error."""
    if not (folder / FIRST_PART).exists():
        return False
    run = _unsearched(opening, observer)
    run.load(folder)
    if not run.strategies:
        raise InputError(
            f"{str(folder)!r} contains a `decide` search and no proof", subject="--store", remedy="move it away to join"
        )
    return True


def _parts(
    run: ProofRun, store: str, opening: Opening, listed: dict[str, Opening], observer: Observer
) -> dict[str, Decided]:
    """Return the openings one move later that are proved as parts of a run's proof. They have no recorded costs."""
    parts, none = dict[str, Decided](), Decided(status="proved", nodes=0, tasks=0, seconds=0.0, part_of=opening.name)
    for one in (listed[name] for name in sorted(_after(opening) & listed.keys())):
        node = run.tree.nodes.get(_unsearched(one, observer).tree.root.words)
        if node is not None and node.proof == 0 and not _kept(store, one):
            parts[one.name] = none.model_copy(update={"within": node.plies})
    return parts


def _after(opening: Opening) -> set[str]:
    """Return the names of the openings that legal moves after an opening lead to."""
    return {f"{opening.name} {move}" for move in opening.board().legal_moves}


def _join(
    run: ProofRun,
    store: str,
    opening: Opening,
    listed: dict[str, Opening],
    data: dict[str, Decided],
    observer: Observer,
) -> list[tuple[Opening, ProofRun]]:
    """Add the store's proofs of later positions to a run. Return the openings in between and their proofs."""
    between, after = list[tuple[Opening, ProofRun]](), list[ProofRun]()
    for one in (listed[name] for name in sorted(_after(opening) & listed.keys())):
        own = _unsearched(one, observer)
        if _kept(store, one):
            own.load(_folder(store, one))
        else:
            way = [*_join(own, store, one, listed, data, observer), (one, own)]
            if own.result().status == "proved":
                own.run(LocalScheduler(1), None, 0)
                between += way
            elif (before := data.get(one.name)) is not None:
                # The tree first searches the loser's move with the smallest proof number. So assign ascending proof
                # numbers in this order: proved openings, the cheapest first; then openings proved as part of another
                # proof; then open ones, again the cheapest first.
                late = INFINITE // 2 if before.status != "proved" else INFINITE // 4 if before.part_of else 0
                took = late + min(before.nodes // 1024, INFINITE // 8)
                own.tree.root.proof = 1 + took
        after.append(own)
    adopt(run, after)
    return between


class OutlineRequest(Request):
    """The parameters of the command."""

    store: str = Option(..., "Folder of the searches.", metavar="DIR")
    only: str = Option(..., "Only openings whose moves match the pattern.", metavar="PATTERN")
    least: int = Option(LEAST, "Minimum length of the outlined wins in plies.", least=5)


@app.command("outline")
def outline_command(request: OutlineRequest) -> Reply:
    """Write the outline of a proof: the winner's moves in the long wins that the store contains for an opening.

    From the outline, `join --outline` finds the other moves. The outline is kept with the study, in two files of at
    most 5 MB.
    """
    made = dict[str, int]()
    for opening in _chosen(request.only):
        with progress(opening.name) as observer:
            run, folder = _unsearched(opening, observer), _folder(request.store, opening)
            run.load(folder)
            if not run.strategies:
                raise InputError(f"{str(folder)!r} has no proof", subject="--store")
            path = DATA / f"{opening.file.partition('.')[0]}.outline.json"
            made[opening.name] = write_outline(path, run, request.least, _SHIPPED).lines
    shown = "\n".join(f"{name}: {lines:,} lines" for name, lines in made.items())
    return Reply(_Outlines(lines=made), lambda console: console.print(shown))


class CheckRequest(Request):
    """The parameters of the command."""

    store: str = Option(..., "Folder of the searches.", metavar="DIR")
    only: str = Option("*", "Only openings whose moves match the pattern.", metavar="PATTERN")
    threads: int = threads_field("Number of processes.")


@app.command("check")
def check_command(request: CheckRequest) -> Reply:
    """Check the certificates under the plain rules, and record the results."""
    chosen, data = _chosen(request.only), read_findings()
    for opening in (one for one in chosen if one.name in data and data[one.name].sha256):
        path, found = _folder(request.store, opening) / CERTIFICATE, data[opening.name]
        told = DataFile.model_validate({"bytes": found.bytes, "sha256": found.sha256})
        check_data(path, told, "certificate", "choose the store with the recorded certificate, or make it again")
        workers = LocalScheduler(request.threads, processes=True)
        check = StrategyCheck(opening.game, read_certificate(path.name, path), most_plies=0, scheduler=workers)
        checked = check.run()
        if not checked.proved:
            raise InputError(checked.failures[0], subject=f"{str(path)!r}")
        each = {"checked": checked.positions, "counted": checked.within if check.counts else None}
        each["checked_per_second"] = checked.positions_per_second
        data = _write({opening.name: found.model_copy(update=each)})
    return _reply(chosen, data)


class CountRequest(Request):
    """The parameters of the command."""

    only: str = Option("*", "Only openings whose moves match the pattern.", metavar="PATTERN")
    threads: int = threads_field("Number of processes.")


@app.command("count")
def count_command(request: CountRequest) -> Reply:
    """Find the longest play under each certificate that is kept with the study, and record it and its length.

    The certificates are checked under the plain rules.
    """
    chosen, data = _chosen(request.only), read_findings()
    for opening in (one for one in chosen if one.name in data and data[one.name].certificate):
        strategy, checked = checked_strategy(DATA / opening.file, opening.game, request.threads)
        counted = {"counted": checked.within, "line": strategy.line(opening.board())}
        data = _write({opening.name: data[opening.name].model_copy(update=counted)})
    return _reply(chosen, data)


def _unsearched(
    opening: Opening, observer: Observer, nodes: int = 1, memory: int = 1 << 20, threads: int = 1
) -> ProofRun:
    """Return a run that has not searched anything yet and can load a store's contents."""
    board, limits = opening.board(), {"nodes": nodes, "memory": memory, "threads": threads}
    return ProofRun(board.variant, board.position, "white", observer=observer, tablebase=None, **limits)


def _far(found: Decided | None) -> float:
    """Return an estimate of how far an opening is from being proved, or 0 if it is proved."""
    if found is None or found.status == "proved":
        return float(found is None)
    return 1.0 if found.proof is None else found.proof / (found.disproof or math.inf)


def _folder(store: str, opening: Opening) -> Path:
    return store_path(store) / opening.file.partition(".")[0]


def _kept(store: str, opening: Opening) -> bool:
    """Return whether a store contains a certificate for an opening."""
    return (_folder(store, opening) / CERTIFICATE).exists()


def _chosen(only: str) -> list[Opening]:
    chosen = [one for one in openings()[1] if fnmatchcase(one.name, only)]
    if not chosen:
        raise InputError("matches no opening", subject=f"--only {only}")
    return chosen


def _write(made: dict[str, Decided]) -> dict[str, Decided]:
    """Add results to the stored data, and return the results for all openings.

    The data are read again first, since another command may have changed them.
    """
    data = read_findings() | made
    seconds = sum(one.seconds for one in data.values())
    source = Provenance.model_validate(origin(typed(), {}, None, seconds, commit=commit()))
    whole = Findings(provenance=source, decided=data)
    write_text(DATA / "openings.json", json.dumps(whole.model_dump(mode="json"), indent=1) + "\n")
    return data


def _reply(chosen: list[Opening], data: dict[str, Decided]) -> Reply:
    result = _Verdicts(verdicts={one.name: data[one.name].status for one in chosen if one.name in data})
    return Reply(result, lambda console: console.print("\n".join(f"{k}: {v}" for k, v in result.verdicts.items())))


def _not_within(board: Board, nodes: int) -> int:
    """Return the largest number of plies within which a search of ``nodes`` moves excludes a win for white."""
    engine, plies = engine_for(board.variant), 0
    position = engine.board(board.position.cells, board.position.side)
    search = WinSearch(engine, 0, 1 << 28, ProofBudget(ProofLimits(nodes=nodes)))
    while search.within(position, plies + 1) is False:
        plies += 1
    return plies


def _decided(run: ProofRun, found: Proving, opening: Opening, seconds: float, least: int | None) -> Decided:
    """Return the result for an opening, including play from its certificate. Keep small certificates with the study."""
    kept = {
        name: value for name, value in found.model_dump().items() if name in Decided.model_fields and name != "checked"
    }
    kept |= {"seconds": seconds, "certificate": None, "not_within": least}
    if run.whole is not None:
        proof = certificate_of(run.engine, run.prover, run.board, found.within, run.whole)
        kept["line"] = Strategy(proof).line(opening.board())
    if found.certificate is not None:
        content = Path(found.certificate).read_bytes()
        kept["sha256"], kept["bytes"] = hashlib.sha256(content).hexdigest(), len(content)
        if len(content) <= (_SHIPPED if opening.listed else _SMALL):
            write_bytes(DATA / opening.file, content)
            kept["certificate"] = opening.file
    return Decided.model_validate(kept)


@app.command("page")
def page_command(request: PageRequest) -> Reply:
    """Render the page and its boards from the stored data."""
    from reports.studies.openings.page import artefacts

    return rendered(FOLDER, artefacts(), request.check)


@app.command("walk")
def walk_command() -> Reply:
    """Print the openings as a graph to explore. With --json, print the file that the site reads."""
    from reports.studies.openings.walking import walk

    result = walk()
    return Reply(result, lambda console: console.print(f"{len(result.nodes)} positions (printed with --json)"))


class _Played(Result):
    games: dict[str, int]
    shipped: bool


class PlayRequest(Request):
    """The parameters of the command."""

    variants: tuple[str, ...] = Option((), f"Rule sets. [default: {', '.join(_SHIPPED_GAMES)}]", "--variant", "-v")
    store: str = Option(..., "Folder of the games. Games already stored are not played again.", metavar="DIR")
    games: int = Option(2020, "Number of games for each rule set.", least=1)
    nodes: int = Option(3000, "Number of nodes for each move.", least=1)
    seed: int = seed_field("Seed of the drawn moves.", 1)
    ship: bool = Option(False, "Write the games to the collection that the toolkit ships.")


@app.command("play")
def play_command(request: PlayRequest) -> Reply:
    """Play games of the engine with itself, in which it draws the first moves among the best ones."""
    began, folder, played = wall_clock(), store_path(request.store), dict[str, MatchReport]()
    variants = [*map(load_variant, request.variants or _SHIPPED_GAMES)]
    with progress("play") as observer:
        observer.begin("games", request.games * len(variants))
        for rules in variants:
            match = plan(rules, request.games, request.nodes, request.seed)
            played[rules.name] = play_match(match, folder=folder / rules.name, watch=lambda _: observer.advance())
    if request.ship:
        parameters: dict[str, object] = request.among(["games", "nodes"])
        seconds = round(wall_clock() - began)
        with progress("ship") as observer:
            ship(folder, played, origin(typed(), parameters, request.seed, seconds, commit=commit()), observer)
    result = _Played(games={name: len(report.played) for name, report in played.items()}, shipped=request.ship)
    lines = [f"{name}: {plural(number, 'game')}" for name, number in result.games.items()]
    return Reply(result, lambda console: console.print("\n".join(lines)), seed=request.seed)


if __name__ == "__main__":
    main(app, NAME)
