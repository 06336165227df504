"""``python -m reports.studies.explained``: explain every counted position of a small board."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

from rich.text import Text

from reports.studies.explained.explaining import BOARDS, DATA, FieldExplanation, explain, field_explanations
from tablut.cli.command import command
from tablut.cli.options import threads_field, variant_field
from tablut.cli.people import Table, label, number
from tablut.cli.requests import Option, Request
from tablut.cli.runtime import EXIT_NO, Reply, progress
from tablut.cli.shell import main
from tablut.errors import InputError
from tablut.provenance import commit, origin
from tablut.results import Result
from tablut.variants import load_variant
from tablut.work.files import write_text

if TYPE_CHECKING:
    from reports.reachable import Amount, Explanation
    from tablut.cli.people import PeopleConsole

NAME = "python -m reports.studies.explained"


class _Board(Result):
    variant: str
    positions: int
    result: str


class _Boards(Result):
    boards: list[_Board]


class ExplainRequest(Request):
    """The parameters of the command."""

    variant: str | None = variant_field(
        help="Name of a shipped rule set or of a board of this study, or a TOML file. [default: ashton]"
    )
    boards: bool = Option(False, "Explain all boards of this study. Store new results, and compare the others.")
    store: str | None = Option(None, "Folder for the census. [default: a temporary one]", metavar="DIR")
    memory: int = Option(4096, "Memory limit for the census in MiB.", metavar="MIB", least=1)
    threads: int = threads_field("Number of parallel tasks of the census.")


@command()
def explain_command(request: ExplainRequest) -> Reply:
    """Explain every counted position of a small board.

    Each position is reached by a game, is excluded by a lemma, or belongs to a set that no game enters. The command
    begins with a complete census. Exit code 1: the census, the lemmas and the un-moves contradict each other, or a
    result differs from the stored one.
    """
    if request.boards:
        if request.variant is not None or request.store is not None:
            raise InputError("cannot be combined with --variant or --store", subject="--boards")
        return _explain_boards(request.memory, request.threads)
    name = "ashton" if request.variant is None else request.variant
    rules = load_variant(str(BOARDS.get(name, name)))
    with progress("explain") as observer:
        # An interrupt takes effect after the current batch of classes, and temporary files are then removed.
        result = explain(
            rules, store=request.store, memory=request.memory << 20, threads=request.threads, progress=observer
        )
    return Reply(result, lambda console: _show_explained(console, result), EXIT_NO if result.failures else 0)


def _explain_boards(memory: int, threads: int) -> Reply:
    """Explain all boards of this study. Store results of new boards, and compare the others with what is stored."""
    stored, found = field_explanations(), list[_Board]()
    for name, path in BOARDS.items():
        began = time.perf_counter()
        with progress(f"explain {name}") as observer:
            result = explain(path, memory=memory << 20, threads=threads, progress=observer)
        plain, how = result.model_dump(mode="json"), "as stored" if name in stored else "stored now"
        kept = {key: value for key, value in stored.get(name, plain).items() if key != "provenance"}
        if result.failures or plain != kept:
            how = "differs"
        elif name not in stored:
            asked, seconds = {"variant": name, "memory": memory, "threads": threads}, time.perf_counter() - began
            plain["provenance"] = origin(f"{NAME} -v {name} --json", asked, None, seconds, commit=commit())
            write_text(DATA / f"{name}.json", json.dumps(plain, indent=2) + "\n")
        found.append(_Board(variant=name, positions=result.counted.positions, result=how))

    def show(console: PeopleConsole) -> None:
        table = Table(label("board"), number("positions"), label("result"))
        for board in found:
            table.add(board.variant, f"{board.positions:,}", board.result)
        console.print(table)

    return Reply(_Boards(boards=found), show, EXIT_NO if any(board.result == "differs" for board in found) else 0)


def _show_explained(console: PeopleConsole, result: Explanation) -> None:
    console.print(Text.assemble((f"All counted positions of {result.variant}", "bold"), ("  computed", "dim")))
    table = Table(label(""), number("positions"), number("classes"), number("share"))

    def add(name: str, amount: Amount, style: str = "") -> None:
        share = f"{100 * amount.positions / result.counted.positions:.4f} %"
        table.add(name, f"{amount.positions:,}", f"{amount.classes:,}", share, style=style)

    add("counted", result.counted, "bold")
    add("reached", result.reached)
    for name, amount in result.excluded.items():
        if amount.classes:
            add(f"excluded by the lemma {name}", amount)
    add("closed: no lemma, but never entered", result.closed.all)
    for layer, amount in enumerate(result.closed.layers, 1):
        plies = "all predecessors excluded" if layer == 1 else "all predecessors excluded or in earlier layers"
        add(f"  layer {layer}: {plies}", amount)
    if result.closed.recurrent.classes:
        add("  recurrent: in a cycle of plies", result.closed.recurrent)
    if result.closed.after.classes:
        add("  reached only from recurrent ones", result.closed.after)
    console.print(table)
    if result.closed.parts:
        console.print(
            f"The closed set has {result.closed.parts:,} parts; the largest has "
            f"{result.closed.largest_part:,} positions.",
            style="dim",
        )
    for effect in result.fields if isinstance(result, FieldExplanation) else ():
        only = sum(effect.excluded.values())
        console.print(
            f"Without {effect.field}, {effect.plies:,} plies from reached positions would have another effect. "
            f"{effect.reached:,} positions would be reached, and no lemma would exclude {only:,} of the excluded ones."
        )
    console.print(
        f"No lemma holds for any of the {result.reached.classes:,} reached classes."
        if not result.failures
        else Text(f"{result.failures:,} classes are contradictory", "bold red")
    )
    for line in result.failed:
        console.print(line)


if __name__ == "__main__":
    main(explain_command, NAME)
