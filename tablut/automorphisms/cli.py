"""The commands ``tablut symmetry verify`` and ``tablut symmetry show``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from symmetry import Symmetry, dihedral, orbits, stabiliser
from tablut.cli.command import Group
from tablut.cli.options import BoardRequest, PictureFoldersRequest, RulesRequest, seed_field
from tablut.cli.people import PeopleConsole, Table, draw_board, label, number, prose, side_by_side
from tablut.cli.requests import Option
from tablut.cli.runtime import EXIT_NO, Interrupted, Reply, interruptible
from tablut.errors import InputError
from tablut.position import Position, diagram_cells, square_name
from tablut.results import Result
from tablut.variants import Variant

if TYPE_CHECKING:
    from tablut.automorphisms.checks import SymmetryCheck

app = Group(help="Verify the symmetry reduction, or draw an orbit.")


class CheckResult(Result):
    """The result of testing one claim: the numbers of cases and failures, and a case that failed."""

    name: str
    cases: int
    failures: int
    example: str


class ElementResult(Result):
    """A symmetry of the square, and whether it preserves the rules and the start.

    If the symmetry does not preserve the rules, the result may contain a counterexample.
    """

    name: str
    of_the_rules: bool
    of_the_start: bool
    reason: str
    counterexample: str | None


class _SymmetryReport(Result):
    variant: str
    group_order: int
    start_group_order: int
    orbits_of_cells: int
    elements: list[ElementResult]
    checks: list[CheckResult]


class VerifyRequest(RulesRequest):
    """The request of ``tablut symmetry verify``."""

    samples: int = Option(2000, "Number of random placements, and of positions from random play.", least=10)
    seed: int = seed_field("Seed of the random positions.", 1)
    most: int | None = Option(None, "Maximum number of positions near the start. All of them are tested.", least=1)


@app.command("verify")
def verify_command(request: VerifyRequest) -> Reply:
    """Test, on samples of positions, whether the symmetries of the rules act as automorphisms of the game.

    The exit code is 1 if any claim fails.
    """
    from tablut.automorphisms.checks import checks

    rules, samples, seed = request.rules, request.samples, request.seed
    elements: list[ElementResult] = []
    done: list[SymmetryCheck] = []

    def work() -> None:
        """Test every symmetry and every claim, storing each result immediately in case of an interrupt."""
        elements.extend(_elements(rules, samples, seed))
        for check in checks(rules, samples=samples, seed=seed, most=request.most):
            done.append(check)  # noqa: PERF402 (it may be interrupted)

    try:
        interruptible(work)
    except KeyboardInterrupt:
        if not done:
            raise
        raise Interrupted(_verified(rules, elements, done, seed), "") from None
    if not any(check.cases for check in done):
        raise InputError("has no position that could be tested", subject=f"variant {rules.name!r}")
    return _verified(rules, elements, done, seed)


def _elements(variant: Variant, samples: int, seed: int) -> list[ElementResult]:
    """Return one result for each symmetry of the square.

    The result for a symmetry that does not preserve the rules contains a counterexample if one is found.
    """
    import numpy as np

    from tablut.automorphisms.checks import breaks, random_placements

    start = stabiliser(dihedral(variant.size), diagram_cells(variant.start))
    placements = random_placements(variant, samples, np.random.default_rng(seed))
    found = []
    for element in dihedral(variant.size):
        inside = element in variant.symmetries
        broken = None if inside else breaks(variant, element, placements)
        found.append(
            ElementResult(
                name=element.name,
                of_the_rules=inside,
                of_the_start=inside and element in start,
                reason="" if inside else _difference(variant, element),
                counterexample=None if broken is None else str(broken),
            )
        )
    return found


def _verified(variant: Variant, elements: list[ElementResult], done: list[SymmetryCheck], seed: int) -> Reply:
    result = _SymmetryReport(
        variant=variant.name,
        group_order=len(variant.symmetries),
        start_group_order=sum(element.of_the_start for element in elements),
        orbits_of_cells=len(orbits(variant.symmetries)),
        elements=elements,
        checks=[CheckResult.model_validate(check, from_attributes=True) for check in done],
    )
    failed = any(check.failures for check in done)
    return Reply(result, lambda console: _show_verified(console, result), EXIT_NO if failed else 0, seed=seed)


def _difference(variant: Variant, element: Symmetry) -> str:
    """Return a line of text that names a cell and its image of another kind under a symmetry."""
    terrain, size = diagram_cells(variant.terrain), variant.size
    kinds = ["camp" if letter in "ABCD" else "." if letter == "+" else letter for letter in terrain]
    for cell, image in enumerate(element.table):
        if kinds[cell] != kinds[image]:
            return f"{square_name(cell, size)} ({kinds[cell]}) goes to {square_name(image, size)} ({kinds[image]})"
    return "it changes the camps, the inert cells or the cells where pieces may stand"


def _show_verified(console: PeopleConsole, result: _SymmetryReport) -> None:
    what = (
        f": of the 8 symmetries of the square, {result.group_order} preserve the rules "
        f"and {result.start_group_order} preserve the start; {result.orbits_of_cells} orbits of cells"
    )
    console.print(Text.assemble((result.variant, "bold"), what))
    for element in result.elements:
        if not element.of_the_rules:
            shown = f"; shown by {element.counterexample}" if element.counterexample else ""
            console.print(f"  {element.name}: {element.reason}{shown}", soft_wrap=True)
    table = Table(number("cases"), label("verdict"), prose("claim"), header=False)
    for check in result.checks:
        table.add(f"{check.cases:,}", _told(check), check.name)
        if check.example:
            table.add("", "", f"such as {check.example}")
    console.print(table)


def _told(check: CheckResult) -> Text:
    if check.failures:
        return Text(f"{check.failures:,} fail", "bold red")
    return Text("holds", "green") if check.cases else Text("not tested", "yellow")


class ImageResult(Result):
    """A position's image under one symmetry."""

    symmetry: str
    position: str


class _Orbit(Result):
    variant: str
    position: str
    images: list[ImageResult]
    orbit_size: int
    stabiliser: list[str]
    canonical: str


class ShowRequest(BoardRequest, PictureFoldersRequest):
    """The request of ``tablut symmetry show``."""

    svg: Path | None = Option(None, "Folder for SVG drawings of all images.", metavar="DIR")


@app.command("show")
def show_command(request: ShowRequest) -> Reply:
    """Draw a position's images under the symmetries of the rules.

    The orbit size and the position's stabiliser are printed too.
    """
    board = request.board
    rules = board.variant
    images = [(element, board.position.transformed(element)) for element in rules.symmetries]
    if request.draws:
        from tablut.svg import board as draw_svg

        for element, image in images:
            request.write_drawing(draw_svg(rules, image, caption=element.name), element.name)
    fixing = [element.name for element, image in images if image.cells == board.position.cells]
    result = _Orbit(
        variant=rules.name,
        position=str(board.position),
        images=[ImageResult(symmetry=element.name, position=str(image)) for element, image in images],
        orbit_size=len({image.cells for _, image in images}),
        stabiliser=fixing,
        canonical=str(board.canonical().position),
    )
    return Reply(result, lambda console: _show_orbit(console, rules, result))


def _show_orbit(console: PeopleConsole, variant: Variant, result: _Orbit) -> None:
    drawn = {
        image.symmetry + (" *" if image.position == result.canonical else ""): draw_board(
            variant, Position.parse(image.position, variant.size).rows()
        )
        for image in result.images
    }
    console.print(side_by_side(drawn), width=min(console.width, 100))
    console.print(f"{result.variant}: orbit of {result.orbit_size}; stabiliser: {', '.join(result.stabiliser)}")
    console.print(f"canonical (*): {result.canonical}", soft_wrap=True)
