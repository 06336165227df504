"""The commands ``tablut bounds`` and ``tablut exclusions``, which compute bounds and count locked sets."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from textwrap import wrap

from rich.text import Text

from counting.complexity import (
    BoundNumber,
    BoundsReport,
    SpaceCounts,
    bound_numbers,
    bounds,
    corrected_counts,
    placements_by_men,
)
from counting.exclusions.counts import (
    AFFORDABLE_PIECES,
    AFFORDABLE_STATES,
    ExclusionRecord,
    affordable_exclusions,
    count_exclusions,
    counted_spaces,
    published_exclusions,
)
from counting.exclusions.sets import locked_sets, orbits_of_sets, symmetries_of
from counting.spaces import spaces
from tablut import __version__
from tablut.cli.command import command
from tablut.cli.options import RulesRequest, variant_field
from tablut.cli.people import PeopleConsole, Table, label, number, prose
from tablut.cli.requests import Option, Request
from tablut.cli.runtime import EXIT_NO, Reply, interruptible, progress, source
from tablut.errors import InputError
from tablut.position import square_name
from tablut.results import ExactInt, Result, bfile, scientific
from tablut.variants import Variant, load_variant
from tablut.work.files import check_output
from tablut.work.progress import plural
from tablut.work.sealed_records import record_kind, write_record


class _Latex(Result):
    variant: str
    latex: dict[str, str]


class _Board(Result):
    side: int
    distinct: ExactInt


class _Boards(Result):
    boards: list[_Board]


_LATEX = r"""% Needs \usepackage{amsmath}.
% b: attackers, w: defenders, c: attackers in camps; b_2, w_2, b_4, w_4: cycles of two and four cells with attackers
% and defenders, for the symmetries of Burnside's lemma. N: corrected counts, N': tightened counts; n, n': classes.
"""


class BoundsRequest(Request):
    """The request of ``tablut bounds``."""

    variant: str | None = variant_field(
        help="Name of a built-in rule set, or a TOML file. [default: ashton; with --bfile, a family of boards]"
    )
    everything: bool = Option(
        False, "Also print the equations, the errors in the paper explained, and all counts.", "--all", recorded=False
    )
    latex: bool = Option(False, "Print the equations as LaTeX instead.", form=True)
    as_bfile: bool = Option(
        False, "Print a b-file: bounds by side or, with --variant, states by number of men.", "--bfile", form=True
    )


@command(table=True)
def bounds_command(request: BoundsRequest) -> Reply:
    """Compute upper bounds on the number of positions of a game.

    The first bound is that of A. Galassi, "An Upper Bound on the Complexity of Tablut", computed exactly; the others
    correct and improve it. Other rule sets are counted in the same way. For your own rules, placements with a locked
    set of up to three pieces are excluded only if counting them does not take too long.
    """
    if request.latex and request.as_bfile:
        raise InputError("cannot be combined", subject="--latex and --bfile", remedy="give only one of them")
    if request.as_bfile and request.variant is None:
        return _by_side()
    rules = load_variant(request.variant or "ashton")
    report = bounds(rules, interruptible(lambda: affordable_exclusions(rules)))
    if request.latex:
        every = [*report.terms, *report.counts]
        equations = {term.id: term.latex for term in every}
        tags = {term.id: f"\\tag{{{term.id[2:]}}}" if term.equation else r"\notag" for term in every}
        lines = [f"  {text.replace(' = ', ' &= ', 1)} {tags[id_]}" for id_, text in equations.items()]
        listing = f"% {source(rules.name)}\n{_LATEX}\\begin{{align}}\n" + " \\\\\n".join(lines) + "\n\\end{align}"
        return Reply(_Latex(variant=rules.name, latex=equations), lambda console: console.out(listing))
    if request.as_bfile:
        return Reply(report, lambda console: console.out(_by_men(report), end=""))
    table = BoundNumber, bound_numbers(report)
    # The table has no comment line, because other programs read it. Its columns contain the provenance.
    return Reply(report, lambda console: _show(console, report, request.everything), table=table, commented=False)


def _by_side() -> Reply:
    """Return the bounds of the family of boards by side as a sequence."""
    from counting.family import FAMILY, SIDES, scaled_tablut

    boards = [_Board(side=side, distinct=corrected_counts(scaled_tablut(side)).distinct) for side in SIDES]
    first = SIDES[0] // 2
    comments = [
        "Upper bound on the placements in Tablut on a board of side N = 2n+1, counted once (tablut bounds --bfile).",
        *wrap(" ".join(FAMILY.split("\n\n", 1)[1].split()), 110),
        f"Offset: {first}. Terms: sides {SIDES[0]} to {SIDES[-1]}. a(4) is the bound of Tablut itself.",
        "(Python) from counting import bounds",
        "(Python) from counting.family import scaled_tablut",
        f"(Python) print([bounds(scaled_tablut(2 * n + 1)).corrected.distinct for n in range({first}, 10)])",
    ]
    text = bfile([one.distinct for one in boards], first, comments)
    return Reply(_Boards(boards=boards), lambda console: console.out(text, end=""))


def _by_men(report: BoundsReport) -> str:
    comments = [
        f"Labelled states of the corrected bound of {report.variant} with n men, including the king.",
        f"Version {__version__}, digest of the rules {report.digest}.",
        "A placement counts once as undecided, and once for each way in which a game can end with it (tablut "
        "bounds --bfile).",
    ]
    return bfile(placements_by_men(report), 1, comments)


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


def _section(title: str, note: str = "") -> Text:
    return Text.assemble("\n", (title, "bold"), "  " if note else "", (note, "dim"))


def _show(console: PeopleConsole, report: BoundsReport, everything: bool) -> None:
    console.print(Text.assemble((f"State space of {report.variant}", "bold"), "  ", ("exact upper bounds", "dim")))
    steps = Table(number(""), prose())
    for unit, rungs in groupby(report.ladder(), lambda rung: rung.unit):
        steps.add(unit, style="dim")
        for rung in rungs:
            steps.add(f"{rung.number:,}", rung.what)
    console.print(steps)
    if everything:
        for section in (_show_terms, _show_geometry, _show_findings, _show_counts, _show_material, _show_comparison):
            section(console, report)
        return
    _show_limits(console, report)
    compared = [term for term in report.terms if term.published]
    if wrong := [term.equation for term in compared if not term.agrees]:
        console.print(
            f"\nOf the paper's {len(compared)} published numbers, {len(wrong)} are wrong: {', '.join(wrong)}. In all, "
            f"there are {plural(len(report.findings), 'finding')} about the paper."
        )
    console.print("`--all` prints the equations, all counts and what was found in the paper.", style="dim")


def _show_limits(console: PeopleConsole, report: BoundsReport) -> None:
    """Print which placements that no game can reach are still counted."""
    if report.locked is None:
        console.print(
            f"Placements with locked sets of up to {AFFORDABLE_PIECES} pieces are still included, because counting "
            f"them takes more than {AFFORDABLE_STATES:,} states. The command `tablut exclusions` counts them.",
            style="yellow",
        )
    console.print(f"Still counted: placements in which {', or '.join(report.left_in)}.", style="dim")


def _show_terms(console: PeopleConsole, report: BoundsReport) -> None:
    compared = any(term.published for term in report.terms)
    console.print(_section("Equations of the paper", "" if compared else "with the numbers of this board"))
    published = (number("published"), label("agrees")) if compared else ()
    table = Table(number("eq.", "equation"), number("exact"), *published, prose("what is counted"))
    for term in report.terms:
        verdict = Text("yes", "green") if term.agrees else Text("no", "bold red")
        compare = (str(term.published), verdict) if compared else ()
        table.add(term.equation, f"{term.exact:,}", *compare, term.description)
    console.print(table)


def _show_geometry(console: PeopleConsole, report: BoundsReport) -> None:
    console.print(_section("Numbers in these equations", "derived from the terrain"))
    stated = any(fact.stated is not None for fact in report.geometry)
    table = Table(number("derived"), *((number("stated"),) if stated else ()), label())
    for fact in report.geometry:
        table.add(str(fact.derived), *([str(fact.stated)] if stated else []), fact.description)
    console.print(table)


def _show_findings(console: PeopleConsole, report: BoundsReport) -> None:
    if not report.findings:
        return
    console.print(_section("Findings"))
    for finding in report.findings:
        console.print(Text.assemble((finding.id, "bold"), "  ", (f"{finding.kind}, {finding.status}", "dim")))
        console.print(finding.statement, indent=2)
        for name, value in finding.evidence.items():
            shown = ", ".join(value) if isinstance(value, list) else str(value)
            console.print(Text.assemble((f"{name.replace('_', ' ')}:", "dim"), " ", shown), indent=4)


def _show_counts(console: PeopleConsole, report: BoundsReport) -> None:
    def show(exact: SpaceCounts, orbits: SpaceCounts) -> None:
        table = Table(label(), number("placements"), number("up to symmetry"))
        for name, meaning in _NAMES.items():
            style = "bold" if name in ("total", "distinct") else ""
            table.add(meaning, f"{getattr(exact, name):,}", f"{getattr(orbits, name):,}", style=style)
        console.print(table)

    console.print(_section("Corrected", "a placement counts once for each way in which a game ends with it"))
    show(report.corrected, report.classes)
    console.print(_section("Tightened", "without placements proved unreachable"))
    show(report.tightened, report.classes_tightened)
    _show_limits(console, report)
    if report.excluded:
        console.print(_section("Proved unreachable"))
        rows = ((f"{space.exact:,}", space.description) for space in report.excluded)
        console.table((number("placements"), prose()), rows)
    console.print(_section("With the side to move", "both sides for undecided placements, one for final ones"))
    sides = ((name.replace("_", ", "), f"{value:,}") for name, value in report.with_side_to_move.items())
    console.table((label(), number("positions")), sides)
    console.print(f"Symmetries of the terrain: {len(report.symmetries)}.", style="dim")


def _show_material(console: PeopleConsole, report: BoundsReport) -> None:
    console.print(_section("Largest shares of the labelled total"))
    most = sorted(report.material, key=lambda pair: -pair.total)[:6]
    rows = ((str(pair.attackers), str(pair.defenders), f"{pair.total:,}", pair.share) for pair in most)
    console.table(map(number, ("attackers", "defenders", "states", "percent")), rows)


def _show_comparison(console: PeopleConsole, report: BoundsReport) -> None:
    if not report.comparison:
        return
    console.print(_section("Among other games", "Table 1 of the paper, and present figures"))
    table = Table(
        label("game", style="bold"),
        number("published"),
        label("solved", "solved then"),
        number("today"),
        label("solved", "solved today"),
        prose("kind", style="dim", least=12),
    )
    for game in report.comparison:
        today = scientific(int(game.today), 3) if game.today.isdigit() else game.today
        today += f" ± {game.error}" * bool(game.error)
        table.add(game.name, ", ".join(game.published), game.published_solution, today, game.solution, game.kind)
    console.print(table)
    for game in report.comparison:
        remark = f"; {game.remark}" if game.remark else ""
        console.print(f"{game.name}: {game.source}{remark}", style="dim")


# -- ``tablut exclusions``: the minimal locked sets, and the number of placements that they exclude


class _SetOrbit(Result):
    pieces: int
    images: int
    set: list[str]


class _SpaceExclusion(Result):
    id: str
    counted: ExactInt
    excluded: ExactInt
    survive: ExactInt
    classes: ExactInt


class _Exclusions(Result):
    variant: str
    pieces: int
    sets: list[_SetOrbit]
    spaces: list[_SpaceExclusion]
    published: bool | None


class ExclusionsRequest(RulesRequest):
    """The request of ``tablut exclusions``."""

    pieces: int = Option(3, "Maximum number of pieces in a locked set; the cost grows steeply.", least=2, most=8)
    out: Path | None = Option(None, "File to which the counts are written, in the format of the built-in counts.")


@command(table=True)
def exclusions_command(request: ExclusionsRequest) -> Reply:
    """Find the minimal locked sets, and count the placements that contain at least one of them.

    A locked set is a set of pieces that no game can put together, so these placements are
    unreachable. All counts are exact. If the package includes counts for the same rules, they are
    compared with the new ones, and the exit code is 1 if they differ. For the full games,
    --pieces 3 takes seconds, and --pieces 4 takes minutes and gigabytes of memory.
    """
    rules, pieces, out = request.rules, request.pieces, request.out
    check_output(out, record_kind(ExclusionRecord))
    with progress("exclusions") as observer:
        observer.begin("locked sets")

        def observe(name: str, place: int, states: int) -> None:
            observer.note(f"{name}: cell {place + 1}, {states} states")

        record = interruptible(lambda: count_exclusions(rules, pieces, observe))
    if out is not None:
        write_record(out, record, kind=record_kind(ExclusionRecord))
    family = locked_sets(rules, pieces)
    shipped = published_exclusions(rules.digest)
    same = None if shipped is None or shipped.pieces != pieces else _without_name(shipped) == _without_name(record)
    result = _Exclusions(
        variant=rules.name,
        pieces=pieces,
        sets=[
            _SetOrbit(
                pieces=len(found),
                images=images,
                set=[f"{piece}{square_name(cell, rules.size)}" for cell, piece in sorted(found)],
            )
            for found, images in orbits_of_sets(family, symmetries_of(rules, family))
        ],
        spaces=_spaces(rules, record),
        published=same,
    )
    code, table = EXIT_NO if same is False else 0, (_SpaceExclusion, result.spaces)
    return Reply(result, lambda console: _show_exclusions(console, result), code, table=table)


def _without_name(record: ExclusionRecord) -> ExclusionRecord:
    return record.model_copy(update={"variant": ""})


def _spaces(rules: Variant, record: ExclusionRecord) -> list[_SpaceExclusion]:
    found = []
    for id_, (signed, _) in counted_spaces(spaces(rules)).items():
        counted, left = sum(count * space.value() for space, count in signed), record.of(id_)
        found.append(
            _SpaceExclusion(
                id=id_,
                counted=counted,
                excluded=counted - left.placements,
                survive=left.placements,
                classes=left.classes,
            )
        )
    return found


_MEANING = {
    "no_end": "undecided",
    "king_captured": "king captured",
    "king_captured_undecided": "… as undecided",
    "escaped": "king escaped",
}


def _show_exclusions(console: PeopleConsole, result: _Exclusions) -> None:
    total = sum(orbit.images for orbit in result.sets)
    console.print(
        Text.assemble(
            (f"Minimal locked sets of {result.variant}", "bold"),
            (f"  {total} of at most {result.pieces} pieces, {len(result.sets)} up to symmetry", "dim"),
        )
    )
    alike = groupby(result.sets, lambda orbit: (str(orbit.pieces), str(orbit.images)))
    sets = ((*kind, "; ".join(" ".join(orbit.set) for orbit in orbits)) for kind, orbits in alike)
    console.table((number("pieces"), number("images"), prose("sets")), sets)
    title = Text.assemble("\n", ("Placements with one of them", "bold"), ("  unreachable; all numbers exact", "dim"))
    console.print(title)
    counts = Table(label("space"), number("counted"), number("excluded"), number("left"), number("up to symmetry"))
    for space in result.spaces:
        numbers = space.counted, space.excluded, space.survive, space.classes
        counts.add(_MEANING[space.id], *(f"{count:,}" for count in numbers))
    console.print(counts)
    console.print(
        "counted: placements in `tablut bounds` before locked sets are excluded, without besieged kings and "
        "impossible escapes",
        style="dim",
    )
    if result.published is not None:
        verdict = "The built-in counts are the same." if result.published else "The built-in counts differ."
        console.print(verdict, style="green" if result.published else "bold red")
