"""``tablut tablebase summary``: a tablebase as a whole, for pages and papers."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from retrograde.cli.summary import TablebaseInfo, info_of, show_info
from tablut.cli.options import StoreArgument
from tablut.cli.people import Table, label, number
from tablut.cli.runtime import Reply, command, interruptible, progress
from tablut.results import Result

if TYPE_CHECKING:
    from retrograde.tablebase.summarising import MutualZugzwang
    from tablut.cli.people import PeopleConsole
    from tablut.indexing.values import Verdict


class LongestResult(Result):
    """The longest win of a side with a material, and best play to its end."""

    attackers: int
    defenders: int
    winner: str
    position: str
    dtm: int
    line: list[str]


class VerdictResult(Result):
    """What a side gets that has to move."""

    wdl: str
    dtm: int | None


class ZugzwangResult(Result):
    """A mutual zugzwang; the position has white to move."""

    position: str
    white: VerdictResult
    black: VerdictResult


class ZugzwangsResult(Result):
    """How many mutual zugzwangs there are up to symmetry, and the first of them."""

    full: int
    half: int
    listed: list[ZugzwangResult]


class TablebaseSummary(TablebaseInfo):
    """What a tablebase holds and shows; the digests are those of each tier's values, where the store has them."""

    digests: dict[str, str]
    longest: list[LongestResult]
    zugzwangs: ZugzwangsResult


@command
def summary_command(
    store: StoreArgument,
    most: Annotated[
        int, typer.Option("--most", "-n", min=0, max=10**6, help="Mutual zugzwangs to be listed.")
    ] = 100_000,
) -> Reply:
    """Summarise a tablebase: its tiers, the longest win of either side with each material, all mutual zugzwangs.

    Every value is read for the zugzwangs: 10 to 20 ns of a processor each, and the memory of the index of one tier.
    """
    from retrograde.tablebase.probing import open_tablebase
    from retrograde.tablebase.store import tier_name
    from retrograde.tablebase.summarising import summarise

    tablebase = open_tablebase(store)
    tablebase.store.check_complete()
    info = info_of(store)
    with progress("summary") as display:
        task = display.add_task("", total=None)
        found = interruptible(partial(summarise, tablebase, most, lambda entries: display.advance(task, entries)))
    files = tablebase.store
    kept = {tier_name(material): files.tier(*material).record.digest for material in files.tiers()}
    summary = TablebaseSummary(
        **dict(info),
        digests={name: digest for name, digest in kept.items() if digest is not None},
        longest=[
            LongestResult(
                attackers=one.material[0],
                defenders=one.material[1],
                winner=one.winner,
                position=str(one.position),
                dtm=one.dtm,
                line=[str(move) for move in one.line],
            )
            for one in found.longest
        ],
        zugzwangs=ZugzwangsResult(
            full=found.zugzwangs.full,
            half=found.zugzwangs.half,
            listed=[_zugzwang(one) for one in found.zugzwangs.listed],
        ),
    )
    return Reply(summary, lambda console: _show(console, summary))


def _zugzwang(found: MutualZugzwang) -> ZugzwangResult:
    def verdict(one: Verdict) -> VerdictResult:
        return VerdictResult(wdl=one.wdl, dtm=one.dtm)

    return ZugzwangResult(position=str(found.position), white=verdict(found.white), black=verdict(found.black))


def _show(console: PeopleConsole, summary: TablebaseSummary) -> None:
    show_info(console, summary)
    if summary.longest:
        table = Table(label("tier"), label("winner"), number("plies"), label("longest win"))
        for one in summary.longest:
            table.add(f"{one.attackers}v{one.defenders}", one.winner, str(one.dtm), one.position)
        console.print(table)
    found = summary.zugzwangs
    console.print(f"mutual zugzwangs: {found.full:,} lose for either side, {found.half:,} cost a draw")
    for zugzwang in found.listed[:10]:
        words = ", ".join(
            f"{side} {_words(verdict)}" for side, verdict in (("white", zugzwang.white), ("black", zugzwang.black))
        )
        console.print(f"  {zugzwang.position}  {words}", soft_wrap=True)
    if found.full + found.half > 10:
        console.print("--json lists them", style="dim")


def _words(verdict: VerdictResult) -> str:
    return verdict.wdl if verdict.dtm is None else f"{verdict.wdl} in {verdict.dtm}"
