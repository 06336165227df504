"""The first page of the results: each number, how it is known, the command that gives it, and when it was made."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Final, Literal, NamedTuple

from counting.complexity import bounds
from reports import census, endings, players, puzzles, reachable, solutions
from reports.site.play import WALKS
from tablut.results import grouped, scientific

Status = Literal["proved", "computed", "estimated", "quoted"]

STATUSES: Final[dict[Status, str]] = {
    "proved": "follows from a proof that can be checked",
    "computed": "counted by a program, every case of it",
    "estimated": "from a random sample, with its interval",
    "quoted": "printed by others",
}


class Headline(NamedTuple):
    """A number of the first page."""

    what: str
    value: str
    note: str
    status: Status
    command: str
    date: str
    page: str
    link: str


@cache
def _dates() -> dict[str, str]:
    found: dict[str, str] = json.loads((resources.files("reports") / "data" / "dates.json").read_text(encoding="utf-8"))
    return found


def made_on(folder: str, name: str) -> str:
    """Return when a stored result was made."""
    return _dates().get(f"{folder}/{name}", "date not recorded")


def first_page() -> str:
    """Return the first page of the results, in Markdown; the pages to play on are HTML beside them."""
    report = bounds("ashton")
    ladder = [f"| {rung.what} | {grouped(rung.number)} | {rung.unit} | {rung.status} |" for rung in report.ladder()]
    numbers = [
        f"| {one.what} | **{one.value}**<br>{one.note} | {one.status} | `{one.command}`<br>{one.date} "
        f"| {_link(one.link, one.page)} |"
        for one in headlines()
    ]
    lines = [
        "# Results",
        "",
        f"Tablut has at most **{grouped(report.corrected.distinct)}** ways in which the pieces can stand. The "
        f"complexity paper prints {report.term('eq14').published}; [what is wrong with that, and why](bounds.md).",
        "",
        f"{_link('Solve a puzzle', '../../play/index.html')}, or walk a solved board: "
        + ", ".join(_link(name, f"../../walks/{name}.html") for name in WALKS)
        + ". These pages need no server. A larger board: `tablut solve -v ashton-5-4v4 --store solved`, then "
        "`tablut serve --tablebase solved`.",
        "",
        "## The bound, step by step",
        "",
        "| step | number | of what | how it is known |",
        "|---|--:|---|---|",
        *ladder,
        "",
        "`tablut bounds` computes them. A labelled state is a placement with the way in which the game ended with it, "
        "or goes on.",
        "",
        "## The numbers",
        "",
        *(f"- **{status}**: {meaning}." for status, meaning in STATUSES.items()),
        "",
        "| what | value | how it is known | from | more |",
        "|---|---|---|---|---|",
        *numbers,
        "",
    ]
    return "\n".join(lines)


def _link(text: str, page: str) -> str:
    """Return a link: to a page to play on as HTML, since Markdown knows no such page."""
    return f'<a href="{page}">{text}</a>' if page.endswith(".html") else f"[{text}]({page})"


def headlines() -> list[Headline]:
    """Return the numbers of the first page, in its order."""
    return [*_counted(), *_solved(), *_played()]


def _counted() -> list[Headline]:
    found = [
        Headline(
            "Positions that a game can come to, at least",
            grouped(int(proved["positions"])),
            f"about {scientific(int(proved['positions']), 4)} undecided placements with the side to move",
            "proved",
            "python -m reports.studies.lower_bound",
            made_on("lower_bound", "ashton"),
            "reachable.md#a-proved-lower-bound",
            "What is proved",
        )
        for proved in reachable.lower_bounds().values()
    ]
    if (share := reachable.share("ashton")) is not None:
        ends = " to ".join(scientific(end, 6) for end in share.positions)
        found.append(
            Headline(
                "Of the counted positions, a game can come to",
                f"{share.low} to {share.high} %",
                f"{ends} of {scientific(share.counted, 5)} undecided placements with the side to move; 99 % confidence "
                f"from {share.samples:,} samples and {share.searches:,} searches for a game",
                "estimated",
                reachable.results()["ashton"]["provenance"]["command"],
                made_on("reachable", "ashton"),
                "reachable.md",
                "How it is estimated",
            )
        )
    if (counted := census.results().get("ashton")) is not None:
        last = counted["plies"][-1]
        found.append(
            Headline(
                f"New positions at ply {last['ply']}",
                f"{last['new']:,}",
                f"{last['new_classes']:,} up to symmetry",
                "computed",
                counted["provenance"]["command"],
                made_on("census", "ashton"),
                "census.md",
                "Ply by ply",
            )
        )
    return found


def _solved() -> list[Headline]:
    found = []
    boards = solutions.results()
    if boards:
        largest = max(boards.values(), key=lambda board: int(board["positions"]))
        found.append(
            Headline(
                "Reduced boards, solved completely",
                f"{len(boards)} boards",
                f"the largest has {largest['positions']:,} positions",
                "computed",
                largest["provenance"]["command"],
                made_on("solutions", largest["variant"]),
                "solutions.md",
                "Who wins",
            )
        )
    summaries = endings.results()
    if summaries:
        men = max(summary["max_men"] for summary in summaries.values())
        found.append(
            Headline(
                f"Endings of at most {men} men, {len(summaries)} games",
                f"{sum(summary['positions'] for summary in summaries.values()):,} positions",
                "each with its value and the plies to the end; those of five men ship",
                "computed",
                f"tablut tablebase build --men {men}",
                made_on("endings", next(iter(summaries))),
                "endings.md",
                "The longest ones",
            )
        )
    stored = puzzles.results()
    found.append(
        Headline(
            "Puzzles, proved",
            f"{stored['holds']} of {stored['checked']}",
            f"{stored['refuted']} refuted, {stored['unknown']} unknown",
            "proved",
            stored["provenance"]["command"],
            made_on("puzzles", "collection"),
            "../../play/index.html",
            "Solve one",
        )
    )
    return found


def _played() -> list[Headline]:
    cells = players.cells(players.results())
    agree = sum(cell.compatible for cell in cells)
    games = sum(cell.wins + cell.losses + cell.draws for cell in cells)
    return [
        Headline(
            "Results of the McGill paper that agree with ours",
            f"{agree} of {len(cells)}",
            f"{games:,} games of ours; Fisher's exact test, {100 * players.LEVEL:.0f} % a cell",
            "estimated",
            players.PAIRINGS[0].command,
            made_on("players", players.PAIRINGS[0].name),
            "players.md",
            "Cell by cell",
        )
    ]
