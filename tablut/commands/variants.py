"""``tablut variants`` and ``variants diff``: list the built-in rule sets, describe one, or compare two."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from tablut.cli.command import Group
from tablut.cli.options import PictureFoldersRequest, complete_variant, seed_field
from tablut.cli.people import PeopleConsole, Table, draw_board, label, legend, prose, side_by_side
from tablut.cli.requests import Argument, Option, Request
from tablut.cli.runtime import EXIT_UNKNOWN, Reply, progress
from tablut.errors import InputError
from tablut.position import square_name
from tablut.records import read_rules
from tablut.results import (
    DescribedVariant,
    ListedVariant,
    OutcomeResult,
    Result,
    described_variant,
    ending,
    listed_variant,
    outcome_result,
)
from tablut.variants import Variant, load_variant, rule_fields, shipped_variants
from tablut.variants.schema import write_variant
from tablut.work.progress import plural

if TYPE_CHECKING:
    from tablut.differences import Difference, Effect


app = Group()


def _rules_argument(metavar: str, default: Any = ...) -> Any:
    words = "A built-in rule set, a TOML file, or a rules string of OpenTafl."
    return Argument(metavar, words, default, complete_variant)


def _rules(text: str) -> Variant:
    return read_rules(text) if text.startswith("dim:") else load_variant(text)


class _Listing(Result):
    variants: list[ListedVariant]


class _Field(Result):
    field: str
    value: str


class VariantsRequest(Request):
    """The request of ``tablut variants``."""

    name: str | None = _rules_argument("[NAME|FILE]", None)
    everything: bool = Option(
        False, "Also show the fields of the rule file, and the cells of each kind.", "--all", recorded=False
    )
    as_toml: bool = Option(
        False, "Print the rule set NAME as a TOML rule file instead.", "--toml", form=True, recorded=False
    )


@app.default(table=True)
def variants_command(request: VariantsRequest) -> Reply:
    """List the built-in rule sets, or show the board and the rules of one of them."""
    everything, as_toml = request.everything, request.as_toml
    if (as_toml or everything) and request.name is None:
        remedy = "name it, such as `tablut variants copenhagen --toml`"
        raise InputError("applies to a single rule set", subject="--toml" if as_toml else "--all", remedy=remedy)
    if request.name is None:
        listing = _Listing(variants=[listed_variant(variant) for variant in shipped_variants()])
        return Reply(listing, lambda console: _show_listing(console, listing), table=(ListedVariant, listing.variants))
    variant = _rules(request.name)
    described = described_variant(variant)
    rows = [_Field(field=name, value=_shown(value)) for name, value in described.fields.items()]
    if as_toml:
        return Reply(described, lambda console: console.out(write_variant(variant), end="", highlight=False))
    return Reply(
        described, lambda console: _show_variant(console, variant, described, everything), table=(_Field, rows)
    )


def _show_listing(console: PeopleConsole, listing: _Listing) -> None:
    table = Table(label("name", style="bold"), label("board"), label("material"), prose("game"))
    for variant in listing.variants:
        board, material = f"{variant.size}x{variant.size}", f"{variant.attackers}v{variant.defenders}+K"
        table.add(variant.name, board, material, variant.title)
    console.print(table)
    hint = "`tablut variants NAME` describes one of them. You can give your own TOML file wherever a name is expected."
    console.print(f"\n{hint}", style="dim")


def _show_variant(console: PeopleConsole, variant: Variant, described: DescribedVariant, everything: bool) -> None:
    console.print(Text.assemble((variant.name, "bold"), "  ", variant.title, "\n", (variant.source, "dim"), "\n"))
    empty = ("." * variant.size,) * variant.size
    boards = {"start": draw_board(variant, variant.start)}
    if everything or variant.size < 15:  # two larger boards do not fit beside each other
        boards = {"terrain": draw_board(variant, empty), **boards}
    console.print(side_by_side(boards), width=min(console.width, 100))
    console.print(legend(variant))
    console.print(f"\n{described.start}\n", soft_wrap=True)
    console.print(" ".join(claim["sentence"] for claim in described.claims))
    if not everything:
        console.print("\n`--all` adds the fields of the rule file and the cells of each kind.", style="dim")
        return
    columns = label("field"), label("value", style="bold"), prose("meaning", style="dim")
    fields = described.fields.items()
    console.print("\nfields", style="bold")
    console.table(columns, ((name, _shown(value), described.meanings[name]) for name, value in fields))
    console.print("\ncells", style="bold")
    for region, cells in described.regions.items():
        console.print(Text.assemble((region, "dim"), f" ({len(cells)}) {' '.join(cells)}"))
    console.print(Text.assemble(("digest", "dim"), f" {described.digest}"), soft_wrap=True)
    console.print(
        Text.assemble(("symmetries", "dim"), f" ({len(described.symmetries)}) {' '.join(described.symmetries)}")
    )


def _shown(value: Any) -> str:
    """Return a field's value as in a variant file, or "none" if the value is empty."""
    match value:
        case bool():
            return str(value).lower()
        case None | []:
            return "none"
        case list():
            return ", ".join(value)
        case _:
            return str(value)


# -- ``tablut variants diff``: positions where two rule sets differ ------------------------


class _FieldOfBoth(Result):
    field: str
    a: Any
    b: Any


class _Answer(Result):
    captures: list[str]
    outcome: OutcomeResult | None


class _Difference(Result):
    position: str
    men: int
    line: list[str] | None
    moves: list[str]
    a: list[_Answer | None]
    b: list[_Answer | None]


class _Diff(Result):
    variant: str
    other: str
    fields: list[_FieldOfBoth]
    plies: int
    asked: int
    stopped: str | None
    samples: int
    positions: list[_Difference]


class DiffRequest(PictureFoldersRequest):
    """The request of ``tablut variants diff``."""

    a: str = _rules_argument("A")
    b: str = _rules_argument("B")
    plies: int = Option(3, "Maximum number of plies to search from the start.", least=0, most=99)
    most: int = Option(100_000, "Maximum number of positions per ply, up to symmetry.", "--positions", least=1)
    samples: int = Option(20_000, "Number of random placements with few men.", least=0, most=10_000_000)
    seed: int = seed_field("Seed of the random placements.")
    svg: Path | None = Option(None, "Folder for SVG drawings of the positions.", metavar="DIR")


@app.command("diff")
def diff_command(request: DiffRequest) -> Reply:
    """Find the smallest positions where two rule sets differ.

    They differ in a position if a ply is legal in only one of them, captures different pieces, or
    ends the game differently. One search looks for positions as near as possible to the start of
    A, another for placements with as few men as possible. Repetition and the move limit depend on
    the game history and are not compared. Exit code 3: no difference was found, and the
    search from the start was cut short.
    """
    from tablut.differences import differences

    pair = _rules(request.a), _rules(request.b)
    with progress("diff") as observer:
        found = differences(*pair, observer, **request.among(["plies", "most", "samples", "seed"]))
    fields: list[dict[str, Any]] = [{field.name: field.value for field in rule_fields(one.rules)} for one in pair]
    for values, one in zip(fields, pair, strict=True):
        repetition = one.rules.repetition
        values |= {"repetition.times": repetition.times, "repetition.result": repetition.result}
        values |= {"terrain": list(one.terrain), "start": one.start_position}
        values.pop("repetition", None)
    result = _Diff(
        variant=pair[0].name,
        other=pair[1].name,
        fields=[
            _FieldOfBoth(field=name, a=fields[0].get(name), b=fields[1].get(name))
            for name in fields[0] | fields[1]
            if fields[0].get(name) != fields[1].get(name)
        ],
        plies=found.plies,
        asked=found.compared,
        stopped=found.stopped or None,
        samples=found.drawn,
        positions=[_told(unlike) for unlike in found.found],
    )
    if request.draws:
        from tablut.svg import board

        for number, (unlike, told) in enumerate(zip(found.found, result.positions, strict=True), 1):
            drawing = board(pair[0], unlike.position, arrows=unlike.moves[:1], caption=_answered(told, 0), turn=True)
            request.write_drawing(drawing, f"difference-{number}")
    code = EXIT_UNKNOWN if found.stopped and not found.found else 0
    return Reply(result, lambda console: _show_diff(console, pair[0], found.found, result), code, seed=request.seed)


def _told(one: Difference) -> _Difference:
    size = one.position.size

    def answers(of: tuple[Effect | None, ...]) -> list[_Answer | None]:
        return [
            told
            and _Answer(
                captures=[square_name(square, size) for square in told.captures], outcome=outcome_result(told.outcome)
            )
            for told in of
        ]

    return _Difference(
        position=str(one.position),
        men=sum(one.position.material) + 1,
        line=None if one.line is None else [str(move) for move in one.line],
        moves=[str(move) for move in one.moves],
        a=answers(one.effects[0]),
        b=answers(one.effects[1]),
    )


def _answered(one: _Difference, number: int) -> str:
    """Return a ply and its effects under both rule sets, in words."""
    words = []
    for name, told in (("a", one.a[number]), ("b", one.b[number])):
        captures = "".join(f"x{square}" for square in told.captures) if told else ""
        parts = [captures, ending(told.outcome)] if told else ["not legal"]
        words.append(f"{name}: {', '.join(filter(None, parts)) or 'nothing'}")
    return f"{one.moves[number]}  {'; '.join(words)}"


def _show_diff(console: PeopleConsole, variant: Variant, found: list[Difference], result: _Diff) -> None:
    console.print(Text.assemble("a: ", (result.variant, "bold"), "   b: ", (result.other, "bold")))
    for field in result.fields:
        long = field.field in ("terrain", "start")
        console.print(f"{field.field}  " + ("differs" if long else f"a: {_shown(field.a)}   b: {_shown(field.b)}"))
    if not result.fields:
        console.print("the two rule sets are the same game")
    for one, told in zip(found, result.positions, strict=True):
        where = (
            f"{told.men} men" if told.line is None else f"ply {len(told.line)}: {' '.join(told.line) or 'the start'}"
        )
        console.print(Text.assemble("\n", (where, "bold")))
        console.board(variant, one.position.rows())
        console.print(told.position, soft_wrap=True)
        for number in range(min(len(told.moves), _MOVES_SHOWN)):
            console.print(_answered(told, number), soft_wrap=True)
        if len(told.moves) > _MOVES_SHOWN:
            console.print(f"and {len(told.moves) - _MOVES_SHOWN} other moves; --json lists all", style="dim")
    near = [told for told in result.positions if told.line is not None]
    answer = "" if near else "; no differences"
    console.print(f"\nfrom the start: {plural(result.asked, 'position')} compared, up to ply {result.plies}{answer}")
    if result.stopped:
        console.print(f"the search ended early: {result.stopped}")
    console.print(
        f"few men: {plural(len(result.positions) - len(near), 'difference')} of different kinds in {result.samples:,} "
        "random placements"
    )


_MOVES_SHOWN = 3
