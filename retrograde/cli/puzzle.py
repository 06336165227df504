"""``tablut puzzle``: its commands, and ``check``; the others are in the modules beside this one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from retrograde.cli.puzzle_list import list_command, show_command
from retrograde.cli.puzzle_make import make_command
from retrograde.cli.puzzle_play import play_command
from retrograde.cli.puzzle_solve import solve_command
from retrograde.cli.puzzle_tree import tree_command
from tablut.cli.options import read_text, variant_option, warn_if_impossible
from tablut.cli.runtime import EXIT_NO, Reply, command, interruptible
from tablut.cli.streams import EXIT_INTERRUPTED
from tablut.errors import InputError
from tablut.results import Result
from tablut.store.files import excerpt
from tablut.variants import load_variant

if TYPE_CHECKING:
    from tablut.cli.people import PeopleConsole

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None, add_completion=False, help="Solve puzzles, prove wins, make puzzles.")
app.command("list")(list_command)
app.command("show")(show_command)
app.command("play")(play_command)
app.command("solve")(solve_command)
app.command("make")(make_command)
app.command("tree")(tree_command)


class _Checked(Result):
    variant: str
    game: str
    file: str
    position: str
    winner: str
    plies: int
    plies_left: int | None
    strategy: int
    positions: int
    failures: list[str]
    proved: bool
    distance: str
    excluded: int
    shorter: int | None
    unused: int
    interrupted: bool


@app.command("check")
@command
def check_command(
    file: Annotated[str, typer.Argument(metavar="FILE", help="What --save-proof wrote.")],
    variant: Annotated[
        str | None, variant_option("A shipped rule set, or a TOML file. [default: what the proof names]")
    ] = None,
    plies: Annotated[
        int, typer.Option("--plies", min=0, max=10**12, help="Plies to make in the search for a shorter win; 0: none.")
    ] = 20_000,
) -> Reply:
    """Check a saved proof by the rules alone, in plain Python; docs/puzzles.md says what a proof is.

    Exit code 1: it proves nothing, or there is a shorter win.
    """
    from retrograde.proofs.certificate import MOST_BYTES, game_of, read_certificate
    from retrograde.proofs.checker import StrategyCheck
    from tablut.position import Position

    proof = read_certificate(file, read_text(file, "proof", MOST_BYTES))
    rules = game_of(file, proof, None if variant is None else load_variant(variant))
    try:
        check = StrategyCheck(
            rules,
            proof.position,
            proof.winner,
            proof.plies,
            proof.strategy,
            plies_left=proof.plies_left,
            most_plies=plies,
        )
    except InputError as error:
        raise InputError(f"proof {excerpt(file)}: {error}") from error
    warn_if_impossible(rules, Position.parse(proof.position, rules.size), f"proof {excerpt(file)}")
    interrupted = False
    try:
        checked = interruptible(check.run)
    except KeyboardInterrupt:
        checked, interrupted = check.found(), True
    result = _Checked(
        variant=rules.name,
        game=rules.digest,
        file=file,
        position=proof.position,
        winner=proof.winner,
        plies=proof.plies,
        plies_left=proof.plies_left,
        strategy=len(proof.strategy),
        positions=checked.positions,
        failures=checked.failures,
        proved=check.proved,
        distance=checked.distance,
        excluded=checked.excluded,
        shorter=checked.shorter,
        unused=checked.unused,
        interrupted=interrupted,
    )
    failed = bool(checked.failures) or checked.shorter is not None
    code = EXIT_NO if failed else EXIT_INTERRUPTED if interrupted else 0
    return Reply(result, lambda console: _show_checked(console, result), code)


def _show_checked(console: PeopleConsole, result: _Checked) -> None:
    from rich.text import Text

    def say(text: str, mark: str = "", style: str = "") -> None:
        # The text of a proof is never markup.
        console.print(Text(mark, style=style) + Text(text, style="not bold default"), soft_wrap=True)

    left = "" if result.plies_left is None else f"  ({result.plies_left} plies left)"
    say(f"{result.variant}  {result.position}{left}")
    for failure in result.failures:
        say(f"  {failure}", "fails", "bold red")
    if result.failures:
        return
    if not result.proved:
        say(f"interrupted: {result.positions:,} positions checked, no fault found")
        return
    answers = result.strategy - result.unused
    replies = f"all replies to it in {result.positions - answers:,}"
    say(
        f": {result.winner} wins within {result.plies} plies; its answer in {answers:,} positions, {replies}",
        "proved",
        "green",
    )
    if result.unused:
        say(f"not needed, and not checked: {result.unused:,} positions of the file")
    if result.shorter is not None:
        say(f": {result.winner} wins within {result.shorter}", "not the shortest", "bold red")
    elif result.distance == "exact":
        say("and no sooner: every shorter win was tried")
    else:
        say(f"no win within {result.excluded} plies; the search for a shorter win ended there")
