"""``tablut bounds``: the equations, the findings and the better bounds, as tables, JSON or LaTeX."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from counting.complexity import BoundsReport, Counts, bounds
from counting.paper import PaperEquations
from tablut.cli.options import VariantOption
from tablut.cli.runtime import Reply, command
from tablut.results import Result, scientific
from tablut.variants import load_variant

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

__all__ = ["bounds_command"]


class _Latex(Result):
    variant: str
    latex: dict[str, str]


@command
def bounds_command(
    variant: VariantOption = "ashton",
    latex: Annotated[bool, typer.Option("--latex", help="Print the equations as LaTeX instead.")] = False,
) -> Reply:
    """Regenerate every equation of "An Upper Bound on the Complexity of Tablut" as an exact integer.

    Beside the published values stand the findings about them, the corrected and
    tightened bounds, and the same up to symmetry. Any variant is counted the same way.
    """
    rules = load_variant(variant)
    if latex:
        equations = {id_: equation.latex() for id_, equation in PaperEquations(rules).equations.items()}
        lines = [f"  {text.replace(' = ', ' &= ', 1)} \\tag{{{id_[2:]}}}" for id_, text in equations.items()]
        listing = "\\begin{align}\n" + " \\\\\n".join(lines) + "\n\\end{align}"
        return Reply(_Latex(variant=rules.name, latex=equations), lambda console: console.out(listing))
    report = bounds(rules)
    return Reply(report, lambda console: _show(console, report))


_NAMES = {
    "no_end": "undecided",
    "all_captured": "attackers gone",
    "escaped": "king escaped",
    "escaped_last": "… taking the last",
    "king_captured": "king captured",
    "end": "all final",
    "total": "total, labelled",
    "distinct": "distinct",
}


def _section(title: str, note: str = "") -> str:
    return f"\n[bold]{title}[/bold]" + (f"  [dim]{note}[/dim]" if note else "")


def _table(*columns: str) -> Table:
    """Return a plain table; a column whose name ends in ``>`` holds numbers."""
    from rich.table import Table

    table = Table(box=None, header_style="dim", pad_edge=False)
    for column in columns:
        number = column.endswith(">")
        table.add_column(column.rstrip(">"), justify="right" if number else "left", no_wrap=number)
    return table


def _show(console: Console, report: BoundsReport) -> None:
    console.print(f"[bold]The state space of {report.variant}[/bold]  [dim]placements, every number exact[/dim]")
    for section in (_show_terms, _show_geometry, _show_findings, _show_counts, _show_material, _show_comparison):
        section(console, report)


def _show_terms(console: Console, report: BoundsReport) -> None:
    console.print(_section("Equations of the paper"))
    compared = any(term.published for term in report.terms)
    table = _table("eq.>", "exact>", *(["published>", "agrees"] if compared else []), "what is counted")
    # The naive bound is so much longer than the others that it gets a second line instead of setting the width.
    table.columns[1].no_wrap, table.columns[1].overflow = False, "fold"
    table.columns[1].max_width = max(len(str(term.exact)) for term in report.terms if term.id != "eq1")
    for term in report.terms:
        verdict = "[green]yes[/green]" if term.agrees else "[bold red]no[/bold red]"
        table.add_row(
            term.equation, str(term.exact), *([str(term.published), verdict] if compared else []), term.description
        )
    console.print(table)


def _show_geometry(console: Console, report: BoundsReport) -> None:
    console.print(_section("The numbers that enter them", "derived from the terrain"))
    stated = any(fact.stated is not None for fact in report.geometry)
    table = _table("derived>", *(["stated>"] if stated else []), "")
    for fact in report.geometry:
        table.add_row(str(fact.derived), *([str(fact.stated)] if stated else []), fact.description)
    console.print(table)


def _show_findings(console: Console, report: BoundsReport) -> None:
    if not report.findings:
        return
    from rich.padding import Padding

    console.print(_section("Findings"))
    for finding in report.findings:
        console.print(f"[bold]{finding.id}[/bold]  [dim]{finding.kind}, {finding.status}[/dim]")
        console.print(Padding(finding.statement, (0, 0, 0, 2)))
        for name, value in finding.evidence.items():
            shown = ", ".join(value) if isinstance(value, list) else str(value)
            console.print(Padding(f"[dim]{name.replace('_', ' ')}:[/dim] {shown}", (0, 0, 0, 4)))


def _show_counts(console: Console, report: BoundsReport) -> None:
    def show(exact: Counts, orbits: Counts) -> None:
        table = _table("", "placements>", "up to symmetry>")
        for name, meaning in _NAMES.items():
            style = "bold" if name in ("total", "distinct") else ""
            table.add_row(meaning, str(getattr(exact, name)), str(getattr(orbits, name)), style=style)
        console.print(table)

    console.print(_section("Corrected", "every way in which a game ends, no placement twice for one way"))
    show(report.corrected, report.classes)
    console.print(_section("Tightened", "less what is proved out of reach"))
    show(report.tightened, report.classes_tightened)
    if report.excluded:
        console.print(_section("Proved out of reach"))
        table = _table("placements>", "")
        for space in report.excluded:
            table.add_row(str(space.exact), space.description)
        console.print(table)
    console.print(_section("With the side to move", "both sides for undecided placements, one for final ones"))
    table = _table("", "positions>")
    for name, value in report.with_side_to_move.items():
        table.add_row(name.replace("_", ", "), str(value))
    console.print(table)
    console.print(f"[dim]Symmetries of the terrain: {len(report.symmetries)}.[/dim]")


def _show_material(console: Console, report: BoundsReport) -> None:
    console.print(_section("Largest shares of the labelled total"))
    table = _table("attackers>", "defenders>", "states>", "%>")
    for pair in sorted(report.material, key=lambda pair: -pair.total)[:6]:
        table.add_row(str(pair.attackers), str(pair.defenders), str(pair.total), pair.share)
    console.print(table)


def _show_comparison(console: Console, report: BoundsReport) -> None:
    if not report.comparison:
        return
    console.print(_section("Among other games", "the paper's Table 1, and today's figures"))
    table = _table("game", "published>", "solved", "today>", "solved", "kind")
    for game in report.comparison:
        today = scientific(int(game.today), 3) if game.today.isdigit() else game.today
        table.add_row(
            game.name,
            ", ".join(game.published),
            game.published_solution,
            f"{today} ± {game.error}" if game.error else today,
            game.solution,
            f"[dim]{game.kind}[/dim]",
        )
    console.print(table)
    for game in report.comparison:
        remark = f"; {game.remark}" if game.remark else ""
        console.print(f"[dim]{game.name}: {game.source}{remark}[/dim]")
