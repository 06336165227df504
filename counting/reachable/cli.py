"""The commands ``tablut reachable``, which estimate the reachable share of the counted space and check certificates."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from rich.text import Text

from tablut.cli.command import Group
from tablut.cli.options import LongWorkRequest, RulesRequest, seed_field, threads_field, variant_field
from tablut.cli.people import PeopleConsole
from tablut.cli.requests import Argument, Option, Request
from tablut.cli.runtime import EXIT_NO, Reply, progress
from tablut.errors import MachineError
from tablut.results import Result, scientific
from tablut.variants import load_variant
from tablut.work.progress import plural

if TYPE_CHECKING:
    from counting.reachable.estimation import ReachableEstimate

app = Group(help="Estimate the share of the counted positions that can be reached.")

_SHOWN = 20

_WHY = {
    "no_last_ply": "because no ply leads to the placement",
    "predecessors": "because lemmas exclude every previous position",
}
"""Reasons why final placements are unreachable, keyed by their names in JSON."""


_PASSED_ON = ("samples", "seed", "space", "lemma_samples", "certificates", "checks", "store", "threads", "scheduler")


class EstimateRequest(RulesRequest, LongWorkRequest):
    """The request of ``tablut reachable estimate``."""

    samples: int = Option(1000, "Number of samples for which reachability is decided.", least=1, most=10**9)
    seed: int = seed_field("Seed of the samples.", 1)
    space: Literal["undecided", "decided"] = Option(
        "undecided",
        "Sample undecided positions, or final placements: king captured, king escaped, or no attackers left.",
    )
    lemma_samples: int | None = Option(
        None, "Number of samples on which the lemmas are tried. [default: --samples]", least=1, most=10**12
    )
    certificates: str | None = Option(
        None, "File for all certificates; compressed if its name ends in .gz.", metavar="FILE"
    )
    checks: int = Option(50, "Number of certificates to check with the plain rules.", "--check", least=0)
    store: str | None = Option(
        None,
        "Folder in which finished chunks of samples are stored, so that a run can be resumed.",
        metavar="DIR",
    )
    threads: int = threads_field("Number of chunks of samples processed in parallel.")


@app.command("estimate")
def estimate_command(request: EstimateRequest) -> Reply:
    """Estimate the reachable share from random samples.

    Each sample is a position that the bound counts. It is reachable if a proof game leads to it. It
    is unreachable if a lemma excludes it, or if its complete backward tree does not contain the
    start.
    """
    from counting.reachable.estimation import estimate

    partial: list[ReachableEstimate] = []

    def reply(result: ReachableEstimate) -> Reply:
        return Reply(result, lambda console: _show(console, result), seed=request.seed)

    with progress("estimate") as observer:
        try:
            found = estimate(request.rules, observer=observer, partial=partial.append, **request.among(_PASSED_ON))
        except (MachineError, KeyboardInterrupt) as error:
            if not partial:
                raise
            raise request.interrupted(reply(partial[0]), error) from None
    return reply(found)


def _percent(interval: list[float], places: int) -> str:
    return f"{100 * interval[0]:.{places}f} to {100 * interval[1]:.{places}f} %"


def _show(console: PeopleConsole, result: ReachableEstimate) -> None:
    what = "counted space" if result.space == "undecided" else "final placements"
    title = f"How much of the {what} of {result.variant} can be reached"
    console.print(Text.assemble((title, "bold"), ("  estimated", "dim")))
    if not result.complete:
        console.print("interrupted: only the samples before the first one without a result are counted", style="yellow")
    console.print(
        f"{plural(result.n, 'sample')} (seed {result.seed}): {result.reachable:,} reached by a proof game, "
        f"{result.unreachable:,} proved out of reach, {result.unknown:,} unknown"
    )
    lemmas = result.lemmas
    reasons = [(count, lemmas.n, _WHY.get(name, f"by the lemma {name}")) for name, count in lemmas.excluded.items()]
    reasons += [(result.games.pockets, result.n, "because of a pocket")]
    reasons += [(result.games.exhausted, result.n, "by a search of all earlier positions")]
    for count, samples, why in reasons:
        if count:
            console.print(f"{count:,} of {samples:,} excluded {why}")
    games = result.games
    # Few samples leave a wide interval, whose further digits would mean nothing.
    places = next((more for more in (1, 2, 3) if result.absolute99 > 10.0 ** (-1 - more)), 4)
    digits = places + 2
    console.print(
        f"proof games: median length {games.median_plies:.0f} plies, maximum {games.longest_plies}; "
        f"{games.cpu_milliseconds:.2f} ms of processor time for each",
        style="dim",
    )
    console.print(
        f"reachable share, 95 %: {_percent(result.interval95, places)}; 99 %: {_percent(result.interval99, places)}"
        f" (± {100 * result.absolute99:.{places}f} points, ± {100 * result.relative99:.{places}f} % of the share)"
    )
    low, high = result.positions.low, result.positions.high
    ends = "final placements: king captured, king escaped, or no attackers left"
    counted = "counted" if result.space == "undecided" else ends
    shares = f"{scientific(low, digits)} to {scientific(high, digits)}"
    console.print(f"positions, 99 %: {shares}, of {result.counted:,} {counted}")
    for shared, name in ((result.placements, "placements, either side to move"), (result.classes, "up to symmetry")):
        if shared is not None:
            low, high = shared.positions.low, shared.positions.high
            shares = f"{scientific(low, digits)} to {scientific(high, digits)}"
            console.print(f"{name}, 99 %: {shares}, of {shared.counted:,}")
    for ending, stage in (result.endings or {}).items():
        console.print(f"{ending}: {stage.reachable:,} of {plural(stage.n, 'sample')} reached", style="dim")
    console.print(f"{plural(result.checked, 'certificate')} checked again by the plain rules", style="dim")


class _CheckedCertificates(Result):
    variant: str
    checked: int
    failures: int
    reachable: int
    unreachable: int
    unknown: int
    interval95: list[float]
    interval99: list[float]
    failed: list[str]


class CheckRequest(Request):
    """The request of ``tablut reachable check``."""

    file: str = Argument("FILE", "File written by `estimate --certificates`.")
    variant: str | None = variant_field(
        help="Name of a rule set, or a TOML file. [default: the rule set named in FILE]"
    )


@app.command("check")
def check_command(request: CheckRequest) -> Reply:
    """Check the certificates of an estimate, using only the plain rules.

    Every sample is drawn again, every proof game is replayed, and every lemma is applied again. The
    exit code is 1 if a certificate is wrong.
    """
    from counting.reachable.certificate_checker import check_file

    with progress("check") as observer:
        observer.begin("certificates")
        header, checked = check_file(
            Path(request.file),
            lambda name: load_variant(request.variant or name),
            observer.advance,
        )
    claimed = header.model_dump(include=set(_CheckedCertificates.model_fields))
    result = _CheckedCertificates(
        **claimed, checked=checked.checked, failures=len(checked.failures), failed=checked.failures
    )
    return Reply(result, lambda console: _show_checked(console, result), EXIT_NO if checked.failures else 0)


def _show_checked(console: PeopleConsole, result: _CheckedCertificates) -> None:
    verdict = Text(f"{result.failures:,} fail", "bold red") if result.failures else Text("all hold", "green")
    console.print(
        Text.assemble(
            f"{plural(result.checked, 'certificate')} of {result.variant}: ",
            verdict,
            f"; {result.reachable:,} reachable, {result.unreachable:,} unreachable, {result.unknown:,} unknown",
        )
    )
    for line in result.failed[:_SHOWN]:
        console.print(line)
    if len(result.failed) > _SHOWN:
        console.print(f"and {len(result.failed) - _SHOWN:,} more (--json lists all)")
