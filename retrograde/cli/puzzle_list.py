"""``tablut puzzle list`` and ``tablut puzzle show``: which puzzles there are, and one of them without its solution."""

from __future__ import annotations

import csv
import io
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from retrograde.cli.puzzle_options import FileOption, NodesOption, puzzle_ids_from, read_one
from tablut.cli.options import variant_option
from tablut.cli.people import Table, draw_board, label, legend, number, prose
from tablut.cli.runtime import Reply, command, interruptible
from tablut.errors import InputError
from tablut.notation import square_name
from tablut.results import Result

if TYPE_CHECKING:
    from retrograde.puzzles.facts import Facts
    from retrograde.puzzles.puzzle_file import Puzzle
    from tablut.cli.people import PeopleConsole


class _Listed(Result):
    id: str
    variant: str
    position: str
    side: str
    winner: str | None
    claim: str
    plies: int | None
    grade: int | None
    theme: str


class _List(Result):
    file: str
    puzzles: list[_Listed]


class _Shown(_Listed):
    tempting: int | None
    source: str
    hint: str | None = None
    solution: list[str] | None = None


@command
def list_command(
    file: Annotated[
        str, typer.Argument(metavar="[FILE]", help="A puzzle file, or one that ships (ashton, endings, mcgill …).")
    ] = "collection",
    variant: Annotated[str | None, variant_option("Only puzzles of a rule set, shipped or a TOML file.")] = None,
    side: Annotated[Literal["white", "black"] | None, typer.Option("--side", help="Who is to move.")] = None,
    winner: Annotated[Literal["white", "black"] | None, typer.Option("--winner", help="Who is to win.")] = None,
    shortest: Annotated[int | None, typer.Option("--min-plies", min=1, max=1000, help="Shortest win.")] = None,
    longest: Annotated[int | None, typer.Option("--max-plies", min=1, max=1000, help="Longest win.")] = None,
    grade: Annotated[
        list[int] | None, typer.Option("--grade", min=1, max=5, help="1 is easiest; may be given more than once.")
    ] = None,
    theme: Annotated[
        str | None, typer.Option("--theme", help="Part of a theme: ending, middle game, or a pattern.")
    ] = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print the list as CSV.")] = False,
) -> Reply:
    """List puzzles, filtered, without their solutions; exit code 0 also where none is left."""
    from retrograde.puzzles.collection import collection_names, read_puzzles
    from retrograde.puzzles.facts import Wish, choose

    if shortest is not None and longest is not None and shortest > longest:
        raise InputError(f"--min-plies {shortest}: is more than --max-plies {longest}")
    # What ships names its rules; a file of one's own may not.
    shipped = file.lower() in ("collection", *collection_names())
    puzzles = read_puzzles(file, None if shipped else variant)
    wish = Wish(variant if shipped else None, side, winner, shortest, longest, tuple(grade or ()), theme)
    found = _List(file=file, puzzles=[_Listed(**_listed(puzzle)) for puzzle in choose(puzzles, wish)])
    if as_csv:
        table = _csv(found)
        return Reply(found, lambda console: console.out(table, end=""))
    return Reply(found, lambda console: _show_list(console, found, len(puzzles)))


def _listed(puzzle: Puzzle) -> dict[str, Any]:
    from retrograde.puzzles.facts import facts_of
    from retrograde.puzzles.puzzle_file import rules_of

    facts: Facts = facts_of(puzzle)
    claim = "" if puzzle.stipulation is None else str(puzzle.stipulation)
    return {
        "id": puzzle.id,
        "variant": rules_of(puzzle).name,
        "position": str(puzzle.position),
        "claim": claim,
        **facts._asdict(),
    }


def _csv(found: _List) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_Listed.model_fields)
    for puzzle in found.puzzles:
        writer.writerow(["" if value is None else value for value in puzzle.model_dump().values()])
    return text.getvalue()


def _show_list(console: PeopleConsole, found: _List, total: int) -> None:
    table = Table(
        label("puzzle"), label("rules"), label("to move"), label("claim"), number("grade"), prose("theme", least=12)
    )
    for one in found.puzzles:
        grade = "" if one.grade is None else str(one.grade)
        table.add(one.id, one.variant, one.side, one.claim, grade, one.theme)
    if found.puzzles:
        console.print(table)
    of = "" if total == len(found.puzzles) else f" of {total}"
    console.print(f"{len(found.puzzles)}{of} puzzles; `tablut puzzle play ID` plays one", style="dim")


@command
def show_command(
    puzzle: Annotated[str, typer.Argument(metavar="ID", help="A puzzle's id.", autocompletion=puzzle_ids_from)],
    file: FileOption = "collection",
    variant: Annotated[str | None, variant_option("The rule set of a file that names none.")] = None,
    hint: Annotated[bool, typer.Option("--hint", help="Name the square of the piece that moves.")] = False,
    solution: Annotated[bool, typer.Option("--solution", help="Print the line as well.")] = False,
    nodes: NodesOption = 50_000_000,
) -> Reply:
    """Draw one puzzle and say what is asked, without its solution."""
    from retrograde.proofs.solution import ProofLimits
    from retrograde.puzzles.game import solve_puzzle
    from retrograde.puzzles.puzzle_file import rules_of

    one = read_one(puzzle, file, variant)
    tempting = one.tags.get("tempting", "")
    shown = _Shown(
        **_listed(one),
        tempting=int(tempting) if tempting.isascii() and tempting.isdigit() else None,
        source=one.tags.get("source", ""),
    )
    if hint or solution:
        line = interruptible(partial(solve_puzzle, one, ProofLimits(nodes=nodes))).line
        start = square_name(line[0].start, rules_of(one).size) if hint and line else None
        shown = shown.model_copy(update={"hint": start, "solution": list(map(str, line)) if solution else None})
    return Reply(shown, lambda console: _show(console, one, shown))


def _show(console: PeopleConsole, puzzle: Puzzle, shown: _Shown) -> None:
    from retrograde.puzzles.puzzle_file import rules_of

    variant = rules_of(puzzle)
    console.print(draw_board(variant, puzzle.position.rows()))
    console.print(legend(variant))
    console.print(f"{shown.id}, {shown.variant}: {shown.side} to move", style="bold")
    if shown.claim:
        console.print(f"{shown.claim}{'' if shown.plies is None else ' plies'}")
    about = [f"grade {shown.grade}" if shown.grade else "", shown.theme, shown.source]
    console.print(", ".join(part for part in about if part), style="dim")
    if shown.hint:
        console.print(f"hint: look at {shown.hint}")
    if shown.solution:
        console.print("line: " + " ".join(shown.solution))
